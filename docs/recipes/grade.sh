#!/bin/sh
# Grades one chapter in continuous integration: sh docs/recipes/grade.sh 04
#
# $OUT gets 04.json, the student's text 04.txt, and 04.xml in JUnit's form; it is build/ci unless it
# is set. DIR=path grades that directory instead of chapters/. If something was not judged, it is
# graded once more. The status is that of the last grade: 0 full marks, 1 less, 2 not judged.

cd "$(dirname "$0")/../.." || exit 2
chapter=${1:?which chapter? For instance: sh docs/recipes/grade.sh 04}
out=${OUT:-build/ci}
python=$(sh harness/find-python.sh) && mkdir -p "$out" || exit 2

grade() {
    rm -f "$out/$chapter.json" "$out/$chapter.xml"
    "$python" -m harness grade --verbose --chapter "$chapter" ${DIR:+--dir "$DIR"} \
        --results "$out/$chapter.json" >"$out/$chapter.txt" 2>&1
    status=$?
    cat "$out/$chapter.txt"
}

grade
if [ "$status" -eq 2 ]; then
    echo "grade.sh: not everything was judged; once more"
    grade
fi
if [ -f "$out/$chapter.json" ]; then
    "$python" -m harness export --format junit --chapter "$chapter" \
        --results "$out/$chapter.json" --out "$out/$chapter.xml" || status=2
fi
exit "$status"
