"""C as a sequence of tokens, without what a copy can change and stay the same program.

A token is one byte, so a piece of a program is a piece of a bytes object. These differences vanish:

- comments, layout, `#include`, line continuations;
- names: each identifier is the same token, and so is the name of a type of C;
- values: each number, character, NULL, true and false is the same token, each string another;
- braces, since `if (x) y();` and `if (x) { y(); }` are the same program;
- words in front of a type that can come and go: const, static, inline, struct and their like;
- `.` and `->`, which change with the declaration of a name.

Operators, parentheses and the other keywords stay: they are what is left of the structure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TYPES = "void char short int long float double signed unsigned _Bool bool".split()
DROPPED = "const volatile restrict static extern inline register auto struct union enum".split()
KEYWORDS = (
    "break case continue default do else for goto if return sizeof switch typedef while".split()
)
VALUES = "NULL true false".split()
OPERATORS = (
    "<<= >>= ... -> ++ -- << >> <= >= == != && || += -= *= /= %= &= |= ^= ## "
    "( ) [ ] ; , : ? ~ ! % ^ & * - + = | < > / . #"
).split()

NAME, VALUE, STRING = 1, 2, 3
MEMBER = 4
CODES = {word: 5 + at for at, word in enumerate([*KEYWORDS, *OPERATORS])}
CODES |= dict.fromkeys([".", "->"], MEMBER) | dict.fromkeys(VALUES, VALUE)

TYPE = rf"(?:{'|'.join(TYPES)})\b"
TOKEN = re.compile(
    rf"""
      (?P<skip> \s+ | /\*.*?(?:\*/|\Z) | //(?:\\\n|[^\n])* | [{{}}]
        | ^[ \t]*\#[ \t]*include\b[^\n]* | (?:{'|'.join(DROPPED)})\b )
    | (?P<string> (?:L|u8|u|U)?"(?:\\.|[^"\\\n])*"? )
    | (?P<value> \.?\d(?:[eEpP][+-]|[\w.])* | (?:L|u|U)?'(?:\\.|[^'\\\n])*'? )
    | (?P<type> {TYPE}(?:\s+{TYPE})* )
    | (?P<name> [^\W\d]\w* )
    | (?P<operator> {'|'.join(map(re.escape, OPERATORS))} )
    """,
    re.X | re.S | re.M,
)
KINDS = {"string": STRING, "value": VALUE, "type": NAME}


@dataclass(frozen=True)
class Tokens:
    """The tokens of one file: `codes` has a byte for each, `starts` its offset in the text."""

    codes: bytes
    starts: tuple[int, ...]


def tokens(text: str) -> Tokens:
    """The tokens of a C source. Text that is no C is taken as far as it has tokens."""
    codes, starts = bytearray(), []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        code = KINDS.get(kind) or CODES.get(match[0], NAME)
        codes.append(code)
        starts.append(match.start())
    return Tokens(bytes(codes), tuple(starts))
