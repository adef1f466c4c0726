"""A grade as a compiler would print it: a line for each failure, with the place in the source that
it is about. Editors know "io.c:42: error: text"; GitHub Actions has a form of its own.

Nothing is run and nothing is printed here; the student's files are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from harness.grade import report
from harness.grade.scoring import FAILED, NOT_JUDGED, Claim, Grade, Outcome
from harness.submission import sources
from harness.submission.target import as_typed

ON_GITHUB = "GITHUB_ACTIONS"  # "true" there, says GitHub
FIRST_FILE = "main.c"  # where a failure is shown whose place is not known
OF_THE_COMPILER = re.compile(
    r"^(?P<file>[^\s:]+\.[ch]):(?P<line>\d+):(?:(?P<column>\d+):)?"
    r" (?P<kind>error|warning|fatal error): (?P<text>.*)$",
    re.M,
)
OF_THE_LINKER = re.compile(
    r"(?P<file>[^\s:]+\.[ch]):(?P<line>\d+): (?P<text>(?:undefined|multiple) .*)$", re.M
)


@dataclass(frozen=True)
class Message:
    """One failure. `column` counts from 1, None where it is not known; `title` is a claim's number,
    or ""."""

    file: str
    line: int
    kind: str  # "error" or "warning"
    text: str
    title: str = ""
    column: int | None = None


def lines(grade: Grade) -> list[str]:
    """The lines for the grade of a directory: for GitHub Actions if they are read there."""
    form = annotation if os.environ.get(ON_GITHUB) == "true" else as_compiler
    return [form(message) for message in messages(grade)]


def messages(grade: Grade) -> list[Message]:
    """First the compiler's, then one for each claim that did not pass, the chapter's own first."""
    assert grade.source
    if not grade.built:
        return list(_from_the_build(grade.source, grade.problem)) or [_no_place(grade)]
    found = list(_from_the_build(grade.source, grade.warnings))
    for verdict in (FAILED, NOT_JUDGED):
        found += [_of_a_claim(grade, outcome) for outcome in report.own_first(grade, verdict)]
    return found


def as_compiler(message: Message) -> str:
    """The form of gcc and make: "io.c:42: error: 01.3 text"."""
    column = f":{message.column}" if message.column else ""
    text = f"{message.title} {message.text}".strip()
    return f"{message.file}:{message.line}{column}: {message.kind}: {text}"


def annotation(message: Message) -> str:
    """The form of a workflow command of GitHub Actions, which shows the text beside the line."""
    named = {"file": message.file, "line": str(message.line), "title": message.title}
    named |= {"col": str(message.column)} if message.column else {}
    properties = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in named.items() if value)
    return f"::{message.kind} {properties}::{_escaped(message.text)}"


def _escaped(text: str, more: str = "") -> str:
    for char in "%\r\n" + more:  # the percent sign comes first
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def _from_the_build(source: Path, printed: str) -> Iterator[Message]:
    """What the compiler and the linker said, with the files' names as they are seen from here."""
    for pattern in (OF_THE_COMPILER, OF_THE_LINKER):
        for found in pattern.finditer(printed):
            parts = {"kind": "error", "column": None, **found.groupdict()}
            yield Message(
                file=as_typed(source / parts["file"]),
                line=int(parts["line"]),
                kind=parts["kind"].replace("fatal ", ""),
                text=parts["text"],
                column=int(parts["column"]) if parts["column"] else None,
            )


def _no_place(grade: Grade) -> Message:
    """A build that failed with other words: the first of them."""
    said = [line.strip() for line in grade.problem.splitlines() if line.strip()]
    text = f"it does not compile: {said[0]}" if said else "it does not compile"
    return Message(_first_file(grade), 1, "error", text)


def _of_a_claim(grade: Grade, outcome: Outcome) -> Message:
    claim = outcome.claim
    file, line = _place(grade, claim)
    said = " ".join((outcome.message or grade.problem).split())
    text = f"{claim.text.rstrip('.')}: {said}" if said else claim.text
    if outcome.verdict == NOT_JUDGED:
        return Message(file, line, "warning", f"not judged: {text}", claim.number)
    return Message(file, line, "error", text, claim.number)


# Where a claim's failure is


def _place(grade: Grade, claim: Claim) -> tuple[str, int]:
    """The comment of the TODO; if it is gone, or of an earlier chapter, the function that the TODO
    is about; else the beginning of its file, or of the first file."""
    named, functions = report.todos(claim.chapter).get(claim.todo, ("", []))
    files = _files(grade, named)
    places = []
    if claim.chapter == grade.chapter:
        places.append(re.compile(rf"\bTODO {claim.todo}:"))
    places += [_definition(name) for name in functions]
    for place in places:
        for path in files:
            text = path.read_text(errors="replace")
            found = place.search(text)
            if found:
                return as_typed(path), text.count("\n", 0, found.start()) + 1
    there = [path for path in files if path.name == PurePath(named).name]
    return (as_typed(there[0]) if there else _first_file(grade)), 1


def _definition(name: str) -> re.Pattern[str]:
    """Where a function begins: its type stands at the beginning of the line, as in the lab."""
    return re.compile(rf"^\w[\w *]*\b{name}\([^;{{}}]*\)\s*\{{", re.M)


def _files(grade: Grade, first: str) -> list[Path]:
    """The C files that can be read, `first` before the others: wherever the student has it."""
    assert grade.source
    readable = [path for path in sources.files(grade.source) if os.access(path, os.R_OK)]
    wanted = PurePath(first).name
    return sorted(readable, key=lambda path: (path.name != wanted, path.suffix, path))


def _first_file(grade: Grade) -> str:
    files = _files(grade, FIRST_FILE)
    return as_typed(files[0] if files else grade.source / FIRST_FILE)
