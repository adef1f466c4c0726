"""The changes that rules.py makes in what students write, each as a server that can be built."""

from __future__ import annotations

import difflib
import hashlib
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.maintain.wrong_servers import rules
from harness.server import build
from harness.submission import skeleton, sources
from harness.submission.chapters import Chapter

COMPILE_SECONDS = 60
# Without -g: the numbers of lines are no part of the program. A function that ends without its
# result is refused, since what it does then is up to the compiler.
FLAGS = ("-std=gnu11", "-O2", "-pthread", "-Werror=return-type")


@dataclass(frozen=True)
class Candidate:
    """A change of a solution. `right` and `wrong` are its file `file`, without marks; `todo` is
    the number of the TODO that it is in, `line` that of the line in the file with marks."""

    chapter: Chapter
    todo: int
    file: str
    line: int
    change: rules.Change
    right: str
    wrong: str

    @property
    def key(self) -> str:
        """A name that it keeps for as long as its file is the same."""
        text = f"{self.file}\0{self.wrong}"
        return f"{self.chapter.number}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def diff(self) -> str:
        """The lines that it changes, and where they are."""
        lines = difflib.unified_diff(
            self.right.splitlines(), self.wrong.splitlines(), lineterm="", n=0
        )
        changed = [f"    {line}" for line in list(lines)[2:] if line[0] in "+-"]
        place = f"{self.file}:{self.line}, {self.change.region}"
        where = f"{self.key}  {place}: {self.change.rule}"
        return "\n".join([where, *changed])

    def write(self, directory: Path) -> None:
        """Puts the sources into `directory`, which is made."""
        files = skeleton.solution_without_marks(self.chapter)
        sources.write(directory, {**files, self.file: self.wrong})


def candidates(chapter: Chapter, text: str = "") -> list[Candidate]:
    """The changes of a chapter's TODOs, in regions with `text` in their name. Raises NoSolutions.

    Two rules can make the same text; that is one change.
    """
    numbers = {todo.region: todo.number for todo in skeleton.todos(chapter)}
    regions = [region for region in numbers if text in region]
    found: dict[str, Candidate] = {}
    for path in sources.files(chapter.solution_dir):
        source = path.read_text()
        right = skeleton.plain(source)
        for change in rules.changes(source, regions):
            wrong = skeleton.plain(change.made(source))
            todo, line = numbers[change.region], source.count("\n", 0, change.start) + 1
            name = sources.name_of(path, chapter.solution_dir)
            one = Candidate(chapter, todo, name, line, change, right, wrong)
            found.setdefault(one.key, one)
    return list(found.values())


def unchanged(chosen: Iterable[Candidate], at_once: int) -> tuple[set[str], dict[str, str]]:
    """The keys of those that do not compile; and of those that make the program of the solution, or
    of another one before them, with the key of that ("" for the solution)."""
    chosen = list(chosen)
    with ThreadPoolExecutor(at_once) as pool:
        objects = list(pool.map(lambda one: _object(one.chapter, one.file, one.wrong), chosen))
    refused, same = set(), {}
    first: dict[tuple[str, bytes | None], str] = {}
    for one, made in zip(chosen, objects):
        if made is None:
            refused.add(one.key)
            continue
        if not any(file == one.file for file, _ in first):
            first[one.file, _object(one.chapter, one.file, one.right)] = ""
        other = first.setdefault((one.file, made), one.key)
        if other != one.key:
            same[one.key] = other
    return refused, same


def _object(chapter: Chapter, file: str, text: str) -> bytes | None:
    """What the compiler makes of a file of a solution with this text. None: it does not compile."""
    with tempfile.TemporaryDirectory(prefix="lab-rules-") as scratch:
        made = Path(scratch, "object")
        sources.write(Path(scratch), {file: text})
        command = [*build.find_compiler(), *FLAGS, "-iquote", str(chapter.solution_dir)]
        command += ["-c", file, "-o", str(made)]
        compiler = subprocess.run(
            command, cwd=scratch, capture_output=True, timeout=COMPILE_SECONDS
        )
        return made.read_bytes() if compiler.returncode == 0 else None
