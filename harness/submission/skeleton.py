"""From solutions to chapters: cuts the code that students write, and leaves a TODO with a stub.

A solution marks the places with pairs of comments, each pair on lines of its own:

    // BEGIN read_full
    ...
    // END read_full

The marks have names and no numbers, so that a later chapter can keep them unchanged. The todos.md
of a chapter says which of them are TODOs there, in what order, and with what text and stub:

    ## 3 read_full

    Text of the TODO: a one-sentence contract, the test that grades it, a little guidance.

    ```c
    return IO_ERROR;
    ```

A table at its top has the points of each TODO. They follow the hours: a TODO of so many lines and
of this difficulty (1 to 3) takes (lines + 10) x difficulty of the hours that the handout names,
since to understand what is asked takes as long as ten lines.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath

from harness.submission import command_line, files, links, sources
from harness.submission import todos as worths
from harness.submission.chapters import CHAPTERS, Chapter, find
from harness.submission.target import WrongUsage, chapter_of

LINE_WIDTH = 100
MARK = re.compile(r"^( *)// (BEGIN|END) (\w+)\n", re.M)
REGION = re.compile(
    r"^(?P<indent> *)// BEGIN (?P<name>\w+)\n(?P<code>.*?)^ *// END (?P=name)\n", re.M | re.S
)
POINTS = re.compile(r"^\| \d+ \|.*\| (\d+) \|$", re.M)  # a row of the table
TODO = re.compile(r"^## (\d+) (\w+)\n\n(.*?)\n```c\n(.*?)```\n", re.M | re.S)


class NoSolutions(Exception):
    """solutions/ is not here: the lab was handed out without it."""


@dataclass(frozen=True)
class Todo:
    """A piece of a chapter that the student writes. `text`, `stub` and `points` are as in
    todos.md."""

    number: int
    region: str
    text: str
    stub: str
    points: int

    @property
    def test(self) -> str:
        """The claim that grades it, "" if the text names none."""
        named = re.search(r"Graded\s+by\s+(test_\w+)", self.text)
        return named[1] if named else ""


def todos(chapter: Chapter) -> list[Todo]:
    """The TODOs of a chapter in their order. Raises NoSolutions."""
    path = _solution(chapter) / "todos.md"
    text = path.read_text()
    parts, points = TODO.findall(text), [int(found) for found in POINTS.findall(text)]
    if [int(part[0]) for part in parts] != list(range(1, len(parts) + 1)):
        raise ValueError(f"{path}: the TODOs are not numbered 1, 2, 3 ...")
    if len(points) != len(parts) or sum(points) != 100:
        raise ValueError(f"{path}: the table of points needs a row for each TODO, and 100 in all")
    return [
        Todo(int(number), region, text.strip(), stub, worth)
        for (number, region, text, stub), worth in zip(parts, points)
    ]


def worths_as_json() -> bytes:
    """The contents of submission/todos.json."""
    found = {
        chapter.number: {
            "untouched": worths.digest(chapter.chapter_dir),
            "todos": {todo.test: todo.points for todo in todos(chapter)},
            "needs": worths.needs(chapter),
        }
        for chapter in CHAPTERS
    }
    return f"{json.dumps(found, indent=1)}\n".encode()


def _solution(chapter: Chapter) -> Path:
    """The directory of the chapter's solution. Raises NoSolutions, and WrongUsage if its links are
    missing."""
    if not (chapter.solution_dir / "todos.md").is_file():
        raise NoSolutions(f"solutions/{chapter.slug} is not here; this command needs it")
    problem = links.lost(chapter)
    if problem:
        raise WrongUsage(problem)
    return chapter.solution_dir


def plain(text: str) -> str:
    """A solution's source without its marks."""
    return MARK.sub("", text)


def cut(text: str, open_todos: dict[str, Todo]) -> str:
    """A solution's source with the named regions replaced by TODO and stub, and no marks."""

    def replace(match: re.Match[str]) -> str:
        todo = open_todos.get(match["name"])
        return _stub(todo, match["indent"]) if todo else match["code"]

    return plain(REGION.sub(replace, text))


def _stub(todo: Todo, indent: str) -> str:
    paragraphs = [" ".join(part.split()) for part in todo.text.split("\n\n")]
    paragraphs[0] = f"TODO {todo.number}: {paragraphs[0]}"
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += textwrap.wrap(paragraph, LINE_WIDTH - len(indent) - len(" * ") - len(" */"))
    comment = f"{indent}/* " + f"\n{indent} * ".join(lines) + " */\n"
    return comment + textwrap.indent(todo.stub, indent)


def write(chapter: Chapter, target: Path, solved: int = 0) -> None:
    """Writes the chapter's C files into `target`, with the first `solved` TODOs done.

    C files in `target` that the solution does not have are removed; other files are left alone.
    Raises NoSolutions, and ValueError when a TODO has no region in the sources.
    """
    unsolved = {todo.region: todo for todo in todos(chapter)[solved:]}
    solution = sources.texts(chapter.solution_dir)
    everything = "".join(solution.values())
    for region in unsolved:
        if f"// BEGIN {region}\n" not in everything:
            raise ValueError(f"{chapter.slug}: no source has the region {region}")
    target.mkdir(parents=True, exist_ok=True)
    for folder in sources.linked_folders(target):
        sources.open_folder(folder)
    for path in sources.files(target):
        if sources.name_of(path, target) not in solution:
            path.unlink()
            _remove_if_empty(path.parent)
    sources.write(target, {name: cut(text, unsolved) for name, text in solution.items()})


def _remove_if_empty(directory: Path) -> None:
    with contextlib.suppress(OSError):
        directory.rmdir()


def solution_without_marks(chapter: Chapter) -> dict[str, str]:
    """The solution's C files by name, without marks, for reading. Raises NoSolutions."""
    return {name: plain(text) for name, text in sources.texts(_solution(chapter)).items()}


def difference(old: dict[str, str], new: dict[str, str], old_name: str, new_name: str) -> str:
    """A unified diff of two sets of files, by file name. A file that has moved to another directory
    is compared with what it was, and the names of moved headers in includes do not count."""
    moved = _moved(old, new)
    came_from = {after: before for before, after in moved.items()}
    lines: list[str] = []
    for name in sorted((old.keys() - moved.keys()) | new.keys()):
        before = came_from.get(name, name)
        was, now = old.get(before, ""), new.get(name, "")
        lines += difflib.unified_diff(
            (links.with_headers(was, moved) if moved else was).splitlines(keepends=True),
            now.splitlines(keepends=True),
            f"{old_name}/{before}" if before in old else "/dev/null",
            f"{new_name}/{name}" if name in new else "/dev/null",
        )
    return "".join(lines)


def _moved(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """The new name of each file that is elsewhere now."""
    places = {PurePath(name).name: name for name in new.keys() - old.keys()}
    gone = {name: PurePath(name).name for name in old.keys() - new.keys()}
    return {name: places[base] for name, base in gone.items() if base in places}


def student_against_solution(chapter: Chapter) -> str:
    """What `make diff` prints. Raises NoSolutions."""
    student = sources.texts(chapter.chapter_dir)
    solution = solution_without_marks(chapter)
    return difference(student, solution, f"chapters/{chapter.slug}", f"solutions/{chapter.slug}")


def lesson(chapter: Chapter) -> str:
    """What `make lesson` prints: what the chapter adds to the one before. Raises NoSolutions."""
    before = chapter.previous
    return difference(
        solution_without_marks(before) if before else {},
        solution_without_marks(chapter),
        f"solutions/{before.slug}" if before else "",
        f"solutions/{chapter.slug}",
    )


def show_diff(words: list[str]) -> int:
    """`make diff`: the chapter against its solution. Returns the exit status."""
    return _run(
        "diff", lambda: sys.stdout.write(student_against_solution(chapter_of(words, "diff")))
    )


def show_lesson(words: list[str]) -> int:
    """`make lesson`: a solution against the one before. Returns the exit status."""
    return _run("lesson", lambda: sys.stdout.write(lesson(chapter_of(words, "lesson"))))


def write_skeletons(words: list[str]) -> int:
    """`make skeletons`: restores the links of the solutions, writes the chapters named, or all, and
    the points of all TODOs. Returns the exit status."""

    def write_them() -> None:
        links.restore()
        for chapter in map(find, words or [c.number for c in CHAPTERS]):
            write(chapter, chapter.chapter_dir)
        files.write(worths.FILE, worths_as_json())

    return _run("skeletons", write_them)


def own(words: list[str]) -> int:
    """`python3 -m harness own FILE ...`: makes files of a solution that are links files of the
    chapter itself. Returns the exit status."""

    def copy_them() -> None:
        for word in words:
            links.own(Path(os.path.abspath(word)))

    return _run("own", copy_them)


def _run(name: str, body: Callable[[], object]) -> int:
    def run() -> int:
        body()
        return 0

    return command_line.run(name, run, NoSolutions, links.LeadsNowhere, links.NoLink)
