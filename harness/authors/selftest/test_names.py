"""Every function that a handout names is there: in the chapter's sources, or in the C library.

Two kinds of names are looked at: `name()` anywhere in the text, and the names in the heading of a
TODO, as in "### TODO 2: `frame_run` in `frame.c`". A name in a heading has to be a function of the
file in the heading.

If this fails, correct the name in the handout: write the function that is there, or leave out the
parentheses of what is no function. A name that is right although it is in neither place (another
language) goes into ELSEWHERE, with the reason; one of another chapter goes into COMPARED.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache

import pytest

from harness.lab import sources
from harness.lab.chapters import CHAPTERS, Chapter, find

CALLED = re.compile(r"`(\w+)\(\)`")
HEADING = re.compile(r"^### TODO (\d+): (.*)$", re.M)
SPAN = re.compile(r"`([\w./-]+)`")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINED = re.compile(r"^\w[\w *]*?\b(\w+)\([^;{]*\)\n\{", re.M)
USED = re.compile(r"\b([A-Za-z_]\w*)\(")

ELSEWHERE = {
    "erase": "of a C++ vector",
    "ckd_add": "of C23",
    "count": "of docs/toys/switch.c",
    "doPendingFunctors": "of muduo",
    "readn": 'of a book in "Read on"',
    "writen": "of the same book",
    "io_uring_enter": "a system call that liburing makes",
    "readQueryFromClient": "of Redis",
    "writeToClient": "of Redis",
}
# Functions of another chapter that the text compares with: the handout, and where they are.
COMPARED = {
    "02": {"01": {"io_read_full"}},
    "03": {"02": {"conn_step"}},
    "10": {
        "01": {"serve_frame"},
        "09": {
            *("advance", "answer_owed", "flush", "read_once", "settle", "wait_for_peer"),
            *("events_again", "flow_begin_turn", "on_closing_time"),
            *("on_frame_timeout", "on_idle", "on_ready", "set_interest", "turn"),
        },
    },
}


@cache
def code(chapter: Chapter) -> dict[str, str]:
    """The chapter's C by name, without comments: the skeleton's, then the solution's."""
    found: dict[str, str] = {}
    for directory in (chapter.chapter_dir, chapter.solution_dir):
        for path in sources.files(directory) if directory.is_dir() else ():
            name = sources.name_of(path, directory)
            found[name] = found.get(name, "") + COMMENT.sub("", path.read_text())
    return found


def functions(chapter: Chapter) -> set[str]:
    """The names that its code defines or calls."""
    return set(USED.findall("\n".join(code(chapter).values())))


def in_the_library(name: str) -> bool:
    """A function of the C library, a system call or something that the compiler knows."""
    return name.startswith("__builtin_") or hasattr(ctypes.CDLL(None), name)


def unknown(chapter: Chapter, text: str) -> set[str]:
    """The names in `text` that are no functions."""
    there = functions(chapter) | ELSEWHERE.keys()
    for number, names in COMPARED.get(chapter.number, {}).items():
        there |= names & functions(find(number))
    return {name for name in CALLED.findall(text) if name not in there and not in_the_library(name)}


def unknown_in_headings(chapter: Chapter, text: str) -> set[str]:
    """The names in headings of TODOs that are no functions of the files there."""
    found: set[str] = set()
    for _, heading in HEADING.findall(text):
        names = SPAN.findall(heading)
        files = [name for name in names if "." in name]
        there = {
            name for file in files for name in DEFINED.findall(code(chapter).get(file, "") + "\n")
        }
        found |= {name for name in names if "." not in name and name not in there}
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_functions_that_a_handout_names_exist(chapter):
    text = (chapter.chapter_dir / "README.md").read_text()
    found = unknown(chapter, text) | unknown_in_headings(chapter, text)
    wrong = sorted(found)
    where = f"chapters/{chapter.slug}/README.md"
    assert (
        not wrong
    ), f"{where}: {', '.join(wrong)}: no such function in this chapter; see {__file__}"


def test_a_name_that_is_wrong_is_found():
    chapter = CHAPTERS[0]
    assert unknown(chapter, "`log_line()`, `malloc()`, `erase()` and `log_lines()`") == {
        "log_lines"
    }
    headings = "### TODO 3: `log_line` in `log.c`\n### TODO 4: `die` in `net.c`\n"
    assert unknown_in_headings(chapter, headings) == {"die"}
