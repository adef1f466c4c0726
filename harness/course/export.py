"""Writes the last grade of a chapter in the format of another program; a class for Canvas.

The result of a grade, build/results/NN.json, has the format of a Gradescope autograder. Other
formats are made from it here: "csv" and "junit"; and scripts in docs/recipes make still others.
Exit status: 0 written, 2 not (wrong usage, or a claim was not judged and the format has no word for
that).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from harness.course import canvas
from harness.failures.printable import harmless
from harness.lab import chapters, command_line, files, sheets
from harness.lab.target import WrongUsage, as_typed, setting

NAMES = ("csv", "gradescope", "junit", "canvas")
RECIPES = ("autolab", "classroom50", "prairielearn", "vpl")  # in docs/recipes
PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
HEAD = ("chapter", "todo", "test", "claim", "verdict", "points", "of", "seconds", "hint", "message")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="export", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="which chapter")
    add("--format", metavar="NAME", default=setting("FORMAT"), help=", ".join(NAMES))
    add("--out", metavar="FILE", default=setting("OUT"), help="default: the terminal")
    add("--column", default=setting("COLUMN"), help="of canvas: the title of the assignment")
    add("--gradebook", metavar="FILE", default=setting("GRADEBOOK"), help="exported from Canvas")
    add("--results", metavar="FILE", type=Path, help="default: build/results/NN.json")
    add("--grades", metavar="DIR", type=Path, help="of canvas; default: build/class/NN")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("export", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Writes what the options name. Raises WrongUsage, UnknownChapter."""
    if not options.chapter:
        raise WrongUsage("which chapter? For instance: make export CH=03 FORMAT=junit")
    chapter = chapters.find(options.chapter)
    file = options.results or command_line.BUILD / "results" / f"{chapter.number}.json"
    if options.format in RECIPES:
        recipe = f"python3 docs/recipes/{options.format}.py {as_typed(file)}"
        raise WrongUsage(f"FORMAT={options.format} is a recipe: {recipe}")
    if options.format not in NAMES:
        given = f"FORMAT={options.format}: there is no such format" if options.format else ""
        raise WrongUsage(f"{given or 'which FORMAT='}; the formats are {', '.join(NAMES)}")
    if options.format == "canvas":
        filled = canvas.of_class(chapter, options.gradebook, options.column, options.grades)
        data, told = filled.data, filled.told()
    else:
        data, told = export(_load(file, chapter), options.format).encode(), []
    if options.out:
        files.write_out(Path(options.out).expanduser(), data)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    for line in told:
        print(line, file=sys.stderr)
    return 0


def _load(file: Path, chapter: chapters.Chapter) -> dict:
    """The object in the file. Raises WrongUsage unless it is a grade of this chapter."""
    try:
        found = json.loads(file.read_text())
        graded = read(found).chapter
    except FileNotFoundError:
        wrong = f"{as_typed(file)} is not there: `make grade CH={chapter.number}` writes it"
        raise WrongUsage(wrong) from None
    except (OSError, ValueError) as error:
        raise WrongUsage(f"{as_typed(file)} cannot be read: {error}") from None
    if graded != chapter.slug:
        raise WrongUsage(f"{as_typed(file)} is a grade of {graded}, and not of {chapter.slug}")
    return found


# The result of a grade


@dataclass(frozen=True)
class Claim:
    """One test of a grade. Texts have no control characters."""

    text: str
    number: str
    name: str
    verdict: str
    points: float
    worth: float
    output: str
    hint: str
    seconds: float

    @property
    def message(self) -> str:
        """What happened, in one line; "" if it passed."""
        return what_happened(self.output)


@dataclass(frozen=True)
class Result:
    """A grade. `worth`: what all claims together could give."""

    chapter: str
    verdict: str
    points: float
    worth: float
    output: str
    seconds: float
    claims: tuple[Claim, ...]


def read(result: dict) -> Result:
    """The grade in this object, as json.load() returns it. Raises ValueError."""
    try:
        claims, extra = tuple(map(_claim, result["tests"])), result["extra_data"]
        return Result(
            harmless(extra["chapter"]),
            _verdict(extra["verdict"]),
            float(result["score"]),
            round(sum(claim.worth for claim in claims), 2) or 100.0,
            harmless(result["output"]),
            float(result["execution_time"]),
            claims,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("it is not the result of a grade") from None


def _claim(test: dict) -> Claim:
    extra = test.get("extra_data", {})
    return Claim(
        harmless(test["name"]),
        harmless(test.get("number", "")),
        harmless(extra.get("test", "compiles")),
        _verdict(extra.get("verdict") or test["status"]),
        float(test["score"]),
        float(test["max_score"]),
        harmless(test["output"]),
        harmless(extra.get("hint", "")),
        float(extra.get("seconds", 0)),
    )


def _verdict(text: str) -> str:
    if text not in (PASSED, FAILED, NOT_JUDGED):
        raise ValueError(text)
    return text


def what_happened(output: str) -> str:
    """The message within the text of a failure: the indented lines below its title."""
    lines = output.splitlines()
    if "  what happened" not in lines:
        return " ".join(output.split()).replace("not judged: ", "", 1)
    rows = []
    for line in lines[lines.index("  what happened") + 1 :]:
        if not line.startswith("     "):
            break
        rows.append(line.strip())
    return " ".join(rows)


# The formats


def export(result: dict, name: str) -> str:
    """The grade in the format of this name, but "canvas": the text of a file. Raises ValueError if
    it is no grade; WrongUsage if the format has no word for a test that was not judged."""
    found = read(result)
    if name != "gradescope":
        return {"csv": table, "junit": junit}[name](found)
    if found.verdict == NOT_JUDGED:
        raise WrongUsage("claims were not judged, so there is no score: grade it again")
    return json.dumps(result, indent=2) + "\n"


def table(result: Result) -> str:
    """A row for each claim, as RFC 4180 describes CSV. One that was not judged has no points."""
    rows: list[tuple[object, ...]] = [HEAD]
    for one in result.claims:
        points = "" if one.verdict == NOT_JUDGED else f"{one.points:g}"
        row = (result.chapter, one.number, one.name, one.text, one.verdict, points)
        rows.append((*row, f"{one.worth:g}", one.seconds, one.hint, one.message))
    return sheets.write(rows, sheets.RFC_4180)


def junit(result: Result) -> str:
    """JUnit XML, which most continuous integration shows as a list of tests: a claim that was not
    judged is an <error>, one that failed a <failure>.

    The elements and attributes are those of junit-10.xsd in Jenkins' xUnit plugin:
    https://github.com/jenkinsci/xunit-plugin
    """
    verdicts = [claim.verdict for claim in result.claims] or [NOT_JUDGED]
    counts = {"tests": len(verdicts), "failures": verdicts.count(FAILED)}
    counts |= {"errors": verdicts.count(NOT_JUDGED)}
    about = {"time": f"{result.seconds:.2f}", **{name: str(n) for name, n in counts.items()}}
    top = ElementTree.Element("testsuites", name="Event Loop Lab", **about)
    suite = ElementTree.SubElement(top, "testsuite", name=result.chapter, skipped="0", **about)
    properties = ElementTree.SubElement(suite, "properties")
    values = {"verdict": result.verdict, "points": f"{result.points:g}", "of": f"{result.worth:g}"}
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    # A grade that could not run any test is one error, so that it is not shown as a success.
    nothing = ("The grade runs.", "", "grade", NOT_JUDGED, 0, 0, result.output, "", 0)
    for claim in result.claims or (Claim(*nothing),):
        how = {"classname": f"{claim.number} {claim.name}".strip(), "time": f"{claim.seconds:.2f}"}
        case = ElementTree.SubElement(suite, "testcase", name=claim.text, **how)
        if claim.verdict != PASSED:
            how = {"type": claim.hint or claim.verdict, "message": claim.message}
            element = "failure" if claim.verdict == FAILED else "error"
            ElementTree.SubElement(case, element, **how).text = claim.output
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"
