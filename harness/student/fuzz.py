"""make fuzz: malformed messages for the reader, for a given time, until one goes wrong.

libFuzzer chooses the messages where clang has it, or AFL++ where it is installed: they observe
which lines a message reaches. Messages that have reached something new are kept in build/fuzz, and
the next run goes on from there. Without either, the messages are random.

Exit status: 0 no message goes wrong, 1 a message goes wrong, 2 not judged or wrong usage.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from harness.claims.stage import linking, program
from harness.claims.stage.stage import Run, Stage
from harness.failures.failure import Failure, NotJudged
from harness.grading import report, terminal
from harness.grading.diagnosis import diagnose
from harness.grading.request import parse
from harness.lab import chapters, command_line, seed, sources
from harness.lab.numbers import is_whole
from harness.lab.target import Target, WrongUsage, as_typed, resolve, setting
from harness.server import build
from harness.server.process import ServerProcess
from harness.server.spawn import Command

PROGRAM, FIRST_CHAPTER = "05_fuzz", "05"
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


class LibFuzzer:
    """A part of clang, linked with the program."""

    name = "libFuzzer"
    tools = ("clang",)
    environment: dict[str, str] = {}

    def command(self, binary: Path, kept: Path, seconds: int) -> list[str]:
        words = [str(binary), str(kept / "corpus"), str(kept / "seeds"), f"-max_len={LONGEST}"]
        words += [f"-artifact_prefix={kept}/found/", f"-max_total_time={seconds}"]
        return [*words, "-print_final_stats=1", "-rss_limit_mb=1024", "-timeout=5"]

    def runs(self, kept: Path, printed: str) -> int:
        """The number of inputs tried since the last call: in the round that has printed this."""
        return sum(map(int, re.findall(r"number_of_executed_units: (\d+)", printed)))

    def kept(self, kept: Path) -> list[Path]:
        """Inputs that reached something new, now and before."""
        return list(kept.glob("corpus/*"))

    def found(self, kept: Path) -> list[Path]:
        """Inputs that went wrong."""
        return list(kept.glob("found/*"))


class Afl:
    """AFL++, which watches the program from outside."""

    name = "AFL++"
    tools = ("afl-clang-fast", "afl-fuzz")
    environment = dict.fromkeys(
        ("AFL_SKIP_CPUFREQ", "AFL_NO_UI", "AFL_NO_AFFINITY", "AFL_AUTORESUME", "AFL_QUIET")
        + ("AFL_BENCH_UNTIL_CRASH", "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES"),
        "1",
    )

    def command(self, binary: Path, kept: Path, seconds: int) -> list[str]:
        words = ["afl-fuzz", "-V", str(seconds), "-G", str(LONGEST), "-m", "none"]
        return [*words, "-i", str(kept / "seeds"), "-o", str(kept / "afl"), "--", str(binary)]

    def __init__(self) -> None:
        self._before = 0

    def runs(self, kept: Path, printed: str) -> int:
        stats = kept / "afl" / "default" / "fuzzer_stats"
        text = stats.read_text() if stats.exists() else ""
        total = sum(map(int, re.findall(r"execs_done +: (\d+)", text)))
        more, self._before = total - self._before, total
        return more

    def kept(self, kept: Path) -> list[Path]:
        return list(kept.glob("afl/default/queue/id*"))

    def found(self, kept: Path) -> list[Path]:
        return [*kept.glob("afl/default/crashes/id*"), *kept.glob("afl/default/hangs/id*")]


ENGINES = (LibFuzzer, Afl)  # the better one first


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
    """Fuzzes with the first engine that is installed. Returns the exit status."""
    for engine in (make() for make in ENGINES):
        binary = _built(fuzzing, engine)
        if binary is not None:
            _say(f"{fuzzing.target.subject}: {seconds} s with {engine.name}")
            return _with_engine(fuzzing, engine, binary, seconds)
    _say(
        f"{fuzzing.target.subject}: {seconds} s of random messages; libFuzzer, which observes what "
        "a message\nreaches, is not installed: clang has it in a package such as libclang-rt-14-dev"
    )
    return _by_chance(fuzzing, seconds)


def _built(fuzzing: Fuzzing, engine) -> Path | None:
    """The program with the engine; None when this machine does not have it."""
    if not all(map(shutil.which, engine.tools)):
        return None
    try:
        return linking.link(fuzzing.source, PROGRAM, FLAGS, [engine.tools[0]])
    except build.BuildFailed:
        return None


def _with_engine(fuzzing: Fuzzing, engine, binary: Path, seconds: int) -> int:
    kept = _directory(fuzzing.source, engine)
    engine.runs(kept, "")  # inputs of earlier runs do not count
    runs = 0
    for start in range(0, seconds, ROUND_SECONDS):
        printed = _round(engine, binary, kept, min(ROUND_SECONDS, seconds - start))
        runs += engine.runs(kept, printed)
        for path in engine.found(kept):
            if not fuzzing.tried(path.read_bytes().hex()):
                return 1
            raise NotJudged(f"{engine.name} has stopped at {as_typed(path)}, which passes")
    if not runs:
        raise NotJudged(f"{engine.name} has tried no message; it says:\n{printed[-1000:]}")
    count = len(engine.kept(kept))
    _say(
        f"{runs:,} messages, and none fails; {count:,} that reached something new are kept\n"
        f"in {as_typed(kept)}, and the next run continues from there"
    )
    return 0


def _directory(source: Path, engine) -> Path:
    """Where the engine keeps its inputs for the next run; what it found before is removed."""
    kept = KEPT / re.sub(r"[^\w.-]", "_", f"{source.parent.name}-{source.name}")
    for name in ("corpus", "seeds", "found"):
        (kept / name).mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(SEEDS):
        (kept / "seeds" / str(number)).write_bytes(data)
    for path in engine.found(kept):
        path.unlink()
    return kept


def _round(engine, binary: Path, kept: Path, seconds: int) -> str:
    """Runs the engine, confined and limited like a server. Returns what it has printed."""
    process = ServerProcess()
    words = engine.command(binary, kept, seconds)
    command = Command(words, writable=(kept,), environment=engine.environment)
    try:
        process.begin(command)
        if process.wait(seconds + LATE_SECONDS) is None:
            raise NotJudged(f"{engine.name} did not end in time")
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
