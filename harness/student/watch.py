"""make watch: grades a chapter again whenever a file of it is saved; what failed comes first.

In a terminal it keeps one screen, which says what the last save has fixed or broken. Ctrl-C ends
it, with exit status 0.
"""

from __future__ import annotations

import argparse
import select
import shutil
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from harness.feedback.failure import NotJudged
from harness.grade import errors, judge, report, terminal
from harness.grade.request import asked, parse
from harness.grade.scoring import FAILED, PASSED, Grade, Outcome, number_text
from harness.submission import chapters, command_line, sources
from harness.submission.target import WrongUsage, resolve

LOOK_SECONDS = 0.2  # between two checks of the files
CALM_SECONDS = 0.1  # an editor may save several files, or one in several steps
MOST = 6  # claims that are listed as fixed or as broken
HOME, REST, CLEAR = "\033[H", "\033[K", "\033[J"

Stamp = dict[str, tuple[int, int]]  # of a directory's C files: when each was changed, and its size


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("watch", lambda: run(options), NotJudged, stopped=0)


def run(options: argparse.Namespace) -> NoReturn:
    """Grades and waits for the next save, until somebody interrupts it."""
    if options.chapter is None:
        raise WrongUsage("which chapter? For instance CH=02")
    target = resolve(chapters.find(options.chapter), options.origin, options.dir, options.server)
    if target.source is None:
        raise WrongUsage("SERVER= has no source files to watch; give DIR=")
    request = asked(options)
    before: Grade | None = None
    while True:
        graded = stamp(target.source)
        first = _failed(before) if before else ()
        try:
            found = judge.grade_target(
                target,
                replace(request, first=first, stop=lambda: stamp(target.source) != graded),
            )
        except judge.Interrupted:
            continue
        told = ["", *errors.lines(found)] if options.errors else []
        show(screen(found, before, terminal.look(options.verbose)) + told)
        before = found if found.built else before
        wait_for_a_save(target.source, graded)


def stamp(directory: Path) -> Stamp:
    """A value that changes when a C file is saved, made or removed."""
    found = {}
    for path in sources.files(directory):
        try:
            about = path.stat()
        except OSError:  # removed a moment ago
            continue
        found[sources.name_of(path, directory)] = (about.st_mtime_ns, about.st_size)
    return found


def wait_for_a_save(directory: Path, before: Stamp) -> None:
    """Returns once the files have changed and nothing more is being written.

    Raises BrokenPipeError when nobody can read our output any more.
    """
    while (now := stamp(directory)) == before or not now:
        if nobody_looks():
            raise BrokenPipeError
        time.sleep(LOOK_SECONDS)
    while True:
        time.sleep(CALM_SECONDS)
        if (later := stamp(directory)) == now:
            return
        now = later


def nobody_looks() -> bool:
    """The terminal or the reader of our output is gone. SIGHUP does not always come."""
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)  # errors and hang-ups are always reported
    return bool(poller.poll(0))


def screen(found: Grade, before: Grade | None, look: report.Look) -> list[str]:
    """What is shown after a grade: the points, what has changed, and one failure in full."""
    lines = [_headline(found, look), ""]
    if not found.built:
        return [*lines, "the last save does not compile", "", *report.marked(found.problem)]
    fixed, broken = _changes(found, before)
    for verdict, word, outcomes in ((FAILED, "broken", broken), (PASSED, "fixed", fixed)):
        lines += [look.paint(f"  {word:8}", verdict) + _short(o, look) for o in outcomes[:MOST]]
        more = len(outcomes) - MOST
        lines += [f"  {word:8}and {more} more"] if more > 0 else []
    if before and not fixed and not broken:
        lines.append("  the last save fixed nothing and broke nothing")
    others = [o for o in report.own_first(found, FAILED) if not o.claim.explains]
    failed = broken + [outcome for outcome in others if outcome not in broken]
    lines += [""] if lines[-1] else []
    if not failed:
        return [*lines, *report.not_judged(found, look), *_next_step(found)]
    lines += report.failure(found, failed[0], look)
    rest = [f"  {_short(outcome, look)}" for outcome in failed[1:]]
    return [*lines, "", f"{len(rest)} more fail:", *rest] if rest else lines


def _next_step(found: Grade) -> list[str]:
    """The next step. Saves do not change what is selected, so another TODO needs another
    command."""
    if not found.selected or found.verdict != PASSED:
        return report.next_step(found)
    watching = replace(found, again=found.again.replace("make grade", "Ctrl-C, then make watch", 1))
    return [f"T={found.selected} passes, and nothing else is watched", *report.next_step(watching)]


def _headline(found: Grade, look: report.Look) -> str:
    bar = report.progress_bar(found.score / (found.out_of or 1), look)
    points = f"{number_text(found.score)} of {number_text(found.out_of)}"
    clock = time.strftime("%H:%M:%S")
    return f"{found.chapter.slug}   {bar} {points}   {clock}, {found.seconds:.1f} s"


def _changes(found: Grade, before: Grade | None) -> tuple[list[Outcome], list[Outcome]]:
    """The outcomes that failed before and pass now, and the other way round."""
    if before is None:
        return [], []
    was = {outcome.claim.name: outcome.verdict for outcome in before.outcomes}
    fixed, broken = [], []
    for outcome in found.outcomes:
        change = (was.get(outcome.claim.name), outcome.verdict)
        fixed += [outcome] if change == (FAILED, PASSED) else []
        broken += [outcome] if change == (PASSED, FAILED) else []
    return fixed, broken


def _short(outcome: Outcome, look: report.Look) -> str:
    """The claim, short enough for one row after its verdict."""
    return textwrap.shorten(f"{outcome.claim.number} {outcome.claim.text}", look.width - 12)


def _failed(found: Grade) -> set[str]:
    return {outcome.claim.name for outcome in found.outcomes if outcome.verdict == FAILED}


def show(lines: list[str]) -> None:
    """Prints them: in a terminal over what stood there, and no more than fit."""
    last = "watching; Ctrl-C ends"
    if not command_line.knows_escapes(sys.stdout):
        print("\n".join([*lines, "", last, ""]), flush=True)
        return
    columns, rows = shutil.get_terminal_size()
    fit = lines if len(lines) <= rows - 2 else [*lines[: rows - 3], "..."]
    text = "".join(f"{line}{REST}\n" for line in fit)
    print(f"{HOME}{text}{CLEAR}\n{last[:columns]}", end="", flush=True)
