"""What is to be graded, run or shown: the make variables CH, FROM, DIR, SERVER and PORT.

The Makefile passes its variables as LAB_CH, LAB_FROM, ...: as environment variables, because these
need no quoting, and under these names, so that a user's own variable DIR has no effect.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.submission import chapters, links, sources

WITH_PORT = "SERVER='./server -p {port}'"
FIXED_PORT = "SERVER=./server PORT=1234"
MOST_DIGITS = 18  # of a whole number


class WrongUsage(Exception):
    """The command makes no sense. The message is one line: what is wrong, what to do."""


@dataclass(frozen=True)
class Target:
    """One server. Either `source`, a directory of C, or `command` with the `port` it has, if fixed.

    `words` are the make variables that name it, `subject` is its name for the reader.
    """

    chapter: chapters.Chapter
    subject: str
    words: str
    source: Path | None = None
    command: tuple[str, ...] = ()
    port: int | None = None


def quoted(text: str) -> str:
    """The text as one word of a shell command, with as few quotes as possible."""
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'
    return shlex.quote(text)


def as_typed(path: Path) -> str:
    """The path as one would type it from the lab's directory."""
    path = path.resolve()
    return str(path.relative_to(chapters.ROOT)) if path.is_relative_to(chapters.ROOT) else str(path)


def is_whole(text: str) -> bool:
    """Returns true if it is a whole number in digits that int() takes; str.isdigit() also takes
    others."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def setting(name: str) -> str | None:
    """The make variable, None when it was not given on make's command line."""
    return os.environ.get(f"LAB_{name}") or None


def chapter_of(words: list[str], command: str) -> chapters.Chapter:
    """The chapter that the words or CH= name, for `make COMMAND`. Raises WrongUsage,
    UnknownChapter."""
    text = words[0] if len(words) == 1 else setting("CH")
    if not text:
        raise WrongUsage(f"which chapter? For instance: make {command} CH=03")
    return chapters.find(text)


def add_options(parser: argparse.ArgumentParser, chapter: str, tree: str = "or solutions") -> None:
    """Adds the options that name a target; their defaults are the Makefile's variables. `chapter`,
    `tree`: the help texts of those two.
    """
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help=chapter)
    add("--from", dest="origin", metavar="TREE", default=setting("FROM"), help=tree)
    add("--dir", metavar="PATH", default=setting("DIR"), help="a directory of C instead")
    add("--server", metavar="CMD", default=setting("SERVER"), help="a command with {port} instead")
    add("--port", metavar="N", default=setting("PORT"), help="the port CMD listens on, if fixed")


def named(options: argparse.Namespace) -> Target:
    """The target of the options of add_options(). Raises WrongUsage, UnknownChapter."""
    return resolve(
        chapters.find(options.chapter), options.origin, options.dir, options.server, options.port
    )


def resolve(
    chapter: chapters.Chapter,
    origin: str | None = None,
    directory: str | None = None,
    server: str | None = None,
    port: str | None = None,
) -> Target:
    """The target that the variables name. Raises WrongUsage."""
    given = [n for n, v in (("FROM", origin), ("DIR", directory), ("SERVER", server)) if v]
    if len(given) > 1:
        raise WrongUsage(f"{' and '.join(given)} exclude each other: give one of them")
    if port and not server:
        raise WrongUsage(f"PORT goes with SERVER: {FIXED_PORT}")
    words = f"CH={chapter.number}"
    if server:
        return _server(chapter, server, port, words)
    if directory:
        source = Path(directory).expanduser()
        words += f" DIR={quoted(directory)}"
        return Target(chapter, directory, words, source=_sources(source, f"DIR={directory}"))
    return _of_the_lab(chapter, origin or "chapters", words)


def _of_the_lab(chapter: chapters.Chapter, origin: str, words: str) -> Target:
    if origin not in ("chapters", "solutions"):
        raise WrongUsage(f"FROM={origin}: it can be chapters or solutions")
    source = chapter.chapter_dir if origin == "chapters" else chapter.solution_dir
    subject = f"{origin}/{chapter.slug}"
    if not source.is_dir() and origin == "solutions":
        raise WrongUsage(f"{subject} is not here: this copy of the lab came without solutions")
    if not source.exists():
        raise WrongUsage(f"{subject} is not here; a handout can come without later chapters")
    if origin == "solutions":
        problem = links.lost(chapter)
        if problem:
            raise WrongUsage(problem)
        words += " FROM=solutions"
    return Target(chapter, subject, words, source=_sources(source, subject))


def _sources(source: Path, said: str) -> Path:
    if not source.exists():
        raise WrongUsage(f"{said}: this directory does not exist")
    if not source.is_dir():
        raise WrongUsage(f"{said} is not a directory; give the one that holds the .c files")
    if not sources.c_files(source):
        raise WrongUsage(f"{said}: there are no .c files in it")
    return source


def _server(chapter: chapters.Chapter, server: str, port: str | None, words: str) -> Target:
    number = port_number(port) if port else None
    if number is None and "{port}" not in server:
        raise WrongUsage(f"which port does it listen on? {WITH_PORT}, or {FIXED_PORT}")
    try:
        command = shlex.split(server)
    except ValueError as error:
        raise WrongUsage(f"SERVER={server}: {error}".lower()) from None
    if not command or not shutil.which(command[0]):
        raise WrongUsage(f"SERVER={server}: there is no such command as {server.split()[0]!r}")
    words += f" SERVER={quoted(server)}" + (f" PORT={number}" if number else "")
    if number:
        command = [word.replace("{port}", str(number)) for word in command]
    return Target(chapter, f"SERVER={server}", words, command=tuple(command), port=number)


def port_number(text: str) -> int:
    """What PORT= means. Raises WrongUsage."""
    if not is_whole(text) or not 0 < int(text) < 65536:
        raise WrongUsage(f"PORT={text}: a port is a number from 1 to 65535")
    return int(text)
