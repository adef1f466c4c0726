"""make handout: packs what students get: the lab without solutions, answers and history.

Exit status: 0 it is written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.course.handover import archive, handout
from harness.lab import chapters, command_line, parts
from harness.lab.target import as_typed, setting

DEFAULT = command_line.BUILD / "handout" / "lab.tar.gz"


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="handout", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="the last one of it; default: all")
    add("--out", metavar="FILE", default=setting("OUT"), help="default: build/handout/lab.tar.gz")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("handout", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    until = chapters.find(options.chapter) if options.chapter else None
    path = archive.named(options.out, DEFAULT)
    members = handout.members(until)
    digest = archive.write_tar(path, members)
    print("\n".join(_told(path, members, digest)))
    return 0


def _told(path: Path, members: list[archive.Member], digest: str) -> list[str]:
    size = path.stat().st_size / 1000
    lines = [
        as_typed(path),
        f"  {len(members)} files, {size:,.0f} kB; sha256 {digest[:16]}",
    ]
    if handout.tracked() is None:
        lines += [
            "  This copy of the lab has no history of its own. So every file in chapters/,",
            "  docs/ and harness/ is in it. `tar -tzf` lists them.",
        ]
    lines.append("  left out:")
    width = max(map(len, parts.NOT_HANDED_OUT))
    rows = (row for row in parts.NOT_HANDED_OUT.items() if row[0] != parts.NOTE)
    return [*lines, *(f"    {name:{width}}  {what}" for name, what in rows)]
