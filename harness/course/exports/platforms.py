"""The formats of platforms on which students hand in: a score, and a text for each claim."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from harness.course.exports.result import NOT_JUDGED, PASSED, Claim, Result, number

PRAIRIELEARN_BYTES = 1_000_000  # of the whole file, see prairielearn()
IDENTITY = ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL")


class BadName(Exception):
    """A name that the platform would misread."""


class NoIdentity(Exception):
    """The environment does not say which submission this is."""


def autolab(result: Result, problem: str) -> str:
    """The last line of an Autolab autograder: the points of one problem.

    If a claim was not judged the score is null, which Autolab stores as no score. For an empty
    `scores`, or without this line, it stores 0. It reads the line with a regular expression that
    puts quotes round a word before a colon, also within a name.

    https://docs.autolabproject.com/lab/ and saveAutograde() in its
    app/helpers/assessment_autograde_core.rb
    """
    if re.search(r"[a-zA-Z0-9]:", problem) or not problem.isprintable():
        raise BadName(f"{problem!r}: Autolab cannot read a problem's name with a colon in it")
    score = None if result.verdict == NOT_JUDGED else number(result.points)
    return json.dumps({"scores": {problem: score}}, ensure_ascii=False) + "\n"


def prairielearn(result: Result) -> str:
    """results.json of an external grader of PrairieLearn.

    It has at most 1 MB there, so long texts are cut. A submission that does not compile, or was not
    judged, is not gradable: it costs no attempt.

    https://docs.prairielearn.com/externalGrading/#grading-results
    """
    if result.verdict == NOT_JUDGED:
        text = "This was not judged: a fault of the machine, and not yours. Please submit it again."
        return _text({"gradable": False, "format_errors": [text]})
    budget = PRAIRIELEARN_BYTES // 2 // (len(result.claims) + 1)
    if [claim.name for claim in result.claims] == ["compiles"]:
        text = _cut(result.claims[0].output, budget)
        return _text({"gradable": False, "format_errors": [f"It does not compile.\n{text}"]})
    tests = [
        {
            "name": f"{claim.number}  {claim.text}",
            "points": number(claim.points),
            "max_points": number(claim.worth),
            "message": _cut(claim.message, budget // 4),
            "output": _cut(claim.output, budget - budget // 4),
        }
        for claim in result.claims
    ]
    output = _cut(result.output, budget)
    return _text({"gradable": True, "score": result.share, "output": output, "tests": tests})


def classroom50(result: Result, identity: Mapping[str, str], now: str) -> str:
    """result.json of an autograder.py of Classroom 50. `identity` is the environment that its
    runner sets, `now` the time in UTC as 2026-01-31T23:59:59Z. Raises NoIdentity, NoScore.

    Points there are integers. Where claims have parts of a point, everything is in hundredths.

    https://github.com/foundation50/classroom50/blob/main/schemas/result-v1.schema.json
    """
    missing = [name for name in IDENTITY if not identity.get(name)]
    if missing:
        raise NoIdentity(f"{', '.join(missing)}: not set; the runner of Classroom 50 sets them")
    claims = result.judged().claims
    unit = 1 if any(claim.worth % 100 for claim in claims) else 100
    tests = [_classroom50_test(claim, unit) for claim in claims]
    return _text(
        {
            "schema": "classroom50/result/v1",
            "classroom": identity["CLASSROOM"],
            "assignment": identity["ASSIGNMENT"],
            "assignment_type": identity.get("ASSIGNMENT_TYPE") or "individual",
            "owner": identity.get("OWNER") or identity.get("USERNAME", ""),
            "submission": identity["SUBMISSION_TAG"],
            "commit": identity["COMMIT_URL"],
            "release": identity["RELEASE_URL"],
            "review": identity.get("REVIEW_URL") or identity["COMMIT_URL"],
            "datetime": now,
            "score": sum(test["score"] for test in tests),
            "max-score": sum(test["max-score"] for test in tests),
            "tests": tests,
        }
    )


def _classroom50_test(claim: Claim, unit: int) -> dict:
    return {
        "test-name": f"{claim.number}  {claim.text}".strip(),
        "passed": claim.verdict == PASSED,
        "score": claim.points // unit,
        "max-score": claim.worth // unit,
        "output": claim.output,
    }


def vpl(result: Result, highest: float = 100.0) -> str:
    """What vpl_execution prints for Moodle's Virtual Programming Lab: a comment, then the grade.

    A line of a comment that begins with "-" is a title, one with ">" is shown as it is. So no line
    of a failure can end the comment, or be a grade. Without a grade line Moodle proposes none.

    "Execution settings" in
    http://demovpl.dis.ulpgc.es/index.php/support, "How to configure the Moodle module"
    """
    lines = ["<|--", *(f">{line}" for line in result.output.splitlines())]
    for claim in result.claims:
        if claim.verdict != PASSED:
            lines.append(f"-{claim.verdict}  {claim.number}  {claim.text}")
            lines += [f">{line}" for line in claim.output.splitlines()]
    lines.append("--|>")
    if result.verdict != NOT_JUDGED:
        lines.append(f"Grade :=>> {round(result.share * highest, 2):g}")
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _cut(text: str, most: int) -> str:
    """The text in at most so many bytes of JSON; its beginning says what happened."""
    kept = json.dumps(text, ensure_ascii=False).encode()
    if len(kept) <= most:
        return text
    return text.encode()[: most // 2].decode(errors="ignore") + "\n(cut here)"
