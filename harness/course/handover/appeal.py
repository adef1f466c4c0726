"""make appeal: one zip with everything that somebody needs to judge a failure again.

It runs the test once more, with the seed of the failure, and records it. Exit status: 0 it is
written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path

from harness.course.classes.records import lab_digest
from harness.course.handover import archive, handin
from harness.course.handover.archive import Member
from harness.feedback.failure import NotJudged
from harness.grade import report
from harness.grade.judge import grade_target
from harness.grade.request import Request, asked, one_test, parse
from harness.grade.scoring import FAILED, Grade
from harness.server import build
from harness.student import replay
from harness.student.trace import page, timeline
from harness.submission import command_line, programs, seed
from harness.submission.target import Target, WrongUsage, as_typed, named, setting

SECONDS = 10  # for a command that prints its version


def main(arguments: list[str]) -> int:
    options = parse(arguments, __doc__.splitlines()[0])
    return command_line.run("appeal", lambda: run(options), NotJudged)


def run(options: argparse.Namespace) -> int:
    """Runs the test again, writes the zip and says what is in it."""
    if not options.id:
        raise WrongUsage(f"which failure? Each prints its own, for instance {replay.EXAMPLE}")
    identity = options.id
    default = command_line.BUILD / "appeal" / f"{identity}.zip"
    path = archive.named(setting("OUT"), default, (".zip",))
    options = replay.of_id(options)
    target, request = named(options), asked(options)
    claim = one_test(request, target.chapter)
    if target.source is None:
        raise WrongUsage("SERVER= has no source files to pack; give DIR=")
    own = seed.of_files(target.source)
    if own != request.seed:
        raise WrongUsage(
            f"the ID has the seed {request.seed}, and the files in {target.subject} have {own}: "
            "they have changed since that grade, or it had SEED=; name what was graded with DIR="
        )
    found, texts = _again(target, replace(request, only=claim.name), identity)
    texts["README.md"] = _note(identity, claim.text, _now(found))
    members = [Member(name, text.encode("utf-8", "replace")) for name, text in texts.items()]
    members += handin.collect(target.source, "sources").members
    top = [replace(one, name=f"{identity}/{one.name}") for one in members]
    digest = archive.write_zip(path, top)
    print(f"{as_typed(path)}\n  sha256  {digest}\n{textwrap.indent(_now(found), '  ')}")
    return 0


def _again(target: Target, request: Request, identity: str) -> tuple[Grade, dict[str, str]]:
    """Runs the test, and returns its grade, and the text of each file about it."""
    with tempfile.TemporaryDirectory(prefix="lab-appeal-") as scratch:
        record, result = Path(scratch) / "seen.json", Path(scratch) / "result.json"
        found = grade_target(target, replace(request, trace=record, results=result))
        said = report.chapter(found, report.Look(verbose=True))
        texts = {"result.json": result.read_text(), "failure.txt": f"{said}\n"}
        if record.exists() and found.outcomes:
            seen, verdict = timeline.load(record), found.outcomes[0].verdict
            texts["trace.html"] = page.render(identity, verdict, said, seen)
        return found, texts


def _now(found: Grade) -> str:
    """What happened when the test ran again."""
    if not found.built:
        return "When this file was made, the sources did not compile: see failure.txt."
    verdict = found.outcomes[0].verdict
    if verdict == FAILED:
        return "When this file was made, the test ran again and failed."
    return (
        f"When this file was made, the test ran again and was {verdict}.\n"
        "So the failure depends on time, or the lab has changed since the grade."
    )


def _versions() -> dict[str, str]:
    """The versions of the lab and of the machine that graded. That of the lab is a hash: equal for
    a clone, a handout and an unpacked copy."""
    uname = os.uname()
    try:
        compiler = programs.answer([*build.find_compiler(), "--version"], SECONDS).stdout
    except build.NoCompiler as error:
        compiler = str(error)
    return {
        "lab": lab_digest()[:16],
        "compiler": compiler.partition("\n")[0],
        "kernel": f"{uname.sysname} {uname.release} {uname.machine}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "cores": str(len(os.sched_getaffinity(0))),
    }


def _note(identity: str, claim: str, now: str) -> str:
    """README.md. `now`: what happened when this file was made."""
    made = "\n".join(f"    {name:10} {what}" for name, what in _versions().items())
    return f"""\
# Appeal {identity}

The claim: {claim}

{now}

`sources/` was graded. `failure.txt` is what a student reads, `trace.html` the run as a picture.
To see the failure again, call in a copy of the lab:

    make replay ID={identity} DIR=path/to/{identity}/sources
    make trace ID={identity} DIR=path/to/{identity}/sources

The ID has the chapter, the test and the seed, so every byte that the clients send is the same.
Where the result differs, compare the versions. This was made with

{made}
"""
