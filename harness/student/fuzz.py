"""make fuzz: malformed messages for the reader, for a given time, until one goes wrong.

libFuzzer chooses the messages where clang has it: it observes which lines a message reaches.
Messages that have reached new code are kept in build/fuzz, and the next run goes on from
there. Without it, the messages are random.

Exit status: 0 no message goes wrong, 1 a message goes wrong, 2 not judged or wrong usage.
"""

from __future__ import annotations

import re
import shutil
import time
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
from harness.submission.numbers import is_whole
from harness.submission.target import Target, WrongUsage, as_typed, resolve, setting

PROGRAM, FIRST_CHAPTER, COMPILER = "05_fuzz", "05", "clang"
KEPT = command_line.BUILD / "fuzz"
SECONDS = 20  # unless SECONDS= is given
ROUND_SECONDS = 60  # of one process: a program may use 120 s of CPU
LATE_SECONDS = 30  # a round may take this much longer
LONGEST = 4096  # bytes of an input: INPUT_MAX of the program
CHANCE_INPUTS = 200_000  # of a round
SANITIZERS = "address,undefined"
FLAGS = (
    *("-DFUZZER", "-DSANITIZED", "-fsanitize=fuzzer,address,undefined"),
    "-fno-sanitize-recover=all",
)

# Some inputs to begin with, in the form of the program: a count less 1, kinds, and the message.
SEEDS = (
    bytes([2, 0, 1, 2]) + bytes(range(14)),
    bytes([0, 3]) + b"\x05hello",
    bytes([1, 3, 14]) + b"\x80\x01" + bytes(130),
    bytes([0, 3]) + b"\x80\x80\x80\x80\x10",
)


class Fuzzing:
    """One `make fuzz`: what is fuzzed, and how a failure is printed."""

    def __init__(self, target: Target, options) -> None:
        source = target.source.resolve()
        number = int(options.seed) if options.seed else seed.by_chance()
        names = [path.name for path in sources.files(source)]
        self.target = target
        self.source = source
        self.seed = number
        untouched = list(map(str, chapters.untouched(target.chapter, source)))
        self._stage = Stage(
            Run([], seed=number, sources=names, directory=str(source), untouched=untouched)
        )
        self._programs = program.Programs(self._stage, number)
        self._look = terminal.look(options.verbose)

    def tried(self, text: str) -> bool:
        """Whether the input, in hex, passes; prints why not. Raises NotJudged."""
        return self._goes_well("one", input=text)

    def tried_by_chance(self, number: int) -> bool:
        """Whether CHANCE_INPUTS random inputs pass, different ones for each number; prints why not.
        Raises NotJudged."""
        return self._goes_well("mutated", inputs=CHANCE_INPUTS, seed=number)

    def _goes_well(self, check: str, **options) -> bool:
        try:
            self._programs.run(PROGRAM, check, sanitize=SANITIZERS, **options)
            return True
        except Failure as error:
            print("\n".join(self._told(error)))
            return False

    def _told(self, error: Failure) -> list[str]:
        found = diagnose(error, self._stage).printable()
        again = f"make fuzz {self.target.words}"
        if self._programs.input:
            again += f" INPUT={self._programs.input.hex()}"
        head = f"FAILED  {', '.join(linking.links(PROGRAM))} of {self.target.subject}"
        return [
            head,
            "",
            *report.account(found, True, self._look),
            *report.labelled([("again", again)]),
        ]


def main(_: list[str]) -> int:
    options = parse([])
    return command_line.run("fuzz", lambda: run(options), NotJudged)


def run(options) -> int:
    """Does what the make variables say. Returns the exit status."""
    seconds = setting("SECONDS") or str(SECONDS)
    for name, text in (("SECONDS", seconds), ("SEED", options.seed)):
        if text and not is_whole(text):
            raise WrongUsage(f"{name}={text}: that is not a whole number")
    fuzzing = Fuzzing(_target(options), options)
    text = setting("INPUT")
    if text is not None:
        if not re.fullmatch(r"([0-9a-fA-F]{2})+", text):
            raise WrongUsage(f"INPUT={text}: that is not hex, such as 0003ff")
        well = fuzzing.tried(text)
        print("this input passes" if well else "", end="\n" if well else "")
        return 0 if well else 1
    if not fuzzing.tried(SEEDS[0].hex()):  # this finds a program that does not build
        return 1
    return _fuzz(fuzzing, int(seconds))


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


def _fuzz(fuzzing: Fuzzing, seconds: int) -> int:
    """Fuzzes with libFuzzer if it is installed. Returns the exit status."""
    binary = _built(fuzzing)
    if binary is not None:
        _say(f"{fuzzing.target.subject}: {seconds} s with libFuzzer")
        return _with_engine(fuzzing, binary, seconds)
    _say(
        f"{fuzzing.target.subject}: {seconds} s of random messages; libFuzzer, which observes what "
        "a message\nreaches, is not installed: clang has it in a package such as libclang-rt-14-dev"
    )
    return _by_chance(fuzzing, seconds)


def _built(fuzzing: Fuzzing) -> Path | None:
    """The program with libFuzzer; None when this machine does not have it."""
    if shutil.which(COMPILER) is None:
        return None
    try:
        return linking.link(fuzzing.source, PROGRAM, FLAGS, [COMPILER])
    except build.BuildFailed:
        return None


def _with_engine(fuzzing: Fuzzing, binary: Path, seconds: int) -> int:
    """Its inputs are kept for the next run; what it found before is removed."""
    source = fuzzing.source
    kept = KEPT / re.sub(r"[^\w.-]", "_", f"{source.parent.name}-{source.name}")
    shutil.rmtree(kept / "found", ignore_errors=True)
    for name in ("corpus", "seeds", "found"):
        (kept / name).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(SEEDS):
        (kept / "seeds" / str(number)).write_bytes(data)
    runs = 0
    for start in range(0, seconds, ROUND_SECONDS):
        printed = _round(binary, kept, min(ROUND_SECONDS, seconds - start))
        runs += sum(map(int, re.findall(r"number_of_executed_units: (\d+)", printed)))
        for path in kept.glob("found/*"):
            if not fuzzing.tried(path.read_bytes().hex()):
                return 1
            raise NotJudged(f"libFuzzer has stopped at {as_typed(path)}, which passes")
    if not runs:
        raise NotJudged(f"libFuzzer has tried no message; it says:\n{printed[-1000:]}")
    count = len([*kept.glob("corpus/*")])
    _say(
        f"{runs:,} messages, and none fails; {count:,} that reached something new are kept\n"
        f"in {as_typed(kept)}, and the next run continues from there"
    )
    return 0


def _round(binary: Path, kept: Path, seconds: int) -> str:
    """Runs libFuzzer, confined and limited like a server. Returns what it has printed."""
    words = [str(binary), str(kept / "corpus"), str(kept / "seeds"), f"-max_len={LONGEST}"]
    words += [f"-artifact_prefix={kept}/found/", f"-max_total_time={seconds}"]
    words += ["-print_final_stats=1", "-rss_limit_mb=1024", "-timeout=5"]
    process = ServerProcess()
    try:
        process.begin(Command(words, writable=(kept,)))
        if process.wait(seconds + LATE_SECONDS) is None:
            raise NotJudged("libFuzzer did not end in time")
        process.settle()
    finally:
        process.destroy()
    return process.stdout.text() + process.stderr.text()


def _by_chance(fuzzing: Fuzzing, seconds: int) -> int:
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        if not fuzzing.tried_by_chance(fuzzing.seed + rounds):
            return 1
        rounds += 1
    _say(f"{rounds * CHANCE_INPUTS:,} messages, and none fails")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)
