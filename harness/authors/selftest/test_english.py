"""The habits of english.py: each finds its example, and leaves plain English alone."""

from __future__ import annotations

import pytest

from harness.authors.english import (
    BEGINNINGS,
    HABITS,
    docstrings,
    files,
    flat,
    of_c,
    of_markdown,
    of_patches,
    of_python,
)
from harness.authors.selftest import translations

EVERY = (*HABITS, *BEGINNINGS)
PLAIN = """\
The loop calls each function in turn. Two clients take turns.
Put the lines of the file into one line. A client behind a slow one still gets its reply.
The end of the input is EOF. What does it cost? Who owns the buffer? It rests on one rule.
The server waits for the rest of the frame. It returns NULL when there is no memory.
"""


def found(text: str) -> list[str]:
    words, _ = flat(text)
    return [match[0] for habit in EVERY for match in habit.matches(words)]


@pytest.mark.parametrize("habit", EVERY, ids=lambda habit: habit.name)
def test_finds_its_example_and_leaves_the_better_one_alone(habit):
    assert list(habit.matches(habit.found))
    assert found(habit.better) == []


def test_leaves_plain_english_alone():
    assert found(PLAIN) == []


def test_chinese_pages_are_left_out():
    looked_at = set(files([]))
    assert looked_at.issuperset(translations.wanted())
    assert looked_at.isdisjoint(translations.pages())


READ = {
    of_markdown: (
        "# Head\n\nRead `a line`, and [this](new.md).\n\n    block\n\n```c\nanother\n```\nEnd\n",
        [(1, "Head"), (3, "Read _, and [this_."), (10, "End")],
    ),
    of_c: (
        'int room; /* One\n * two. */\nputs("no "\n     "news");\nf("x"); // last\n',
        [(1, "One two."), (5, "last"), (3, "no news")],
    ),
    of_patches: (
        "# fra\n\n## one\nIt `a b` fails.\nfails: 01_x (y)\n--- a/io.c\n@@ -1 +1 @@\n /* C */\n",
        [(4, "It _ fails.")],
    ),
    of_python: (
        '"""Doc string."""\n# one\n# two\nx = 1\ny = "a word" "s"  # three\nz = "+C code;\\n"\n',
        [(2, "one two"), (5, "three"), (1, "Doc string."), (5, "a words")],
    ),
    docstrings: (
        'x = "Of one"\n\n\ndef f():\n    """Of `two` things."""\n    return "And three"\n',
        [(5, "Of _ things.")],
    ),
}


@pytest.mark.parametrize("reader", READ, ids=lambda reader: reader.__name__)
def test_what_is_read_of_a_file(reader):
    """Of documents no code, of C comments and messages, of patches the mistakes, of Python comments
    and texts; `docstrings` alone are looked at for their beginnings."""
    text, expected = READ[reader]
    assert [(number, flat(words)[0].strip()) for number, words in reader(text)] == expected


@pytest.mark.parametrize(
    "right",
    [
        "Whether the file is a link.",
        "The same bytes come back.",
        "Of two AFTERs the one with the earlier deadline is answered first.",
        "From claims to points: loads claims, and runs them.",
        "From the high-water mark on a client is not read.",
        "It listens on the given address.",
        "While the block runs, clients send frames.",
        "As many bytes as fit.",
    ],
)
def test_a_right_beginning_is_left_alone(right):
    assert found(right) == []
