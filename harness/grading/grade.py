"""Grades a chapter, or all: builds the server, runs the claims, prints and saves the result.

Exit status: 0 full marks, 1 less, 2 not judged (or wrong usage). `make grade` turns every status
but 0 into 2; call `python3 -m harness grade --chapter 03` where the difference matters.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Collection
from pathlib import Path

from harness.claims.instruments import gdb, valgrind
from harness.claims.stage.stage import Run
from harness.failures.failure import NotJudged
from harness.failures.printable import harmless
from harness.grading import errors, guard, history, report, results, runner, scoring
from harness.grading.scoring import Claim, Grade, Outcome
from harness.lab import chapters, command_line, seed, sources
from harness.lab.numbers import is_whole
from harness.lab.target import Target, WrongUsage, add_options, as_typed, named, resolve, setting
from harness.server import build
from harness.server.linux import landlock, prctl
from harness.server.shim import LIBRARIES, shim_library

RESULTS = command_line.BUILD / "results"
MOST_NAMES = 12  # of tests that T could have meant
BROKEN_SECONDS = 60  # for a server that fails the first frames
LAB_OPTIONS = ("-p", "0")  # of the lab's own servers: any free port


class Interrupted(Exception):
    """The option `stop`, called after each test, has returned true."""


class Broken(Exception):
    """BROKEN_SECONDS are over, and the server fails the first frames."""


class Lost(Exception):
    """A test has failed, and the option `until_lost` ends the grade then."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="grade", description=__doc__.splitlines()[0])
    add_options(parser, chapter="default: a board of all")
    add = parser.add_argument
    add("--only", metavar="T", default=setting("T"), help="a TODO (03.2) or a part of test names")
    add("--verbose", action="store_true", default=setting("V") not in (None, "0"))
    asked = setting("ERRORS") not in (None, "0")
    add("--errors", action="store_true", default=asked, help="failures as file:line:, too")
    add("--memcheck", action="store_true", help="run the server under valgrind")
    add("--seed", metavar="N", default=setting("SEED"), help="of everything random")
    add("--jobs", metavar="N", default="2", help="tests at the same time, default 2")
    add("--results", metavar="FILE", type=Path, help="default: build/results/NN.json")
    add("--limit", metavar="S", default=None, help="seconds for all tests of a chapter together")
    add("--id", metavar="ID", default=setting("ID"), help="of a failure, for replay and trace")
    add("--until-lost", action="store_true", help=argparse.SUPPRESS)  # one failed test is enough
    add("--trace", type=Path, help=argparse.SUPPRESS)
    add("--debugger", type=Path, help=argparse.SUPPRESS)
    add("--claims", type=Path, default=scoring.CLAIMS, help=argparse.SUPPRESS)
    parser.set_defaults(first=(), stop=lambda: False)  # see Interrupted, and _run
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    prctl.close_memory()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # which is nohup
            signal.signal(number, signal.default_int_handler)
    options = parse(arguments)
    try:
        return command_line.run("grade", lambda: run(options), NotJudged)
    except Exception:  # never the student's fault: no traceback is shown
        log = RESULTS / "harness-fault.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(traceback.format_exc())
        print(
            f"grade: not judged, the lab itself failed; details: {as_typed(log)}", file=sys.stderr
        )
    return 2


def run(options: argparse.Namespace) -> int:
    """Grades what the options name and prints it. Returns the exit status."""
    for name in ("seed", "jobs", "limit"):
        text = getattr(options, name)
        if text is not None and not is_whole(text):
            raise WrongUsage(f"{name.upper()}={text}: that is not a whole number")
    if options.memcheck and valgrind.missing():
        raise WrongUsage(valgrind.MISSING)
    look = terminal_look(options)
    if options.chapter is None:
        return board(options, look)
    target = named(options)
    if options.errors and target.source is None:
        raise WrongUsage("ERRORS=1 names lines of C files, and SERVER= has none here; give DIR=")
    grade = grade_target(target, options)
    print(report.chapter(grade, look))
    if options.errors:
        print("", *errors.lines(grade), sep="\n")
    return grade.status


def board(options: argparse.Namespace, look: report.Look) -> int:
    """A line a chapter, as each is graded. Returns the exit status for all of them."""
    names = ("dir", "server", "port", "only", "results", "errors")
    given = [name for name in names if getattr(options, name)]
    if given or options.memcheck:
        what = "memcheck" if options.memcheck else {"only": "T"}.get(given[0], given[0].upper())
        raise WrongUsage(f"{what} needs a chapter as well, for instance CH=01")
    print(f"Event Loop Lab\n\n{report.board_head()}")
    grades, verdicts = [], set()
    for chapter in _to_be_graded(options.origin):
        try:
            grade = grade_target(resolve(chapter, options.origin), options)
        except WrongUsage as error:
            verdicts.add(scoring.NOT_JUDGED)
            print(f"  {error}", flush=True)
        else:
            grades.append(grade)
            verdicts.add(grade.verdict)
            print(report.board_line(grade, look), flush=True)
    print("", *report.board_end(grades), sep="\n")
    if scoring.NOT_JUDGED in verdicts:
        return 2
    return 1 if scoring.FAILED in verdicts else 0


def _to_be_graded(origin: str | None) -> list[chapters.Chapter]:
    """All chapters, or those up to the last one that is here: a handout can end there."""
    here = [chapter.chapter_dir.exists() for chapter in chapters.CHAPTERS]
    if origin not in (None, "chapters") or not any(here):
        return list(chapters.CHAPTERS)
    return list(chapters.CHAPTERS[: len(here) - here[::-1].index(True)])


def grade_target(target: Target, options: argparse.Namespace) -> Grade:
    """Builds the target, runs its claims and writes the result. Raises WrongUsage, NotJudged."""
    start = time.monotonic()
    kind = "memcheck" if options.memcheck else "grade"
    name = target.chapter.number
    name += "-memcheck" if options.memcheck else ""
    name += "-selected" if options.only else ""
    file = options.results or RESULTS / f"{name}.json"
    grade = Grade(
        chapter=target.chapter,
        subject=target.subject,
        source=target.source,
        seed=_seed(target, options),
        selected=options.only,
        memcheck=options.memcheck,
        again=f"make {kind} {target.words}",
        elsewhere=target.words.replace(f"CH={target.chapter.number}", "", 1),
    )
    grade.outcomes = _outcomes(target, options)
    command = _build(target, grade)
    if command:
        _run(grade, command, target, options, file.with_suffix(".log"))
    if options.results is None and not options.memcheck:
        history.compare(grade, RESULTS / f"{target.chapter.number}-passed.json")
    grade.seconds = time.monotonic() - start
    results.write(grade, file)
    return grade


def _seed(target: Target, options: argparse.Namespace) -> int:
    """The seed that is given, or that of the submission; a random one for a SERVER=."""
    if options.seed:
        return int(options.seed)
    return seed.of_files(target.source) if target.source else seed.by_chance()


def _outcomes(target: Target, options: argparse.Namespace) -> list[Outcome]:
    """The claims to be judged, with their points. Raises WrongUsage if there are none."""
    chapter = target.chapter.number
    claims = scoring.holding(scoring.load(options.claims, chapter), chapter)
    if target.command:
        native = valgrind.is_native(target.command[0])
        claims = [claim for claim in claims if not claim.cli and (native or not claim.valgrind)]
    if options.memcheck:
        claims = [claim for claim in claims if not claim.native]
    if not claims:
        raise WrongUsage(f"there are no tests for chapter {chapter}")
    worth = scoring.worths(claims, chapter)
    selected = scoring.select(claims, options.only) if options.only else claims
    if not selected:
        known = ", ".join(dict.fromkeys(claim.number for claim in claims))
        wrong = f"T={options.only}: chapter {chapter} has no TODO and no test of that name"
        raise WrongUsage(f"{wrong}; the TODOs are {known}")
    return [Outcome(claim, worth[claim.name]) for claim in selected]


def one_test(options: argparse.Namespace, chapter: str) -> Claim:
    """The test that T names: by its whole name, or as the only one. Raises WrongUsage."""
    claims = scoring.holding(scoring.load(options.claims, chapter), chapter)
    selected = scoring.select(claims, options.only)
    exact = [claim for claim in selected if claim.name in (options.only, f"test_{options.only}")]
    if len(exact or selected) == 1:
        return (exact or selected)[0]
    if not selected:
        raise WrongUsage(f"T={options.only}: chapter {chapter} has no test of that name")
    names = [claim.name for claim in selected[:MOST_NAMES]]
    more = [f"and {len(selected) - MOST_NAMES} more"] if len(selected) > MOST_NAMES else []
    listed = "\n  ".join([*names, *more])
    raise WrongUsage(
        f"T={options.only} selects {len(selected)} tests; name one of them:\n  {listed}"
    )


def _build(target: Target, grade: Grade) -> list[str]:
    """The command that starts the server, [] if it does not compile. Raises NotJudged if that is
    not the fault of its files."""
    if target.source is None:
        return list(target.command)
    try:
        compiled = build.server_of(target.chapter, target.source)
    except build.BuildFailed as error:
        grade.built, grade.problem, grade.outcomes = False, harmless(str(error)), []
        return []
    grade.warnings = harmless(compiled.warnings)
    return [str(compiled.binary), *LAB_OPTIONS]


def _run(
    grade: Grade, command: list[str], target: Target, options: argparse.Namespace, log: Path
) -> None:
    """Runs the claims of `grade.outcomes`, and notes the result of each. Raises Interrupted.

    Those for which the machine was too busy are run once more, one after the other.
    """
    claims = _in_order(grade, options.first)
    following = Following(grade, options)
    alone = target.port is not None or len(claims) == 1
    jobs = 0 if alone else int(options.jobs)
    grade.log = Path(as_typed(log))
    log.unlink(missing_ok=True)
    how = _how(grade, command, target, options)
    files = [options.claims, *LIBRARIES.glob("*.so")]
    files += [Path(command[0])] if target.source else []
    before = {} if landlock.works() else guard.digests(files)
    end = time.monotonic() + _limit(options)
    try:
        while claims and not grade.problem:
            grade.problem = runner.run_claims(
                claims,
                how,
                jobs=jobs,
                log=log,
                found=following.found,
                begun=following.progress.begun,
                tick=following.tick,
                seconds=max(0, round(end - time.monotonic())),
            )
            claims, jobs = following.again(), min(jobs, 1)
    except Broken:
        _give_up(grade)
    except Lost:
        grade.problem = "a test has failed, and the others were not run"
    finally:
        following.progress.clear()
    scoring.believe(grade.outcomes)
    changed = guard.changed(before, guard.digests(files)) if before else []
    if changed:
        _spoilt(grade, guard.complaint(changed))


def _in_order(grade: Grade, first: Collection[str]) -> list[Claim]:
    """Its claims in the order in which they are run.

    Claims named in `first` come before the others, and then the claim that explains why others
    fail. Claims without a server mostly compile: meanwhile others may find out that the server
    hangs, and the waits get shorter. The chapter's own claims come before inherited ones.
    """
    return sorted(
        (outcome.claim for outcome in grade.outcomes),
        key=lambda claim: (
            claim.name not in first,
            not claim.explains,
            not claim.module,
            claim.chapter != grade.chapter.number,
        ),
    )


def _give_up(grade: Grade) -> None:
    """Claims that were not run within BROKEN_SECONDS are lost."""
    text = f"not run: the first frames fail, and {BROKEN_SECONDS} s are over"
    for outcome in grade.outcomes:
        if outcome.verdict == scoring.NOT_JUDGED and not outcome.detail:
            outcome.verdict, outcome.detail = scoring.FAILED, {"message": text}


def _spoilt(grade: Grade, problem: str) -> None:
    """The results cannot be trusted: no claim is judged."""
    grade.problem = problem
    for outcome in grade.outcomes:
        outcome.verdict, outcome.detail = scoring.NOT_JUDGED, {"message": problem}


def _how(grade: Grade, command: list[str], target: Target, options: argparse.Namespace) -> Run:
    return Run(
        argv=command,
        mode="port" if target.command else "stdout",
        port=target.port,
        preload=str(shim_library()),
        seed=grade.seed,
        valgrind=grade.memcheck,
        sources=[path.name for path in sources.files(target.source)] if target.source else [],
        directory=str(target.source.resolve()) if target.source else None,
        untouched=list(map(str, chapters.untouched(target.chapter, target.source))),
        by_calls=grade.chapter.by_calls.split() if target.source else [],
        trace=str(options.trace) if options.trace else None,
        debugger=str(options.debugger) if options.debugger else None,
    )


def _limit(options: argparse.Namespace) -> int:
    if options.limit is not None:
        return int(options.limit)
    if options.debugger:
        return 2 * gdb.SECONDS
    return runner.TOTAL_SECONDS * (runner.SLOWER if options.memcheck else 1)


class Following:
    """Notes and shows what happens while the claims run, and ends the grade early if needed."""

    def __init__(self, grade: Grade, options: argparse.Namespace) -> None:
        self._outcomes = {outcome.claim.name: outcome for outcome in grade.outcomes}
        self._options = options
        self._began = time.monotonic()
        self._patient = grade.memcheck
        self._tried_again = False
        self.progress = Progress(len(grade.outcomes))

    def found(self, name: str, verdict: str, seconds: float, detail: dict) -> None:
        outcome = self._outcomes[name]
        outcome.verdict, outcome.seconds = verdict, seconds
        outcome.detail = {
            key: harmless(part) if isinstance(part, str) else part for key, part in detail.items()
        }
        self.progress.found(name, verdict)
        if self._options.stop():
            raise Interrupted
        if self._options.until_lost and verdict == scoring.FAILED:
            raise Lost
        self._look()

    def tick(self) -> None:
        self.progress.tick()
        self._look()

    def again(self) -> list[Claim]:
        """Claims for which the machine was too busy: they are to be tried again. Only once."""
        if self._tried_again:
            return []
        self._tried_again = True
        busy = [outcome.claim for outcome in self._outcomes.values() if outcome.detail.get("busy")]
        self.progress.more(len(busy))
        return busy

    def _look(self) -> None:
        """Raises Broken."""
        if self._patient or time.monotonic() - self._began < BROKEN_SECONDS:
            return
        first = [outcome for outcome in self._outcomes.values() if outcome.claim.explains]
        if any(outcome.verdict == scoring.FAILED for outcome in first):
            raise Broken


class Progress:
    """One line that is written again and again: how many tests are over, and which one has run for
    the longest. It writes nothing if stdout is not a terminal that can do that."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._over = 0
        self._failed = 0
        self._running: dict[str, float] = {}  # when it began, by name; the oldest first
        self._shown = command_line.knows_escapes(sys.stdout)
        self.tick()

    def more(self, count: int) -> None:
        self._total += count

    def begun(self, name: str) -> None:
        self._running[name] = time.monotonic()
        self.tick()

    def found(self, name: str, verdict: str) -> None:
        self._running.pop(name, None)
        self._over += 1
        self._failed += verdict == scoring.FAILED
        self.tick()

    def tick(self) -> None:
        if not self._shown:
            return
        failed = f", {self._failed} failed" if self._failed else ""
        line = f"  {self._over} of {self._total} tests{failed}"
        for name, began in list(self._running.items())[:1]:
            line += f"; {time.monotonic() - began:.0f} s in {name}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{line[:width]}", end="", flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", flush=True)


def terminal_look(options: argparse.Namespace) -> report.Look:
    terminal = command_line.knows_escapes(sys.stdout)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    colour = terminal and not os.environ.get("NO_COLOR")
    return report.Look(max(60, min(columns, report.WIDEST)), colour, options.verbose)
