"""The problem that a chapter is about, as a command that shows it: make demo

A demo uses real sockets, says what it does and prints what it sees. From chapter 02 on, it shows
what the server of the chapter before cannot do yet. The demo of chapter NN is show_NN(); where a
handout has parts, show_NN_part_1() and its like are the demos of these.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.feedback.failure import Failure, NotJudged
from harness.student.demos import ch01_to_05, ch06_to_08, ch09_to_12
from harness.student.demos.shown import NotReady
from harness.submission import chapters, command_line
from harness.submission.target import WrongUsage, chapter_of, setting

DEMOS = {**vars(ch01_to_05), **vars(ch06_to_08), **vars(ch09_to_12)}  # show_NN(), by name
OF_A_TARGET = ("DIR", "FROM", "SERVER", "PORT")  # variables that name one, for other commands


def of(chapter: chapters.Chapter, part: str | None = None) -> Callable[[], None]:
    """The function that shows the problem of that chapter, or of that part of its handout. Raises
    WrongUsage."""
    name = f"show_{chapter.number}"
    if name not in DEMOS:
        raise WrongUsage(f"chapter {chapter.number} has no demo: add {name}() in student/demos")
    wanted = f"{name}_part_{part}" if part else name
    if wanted not in DEMOS:
        parts = sum(one.startswith(f"{name}_part") for one in DEMOS)
        has = f"parts 1 to {parts}" if parts else "no parts"
        raise WrongUsage(f"PART={part}: chapter {chapter.number} has {has}")
    return DEMOS[wanted]


def main(arguments: list[str]) -> int:
    """Runs the demo of one chapter. Returns the exit status: 0, or 2 with the reason on stderr."""
    return command_line.run("demo", lambda: run(arguments), NotReady, NotJudged)


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
