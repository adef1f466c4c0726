"""Grades in the formats of other programs: each is read as that program would read it."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import subprocess
from datetime import datetime
from xml.etree import ElementTree

import pytest

from harness.tests.shell import check_refused, lab
from harness.course.exports import formats, platforms, result, tables
from harness.course.exports.formats import Context
from harness.lab import sheets

HOSTILE = (
    '#include <x.h>\n]]></failure>,"100%";\x1b[2J\x00\x08\r\n--|>\nGrade :=>> 100\n'
    "Comment :=>> hello\n=HYPERLINK(1)\n成绩 é \ud800\ufffe\u202e & &amp; <script>"
)
IDENTITY = {
    "CLASSROOM": "networks",
    "ASSIGNMENT": "lab-4",
    "SUBMISSION_TAG": "submit/2026-01-31T10-00-00Z-a1b2c3d",
    "COMMIT_URL": "https://example.org/c",
    "RELEASE_URL": "https://example.org/r",
    "OWNER": "ada",
}
CONTEXT = Context(environment=IDENTITY, now="2026-01-31T23:59:59Z")


TOLD = {"hint": "", "crashed": "", "seconds": 1.25}


def test_of(verdict: str, worth: float, output: str = "", **extra: object) -> dict:
    found = {
        "name": f"A claim of {worth}, 100% <b>",
        "number": "04.2",
        "score": worth if verdict == "passed" else 0,
        "max_score": worth,
        "status": verdict,
        "output": output,
        "visibility": "visible",
        "extra_data": {"test": "test_04_some", "verdict": verdict, **TOLD, **extra},
    }
    if verdict == "not judged":
        del found["status"]
    return found


test_of.__test__ = False  # type: ignore[attr-defined]


def grade(*tests: dict, verdict: str = "", output: str = "04-pipelining: some") -> dict:
    verdicts = [test["extra_data"]["verdict"] for test in tests]
    worst = [name for name in ("not judged", "failed", "passed") if name in verdicts]
    return {
        "score": round(sum(test["score"] for test in tests), 2),
        "output": output,
        "execution_time": 12.5,
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "verdict": verdict or worst[0],
            "not_judged": verdicts.count("not judged"),
            "chapter": "04-pipelining",
            "seed": 1,
        },
        "tests": list(tests),
    }


GOOD = grade(test_of("passed", 33.33), test_of("passed", 66.67))
BAD = grade(test_of("passed", 62.5), test_of("failed", 37.5, HOSTILE, hint="h<i>"), output=HOSTILE)
UNJUDGED = grade(test_of("passed", 60), test_of("not judged", 40, f"not judged: {HOSTILE}"))
# As grading/results.py has it: no number, and nothing about a claim.
COMPILES = {"name": "The server compiles.", "score": 0, "max_score": 100, "status": "failed"}
BROKEN = grade(verdict="failed", output=HOSTILE)
BROKEN["tests"] = [COMPILES | {"output": HOSTILE, "visibility": "visible"}]
NOTHING = grade(verdict="not judged", output="the grader's own process was killed")
ALL = {"good": GOOD, "bad": BAD, "unjudged": UNJUDGED, "broken": BROKEN, "nothing": NOTHING}
each = pytest.mark.parametrize("name", ALL)


def export(name: str, format_: str, context: Context = CONTEXT) -> str:
    """The text, after a look at what no format may contain or change."""
    before = copy.deepcopy(ALL[name])
    text = formats.export(ALL[name], format_, context)
    assert ALL[name] == before
    text.encode()  # raises an error at a lone surrogate
    controls = {char for char in text if ord(char) < 32 or ord(char) == 127} - {"\n"}
    assert controls <= ({"\r"} if format_ == "csv" else set())
    return text


# JUnit


# Of junit-10.xsd: the attributes of each element, those that it must have, and what may be in it.
JUNIT = {
    "testsuites": ("name time tests failures errors", "", "testsuite"),
    "testsuite": (
        "name tests failures errors group time skipped timestamp hostname id package file log url",
        "name tests failures errors",
        "testsuite properties testcase system-out system-err",
    ),
    "properties": ("", "", "property"),
    "property": ("name value", "name value", ""),
    "testcase": ("name time classname group", "name", "skipped error failure system-out"),
    "failure": ("type message", "", ""),
    "error": ("type message", "", ""),
}


def check(element: ElementTree.Element) -> None:
    allowed, needed, inside = (set(words.split()) for words in JUNIT[element.tag])
    assert needed <= set(element.attrib) <= allowed
    if "time" in element.attrib:
        assert re.fullmatch(r"[0-9]*(\.[0-9]*)?", element.attrib["time"])
    for child in element:
        assert child.tag in inside, f"{child.tag} in {element.tag}"
        check(child)


@each
def test_junit_has_the_elements_of_its_schema(name):
    top = ElementTree.fromstring(export(name, "junit"))
    assert top.tag == "testsuites"
    check(top)
    suite = top[0]
    cases = suite.findall("testcase")
    numbers = {what: int(suite.attrib[what]) for what in ("tests", "failures", "errors")}
    found = [len(suite.findall(f"testcase/{element}")) for element in ("failure", "error")]
    assert [*numbers.values()] == [len(cases), *found]
    assert {what: int(top.attrib[what]) for what in numbers} == numbers


def test_junit_tells_failures_from_errors():
    found = ElementTree.fromstring(export("bad", "junit")).findall(".//failure")
    assert len(found) == 1 and found[0].attrib["type"] == "h<i>"
    assert "]]></failure>" in found[0].text and "成绩" in found[0].text
    unjudged = ElementTree.fromstring(export("unjudged", "junit"))
    assert len(unjudged.findall(".//error")) == 1 and not unjudged.findall(".//failure")
    assert len(ElementTree.fromstring(export("nothing", "junit")).findall(".//error")) == 1
    assert len(ElementTree.fromstring(export("broken", "junit")).findall(".//failure")) == 1


# CSV


@each
def test_csv_has_a_row_for_each_claim(name):
    text = export(name, "csv")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["claim"] for row in rows] == [test["name"] for test in ALL[name]["tests"]]
    assert all(set(row) == set(tables.HEAD) for row in rows)  # no cell too many, none missing
    for row, test in zip(rows, ALL[name]["tests"]):
        judged = row["verdict"] != "not judged"
        assert row["points"] == (f"{test['score']:g}" if judged else "")


def test_csv_has_no_formulas():
    bad = grade(test_of("failed", 100, "=1+1", hint="@x"))
    rows = list(csv.DictReader(io.StringIO(formats.export(bad, "csv", CONTEXT))))
    assert (rows[0]["message"], rows[0]["hint"]) == ("'=1+1", "'@x")


# Canvas


GRADEBOOK = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Lab 4 (1234),Lab 4 extra (99),Final\r\n"
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,50.00,10,(read only)\r\n"
    '"Lovelace, Ada",11,S1,ada,"Net, A",,3,50\r\n'
    '"王, 小明",12,S2,wang@example.org,B,7,,\r\n'
    '"O""Neil, =Cleo",13,S3,cleo,B,8,,\r\n'
    '"Lovelace, Ada",14,S4,ada2,B,9,,\r\n'
    '"Student, Test",15,,teststudent,B,,,\r\n'
)
SHARES = {"ADA": 1.0, "小明 王": 0.425, "13": None, "Ada Lovelace": 0.5, "nobody": 1.0}
SHARES |= {"ada2": 0.1, "S4": 0.2}


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_canvas_fills_in_one_column_and_keeps_the_rest():
    filled = tables.canvas(GRADEBOOK, "Lab 4", SHARES)
    before, after = cells(GRADEBOOK), cells(filled.text)
    assert [row[5] for row in after[3:]] == ["50", "21.25", "8", "9", ""]
    for row in before + after:
        row[5] = ""
    assert after == before
    assert filled.text.startswith("\ufeffStudent") and filled.text.count("\r\n") == 8
    assert (filled.entered, filled.blank) == (("ADA", "小明 王"), ("13",))
    assert filled.unknown == ("nobody",)
    assert filled.unclear == ("Ada Lovelace", "ada2", "S4")


def test_canvas_reads_semicolons_and_an_unknown_number_of_points():
    gradebook = "Student;ID;Lab\n    Points Possible;;\nAda;1;\n"
    filled = tables.canvas(gradebook, "Lab", {"1": 0.5})
    assert filled.text == "Student;ID;Lab\n    Points Possible;;\nAda;1;50\n"


def of_country(possible: str, separator: str = ",", grade: str = "") -> str:
    """A gradebook in the notation of some country."""
    quoted = f'"{possible}"' if separator in possible else possible
    rows = [
        ("Student", "ID", "Lab (1)", "Other (2)", "Final Score"),
        ("    Points Possible", "", quoted, "", "(read only)"),
        ('"Lovelace, Ada"', "1", "", grade, ""),
    ]
    return "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "gradebook, out_of, cell",
    [
        (of_country("20,5"), 20.5, '"8,71"'),
        (of_country("20,5", ";"), 20.5, "8,71"),
        (of_country("20.5", "\t"), 20.5, "8.71"),
        (of_country("1.000,50", ";"), 1000.5, "425,21"),
        (of_country("1\u202f001", ";"), 1001, "425,43"),
        (of_country("1001", ";", "7.5"), 1001, "425.43"),
        (of_country("1001", ",", "7,5".join('""')), 1001, '"425,43"'),
        (of_country("12345.00"), 12345, "5246.62"),
        ("sep=;\n" + of_country("20,5", ";"), 20.5, "8,71"),
    ],
)
def test_canvas_has_the_numbers_of_any_country(gradebook, out_of, cell):
    filled = tables.canvas(gradebook, "Lab", {"1": 0.425})
    assert (filled.out_of, filled.said, filled.entered) == (out_of, True, ("1",))
    *before, last = gradebook.splitlines(keepends=True)
    separator = re.search("[;\t,]", gradebook.removeprefix("sep=;"))[0]
    expected = last.replace(f"{separator}1{separator}", f"{separator}1{separator}{cell}")
    assert filled.text == "".join([*before, expected])


@pytest.mark.parametrize(
    "gradebook, said",
    [
        (of_country("1,000"), "Points Possible of Lab (1): '1,000' is 1000 in some countries and"),
        (of_country("1.000", ";"), "write 1000 or 1.00"),
        *((of_country(text), "is not a number") for text in ("-5", "20%", "1e3", "٢٠", "x")),
        (of_country("0"), "Lab (1) has 0 points possible"),
        (of_country("20").replace("Points Possible", "Puntos"), "'Puntos', has no ID"),
        (of_country("20").replace("Student,ID", "Estudiante,Número"), "has none of SIS Login ID"),
        (of_country("20").replace('Ada"', "Ada"), "line 3: a quotation mark is not closed"),
    ],
)
def test_canvas_refuses_points_possible_that_are_not_clear(gradebook, said):
    """Unclear points would be taken for 100, and marks would be wrong."""
    with pytest.raises(tables.BadGradebook, match=re.escape(said)):
        tables.canvas(gradebook, "Lab", {"1": 0.425})


def test_canvas_does_not_fill_in_what_is_read_only():
    with pytest.raises(tables.BadGradebook, match="Final Score: '.read only.' is not a number"):
        tables.canvas(of_country("20"), "Final Score", {"1": 0.5})


@pytest.mark.parametrize("gradebook", [of_country(""), "Student,ID,Lab (1)\nAda,1,\n"])
def test_canvas_knows_that_points_possible_are_not_said(gradebook):
    filled = tables.canvas(gradebook, "Lab", {"1": 0.425})
    assert (filled.out_of, filled.said) == (100, False) and ",1,42.5" in filled.text


@pytest.mark.parametrize(
    "gradebook, column, said",
    [
        ("a,b\n1,2\n", "Lab", "it is no gradebook of Canvas"),
        ("", "Lab", "it is no gradebook of Canvas"),
        (GRADEBOOK, "Lab 5", "no column 'Lab 5'; it has Lab 4 (1234), Lab 4 extra (99)"),
        ("Student,ID,Lab (1),Lab (2)\n", "Lab", "2 columns have the title 'Lab'"),
    ],
)
def test_canvas_says_what_is_wrong(gradebook, column, said):
    with pytest.raises(tables.BadGradebook, match=re.escape(said)):
        tables.canvas(gradebook, column, {})


# Platforms


@each
def test_autolab_is_one_line_of_scores(name):
    line = export(name, "autolab", Context(problem="Lab 4"))
    assert line.count("\n") == 1
    # parseAutoresult() of Autolab quotes keys before it reads the line.
    read = json.loads(re.sub(r"([a-zA-Z0-9]+):", r'"\1":', line))
    expected = {"good": 100, "bad": 62.5, "unjudged": None, "broken": 0, "nothing": None}
    assert read == {"scores": {"Lab 4": expected[name]}}


def test_autolab_refuses_a_name_that_it_would_misread():
    with pytest.raises(platforms.BadName, match="colon"):
        formats.export(GOOD, "autolab", Context(problem="Lab: 4"))


@each
def test_prairielearn(name):
    read = json.loads(export(name, "prairielearn"))
    if name in ("good", "bad"):
        assert read["gradable"] is True and read["score"] == {"good": 1, "bad": 0.625}[name]
        assert [test["points"] for test in read["tests"]] == [
            test["score"] for test in ALL[name]["tests"]
        ]
        keys = {"name", "points", "max_points", "message", "output"}
        assert all(set(test) == keys for test in read["tests"])
    else:
        assert set(read) == {"gradable", "format_errors"} and read["gradable"] is False
        assert all(isinstance(error, str) and error for error in read["format_errors"])


def test_prairielearn_stays_below_its_limit():
    long = [test_of("failed", 1, '"\n' * 30_000) for _ in range(20)]
    text = formats.export(grade(*long, output="成" * 400_000), "prairielearn", CONTEXT)
    assert len(text.encode()) < platforms.PRAIRIELEARN_BYTES
    assert json.loads(text)["tests"][19]["output"].endswith("(cut here)")


# Of result-v1.schema.json: the keys it needs, and the only other ones it allows.
CLASSROOM50 = {"schema", "classroom", "assignment", "assignment_type", "owner", "submission"}
CLASSROOM50 |= {"commit", "release", "review", "datetime", "score", "max-score", "tests"}


@pytest.mark.parametrize("name", ["good", "bad", "broken"])
def test_classroom50_has_integers(name):
    read = json.loads(export(name, "classroom50"))
    assert set(read) == CLASSROOM50 and read["schema"] == "classroom50/result/v1"
    assert read["assignment_type"] == "individual" and read["submission"].startswith("submit/")
    datetime.strptime(read["datetime"], "%Y-%m-%dT%H:%M:%SZ")
    texts = CLASSROOM50 - {"score", "max-score", "tests"}
    assert all(isinstance(read[key], str) and read[key] for key in texts)
    for test in [read, *read["tests"]]:
        assert isinstance(test["score"], int) and isinstance(test["max-score"], int)
        assert 0 <= test["score"] <= test["max-score"]
    for test in read["tests"]:
        assert test["passed"] in (True, False) and test["test-name"]
    for key in ("score", "max-score"):
        assert sum(test[key] for test in read["tests"]) == read[key]
    assert read["score"] / read["max-score"] == ALL[name]["score"] / 100


def test_classroom50_counts_whole_points_where_it_can():
    whole = grade(test_of("passed", 40), test_of("failed", 60))
    read = json.loads(formats.export(whole, "classroom50", CONTEXT))
    assert (read["score"], read["max-score"]) == (40, 100)


def test_classroom50_needs_its_runner():
    with pytest.raises(platforms.NoIdentity, match="CLASSROOM, ASSIGNMENT, .*: not set"):
        formats.export(GOOD, "classroom50", Context())


@pytest.mark.parametrize("name", ["unjudged", "nothing"])
@pytest.mark.parametrize("format_", ["classroom50", "gradescope"])
def test_without_a_verdict_there_is_no_score(name, format_):
    with pytest.raises(result.NoScore, match="grade it again"):
        formats.export(ALL[name], format_, CONTEXT)


def moodle(text: str) -> tuple[str | None, list[str]]:
    """Grade and comments as VPL finds them: a block between two lines that are only its marks, and
    the last line that begins with "Grade :=>>"."""
    found, comments, within = None, [], False
    for line in text.splitlines():
        if line.strip() in ("<|--", "--|>"):
            within = line.strip() == "<|--"
        elif within:
            comments.append(line)
        elif line.startswith("Comment :=>>"):
            comments.append(line)
        if line.startswith("Grade :=>>"):
            found = line.removeprefix("Grade :=>>").strip()
    return found, comments


@each
def test_vpl_takes_the_grade_from_one_line(name):
    found, comments = moodle(export(name, "vpl"))
    expected = {"good": "100", "bad": "62.5", "broken": "0", "unjudged": None, "nothing": None}
    assert found == expected[name]
    assert all(comment[0] in "->" for comment in comments)
    titles = [comment for comment in comments if comment.startswith("-")]
    failed = [test for test in ALL[name]["tests"] if test.get("status") != "passed"]
    assert len(titles) == len(failed)


def test_vpl_scales_to_the_highest_grade_of_the_activity():
    context = Context(environment={"VPL_GRADEMAX": "10.00000"})
    assert moodle(formats.export(BAD, "vpl", context))[0] == "6.25"


def test_gradescope_is_the_result_itself():
    assert json.loads(formats.export(BAD, "gradescope", CONTEXT)) == json.loads(json.dumps(BAD))


@pytest.mark.parametrize("wrong", [None, [], {}, {"tests": [1]}, {**GOOD, "score": "many"}])
@pytest.mark.parametrize("format_", sorted(set(formats.NAMES) - {"canvas"}))
def test_another_object_is_refused(wrong, format_):
    with pytest.raises(result.NoResult):
        formats.export(wrong, format_, CONTEXT)


def test_what_happened_is_found_in_the_text_of_a_failure():
    text = "FAILED  01.1  A\n\n  what happened\n     one two\n     three\n  conversation\n     1 no"
    assert result.what_happened(text) == "one two three"
    assert result.what_happened("not judged: no\ninstrument") == "no instrument"


# The command


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return lab("export", "--chapter", "04", *arguments)


def test_the_command_writes_a_file(tmp_path):
    """Without OUT= it prints the same."""
    (tmp_path / "04.json").write_text(json.dumps(BAD))
    out = tmp_path / "new" / "it's 1.xml"
    words = ["--format", "junit", "--results", tmp_path / "04.json"]
    ended = run(*words, "--out", out)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert out.read_text() == run(*words).stdout == formats.export(BAD, "junit", CONTEXT)
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def fill_in(
    tmp_path, results: dict, gradebook: bytes, column: str = "Lab", scores: str = ""
) -> tuple[bytes, list[str]]:
    """The gradebook after `make export` with these results of a class, and the lines on stderr."""
    top = tmp_path / "class"
    for name, found in results.items():
        (top / name).mkdir(parents=True)
        (top / name / "trace.json").write_text(json.dumps(GOOD))
        if found:
            (top / name / "result.json").write_text(json.dumps(found))
    if scores:
        (top / "scores.csv").write_text(scores, newline="")
    (tmp_path / "g.csv").write_bytes(gradebook)
    words = ["--format", "canvas", "--grades", top, "--column", column]
    ended = run(*words, "--gradebook", tmp_path / "g.csv", "--out", tmp_path / "o.csv")
    assert ended.returncode == 0
    return (tmp_path / "o.csv").read_bytes(), ended.stderr.splitlines()


def test_the_command_fills_in_a_gradebook(tmp_path):
    results = {"ada": BAD, "cleo": UNJUDGED, "ada2": None}
    filled, said = fill_in(tmp_path, results, GRADEBOOK.encode(), "Lab 4")
    assert [row[5] for row in cells(filled.decode())[3:]] == ["31.25", "7", "8", "9", ""]
    assert said == [
        "export: scores entered: 1, each out of 50",
        "  ada2: not judged, so the cell stays as it was",
        "  cleo: not judged, so the cell stays as it was",
    ]


def test_late_hand_ins_have_the_points_that_count_in_a_gradebook(tmp_path):
    """scores.csv has them; the working directory of make class is no submission."""
    results = {"ada": GOOD, ".work": None, "cleo": BAD}
    scores = "name,score,counts\nada,100,90\ncleo,62.5,\n"
    filled, said = fill_in(tmp_path, results, GRADEBOOK.encode(), "Lab 4", scores)
    assert cells(filled.decode())[3][5] == "45"
    assert said == [
        "export: scores entered: 1, each out of 50",
        "  cleo: not judged, so the cell stays as it was",
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_a_gradebook_keeps_its_encoding(tmp_path, encoding):
    text = of_country("20,5", ";").replace("Lovelace, Ada", "Müller").replace("\n", "\r\n")
    filled, said = fill_in(tmp_path, {"müller": BAD}, text.encode(encoding))
    assert said == ["export: scores entered: 1, each out of 20.5"]
    assert filled == text.replace(";1;", ";1;12,81").encode(encoding)


def test_scores_that_a_spreadsheet_has_saved_count(tmp_path):
    """With other separators and decimal marks, and a name that looks like a formula."""
    scores = sheets.BOM + "name;score;counts\r\n'=ada;100;90,5\r\n"
    gradebook = b"Student,SIS Login ID,Lab (1)\nAda,=ada,\n"
    filled, said = fill_in(tmp_path, {"=ada": GOOD}, gradebook, scores=scores)
    assert filled.splitlines()[1] == b"Ada,=ada,90.5"
    assert said[-1].endswith("out of 100; the gradebook does not say the points possible")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ("--format x", "FORMAT=x: there is no such format; the formats are autolab, "),
        ("", "which FORMAT=; the formats are autolab, "),
        ("--format csv --results {0}/none.json", "none.json is not there: `make grade CH=04`"),
        ("--format csv --results {0}/text.json", "text.json cannot be read: "),
        ("--format csv --chapter 03 --results {0}/04.json", "a grade of 04-pipelining, and not of"),
        ("--format gradescope --results {0}/04.json", "a claim was not judged"),
        ("--format csv --results {0}/04.json --out /proc/x/y", "/proc/x/y cannot be written: "),
        ("--format canvas", "canvas needs the exported gradebook and a column: GRADEBOOK="),
        ("--format canvas --column L --gradebook g --grades {0}", "there are no grades in it"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path, arguments, said):
    (tmp_path / "04.json").write_text(json.dumps(UNJUDGED))
    (tmp_path / "text.json").write_text("{")
    check_refused(run(*arguments.format(tmp_path).split()), said)
