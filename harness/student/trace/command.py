"""make trace: runs one test and shows what the clients and the server did, call by call.

Exit status: that of a grade; 0 the test passed, 1 it failed, 2 not judged or wrong usage.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.feedback.failure import NotJudged
from harness.grade import report, terminal
from harness.grade.judge import grade_target
from harness.grade.request import asked, one_test, parse
from harness.grade.scoring import FAILED, Grade
from harness.student import replay
from harness.student.trace import page, rows, timeline
from harness.submission import command_line
from harness.submission.chapters import ROOT
from harness.submission.target import WrongUsage, as_typed, named

PAGES = ROOT / "build" / "trace"
NO_SERVER = (
    "This test has no server, and so no timeline: a program of the grader calls the module",
    "by itself (harness/modules). A debugger shows what happens in it:",
)


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("trace", lambda: run(options), NotJudged)


def run(options) -> int:
    """Runs the test that the options name, prints its timeline and writes its page."""
    if options.id:
        options = replay.of_id(options)
    if options.chapter is None or not options.only:
        raise WrongUsage("which test? For instance CH=03 T=03_idle_clients_use_no_cpu")
    target, request = named(options), asked(options)
    claim = one_test(request, target.chapter)
    look = terminal.look(options.verbose)
    with tempfile.TemporaryDirectory(prefix="lab-trace-") as scratch:
        record = Path(scratch) / "seen.json"
        found = grade_target(target, replace(request, only=claim.name, trace=record))
        seen = timeline.load(record) if record.exists() else None
    if claim.module and found.built:
        _, (_, command) = report.commands(found, found.outcomes[0].claim.name, module=True)
        print("\n".join([*_said(found, look), "", *NO_SERVER, f"  {command}"]))
        return found.status
    if seen is None:  # it does not compile, or no server was started
        print(report.chapter(found, look))
        return found.status
    most = sys.maxsize if options.verbose else rows.MOST_ROWS
    width = look.width if sys.stdout.isatty() else rows.WIDTH
    print("\n".join([*_said(found, look), "", rows.render(seen, width, most), ""]))
    print(f"picture: {_save(found, seen, options.results)}")
    return found.status


def _said(found: Grade, look: report.Look) -> list[str]:
    """What the grader says of the test."""
    outcome = found.outcomes[0]
    if outcome.verdict == FAILED:
        return report.failure(found, outcome, look)
    line = f"{outcome.claim.number}  {outcome.claim.text}"
    lines = [f"{look.paint(outcome.verdict, outcome.verdict)}  {line}"]
    return [*lines, *report.not_judged(found, look)]


def _save(found: Grade, seen: timeline.Timeline, results: Path | None) -> str:
    """Writes the page, beside the results if they have a place; its path as one would type it."""
    outcome = found.outcomes[0]
    name = outcome.claim.name.removeprefix("test_")
    path = PAGES / f"{found.chapter.number}-{name}.html"
    path = results.with_suffix(".html") if results else path
    path.parent.mkdir(parents=True, exist_ok=True)
    said = "\n".join(_said(found, report.PLAIN))
    path.write_text(page.render(f"{found.subject}: {name}", outcome.verdict, said, seen))
    return as_typed(path)
