"""What a program of the grader reports, through memory that it shares with us; and how it ended."""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import struct

from harness.claims.context import sanitizers
from harness.feedback.failure import Failure, NotJudged
from harness.server.process import ServerProcess
from harness.server.process_tree import ExitStatus
from harness.submission.sizes import KIB

# The layout of the shared memory, as in check.c: token, held, progress, and two texts,
# each after its size.
TOKEN_BYTES, TEXT_BYTES = 16, 64 * KIB
HELD, PROGRESS, FACTS = 16, 24, 32
STEPS = FACTS + 8 + TEXT_BYTES
REPORT_BYTES = STEPS + 8 + TEXT_BYTES
# The number of its descriptor, which a program closes: no socket gets it later. valgrind 3.24 does
# not see that accept4() opens one again, calls its close() a fault, and crashes.
OUT_OF_THE_WAY = 900


class Channel:
    """Memory that a program shares with us. The user has to close it."""

    def __init__(self) -> None:
        made = os.memfd_create("report", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.descriptor = fcntl.fcntl(
            made, fcntl.F_DUPFD_CLOEXEC, min(OUT_OF_THE_WAY, allowed - 1)
        )
        os.close(made)
        os.ftruncate(self.descriptor, REPORT_BYTES)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self._memory = mmap.mmap(self.descriptor, REPORT_BYTES)
        self._token = os.urandom(TOKEN_BYTES)
        self._memory[:TOKEN_BYTES] = self._token

    def close(self) -> None:
        self._memory.close()
        os.close(self.descriptor)

    def hold(self, held: bool) -> None:
        """Whether the program has to wait before the check."""
        self._memory[HELD : HELD + 8] = struct.pack("=Q", held)

    @property
    def begun(self) -> bool:
        """Whether the program has reached its check: it has taken the token."""
        return self._memory[:TOKEN_BYTES] != self._token

    @property
    def passed(self) -> bool:
        """Whether the check has returned: the token is back, with every bit inverted."""
        return self._memory[:TOKEN_BYTES] == bytes(byte ^ 0xFF for byte in self._token)

    @property
    def progress(self) -> int:
        """A number that changes when the check has reported anything."""
        return struct.unpack_from("=Q", self._memory, PROGRESS)[0]

    def steps(self) -> list[str]:
        return self._lines(STEPS)

    def facts(self) -> list[tuple[str, str]]:
        """Pairs such as ("failed", "number-bytes it gave 1, not 2"): a hint, then a message."""
        return [(kind, rest) for kind, _, rest in (s.partition(" ") for s in self._lines(FACTS))]

    def _lines(self, place: int) -> list[str]:
        size = min(TEXT_BYTES, struct.unpack_from("=Q", self._memory, place)[0])
        text = self._memory[place + 8 : place + 8 + size]
        return text.decode(errors="replace").splitlines()


class Ended:
    """The result of a program that has been destroyed.

    The first four attributes are as in Channel. `stuck`: how the check was stuck, or "". `fate`,
    `clean`: how the program ended, and whether with status 0. `fault`: what a sanitizer reports.
    `printed`: everything else on its stderr.
    """

    def __init__(
        self, process: ServerProcess, channel: Channel, stuck: str, sources: list[str]
    ) -> None:
        """`sources` are the student's files."""
        self.begun, self.passed = channel.begun, channel.passed
        self.steps, self.facts = channel.steps(), channel.facts()
        self.stuck = stuck
        self.fate = process.describe()
        self.clean = process.status == ExitStatus(code=0)
        printed = process.stderr.text()
        self.fault = sanitizers.fault(printed, sources)
        self.printed = sanitizers.without_reports(printed)

    @property
    def failed(self) -> bool:
        """Whether the check has reported that."""
        return "failed" in dict(self.facts)

    def values(self) -> dict[str, float]:
        """The values that the check has reported, by name. Raises Failure if it has not passed, and
        NotJudged."""
        try:
            return self._values()
        except ValueError:  # not a number: the module has overwritten it
            text = "the module has overwritten memory that it does not own"
            raise Failure(text, hint="in-the-module") from None

    def _values(self) -> dict[str, float]:
        facts = dict(self.facts)
        if "impossible" in facts:
            raise NotJudged(facts["impossible"])
        if self.failed:
            raise _failed(facts)
        if self.fault:
            raise self.fault
        if not self.passed or not self.clean:
            raise self._broken_off()
        told = (rest.rpartition(" ") for kind, rest in self.facts if kind == "value")
        return {name: float(number) for name, _, number in told}

    def _broken_off(self) -> Failure:
        """The failure when the module has ended the program, or never returned."""
        where = "in the marked step" if self.steps else "before its first step"
        if self.passed:
            where = "after the check"
        if self.fate.startswith("killed by the grader"):
            return Failure(f"{where} the program was {self.fate}", hint="over-limit")
        if self.stuck:
            hint = "lock-held" if "mutex" in self.stuck else "in-the-module"
            return Failure(f"the program {self.stuck} {where}", hint=hint)
        if self.fate.startswith("killed"):
            return Failure(f"the program was {self.fate} {where}", hint="module-crashed")
        return Failure(f"the program {self.fate} {where}", hint="in-the-module")


def _failed(facts: dict[str, str]) -> Failure:
    """The failure that the check itself has found."""
    shown = {name: bytes.fromhex(facts[name]) for name in ("expected", "received") if name in facts}
    hint, _, message = facts["failed"].partition(" ")
    return Failure(message, hint=hint, **shown)
