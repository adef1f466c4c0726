"""make handout: packs what students get: all that git tracks, but for what gives answers
away.

Exit status: 0 it is written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.course.handover import archive
from harness.course.handover.archive import Member
from harness.submission import answers, chapters, command_line, parts, skeleton, sources
from harness.submission.chapters import CHAPTERS, ROOT, Chapter
from harness.submission.git import tracked
from harness.submission.target import WrongUsage, as_typed, setting

DEFAULT = command_line.BUILD / "handout" / "lab.tar.gz"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="handout", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="the last one of it; default: all")
    add("--out", metavar="FILE", default=setting("OUT"), help="default: build/handout/lab.tar.gz")
    add("--answers", default=setting("ANSWERS"), help="0: without what `make answers` shows")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("handout", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    until = chapters.find(options.chapter) if options.chapter else None
    path = archive.named(options.out, DEFAULT)
    if options.answers not in (None, "0", "1"):
        raise WrongUsage(f"ANSWERS={options.answers} is neither 0 nor 1")
    packed = members(until, with_answers=options.answers != "0")
    digest = archive.write_tar(path, packed)
    print("\n".join(_told(path, packed, digest)))
    return 0


def _told(path: Path, packed: list[Member], digest: str) -> list[str]:
    size = path.stat().st_size / 1000
    lines = [
        as_typed(path),
        f"  {len(packed)} files, {size:,.0f} kB; sha256 {digest[:16]}",
    ]
    if tracked() is None:
        lines += [
            "  This copy of the lab has no history of its own. So every file in chapters/,",
            "  docs/ and harness/ is in it. `tar -tzf` lists them.",
        ]
    lines.append("  left out:")
    width = max(map(len, parts.NOT_HANDED_OUT))
    rows = (row for row in parts.NOT_HANDED_OUT.items() if row[0] != parts.NOTE)
    return [*lines, *(f"    {name:{width}}  {what}" for name, what in rows)]


# What is handed out

TOP = "lab"  # the directory within the archive
MADE = {"build", "__pycache__", ".pytest_cache", ".git"}  # directories that are never handed out
PLACES = ("chapters", "docs", "harness")  # those of the lab, without a history
SOME = 3  # names in a message


def members(until: Chapter | None, with_answers: bool = True) -> list[Member]:
    """The files of a handout of the chapters up to `until`, or of all. `with_answers`: also those
    that `make answers` shows. Raises WrongUsage."""
    handed_out = CHAPTERS[: CHAPTERS.index(until) + 1] if until else CHAPTERS
    check_skeletons(handed_out)
    later = tuple(f"chapters/{one.slug}/" for one in CHAPTERS if one not in handed_out)
    kept = [name for name in names() if parts.is_handed_out(name) and not name.startswith(later)]
    found = [_member(name) for name in sorted(kept)]
    if with_answers:
        found = sorted([*found, *_answers(handed_out)], key=lambda one: one.name)
    note = _note(handed_out, archive.digest(found)[:12])
    return [*found, Member(f"{TOP}/{parts.NOTE}", note.encode())]


# The part of a page that needs the solutions; docs/site/lib/markdown.mjs leaves it out, too.
FOR_AUTHORS = re.compile(rb"^<!-- with the solutions -->$.*?^<!-- end -->\n", re.M | re.S)
TRANSLATED = re.compile(r"<!-- 译自 (\S+)，版本 ([0-9a-f]{40}) -->")


def _member(name: str) -> Member:
    found = archive.member(f"{TOP}/{name}", ROOT / name)
    if not name.endswith(".md"):
        return found
    return replace(found, data=_of_this_version(FOR_AUTHORS.sub(b"", found.data)))


def _answers(handed_out: tuple[Chapter, ...]) -> list[Member]:
    """The packed answers of these chapters; none if this copy of the lab has none."""
    page = ROOT / answers.PAGE
    found = answers.of_page(page.read_text()) if page.exists() else {}
    return [
        Member(f"{TOP}/{answers.PACKED.format(chapter.number)}", answers.pack(text))
        for chapter, text in found.items()
        if chapter in handed_out
    ]


def _of_this_version(page: bytes) -> bytes:
    """The page; if it is a translation, its first line names the version that is handed out."""
    head = TRANSLATED.match(page.decode())
    if not head or not (ROOT / head[1]).is_file():
        return page
    source = (ROOT / head[1]).read_bytes()
    if _blob(source) != head[2]:
        return page
    return page.replace(head[2].encode(), _blob(FOR_AUTHORS.sub(b"", source)).encode(), 1)


def _blob(data: bytes) -> str:
    """What `git hash-object` prints of a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def names() -> Iterator[str]:
    """The lab's files, as from its directory: those that git tracks, or all in its places where
    this copy has no history of its own. Raises WrongUsage if git does not answer."""
    known = tracked()
    for name in _walked() if known is None else known:
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            yield name


def _walked() -> Iterator[str]:
    """The files that belong to the lab where git is missing: those at the top, below PLACES and in
    directories of settings, whose names begin with a dot; but not what a build has made."""
    top = sorted(ROOT.iterdir())
    yield from (path.name for path in top if path.is_file())
    hidden = [path.name for path in top if path.is_dir() and path.name[0] == "."]
    for place in (*PLACES, *(name for name in hidden if name not in MADE)):
        for directory, below, files in os.walk(ROOT / place):
            below[:] = [name for name in below if name not in MADE]
            kept = [name for name in files if not name.endswith((".o", ".pyc"))]
            yield from (str(Path(directory, name).relative_to(ROOT)) for name in kept)


def check_skeletons(handed_out: tuple[Chapter, ...]) -> None:
    """Raises WrongUsage if somebody has worked in chapters/: students would get that work."""
    changed = [name for chapter in handed_out for name in _changed(chapter)]
    if changed:
        more = f" and {len(changed) - SOME} more" if len(changed) > SOME else ""
        raise WrongUsage(
            f"{', '.join(changed[:SOME])}{more}: not what students begin with; "
            "`make skeletons` writes chapters/ again"
        )


def _changed(chapter: Chapter) -> list[str]:
    """The C files of a chapter that are not as `make skeletons` writes them. Without the solutions
    none can be found."""
    try:
        todos = {todo.region: todo for todo in skeleton.todos(chapter)}
    except skeleton.NoSolutions:
        return []
    solution = sources.texts(chapter.solution_dir)
    wanted = {name: skeleton.cut(text, todos) for name, text in solution.items()}
    here = chapter.chapter_dir
    found = sources.files(here) if here.is_dir() else []
    texts = {sources.name_of(path, here): path.read_text(errors="replace") for path in found}
    names = sorted(wanted.keys() | texts.keys())
    where = chapter.chapter_dir.relative_to(chapters.ROOT)
    return [f"{where}/{name}" for name in names if wanted.get(name) != texts.get(name)]


def _note(handed_out: tuple[Chapter, ...], version: str) -> str:
    """HANDOUT.md: what this copy is, for its reader."""
    first, last = handed_out[0].number, handed_out[-1].number
    which = f"chapters {first} to {last}" if first != last else f"chapter {first}"
    rows = "\n".join(
        f"| `{name}` | {what} |"
        for name, what in parts.NOT_HANDED_OUT.items()
        if name != parts.NOTE
    )
    later = ""
    if len(handed_out) < len(CHAPTERS):
        later = (
            "\nLater chapters are handed out later, since they begin with solved earlier ones.\n"
        )
    return f"""\
# This handout

It has {which} of the lab. Begin with [README.md](README.md), or in Chinese with
[docs/zh/README.md](docs/zh/README.md).
{later}
These files are not in it, so links to them lead nowhere, and `make test`, `make wrong-servers`,
`make steady`, `make pictures`, `make diff` and `make lesson` do not work here:

| file | what it is |
|---|---|
{rows}

To add a newer handout, call this in the directory above this one. It adds the files that you do
not have, and changes none of yours:

    tar --skip-old-files -xzf lab.tar.gz

Version: {version}. Name it when you report a problem.
"""
