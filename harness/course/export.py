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
from pathlib import Path
from xml.etree import ElementTree

from harness.course import canvas
from harness.feedback.printable import harmless
from harness.submission import chapters, command_line, files, sheets
from harness.submission.target import WrongUsage, as_typed, setting

NAMES = ("csv", "gradescope", "junit", "canvas")
RECIPES = ("autolab", "classroom50", "prairielearn", "vpl")  # in docs/recipes
PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
# A grade that could not run any test is one error, so that it is not shown as a success.
NOTHING = {"name": "The grade runs.", "status": NOT_JUDGED, "score": 0, "max_score": 0}
NOTHING |= {"extra_data": {"test": "grade"}}
NEEDED = ("score", "output", "execution_time", "extra_data")  # in results.json, besides the tests
HEAD = ("chapter", "todo", "test", "claim", "verdict", "points", "of", "costs")
HEAD += ("seconds", "hint", "message")


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
    add("--scores", metavar="FILE", type=Path, help="default: build/class/NN/SUB/scores.csv")
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
        filled = canvas.of_class(chapter, options.gradebook, options.column, options.scores)
        data, told = filled.data, filled.told
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
        rows(found)
    except FileNotFoundError:
        wrong = f"{as_typed(file)} is not there: `make grade CH={chapter.number}` writes it"
        raise WrongUsage(wrong) from None
    except (OSError, ValueError) as error:
        raise WrongUsage(f"{as_typed(file)} cannot be read: {error}") from None
    graded = harmless(found["extra_data"]["chapter"])
    if graded != chapter.slug:
        raise WrongUsage(f"{as_typed(file)} is a grade of {graded}, and not of {chapter.slug}")
    return found


# The formats


def rows(result: dict) -> list[dict[str, str]]:
    """A row for each claim of a grade, without control characters; `output` is its whole text. A
    claim that was not judged has no points. Raises ValueError."""
    try:
        _, _, _, about = (result[name] for name in NEEDED)
        about["verdict"]
        return [_row(harmless(about["chapter"]), test) for test in result["tests"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("it is not the result of a grade") from None


def _row(chapter: str, test: dict) -> dict[str, str]:
    extra = test.get("extra_data", {})
    verdict, output = extra.get("verdict") or test["status"], harmless(test["output"])
    return {
        "chapter": chapter,
        "todo": harmless(test.get("number", "")),
        "test": harmless(extra.get("test", "compiles")),
        "claim": harmless(test["name"]),
        "verdict": harmless(verdict),
        "points": "" if verdict == NOT_JUDGED else f"{test['score']:g}",
        "of": f"{test['max_score']:g}",
        "costs": f"{extra.get('costs', 0):g}",
        "seconds": f"{extra.get('seconds', 0):.2f}",
        "hint": harmless(extra.get("hint", "")),
        "message": what_happened(output),
        "output": output,
    }


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


def export(result: dict, name: str) -> str:
    """The grade in the format of this name, but "canvas": the text of a file. Raises ValueError if
    it is no grade; WrongUsage if the format has no word for a test that was not judged."""
    rows(result)
    if name != "gradescope":
        return {"csv": table, "junit": junit}[name](result)
    if result["extra_data"]["verdict"] == NOT_JUDGED:
        raise WrongUsage("claims were not judged, so there is no score: grade it again")
    return json.dumps(result, indent=2) + "\n"


def table(result: dict) -> str:
    """A row for each claim, as RFC 4180 describes CSV."""
    found = [[row[title] for title in HEAD] for row in rows(result)]
    return sheets.write([HEAD, *found], sheets.RFC_4180)


def junit(result: dict) -> str:
    """JUnit XML, which most continuous integration shows as a list of tests: a claim that was not
    judged is an <error>, one that failed a <failure>.

    The elements and attributes are those of junit-10.xsd in Jenkins' xUnit plugin:
    https://github.com/jenkinsci/xunit-plugin
    """
    found = rows(result) or [_row("", {**NOTHING, "output": result["output"]})]
    verdicts = [row["verdict"] for row in found]
    about = {
        "time": f"{result['execution_time']:.2f}",
        "tests": str(len(found)),
        "failures": str(verdicts.count(FAILED)),
        "errors": str(verdicts.count(NOT_JUDGED)),
    }
    top = ElementTree.Element("testsuites", name="Event Loop Lab", **about)
    chapter, verdict = (harmless(result["extra_data"][name]) for name in ("chapter", "verdict"))
    suite = ElementTree.SubElement(top, "testsuite", name=chapter, skipped="0", **about)
    properties = ElementTree.SubElement(suite, "properties")
    worth = f"{sum(test['max_score'] for test in result['tests']) or 100:g}"
    points = f"{result['score']:g}"
    for name, value in {"verdict": verdict, "points": points, "of": worth}.items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for row in found:
        how = {"classname": f"{row['todo']} {row['test']}".strip(), "time": row["seconds"]}
        case = ElementTree.SubElement(suite, "testcase", name=row["claim"], **how)
        if row["verdict"] != PASSED:
            how = {"type": row["hint"] or row["verdict"], "message": row["message"]}
            element = "failure" if row["verdict"] == FAILED else "error"
            ElementTree.SubElement(case, element, **how).text = row["output"]
    ElementTree.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"
