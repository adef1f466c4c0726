"""Grades in the formats of other programs, as recorded; and a gradebook that is filled in."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from harness.course import canvas, export
from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage
from harness.tests import golden

HOSTILE = ']]></failure>,"%";\x1b[2J\x00\r\n--|>\nGrade :=>> 100\n=1\n成 \ud800\ufffe &amp; <script>'
IDENTITY = ("CLASSROOM", "ASSIGNMENT", "OWNER", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL")
ENVIRONMENT = {**{name: f"its {name}" for name in IDENTITY}, "VPL_GRADEMAX": "50.00000"}


def claim(verdict: str, worth: float, output: str = "", hint: str = "") -> dict:
    data = {"test": "test_04_some", "verdict": verdict, "hint": hint, "seconds": 1.25}
    found = {"name": f"A claim of {worth}, 100% <b>", "number": "04.2", "output": output}
    found |= {"score": worth if verdict == "passed" else 0, "max_score": worth}
    return found | {"extra_data": data} | ({} if verdict == "not judged" else {"status": verdict})


def grade(verdict: str, *tests: dict, output: str = "04-pipelining: some") -> dict:
    costs = sum(test.get("extra_data", {}).get("costs", 0) for test in tests)
    score = round(sum(test["score"] for test in tests) - costs, 2)
    about = {"verdict": verdict, "chapter": "04-pipelining", "seed": 1}
    about["not_judged"] = sum("status" not in test for test in tests)
    found = {"score": score, "output": output, "execution_time": 12.5, "extra_data": about}
    return found | {"tests": list(tests)}


# As grade/results.py has it: no number, and nothing about a claim.
COMPILES = {"name": "The server compiles.", "score": 0, "max_score": 100, "status": "failed"}
HALF = claim("passed", 62.5)
GUARD = claim("failed", 0, "a guard, costs 3 points")
GUARD["extra_data"]["costs"] = 3
BAD = grade("failed", HALF, claim("failed", 37.5, HOSTILE, "=h<i>"), GUARD, output=HOSTILE)
GRADES = {
    "failed": BAD,
    "full marks": grade("passed", claim("passed", 40), claim("passed", 60)),
    "not judged": grade("not judged", HALF, claim("not judged", 37.5, "not judged: no gdb")),
    "does not compile": grade("failed", COMPILES | {"output": "conn.c:1: error"}),
    "nothing was graded": grade("not judged", output="the grader's own process was killed"),
}
UNJUDGED = GRADES["not judged"]


def exported(found: dict, name: str) -> str:
    """The text, or why there is none."""
    try:
        text = export.export(found, name)
    except WrongUsage as error:
        return f"refused: {error}\n"
    text.encode()  # raises an error at a lone surrogate
    if name == "junit":
        ElementTree.fromstring(text)
    return text


def test_each_grade_in_each_format(tmp_path):
    lines, file = [], tmp_path / "04.json"
    for name in ("csv", "junit"):
        lines += [f"---- {name}: {what}\n{exported(found, name)}" for what, found in GRADES.items()]
    for name in export.RECIPES:
        for what in ("failed", "not judged", "does not compile"):
            file.write_text(json.dumps(GRADES[what]))
            command = [sys.executable, ROOT / f"docs/recipes/{name}.py", file]
            done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
            lines.append(f"---- {name}: {what}\n{done.stdout}{done.stderr}")
    golden.check("exports", re.sub(r"20\d\d-\d\d-\d\dT[0-9:]{8}Z", "(now)", "".join(lines)))
    assert json.loads(exported(BAD, "gradescope")) == BAD
    assert exported(UNJUDGED, "gradescope").startswith("refused")
    with pytest.raises(ValueError):
        export.export({"tests": []}, "csv")


# Canvas

GRADEBOOK = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Lab 4 (1234),Lab 4 extra (99),Final\r\n"
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,50.00,10,(read only)\r\n"
    '"Lovelace, Ada",11,S1,ada,"Net, A",,3,50\r\n'
    '"王, 小明",12,S2,wang@example.org,B,7,,\r\n'
    '"O""Neil, =Cleo",13,S3,cleo,B,8,,\r\n'
    '"Lovelace, Ada",14,S4,ada2,B,9,,\r\n'
    '"Turing, Alan",15,S5,alan,B,6,,\r\n'
)
SHARES = {"ADA": 1.0, "小明 王": 0.425, "13": None, "Ada Lovelace": 0.5, "nobody": 1.0}
SHARES |= {"alan": 1.0, "S5": 0.5, "x_14": 0.2}  # two of one student; a name of Canvas itself


def test_canvas_has_the_points_of_each_gradebook_or_a_reason():
    filled = canvas.fill(GRADEBOOK.encode(), "Lab 4", SHARES)
    text = filled.data.decode()
    assert text.startswith("\ufeffStudent") and text.count("\r\n") == 8
    lines = [text.replace("\ufeff", ""), *filled.told]
    for wrong in ("", GRADEBOOK.replace("50.00", "-5"), GRADEBOOK.replace("Lab 4", "Exam")):
        with pytest.raises(ValueError) as caught:
            canvas.fill(wrong.encode(), "Lab 4", SHARES)
        lines.append(str(caught.value))
    golden.check("canvas", "\n".join(lines))


def test_the_scores_of_a_class_in_a_gradebook(tmp_path, capsys):
    """The scores are as a spreadsheet has saved them, in a country with a decimal comma."""
    scores = "\ufeffname;score;counts\r\nmüller;62,5;62,5\r\n'=late;62,5;10,5\r\ncleo;;\r\n"
    (tmp_path / "scores.csv").write_text(scores, "utf-8")
    gradebook = "\ufeffStudent;SIS Login ID;Lab (1)\r\n    Points Possible;;20,5\r\n"
    gradebook += "M;Müller;{}\r\nL;=late;{}\r\nC;cleo;7\r\nD;dan;8\r\n"
    (tmp_path / "g.csv").write_text(gradebook.format("", ""), "utf-8", newline="")
    words = ["--gradebook", f"{tmp_path}/g.csv", "--scores", f"{tmp_path}/scores.csv"]
    words += ["--chapter", "04", "--format", "canvas", "--column", "Lab"]
    assert export.main([*words, "--out", f"{tmp_path}/o.csv"]) == 0
    assert (tmp_path / "o.csv").read_bytes() == gradebook.format("12,81", "2,15").encode()
    said = capsys.readouterr().err
    assert "scores entered: 2, each out of 20.5" in said
    assert "cleo: not judged, so the cell stays as it was" in said


def recipe(name: str, *words: object) -> str:
    command = [sys.executable, ROOT / "docs/recipes" / name, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_numbers_for_names(tmp_path):
    """Hand-ins of one student have one number, which stays; only their owner can read the key."""
    sub, key, keys = tmp_path / "sub", tmp_path / "key.csv", []
    (sub / "ada").mkdir(parents=True)
    for name in ("ada.zip", "j.r. k.tar.gz"):
        (sub / name).touch()
        recipe("anonymous.py", sub, tmp_path / "links", key)
        keys.append(key.read_text().splitlines())
    assert keys[1][:2] == keys[0] and len(keys[1]) == 3 and key.stat().st_mode & 0o077 == 0
    ada, other = (line[:4] for line in keys[1][1:])
    links = {link.name for link in (tmp_path / "links").iterdir()}
    assert links == {ada, f"{ada}.zip", f"{other}.tar.gz"}


def test_late_days(tmp_path):
    times = ("2030-03-22 23:59", "2030-03-25 23:59", "2030-03-26 00:00", "2031-01-01 00:00", "")
    scores = tmp_path / "scores.csv"
    rows = "".join(f"'=a{number},62.5,{time}\n" for number, time in enumerate(times))
    scores.write_text(f"name,score,handed in\n{rows}eve,,2030-03-22 23:59\n")
    recipe("late-days.py", "04", scores)
    lines = [line.split(",") for line in scores.read_text().splitlines()]
    assert [line[-1] for line in lines] == ["counts", "62.5", "62.5", "56.25", "0", "62.5", ""]
    assert lines[1][0] == "'=a0"
