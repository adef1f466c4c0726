"""The zip that is uploaded to Gradescope.

Its top has the two programs that Gradescope calls:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.course.handover import handout
from harness.course.handover.archive import Member
from harness.lab import parts
from harness.lab.chapters import ROOT, Chapter

HERE = Path(__file__).parent
# What run_autograder and setup.sh need, besides what the grade itself reads.
TAKEN = (
    "LICENSE",
    "harness/find-python.sh",
    *(
        f"harness/course/classes/{name}.py"
        for name in ("__init__", "extract", "submissions", "unpack")
    ),
)


def members(chapter: Chapter) -> list[Member]:
    """The files of the zip for this chapter. Raises WrongUsage if its skeleton has been changed: a
    submission can read it."""
    handout.check_skeletons((chapter,))
    return [
        Member("setup.sh", (HERE / "setup.sh").read_bytes(), program=True),
        Member("run_autograder", (HERE / "run_autograder.py").read_bytes(), program=True),
        Member("chapter", f"{chapter.slug}\n".encode()),
        *(
            Member(f"lab/{path.relative_to(ROOT).as_posix()}", path.read_bytes())
            for path in files(chapter)
        ),
    ]


def files(chapter: Chapter) -> Iterator[Path]:
    """The files of the lab that a grade needs: no solution, and nothing of a later chapter. Raises
    WrongUsage if git does not say which files are the lab's."""
    tops = {*(ROOT / name for name in TAKEN), *parts.of_a_grade(ROOT, chapter)}
    for name in sorted(handout.names()):
        path = ROOT / name
        if tops & {path, *path.parents}:
            yield path
