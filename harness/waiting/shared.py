"""The file that a server with the library and the harness share: struct shared of shim.h.

What is declared there is not declared here again: numbers, enumerations, structures and the names
of the functions are read from the header.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from itertools import takewhile
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from harness.feedback.failure import NotJudged
from harness.submission.sizes import KIB


class Header:
    """The part of shim.h that describes the file.

    functions: those of EACH_CALL, by their numbers. numbers: what is defined, and the members of
    all enumerations. enums: the members of each. structs: classes of ctypes; some may be given.
    """

    def __init__(self, path: Path, **bases: type[ctypes.Structure]) -> None:
        text = path.read_text().partition("/* THE END */")[0]
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.functions = re.findall(r"^ +X\((\w+), \w+\)", text, re.M)
        defined = re.findall(r"#define (\w+) +\(?(-?\w+)\)?\s*$", text, re.M)
        self.numbers = {name: int(value, 0) for name, value in defined}
        self.enums = dict(self._enums(text))
        self.structs: dict[str, type[ctypes.Structure]] = {}
        for name, fields in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.M | re.S):
            made = bases.get(name) or type(name, (ctypes.Structure,), {})
            made._fields_ = list(self._fields(fields))
            self.structs[name] = made

    def _enums(self, text: str) -> Iterator[tuple[str, dict[str, int]]]:
        for name, members in re.findall(r"^enum (\w+) \{(.*?)\};", text, re.M | re.S):
            words = (member.partition("=") for member in members.split(","))
            found = {
                one.strip(): int(value or place) for place, (one, _, value) in enumerate(words)
            }
            self.numbers.update(found)
            yield name, found

    def _fields(self, text: str) -> Iterator[tuple[str, type]]:
        """`uint64_t pc, sp; struct step step[STEPS_MAX];`"""
        declared = r"(?:_Atomic )?(?:struct )?(\w+) ([^;]+);"
        for kind, names in re.findall(declared, text):
            for name in names.split(","):
                of = self.structs.get(kind) or getattr(ctypes, f"c_{kind.removesuffix('_t')}")
                for size in reversed(re.findall(r"\[(\w+)\]", name)):
                    of *= self.numbers[size]
                yield name.partition("[")[0].strip(), of


class Waiter(ctypes.Structure):
    """A thread that has waited, in a call that the library looks after: see struct waiter."""

    @property
    def function(self) -> str:
        return _name(self.call)


class Crash(ctypes.Structure):
    """A signal that a fault of the program has raised, and where: see struct crash."""

    @property
    def used(self) -> int | None:
        """The address that was used; of SIGSEGV and SIGBUS, and not always known."""
        return None if self.address == _NO_ADDRESS else self.address

    @property
    def frames(self) -> list[int]:
        """Addresses of `file`, the innermost first, or of none of its functions."""
        return [address for address in self.frame if address]

    @property
    def file(self) -> Path:
        return Path(os.fsdecode(self.program))


_SHIM_H = Path(__file__).parents[1] / "server" / "preload" / "shim.h"
_HEADER = Header(_SHIM_H, waiter=Waiter, crash=Crash)
_SHARED = _HEADER.structs["shared"]
FUNCTIONS = _HEADER.functions
Group = IntFlag("Group", _HEADER.enums["group"])
Group.__doc__ = "What a call does, as far as a schedule is concerned."
Mode = IntEnum("Mode", _HEADER.enums["mode"])
Mode.__doc__ = "How the clock goes that a server reads."
Watched = IntFlag("Watched", _HEADER.enums["watched"])
Watched.__doc__ = "Interest and readiness, in an entry that is watched."
_FLAGS, _DUTIES = _HEADER.enums["flag"], _HEADER.enums["duty"]
MAGIC, PLANS_MAX, STEPS_MAX, LONGEST_ROUND, ANY, SPURIOUS, NO_DUE, _NO_ADDRESS = (
    _HEADER.numbers[name]
    for name in "MAGIC PLANS_MAX STEPS_MAX LONGEST_ROUND ANY SPURIOUS NO_DUE NO_ADDRESS".split()
)
SIZE = ctypes.sizeof(_SHARED)
_ENTRY = struct.Struct("".join(of._type_ for _, of in _HEADER.structs["entry"]._fields_))


class Calls(NamedTuple):
    """How many system calls a server has made, all its processes and threads together."""

    outputs: int  # write, send and their relatives, but not to stdin, stdout or stderr
    inputs: int  # read, recv and their relatives, but not from these
    waits: int  # poll, select, epoll_wait and their relatives
    accepts: int  # accept, accept4


class Step(NamedTuple):
    """One step of a plan: the next call fails with `error` (an errno, or SPURIOUS); or the next
    `limit` bytes move, no call moving more than what is left of them; with neither, a call passes.
    """

    error: int = 0
    limit: int = 0


PASS = Step()


def fail(error: int) -> Step:
    """The next call fails with this errno and moves nothing."""
    return Step(error=error)


def piece(size: int) -> Step:
    """The next `size` bytes arrive, or fit, together; the others not before they are moved."""
    return Step(limit=size)


@dataclass(frozen=True)
class Plan:
    """What happens to some of a server's calls, one step after the other; then all pass again.

    groups: which calls. connection: of which connection, by order of acceptance from 0, or ANY.
    skip: so many calls pass first. cycles: the steps come again and again, for ever. at_least:
    calls for fewer bytes pass and do not count. Steps that cannot happen (EAGAIN on a blocking
    socket) are left out by the library.
    """

    groups: Group
    steps: Sequence[Step]
    connection: int = ANY
    skip: int = 0
    cycles: bool = False
    at_least: int = 0

    def packed(self) -> ctypes.Structure:
        """The struct plan."""
        if not 0 < len(self.steps) <= STEPS_MAX:
            raise ValueError(f"a plan has 1 to {STEPS_MAX} steps, not {len(self.steps)}")
        steps, numbers = len(self.steps), (self.cycles, self.at_least)
        head = (self.groups, self.connection, self.skip, steps, *numbers)
        plan = _HEADER.structs["plan"](*head, hit=-1)
        for place, step in zip(plan.step, self.steps):
            place.error, place.limit = step
        return plan


class Entry(NamedTuple):
    """One call of the server, after it has returned.

    Or, with `watched`, what the wait behind it was for: `fd` was watched with the interest in
    `size`, and `result` was reported of it, both in bits: see Watched. It is told when
    either is new.
    Or, with `repeated`: the `size` entries of this thread before it came again, `result` more
    entries within `took_ns`. Such an entry grows for as long as they do.
    """

    start_ns: int  # on the clock of time.monotonic_ns()
    took_ns: int
    size: int  # bytes that were asked for; of poll and select, descriptors; of accept, peer's port
    result: int
    fd: int
    connection: int  # by order of acceptance; -1 none
    error: int  # errno, when the result is -1
    function: str
    fault: bool  # the schedule has changed it
    closed_twice: bool  # close() of a connection that had been closed before
    watched: bool
    repeated: bool
    thread: int
    number: int  # of the entry, from 1


class UnderWay(NamedTuple):
    """A call that has not returned; the last three are as in Entry."""

    function: str
    fd: int
    size: int
    start_ns: int


class Shim:
    """The shared file, from the harness's side. Can be read when file and server are gone.

    One thread at a time may use it. The schedule can be changed at any moment; calls that have
    begun are not touched by that.
    """

    def __init__(self, path: Path, *, calls: bool = True, crashes: bool = True) -> None:
        """Makes the file. Whoever loads the library with environment() uses it.

        `calls`: they are counted, recorded and disturbed. `crashes`: the place of one is noted;
        not for a program under valgrind, whose signals are valgrind's. Raises NotJudged if there
        is no space for the file: a server that then wrote into it would be killed by SIGBUS.
        """
        self.path = path
        with path.open("w+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, SIZE)
            except OSError as error:
                raise NotJudged(_no_space(error)) from error
            self._map = mmap.mmap(file.fileno(), SIZE)
        # Every assignment to a field is one store: the server may read it at this moment.
        self._shared = _SHARED.from_buffer(self._map)
        self._shared.magic = MAGIC
        self._shared.duties = calls * _DUTIES["CALLS_COUNT"] | crashes * _DUTIES["CRASHES_NOTE"]

    @property
    def shared(self) -> ctypes.Structure:
        """The fields of struct shared, as they are now. Raises NotJudged when the server has spoilt
        the file."""
        if self._shared.magic != MAGIC:
            raise NotJudged("the counters of system calls were overwritten")
        return self._shared

    def calls(self) -> Calls:
        """The numbers of this moment."""
        return Calls(*(getattr(self.shared, name) for name in Calls._fields))

    def schedule(self, *plans: Plan) -> None:
        """Replaces the schedule: the first plan that is about a call decides. None: all pass."""
        if len(plans) > PLANS_MAX:
            raise ValueError(f"at most {PLANS_MAX} plans, not {len(plans)}")
        shared = self.shared
        shared.generation |= 1
        for place, plan in enumerate(plans):
            shared.plan[place] = plan.packed()
        shared.plans = len(plans)
        shared.generation += 1

    def under_way(self) -> UnderWay | None:
        """The last call that has begun and not returned. Of a busy server it may be mixed up with
        the next one.
        """
        shared = self.shared
        call = shared.under_way
        if not call:
            return None
        place = shared.under_way_fd, shared.under_way_size, shared.under_way_since
        return UnderWay(_name(call - 1), *place)

    def set_clock(self, mode: Mode, monotonic_ns: int, realtime_ns: int) -> int:
        """Sets the clock that the server reads: see struct clock. Returns the new generation."""
        clock = self._shared.clock
        clock.generation |= 1
        clock.monotonic_ns, clock.realtime_ns = monotonic_ns, realtime_ns
        clock.mode = mode
        clock.generation += 1
        return clock.generation

    def waiters(self) -> list[Waiter]:
        """The threads that have waited and not ended; some may have been killed."""
        places = takewhile(lambda place: place.pid or place.count, self._shared.waiter)
        copies = map(Waiter.from_buffer_copy, places)  # the first free place is taken
        return [one for one in copies if one.pid and one.tid]

    def crash(self) -> Crash | None:
        """The first crash of one of the processes; None: there was none."""
        return self._shared.crash if self._shared.crash.signal else None

    def require_calls(self) -> None:
        """Raises NotJudged if no call has come that the schedule is about. Then a server has passed
        without being disturbed, as the library does not see its calls: those of stdio, or splice().
        """
        plans = self._shared.plan[: self.shared.plans]
        if plans and not any(plan.calls for plan in plans):
            text = "the lab's library sees none of the calls with which this server moves bytes"
            raise NotJudged(f"{text}, and so it disturbs none")

    def record(self) -> list[Entry]:
        """The last calls that have returned, in the order they did, as many as fit."""
        return self.record_after(0)[0]

    def record_after(self, last: int) -> tuple[list[Entry], int]:
        """The entries after number `last` that are still there, and the number of the last one.

        Before them come those that are `repeated`, also if they were there before: they may have
        grown. Any thread may ask for it.
        """
        repeated = _FLAGS["REPEATED"]
        kept = [
            fields
            for fields in _ENTRY.iter_unpack(bytes(self.shared.entry))
            if fields[-1] > last or fields[-1] and fields[-3] & repeated
        ]
        kept.sort(key=lambda fields: fields[-1])
        return [_entry(*fields) for fields in kept], max(last, kept[-1][-1] if kept else 0)


def _no_space(error: OSError) -> str:
    needed = f"{SIZE / KIB:,.0f} KiB for the counters of system calls"
    return f"{needed} cannot be written to {gettempdir()} (TMPDIR): {error.strerror}"


def _name(call: int) -> str:
    return FUNCTIONS[call] if call < len(FUNCTIONS) else "?"


def _entry(*fields: int) -> Entry:
    *numbers, call, flags, thread, number = fields
    told = (bool(flags & flag) for flag in _FLAGS.values())
    return Entry(*numbers, _name(call), *told, thread, number)
