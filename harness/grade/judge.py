"""Grades one target: builds it, runs its claims, notes what became of each, writes the result."""

from __future__ import annotations

import time
from pathlib import Path

from harness.claims.context import gdb, valgrind
from harness.claims.context.stage import Run
from harness.feedback.printable import harmless
from harness.grade import order, results, runner, scoring
from harness.grade.diagnosis import Diagnosis
from harness.grade.request import RESULTS, Request
from harness.grade.scoring import Claim, Grade, Outcome
from harness.grade.terminal import Progress
from harness.modules import linking
from harness.server import build
from harness.server.preload import shim_library
from harness.submission import chapters, seed, sources
from harness.submission.target import Target, WrongUsage, as_typed

BROKEN_SECONDS = 60  # for a server that fails the first frames; of CPU time on a busy machine
FEW_LATE = 5  # claims; where more wait in vain, the server is the reason
LAB_OPTIONS = ("-p", "0")  # of the lab's own servers: any free port


class Broken(Exception):
    """BROKEN_SECONDS are over, and the server fails the first frames."""


def grade_target(target: Target, request: Request) -> Grade:
    """Builds the target, runs its claims and writes the result. Raises WrongUsage, NotJudged."""
    start = time.monotonic()
    kind = "memcheck" if request.memcheck else "grade"
    name = target.chapter.number
    name += "-memcheck" if request.memcheck else ""
    name += "-selected" if request.only else ""
    file = request.results or RESULTS / f"{name}.json"
    grade = Grade(
        chapter=target.chapter,
        subject=target.subject,
        source=target.source,
        seed=_seed(target, request),
        selected=request.only,
        memcheck=request.memcheck,
        again=f"make {kind} {target.words}",
        elsewhere=target.words.replace(f"CH={target.chapter.number}", "", 1),
    )
    grade.outcomes = _outcomes(target, request, grade)
    command = _build(target, grade)
    if command:
        _run(grade, command, target, request, file.with_suffix(".log"))
    grade.seconds = time.monotonic() - start
    if request.results is None and not request.only:
        grade.changed = results.since(file, grade)
    results.write(grade, file)
    if request.results is None:
        results.write_in_full(grade, file.with_suffix(".txt"))
    return grade


def _seed(target: Target, request: Request) -> int:
    """The seed that is given, or that of the submission; a random one for a SERVER=."""
    if request.seed is not None:
        return request.seed
    return seed.of_files(target.source) if target.source else seed.by_chance()


def _outcomes(target: Target, request: Request, grade: Grade) -> list[Outcome]:
    """The claims to be judged, with their points. Raises WrongUsage if there are none."""
    chapter = target.chapter
    there = claims = scoring.holding(scoring.load(request.claims, chapter), chapter)
    if target.command:
        native = valgrind.is_native(target.command[0])
        claims = [claim for claim in claims if not claim.cli and (native or not claim.valgrind)]
    if target.source:
        of = {claim.chapter for claim in claims if claim.module}  # no later one can be read here
        own = {c for c in of if linking.has_modules(c.number, target.source)}
        foreign = [claim for claim in claims if claim.module and claim.chapter not in own]
        grade.left_out = len(foreign)
        claims = [claim for claim in claims if claim not in foreign]
    if request.memcheck:
        claims = [claim for claim in claims if not claim.native]
    if not claims:
        raise WrongUsage(f"there are no tests for chapter {chapter.number}")
    worth = scoring.worths(claims, chapter)
    selected = scoring.select(claims, request.only) if request.only else claims
    if not selected:
        known = ", ".join(dict.fromkeys(claim.number for claim in claims))
        if grade.left_out and scoring.select(foreign, request.only):
            raise WrongUsage(f"T={request.only} is about a module that is not in {target.subject}")
        if scoring.select(there, request.only):
            raise WrongUsage(
                f"T={request.only}: this is not run of a SERVER= or under valgrind, which distorts "
                "time, memory and limits: make grade CH= or DIR= runs it"
            )
        wrong = f"T={request.only}: chapter {chapter.number} has no TODO and no test of that name"
        raise WrongUsage(f"{wrong}; the TODOs are {known}")
    return [Outcome(claim, worth[claim.name]) for claim in selected]


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


def _run(grade: Grade, command: list[str], target: Target, request: Request, log: Path) -> None:
    """Runs the claims of `grade.outcomes`, and notes the result of each.

    Those for which the machine was too busy are run once more, one after the other; so are those
    in which a wait took too long, if they are few.
    """
    claims = order.in_order(grade)
    following = Following(grade, request)
    alone = target.port is not None or len(claims) == 1
    jobs = 0 if alone else request.jobs
    grade.log = Path(as_typed(log))
    log.unlink(missing_ok=True)
    how = _how(grade, command, target, request)
    end = time.monotonic() + _limit(request)
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
    finally:
        following.progress.clear()
    scoring.believe(grade.outcomes)


def _give_up(grade: Grade) -> None:
    """Claims that were not run within BROKEN_SECONDS are lost."""
    text = f"not run: the first frames fail, and {BROKEN_SECONDS} s are over"
    for outcome in grade.outcomes:
        if outcome.verdict == scoring.NOT_JUDGED and not outcome.diagnosis:
            outcome.fail(text)


def _how(grade: Grade, command: list[str], target: Target, request: Request) -> Run:
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
        chapter=grade.chapter.number,
        by_calls=grade.chapter.by_calls.split() if target.source else [],
        trace=str(request.trace) if request.trace else None,
        debugger=str(request.debugger) if request.debugger else None,
    )


def _limit(request: Request) -> int:
    if request.limit is not None:
        return request.limit
    if request.debugger:
        return 2 * gdb.SECONDS
    return runner.TOTAL_SECONDS * (runner.SLOWER if request.memcheck else 1)


class Following:
    """Notes and shows what happens while the claims run, and ends the grade early if needed."""

    def __init__(self, grade: Grade, request: Request) -> None:
        self._outcomes = {outcome.claim.name: outcome for outcome in grade.outcomes}
        self._request = request
        self._began = time.monotonic()
        self._patient = grade.memcheck
        self._tried_again = False
        self.progress = Progress(len(grade.outcomes), quiet=bool(request.debugger))

    def found(self, name: str, seconds: float, diagnosis: Diagnosis | None) -> None:
        outcome = self._outcomes[name]
        outcome.seconds = seconds
        outcome.diagnosis = diagnosis.printable() if diagnosis else None
        verdict = scoring.PASSED
        if diagnosis:
            verdict = scoring.FAILED if diagnosis.failed else scoring.NOT_JUDGED
        outcome.verdict = verdict
        self.progress.found(outcome)
        self._look()

    def tick(self) -> None:
        self.progress.tick()
        self._look()

    def again(self) -> list[Claim]:
        """Claims that may have failed only because the machine is busy: they are to be tried again.
        Only once."""
        if self._tried_again:
            return []
        self._tried_again = True
        over = [one for one in self._outcomes.values() if one.diagnosis]
        late = [outcome for outcome in over if outcome.diagnosis.late]
        again = [outcome for outcome in over if outcome.diagnosis.busy]
        again += late if len(late) <= FEW_LATE else []
        self.progress.more(len(again))
        return [outcome.claim for outcome in again]

    def _look(self) -> None:
        """Raises Broken."""
        if self._patient or time.monotonic() - self._began < BROKEN_SECONDS:
            return
        first = [outcome for outcome in self._outcomes.values() if outcome.claim.explains]
        fails = any(outcome.verdict == scoring.FAILED for outcome in first)
        if fails and not runner.is_held_up(BROKEN_SECONDS):
            raise Broken
