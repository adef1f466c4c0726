"""The problem of a chapter, as a command that shows it: make demo

A demo uses real sockets, says what it does and prints what it sees. From chapter 02 on, it shows
what the server of the chapter before cannot do yet. The demo of chapter NN is show() in
harness/student/demos/chNN.py. Where a handout has parts, PARTS has a function for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from harness.feedback.failure import Failure, NotJudged
from harness.student.demos.shown import NotReady
from harness.submission import chapters, command_line
from harness.submission.target import WrongUsage, chapter_of, setting

OF_A_TARGET = ("DIR", "FROM", "SERVER", "PORT")  # variables that name one, for other commands


class NoDemo(Exception):
    """The chapter has no demo; the message names the file that is missing."""


def of(chapter: chapters.Chapter, part: str | None = None) -> Callable[[], None]:
    """The function that shows the problem of that chapter, or of that part of its handout. Raises
    NoDemo, WrongUsage."""
    if part is None:
        return _module(chapter).show
    parts = {str(number): show for number, show in enumerate(parts_of(chapter), 1)}
    if part not in parts:
        has = f"parts 1 to {len(parts)}" if parts else "no parts"
        raise WrongUsage(f"PART={part}: chapter {chapter.number} has {has}")
    return parts[part]


def parts_of(chapter: chapters.Chapter) -> Sequence[Callable[[], None]]:
    """A function for each part of the handout, none where it has no parts. Raises NoDemo."""
    return getattr(_module(chapter), "PARTS", ())


def _module(chapter: chapters.Chapter) -> ModuleType:
    name = f"harness.student.demos.ch{chapter.number}"
    if find_spec(name) is None:
        raise NoDemo(
            f"chapter {chapter.number} has no demo: harness/student/demos/ch{chapter.number}.py"
        )
    return import_module(name)


def main(arguments: list[str]) -> int:
    """Runs the demo of one chapter. Returns the exit status: 0, or 2 with the reason on stderr."""
    wrong = (NoDemo, NotReady, NotJudged)
    return command_line.run("demo", lambda: run(arguments), *wrong)


def run(arguments: list[str]) -> int:
    """Runs the demo that the arguments name. Returns the exit status."""
    for name in OF_A_TARGET:
        if setting(name):
            raise WrongUsage(f"{name}= has no effect on a demo, which chooses its own servers")
    show = of(chapter_of(arguments, "demo"), setting("PART"))
    try:
        show()
    except Failure as failure:
        raise NotReady(f"the server did something else: {failure.message}") from None
    return 0
