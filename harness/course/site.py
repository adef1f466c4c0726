"""make site: the documents as a static book in build/site, with a search and in both languages.

The Markdown stays where it is: docs/site has what makes pages of it. Exit status: 0 the book is
there, 1 it cannot be built, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.course.handover import archive, handout
from harness.submission import chapters, command_line, git, parts
from harness.submission.chapters import CHAPTERS, ROOT, Chapter
from harness.submission.target import WrongUsage, as_typed, setting

SOURCE = ROOT / "docs" / "site"
OUT = ROOT / "build" / "site"
MODULES = ROOT / "build" / "npm"
VITEPRESS = MODULES / "node_modules" / "vitepress" / "bin" / "vitepress.js"
LOCK = "package-lock.json"
INSTALL = "make setup SITE=1 installs what it needs"
WRONG_SERVERS = "build/wrong-servers.md"  # `python3 -m harness wrong-servers write` writes this page
PLACES = ("chapters", "docs", "solutions")  # of the pages; in docs/site are the site's own files


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="site", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="code up to this one; default: all")
    add("--solutions", action="store_true", default=bool(setting("SOLUTIONS")))
    add("--repository", metavar="URL", default=setting("REPO") or "", help="where the lab is kept")
    add("--base", metavar="/PATH/", default=setting("BASE") or "/", help="where the site will be")
    add("--out", metavar="DIR", type=Path, default=Path(setting("OUT") or OUT))
    add("--serve", action="store_true", default=bool(setting("SERVE")))
    add("--port", metavar="N", default=setting("PORT") or "4173", help="of --serve")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("site", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    check(options)
    until = chapters.find(options.chapter) if options.chapter else None
    members = _members(until)
    if options.solutions:
        command = [sys.executable, "-m", "harness", "wrong-servers", "write"]
        subprocess.run(command, cwd=ROOT, check=True)
    command = ["node", str(VITEPRESS), "build", str(SOURCE)]
    environment = {**os.environ, "LAB_SITE_SETTINGS": json.dumps(settings(options, until, members))}
    status = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if status:
        return 1
    if members:
        archive.write_tar(options.out / "lab.tar.gz", members)
    print(as_typed(options.out))
    if options.serve:
        command = ["node", str(VITEPRESS), "preview", str(SOURCE), "--port", options.port]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode
    return 0


def check(options: argparse.Namespace) -> None:
    """Raises WrongUsage, with what to do."""
    if not options.base.startswith("/") or not options.base.endswith("/"):
        raise WrongUsage(f"BASE={options.base}: it has to begin and end with /")
    if options.solutions and not (ROOT / "solutions").is_dir():
        raise WrongUsage("SOLUTIONS=1: this copy of the lab is a handout, and has none")
    if not shutil.which("node"):
        raise WrongUsage(f"node is not installed: {INSTALL}")
    installed = MODULES / LOCK
    same = installed.exists() and installed.read_bytes() == (SOURCE / LOCK).read_bytes()
    if not VITEPRESS.exists() or not same:
        raise WrongUsage(f"VitePress is not installed in build/npm, or an old one: {INSTALL}")


def settings(options: argparse.Namespace, until: Chapter | None, members: list) -> dict:
    """What docs/site/lib/tree.mjs reads."""
    later = CHAPTERS[CHAPTERS.index(until) + 1 :] if until else ()
    return {
        "leftOut": [] if options.solutions else list(parts.NOT_HANDED_OUT),
        "private": git.untracked(*PLACES),
        "made": [WRONG_SERVERS] if options.solutions else [],
        "later": [f"chapters/{chapter.slug}/" for chapter in later],
        "repository": options.repository,
        "base": options.base,
        "archive": bool(members),
        "out": str(options.out.resolve()),
    }


def _members(until: Chapter | None) -> list[archive.Member]:
    """The lab for the readers; nothing if somebody has written in chapters/, and a line says so."""
    try:
        return handout.members(until)
    except WrongUsage as error:
        print(f"site: without lab.tar.gz: {error}", file=sys.stderr)
        return []
