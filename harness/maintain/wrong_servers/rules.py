"""Changes of a C source that a program can make: rules, and the places where they apply.

    for change in changes(text, {"sift_down"}):
        wrong = change.made(text)

`text` is a source of a solution with its marks, and the names are those of its regions: nothing
outside of them is changed, and neither are comments and literals of strings and characters. The
source has to be one that clang-format has written: with a blank on each side of a binary operator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from harness.submission.skeleton import REGION

# Comments, literals, lines of the preprocessor.
NOT_CODE = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^ *\#[^\n]*""", re.S | re.M
)

COMPARISON = "comparison"
LOGIC = "and, or"
SIGN = "plus, minus"
CONSTANT = "constant"
CONDITION = "condition"
STATEMENT = "statement"

OPERATORS = (
    (
        COMPARISON,
        re.compile(r"(?<= )(?:[=!<>]=|[<>])(?=\s)"),
        {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    ),
    (LOGIC, re.compile(r"&&|\|\|"), {"&&": "||", "||": "&&"}),
    (
        SIGN,
        re.compile(r"(?<= )[+-](?=\s)|\+\+|--|[+-]="),
        {"+": "-", "-": "+", "++": "--", "--": "++", "+=": "-=", "-=": "+="},
    ),
)
# A number, or the name of one: it ends with a unit, or says that it is a limit.
NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-f]+|\d+)\b|\b[A-Z]\w*_(?:BYTES|MS|US|MAX|CONNS)\b")
GUARD = re.compile(r"\b(?:if|while|switch|for)\s*(?=\()")
LABEL = re.compile(r"(?:else|do)\b|case\b[^:;]*:|default\s*:")
DECLARATION = re.compile(r"(?!return\b|goto\b)(?:\w+\s+)+\**\w+(?:\[[^]]*\])*\s*(?:=|$)")


@dataclass(frozen=True)
class Change:
    """`new` in place of what stands from `start` to `end` (offsets) in a source with marks."""

    region: str
    rule: str
    start: int
    end: int
    new: str

    def made(self, text: str) -> str:
        """The source with this change."""
        return text[: self.start] + self.new + text[self.end :]


def changes(text: str, regions: Collection[str]) -> Iterator[Change]:
    """All changes of a source within these regions: region by region, rule by rule."""
    code = blanked(text)
    for match in REGION.finditer(text):
        if match["name"] in regions:
            for rule, start, end, new in _places(code, text, *match.span("code")):
                yield Change(match["name"], rule, start, end, new)


def blanked(text: str) -> str:
    """The text with blanks for all that is not code: each character keeps its place."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _places(code: str, text: str, start: int, end: int) -> Iterator[tuple[str, int, int, str]]:
    """Rule, start, end and the new text of each change between two offsets."""
    for rule, pattern, instead in OPERATORS:
        for match in pattern.finditer(code, start, end):
            yield rule, *match.span(), instead[match[0]]
    for match in NUMBER.finditer(code, start, end):
        for new in _neighbours(match[0]):
            yield CONSTANT, *match.span(), new
    for first, last in _conditions(code, start, end):
        condition = text[first:last]
        for new in (f"!({condition})", f"({condition}) || 1", f"({condition}) && 0"):
            yield CONDITION, first, last, new
    for first, last in _statements(code, start, end):
        yield STATEMENT, first, last, ""


def _neighbours(number: str) -> tuple[str, str]:
    """The number that is larger by 1, and the one that is smaller by 1."""
    if number[0].isdigit():
        return str(int(number, 0) + 1), str(int(number, 0) - 1)
    return f"({number} + 1)", f"({number} - 1)"


def _conditions(code: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the conditions of if, while and for stand; not those that are left out."""
    for match in GUARD.finditer(code, start, end):
        first, last = match.end() + 1, _closing(code, match.end())
        if match[0].startswith("for"):
            semicolons = [at for at in range(first, last) if code[at] == ";"]
            first, last = semicolons[0] + 1, semicolons[1]
            first += len(code[first:last]) - len(code[first:last].lstrip())
        if code[first:last] and not match[0].startswith("switch"):
            yield first, last


def _statements(code: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the statements begin and end that a rule may delete, without their semicolons: no
    declarations, and no statements that hold others."""
    begin, at = start, start
    while at < end:
        if code[at] == "(":
            at = _closing(code, at)
        elif code[at] in ";{}":
            first = _without_guards(code, begin, at)
            if code[at] == ";" and first < at and not DECLARATION.match(code, first, at):
                yield first, at
            begin = at + 1
        at += 1


def _without_guards(code: str, start: int, end: int) -> int:
    """Where a statement begins, after the `if (...)`, `else` and labels in front of it."""
    while True:
        start += len(code[start:end]) - len(code[start:end].lstrip())
        label, guard = LABEL.match(code, start, end), GUARD.match(code, start, end)
        if not label and not guard:
            return start
        start = label.end() if label else _closing(code, guard.end()) + 1


def _closing(code: str, opening: int) -> int:
    """Where the bracket that opens here is closed."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    raise ValueError(f"the bracket at {opening} is never closed")
