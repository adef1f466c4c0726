"""The problem of a chapter, as a command that shows it: make demo

A demo uses real sockets, says what it does and prints what it sees. From chapter 02 on, it shows
what the server of the chapter before cannot do yet. The demo of chapter NN is show() in
harness/student/demos/chNN.py.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from harness.failures.failure import Failure, NotJudged
from harness.lab import chapters, command_line
from harness.lab.target import chapter_of
from harness.student.demos.shown import NotReady


class NoDemo(Exception):
    """The chapter has no demo; the message names the file that is missing."""


def of(chapter: chapters.Chapter) -> Callable[[], None]:
    """The function that shows the problem of that chapter. Raises NoDemo."""
    name = f"harness.student.demos.ch{chapter.number}"
    if find_spec(name) is None:
        raise NoDemo(
            f"chapter {chapter.number} has no demo: harness/student/demos/ch{chapter.number}.py"
        )
    return import_module(name).show


def main(arguments: list[str]) -> int:
    """Runs the demo of one chapter. Returns the exit status: 0, or 2 with the reason on stderr."""
    wrong = (NoDemo, NotReady, NotJudged)
    return command_line.run("demo", lambda: run(arguments), *wrong)


def run(arguments: list[str]) -> int:
    """Runs the demo that the arguments name. Returns the exit status."""
    show = of(chapter_of(arguments, "demo"))
    try:
        show()
    except Failure as failure:
        raise NotReady(f"the server did something else: {failure.message}") from None
    return 0
