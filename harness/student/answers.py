"""make answers: the answers to the questions of a handout, once its grade is full.

Exit status: 0 they are shown, 1 the chapter is not finished, 2 there are none or wrong usage.
"""

from __future__ import annotations

import argparse

from harness.grade import results
from harness.submission import answers, chapters, command_line
from harness.submission.target import WrongUsage, as_typed, setting


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="answers", description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", metavar="NN", default=setting("CH"))
    options = parser.parse_args(arguments)
    return command_line.run("answers", lambda: run(options.chapter))


def run(number: str | None) -> int:
    if number is None:
        raise WrongUsage("name the chapter, for instance make answers CH=01")
    chapter = chapters.find(number)
    try:
        text = answers.of(chapter)
    except ValueError as error:
        file = answers.PACKED.format(chapter.number)
        raise WrongUsage(f"{file} is damaged ({error}); unpack the handout again") from None
    if text is None:
        raise WrongUsage("this copy of the lab came without answers; ask who gave it to you")
    if (results.last_score(chapter, chapter.chapter_dir) or 0) < 100:
        own = as_typed(chapter.chapter_dir)
        print(
            f"The answers of chapter {chapter.number} are shown once {own} has 100 points,\n"
            f"as it is now. Grade it first: make grade CH={chapter.number}"
        )
        return 1
    print(text)
    return 0
