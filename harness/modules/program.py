"""The grader's own programs in C: linked with modules of a submission, which they check.

A claim about something that TCP cannot show is

    @claim("05.5", module=True)
    def test_05_integers_of_all_widths(program):
        '''Integers of 16, 32 and 64 bits are read.'''
        program("05_reader", "integers")

modules/check.h says what such a program is. It runs like a server: confined, limited, and
certainly ended. The results of a check come through shared memory: so a crash does not lose them,
and output of the module is never taken for them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.claims.context import gdb, locks, sanitizers, valgrind
from harness.claims.context.observe import never_waits
from harness.claims.context.stage import Stage, uncounted
from harness.feedback.failure import NotJudged
from harness.modules.linking import STEPS, built
from harness.modules.report_channel import Channel, Ended
from harness.server.process import ServerProcess
from harness.server.spawn import Command
from harness.waiting.wait import Deadline

LOOK_SECONDS = 0.02  # between two checks for progress
LAST_LINES = 10  # of its output, in a failure
WHO = "the program"  # makes the steps


@dataclass
class Ran:
    """A program on a Stage, in the place of a stage.Server."""

    process: ServerProcess
    logs: Path | None
    clients: list = field(default_factory=list)
    ended: Ended | None = None

    def describe(self) -> str:
        if self.ended and self.ended.failed:
            return "ended by the check, which failed"
        if self.ended and self.ended.fault:
            return "ended by a sanitizer of the compiler"
        return self.process.describe()

    def last_lines(self) -> str:
        lines = self.ended.printed.splitlines() if self.ended else []
        return "\n".join(lines[-LAST_LINES:])


class Programs:
    """Runs programs for one test, one after the other. `seed`: of their random numbers."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage = stage
        self._seed = seed

    def run(
        self,
        name: str,
        *checks: str,
        backend: str | tuple[str, ...] = "",
        sanitize: str = "",
        nofile: int | None = None,
        steps: bool = False,
        **options: int | str,
    ) -> dict[str, float]:
        """Runs checks of a program, one after the other. Returns the values that the last one has
        told, by name.

        `backend`: of an event manager; if there are several, each runs all checks.
        `sanitize`: "address,undefined" or "thread", where this machine has it; not under valgrind.
        `nofile`: it needs this many descriptors. `steps`: those of the modules are counted, if they
        can be built for that: see check_steps(). `options`: for the check, see check_option().
        Raises Failure, when the module does not build or is wrong, and NotJudged.
        """
        values: dict[str, float] = {}
        for one in (backend,) if isinstance(backend, str) else backend:
            given = {"seed": self._seed, "backend": one, **options}
            for check in checks:
                words = [check, *(f"{option}={value}" for option, value in given.items())]
                values = self._run(name, words, STEPS if steps else sanitize, nofile)
        return values

    def _run(
        self, name: str, words: list[str], sanitize: str, nofile: int | None
    ) -> dict[str, float]:
        stage = self._stage
        for wanted in (sanitize, "") if sanitize and not stage.valgrind else ("",):
            with uncounted():
                binary = built(Path(stage.run.directory), name, wanted, tuple(stage.run.untouched))
            if binary is None:
                continue
            stage.conversation.restart()
            ended = self._once(binary, words, nofile, wanted)
            if ended.begun or not wanted:  # some machines build such a program and cannot start it
                break
        if not ended.begun and stage.valgrind:
            problem = valgrind.gave_up(stage.servers[-1].logs) or valgrind.unusable(str(binary))
            if problem:
                raise NotJudged(problem)
        for step in ended.steps:
            stage.conversation.note(WHO, step)
        return ended.values()

    def _once(self, binary: Path, words: list[str], nofile: int | None, sanitize: str) -> Ended:
        stage, process, channel = self._stage, ServerProcess(), Channel()
        ran = Ran(process, stage.new_logs() if stage.valgrind else None)
        stage.servers.append(ran)
        channel.hold(bool(stage.run.debugger))
        try:
            command = self._command(ran, [str(binary), str(channel.descriptor), *words], sanitize)
            command = replace(
                command,
                nofile=nofile,
                inherited=(channel.descriptor,),
                environment=sanitizers.environment(),
            )
            process.begin(command)
            if stage.run.debugger:
                gdb.hold(process.pid, Path(stage.run.debugger))
                channel.hold(False)
            stuck = self._attend(process, channel)
            process.settle()
            process.destroy()
            ran.ended = Ended(process, channel, stuck, stage.run.sources)
            return ran.ended
        finally:
            process.destroy()
            channel.close()

    def _command(self, ran: Ran, words: list[str], sanitize: str) -> Command:
        """The command of the program with the shim, which notes a crash and does not disturb calls;
        or with valgrind or a sanitizer. A program of ours leaves memory and descriptors at its end,
        unless the claim is about them."""
        if ran.logs:
            wrapper = valgrind.wrapper(ran.logs, leaks=self._stage.about_memory)
            return Command(words, wrapper=wrapper, writable=(ran.logs,))
        if sanitize and sanitize != STEPS:
            return Command(words, wrapper=sanitizers.wrapper(sanitize))
        preload = self._stage.run.preload
        return Command(words, preload=(Path(preload),) if preload else (), counted=False)

    def _state(self, pid: int) -> str:
        if never_waits(pid):
            return "is busy"
        return locks.held(pid, self._stage.run.sources) or "waits"

    def _attend(self, process: ServerProcess, channel: Channel) -> str:
        """Waits for the end of the program. Returns "", or how it is stuck."""
        patience = self._stage.patience
        deadline, told = Deadline(patience), channel.progress
        while process.wait(LOOK_SECONDS) is None:
            if channel.progress != told:
                told = channel.progress
                deadline.restart()
            elif not deadline.left():
                return f"made no progress for {deadline.seconds:g} s and {self._state(process.pid)}"
        return ""


@pytest.fixture
def program(request, launch):
    """program(name, check, ...) -> values, see Programs.run. What `launch` does in the end is done
    for programs, too."""
    stage = request.node.lab_stage
    seed = random.Random(f"{stage.run.seed} {request.node.name}").getrandbits(48)
    return Programs(stage, seed).run
