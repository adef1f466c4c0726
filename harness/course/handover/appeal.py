"""make appeal: one zip with everything that somebody needs to judge a failure again.

It runs the test once more, with the seed of the failure, and records it. Exit status: 0 it is
written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from harness.course.handover import archive, handin
from harness.course.handover.archive import Member
from harness.failures.failure import NotJudged
from harness.grading import report
from harness.grading.judge import grade_target
from harness.grading.request import Request, asked, one_test, parse
from harness.grading.scoring import FAILED, Grade
from harness.lab import command_line, git, parts, programs, seed
from harness.lab.chapters import ROOT
from harness.lab.target import Target, WrongUsage, as_typed, named, setting
from harness.server import build
from harness.student import replay
from harness.student.trace import page, rows, timeline

PLACE = command_line.BUILD / "appeal"
# Where results of grades are: those of one, and those of a class.
RESULTS = ("results/*.json", "class/*/*/*.json")
SOURCES = "sources"


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("appeal", lambda: run(options), NotJudged)


def run(options: argparse.Namespace) -> int:
    """Runs the test again, writes the zip and says what is in it."""
    if not options.id:
        raise WrongUsage(f"which failure? Each prints its own, for instance {replay.EXAMPLE}")
    identity, path = options.id, archive.named(setting("OUT"), PLACE / "x", (".zip",))
    path = PLACE / f"{identity}.zip" if path == PLACE / "x" else path
    options = replay.of_id(options)
    target, request = named(options), asked(options)
    claim = one_test(request, target.chapter)
    request = replace(request, only=claim.name)
    if target.source is None:
        raise WrongUsage("SERVER= has no source files to pack; give DIR=")
    places = [one for pattern in RESULTS for one in command_line.BUILD.glob(pattern)]
    first = find_result(places, target.chapter.number, request.seed, claim.name)
    _check_seed(target, request.seed, first)
    sources = handin.collect(target.source, SOURCES).members
    result = [Member("result.json", first.read_bytes())] if first else []
    found, seen = _again(target, request)
    members = [*sources, *result, *_evidence(found, seen, identity)]
    now = _now(found)
    files = {one: what for one, what in FILES.items() if _has(members, one)}
    text = note(identity, target.chapter.number, claim.text, files, now)
    members.append(Member("README.md", text.encode()))
    top = [Member(f"{identity}/{one.name}", one.data) for one in members]
    digest = archive.write_zip(path, top)
    print("\n".join(_told(path, files, digest, now, bool(first))))
    return 0


FILES = {
    "sources/": "the files that were graded",
    "result.json": "the result of that grade: points, and each failure as text",
    "again.json": "the result of the test when this file was made",
    "failure.txt": "what a student reads of it",
    "trace.html": "the same run as a page: open it in a browser",
    "trace.txt": "the same run as text, call by call",
    "versions.json": "of lab, compiler, kernel, libc, Python, valgrind",
}


def _has(members: list[Member], name: str) -> bool:
    """Whether there is a file of that name, or one below it."""
    names = [one.name for one in members]
    return name in names or name[-1] == "/" and any(one.startswith(name) for one in names)


def _check_seed(target: Target, number: int, first: Path | None) -> None:
    """Raises WrongUsage if these are not the sources that were graded. `first` is the result of
    that grade: make class keeps the sources beside it."""
    own = seed.of_files(target.source)
    if own == number:
        return
    kept = first.with_name("submission") if first else None
    if kept and kept.is_dir() and seed.of_files(kept) == number:
        place = shlex.quote(as_typed(kept))
        raise WrongUsage(f"the ID is of files that a class handed in; add DIR={place}")
    raise WrongUsage(
        f"the ID has the seed {number}, and the files in {target.subject} have {own}: they "
        "have changed since that grade, or it had SEED=; name what was graded with DIR="
    )


def _again(
    target: Target, request: Request
) -> tuple[Grade, tuple[bytes, timeline.Timeline | None]]:
    """Runs the test, and returns its grade, its result and what was recorded of it."""
    with tempfile.TemporaryDirectory(prefix="lab-appeal-") as scratch:
        record, result = Path(scratch) / "seen.json", Path(scratch) / "result.json"
        found = grade_target(target, replace(request, trace=record, results=result))
        seen = timeline.load(record) if record.exists() else None
        return found, (result.read_bytes(), seen)


def _evidence(
    found: Grade, recorded: tuple[bytes, timeline.Timeline | None], identity: str
) -> list[Member]:
    """What was seen of the test now."""
    result, seen = recorded
    said = report.chapter(found, report.Look(verbose=True))
    texts = {"failure.txt": f"{said}\n", "versions.json": _json(versions())}
    if seen is not None and found.outcomes:
        texts["trace.html"] = page.render(identity, found.outcomes[0].verdict, said, seen)
        texts["trace.txt"] = rows.render(seen, rows.WIDTH, sys.maxsize) + "\n"
    members = [Member(name, text.encode("utf-8", "replace")) for name, text in texts.items()]
    return [*members, Member("again.json", result)]


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _now(found: Grade) -> str:
    """What happened when the test ran again."""
    if not found.built:
        return "When this file was made, the sources did not compile: see failure.txt."
    verdict = found.outcomes[0].verdict
    if verdict == FAILED:
        return "When this file was made, the test ran again and failed."
    return (
        f"When this file was made, the test ran again and was {verdict}. So the failure depends on "
        "time, or the lab has changed since the grade."
    )


def _told(path: Path, files: dict[str, str], digest: str, now: str, first: bool) -> list[str]:
    lines = [as_typed(path), f"  sha256  {digest}"]
    lines += [f"  {name:15} {what}" for name, what in files.items()]
    if not first:
        lines.append("  The result of the grade itself is not in build/, so not in the file.")
    sentences = now.replace(". So", ".\nSo").split("\n")
    return [*lines, *(f"  {line}" for line in sentences)]


SECONDS = 10  # for a command that prints its version


def find_result(places: list[Path], chapter: str, number: int, test: str) -> Path | None:
    """The newest result of a grade of this chapter with this seed, in which the test failed."""
    found = [path for path in places if _is_of(path, chapter, number, test)]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _is_of(path: Path, chapter: str, number: int, test: str) -> bool:
    try:
        result = json.loads(path.read_text())
        about = result["extra_data"]
        if (about["chapter"][:2], about["seed"]) != (chapter, number):
            return False
        tests = [one for one in result["tests"] if one.get("status") == "failed"]
        return any(one["extra_data"]["test"] == test for one in tests)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def versions() -> dict[str, str | int]:
    """The versions of the lab and of the machine that graded."""
    uname = os.uname()
    return {
        "lab": lab_version(),
        "commit": _commit(),
        "compiler": _compiler(),
        "kernel": f"{uname.sysname} {uname.release} {uname.version}",
        "machine": uname.machine,
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "valgrind": _first_line(["valgrind", "--version"]),
        "cores": len(os.sched_getaffinity(0)),
    }


def lab_version() -> str:
    """A hash of the files that decide a grade: equal for a clone, a handout and an unpacked
    copy."""
    kept = [archive.member(str(path.relative_to(ROOT)), path) for path in parts.deciding()]
    return archive.digest(kept)[:16]


def _commit() -> str:
    """The commit of the lab's own history, "" if this copy has none; or why git does not tell
    it."""
    try:
        return git.commit()
    except WrongUsage as error:
        return f"not known: {error}"


def _compiler() -> str:
    try:
        return _first_line([*build.find_compiler(), "--version"])
    except build.NoCompiler:
        return ""


def _first_line(command: list[str]) -> str:
    """The first line that it prints, or "" if it fails."""
    done = programs.answer(command, SECONDS)
    lines = done.stdout.splitlines()
    return lines[0] if lines and done.returncode == 0 else ""


def note(identity: str, chapter: str, claim: str, files: dict[str, str], now: str) -> str:
    """README.md. `files`: what each file is. `now`: what happened when this file was made."""
    rows = "\n".join(f"| `{name}` | {what} |" for name, what in files.items())
    return f"""\
# Appeal {identity}

The claim: {claim}

{now}

| file | what it is |
|---|---|
{rows}

To see the failure again, unpack this file and call, in a copy of the lab:

    make replay ID={identity} DIR=path/to/{identity}/sources
    make trace ID={identity} DIR=path/to/{identity}/sources

The ID has the chapter, the test and the seed, so every byte that the clients send is the same.
Where the result differs, compare `versions.json` with what `make appeal` writes there. This grades
all of chapter {chapter}:

    make grade CH={chapter} DIR=path/to/{identity}/sources
"""
