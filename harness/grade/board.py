"""The board: a line for each chapter from its last result. Chapters that have changed since are
graded, and no others."""

from __future__ import annotations

import argparse
import json
import textwrap
import time
from dataclasses import dataclass
from fractions import Fraction

from harness.grade import scoring, terminal
from harness.grade.judge import grade_target
from harness.grade.request import RESULTS, Request
from harness.grade.scoring import number_text
from harness.submission import chapters, seed, todos
from harness.submission.target import WrongUsage, resolve

BAR = 10  # columns
CHANGED, NEVER, NOT_BEGUN = "changed since", "not graded yet", "not begun"
HEAD = f"  {'chapter':<15} {'':{BAR}} {'points':>6}  {'graded':<12}  next"


@dataclass
class Line:
    """A chapter on the board. `score` and `when`, in seconds since 1970, are those of its last
    result, None if there is none. `verdict` is "" where the result is none of these files."""

    chapter: chapters.Chapter
    verdict: str = ""
    score: Fraction | None = None
    when: float | None = None
    next: str = ""

    def text(self, width: int) -> str:
        """The line in so many columns."""
        points = "" if self.score is None else number_text(self.score)
        full = int((self.score or 0) * BAR / 100)
        when = "" if self.when is None else time.strftime("%d %b %H:%M", time.localtime(self.when))
        begin = f"  {self.chapter.slug:<15} {'#' * full:.<{BAR}} {points:>6}  {when:<12}  "
        room = max(width - len(begin), len("changed since"))
        return (begin + textwrap.shorten(self.next, room, placeholder="...")).rstrip()


def show(options: argparse.Namespace, request: Request) -> int:
    """Prints the board, and grades what has changed. Returns the exit status for all chapters."""
    names = ("dir", "server", "port", "only", "results", "errors")
    given = [name for name in names if getattr(options, name)]
    if given or options.memcheck:
        what = "memcheck" if options.memcheck else {"only": "T"}.get(given[0], given[0].upper())
        raise WrongUsage(f"{what} needs a chapter as well, for instance CH=01")
    chosen = _on_the_board(options.origin)
    lines = [last(chapter, options.origin) for chapter in chosen]
    width = terminal.look(False).width
    print("Event Loop Lab", "", HEAD, *(line.text(width) for line in lines), sep="\n", flush=True)
    for place, line in enumerate(lines):
        if line.next in (CHANGED, NEVER):
            print(f"\ngrading {line.chapter.slug}: {line.next}", flush=True)
            grade_target(resolve(line.chapter, options.origin), request)
            lines[place] = last(line.chapter, options.origin)
            print(lines[place].text(width), flush=True)
    print("", *end(lines, options.origin), sep="\n")
    verdicts = {line.verdict for line in lines}
    if scoring.NOT_JUDGED in verdicts:
        return 2
    return 0 if verdicts == {scoring.PASSED} else 1


def last(chapter: chapters.Chapter, origin: str | None) -> Line:
    """What is known of a chapter without grading it."""
    line = Line(chapter)
    try:
        target = resolve(chapter, origin)
    except WrongUsage as error:
        return Line(chapter, scoring.NOT_JUDGED, next=str(error))
    if todos.is_untouched(chapter, target.source):
        return Line(chapter, next=NOT_BEGUN)
    file = RESULTS / f"{chapter.number}.json"
    try:
        found = json.loads(file.read_text())
        about = found["extra_data"]
        if about["subject"] == target.subject:
            line.score = Fraction(found["score"]).limit_denominator(100)
            line.when = file.stat().st_mtime
            line.verdict = about["verdict"]
            line.next = about["next"] or line.verdict.replace(scoring.PASSED, "")
        if line.score is None or about["seed"] != seed.of_files(target.source):
            line.verdict, line.next = "", NEVER if line.score is None else CHANGED
    except (OSError, ValueError, KeyError, TypeError):
        line.next = NEVER
    return line


def end(lines: list[Line], origin: str | None = None) -> list[str]:
    """All points, and what is next: the first chapter without full points."""
    score = sum((line.score or Fraction(0) for line in lines), Fraction(0))
    total = f"  {number_text(score)} of {100 * len(lines)} points"
    first = next((line for line in lines if line.verdict != scoring.PASSED), None)
    if first is None:
        return [total, "  make grade CH=NN shows one of them in full"]
    if first.next == NOT_BEGUN:
        return [total, f"  next: chapters/{first.chapter.slug}/README.md"]
    words = f" FROM={origin}" if origin else ""
    return [total, f"  next: make grade CH={first.chapter.number}{words}"]


def _on_the_board(origin: str | None) -> list[chapters.Chapter]:
    """All chapters, or those up to the last one that is here: a handout can end there."""
    here = [chapter.chapter_dir.exists() for chapter in chapters.CHAPTERS]
    if origin not in (None, "chapters") or not any(here):
        return list(chapters.CHAPTERS)
    return list(chapters.CHAPTERS[: len(here) - here[::-1].index(True)])
