"""make fuzz: malformed messages for the reader, for a given time, until one goes wrong.

libFuzzer of clang chooses the messages: it observes which lines a message reaches. Messages that
have reached new code are kept in build/fuzz, and the next run goes on from there.

Exit status: 0 no message goes wrong, 1 a message goes wrong, 2 not judged or wrong usage.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from harness.claims.context.stage import Run, Stage
from harness.feedback.failure import Failure, NotJudged
from harness.grade import report, terminal
from harness.grade.diagnosis import diagnose
from harness.grade.request import parse
from harness.modules import linking, program
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.spawn import Command
from harness.submission import chapters, command_line, seed, sources
from harness.submission.target import Target, WrongUsage, as_typed, is_whole, resolve, setting

PROGRAM, MODULE, FIRST_CHAPTER, COMPILER = "05_fields", "reader.c", "05", "clang"
KEPT = command_line.BUILD / "fuzz"
SECONDS = 20  # unless SECONDS= is given
ROUND_SECONDS = 60  # of one process: a program may use 120 s of CPU
LATE_SECONDS = 30  # a round may take this much longer
LONGEST = 4096  # bytes of an input: INPUT_MAX of the program
FLAGS = (
    *("-DFUZZER", "-DSANITIZED", "-fsanitize=fuzzer,address,undefined"),
    "-fno-sanitize-recover=all",
)

# Inputs to begin with, in the form of the program: a count less 1, kinds, and the message.
SEEDS = (
    bytes([2, 0, 1, 2]) + bytes(range(14)),
    bytes([1, 3, 14]) + b"\x80\x01" + bytes(130),
    bytes([0, 3]) + b"\x80\x80\x80\x80\x01",
)


def main(_: list[str]) -> int:
    options = parse([])
    return command_line.run("fuzz", lambda: run(options), NotJudged)


def run(options) -> int:
    """Does what the make variables say. Returns the exit status."""
    seconds = setting("SECONDS") or str(SECONDS)
    for name, text in (("SECONDS", seconds), ("SEED", options.seed)):
        if text and not is_whole(text):
            raise WrongUsage(f"{name}={text}: that is not a whole number")
    target = _target(options)
    text = setting("INPUT")
    if text is None:
        return _fuzz(target, options, int(seconds))
    if not re.fullmatch(r"([0-9a-fA-F]{2})+", text):
        raise WrongUsage(f"INPUT={text}: that is not hex, such as 0003ff")
    if not _passes(target, options, text):
        return 1
    print("this input passes")
    return 0


def _target(options) -> Target:
    if not options.chapter:
        raise WrongUsage("which chapter? For instance CH=05")
    chapter = chapters.find(options.chapter)
    if chapter.number < FIRST_CHAPTER:
        first = chapters.find(FIRST_CHAPTER).slug
        raise WrongUsage(
            f"chapter {chapter.number} has no reader of messages; {first} is the first that has"
        )
    if options.server:
        raise WrongUsage("SERVER= has no source files to fuzz; give DIR=")
    return resolve(chapter, options.origin, options.dir)


def _passes(target: Target, options, text: str) -> bool:
    """True if the input, in hex, passes; prints why not. Raises NotJudged."""
    source, number = target.source.resolve(), int(options.seed or seed.by_chance())
    untouched = list(map(str, chapters.untouched(target.chapter, source)))
    names = [path.name for path in sources.files(source)]
    run_of = Run([], seed=number, sources=names, directory=str(source), untouched=untouched)
    stage = Stage(run_of)
    try:
        programs = program.Programs(stage, number)
        programs.run(PROGRAM, "one", sanitize="address,undefined", input=text)
        return True
    except Failure as error:
        found, look = diagnose(error, stage).printable(), terminal.look(options.verbose)
    again = [("again", f"make fuzz {target.words} INPUT={text}")]
    lines = [*report.account(found, True, look), *report.labelled(again)]
    print("\n".join([f"FAILED  {MODULE} of {target.subject}", "", *lines]))
    return False


def _fuzz(target: Target, options, seconds: int) -> int:
    """Inputs are kept for the next run; what was found before is removed. Returns the status."""
    source = target.source.resolve()
    binary = _built(source)
    if binary is None and not _passes(target, options, "00"):  # not because of clang
        return 1
    if binary is None:
        raise NotJudged(
            "make fuzz needs clang with libFuzzer, from packages such as clang and "
            "libclang-rt-14-dev; without them test_05_fuzzed_messages tries random messages"
        )
    kept = KEPT / re.sub(r"[^\w.-]", "_", f"{source.parent.name}-{source.name}")
    shutil.rmtree(kept / "found", ignore_errors=True)
    for name in ("corpus", "found"):
        (kept / name).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(SEEDS):
        (kept / "corpus" / f"seed-{number}").write_bytes(data)
    print(f"{target.subject}: {seconds} s with libFuzzer", flush=True)
    runs = 0
    for start in range(0, seconds, ROUND_SECONDS):
        printed = _round(binary, kept, min(ROUND_SECONDS, seconds - start))
        runs += sum(map(int, re.findall(r"number_of_executed_units: (\d+)", printed)))
        for path in kept.glob("found/*"):
            if not _passes(target, options, path.read_bytes().hex()):
                return 1
            raise NotJudged(f"libFuzzer has stopped at {as_typed(path)}, which passes")
    if not runs:
        raise NotJudged(f"libFuzzer has tried no message; it says:\n{printed[-1000:]}")
    count = len([*kept.glob("corpus/*")])
    print(
        f"{runs:,} messages, and none fails; {count:,} that reached something new are kept\n"
        f"in {as_typed(kept)}, and the next run continues from there"
    )
    return 0


def _built(source: Path) -> Path | None:
    """The program with libFuzzer; None when it cannot be built."""
    if shutil.which(COMPILER) is None:
        return None
    try:
        return linking.link(source, PROGRAM, FLAGS, [COMPILER])
    except build.BuildFailed:
        return None


def _round(binary: Path, kept: Path, seconds: int) -> str:
    """Runs libFuzzer, confined and limited like a server. Returns what it has printed."""
    words = [str(binary), str(kept / "corpus"), f"-max_len={LONGEST}", "-rss_limit_mb=1024"]
    words += [f"-artifact_prefix={kept}/found/", f"-max_total_time={seconds}"]
    words += ["-print_final_stats=1", "-timeout=5"]
    process = ServerProcess()
    try:
        process.begin(Command(words, writable=(kept,)))
        if process.wait(seconds + LATE_SECONDS) is None:
            raise NotJudged("libFuzzer did not end in time")
        process.settle()
    finally:
        process.destroy()
    return process.stdout.text() + process.stderr.text()
