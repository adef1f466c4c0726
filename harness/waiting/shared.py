"""The file that a server with the library and the harness share: struct shared of shim.h."""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from harness.feedback.failure import NotJudged
from harness.submission.sizes import KIB

MAGIC = 0x4D494853
VERSION = 13
PLANS_MAX = 64
STEPS_MAX = 64
TABLES = 2
RECORD_ENTRIES = 8192  # of a table; then the oldest are overwritten
LONGEST_ROUND = 256  # entries, of what is counted when it repeats: see record.c
WAITERS = 512
TIMERS = 64
FRAMES_MAX = 16
PROGRAM_MAX = 512
ANY = -1  # connection
SPURIOUS = -1  # in place of an errno

# Functions in the order of EACH_CALL in shim.h; __read_chk is how a fortified program calls read().
FUNCTIONS = """
    write writev send sendto sendmsg sendmmsg sendfile sendfile64 read __read_chk readv recv
    __recv_chk recvfrom __recvfrom_chk recvmsg recvmmsg poll __poll_chk ppoll __ppoll_chk select
    pselect epoll_wait epoll_pwait epoll_pwait2 accept accept4 close malloc epoll_ctl clock_gettime
    gettimeofday time timespec_get nanosleep clock_nanosleep pthread_cond_signal
    pthread_cond_broadcast pthread_cond_timedwait pthread_cond_clockwait timerfd_create
    timerfd_settime timerfd_gettime setitimer getitimer alarm timer_create io_uring_enter prctl
""".split()
_MOVING = {
    name.replace("__", "").replace("_chk", "")
    for name in FUNCTIONS
    if re.search("read|write|send|recv|accept", name)
}

# magic, version, outputs, inputs, waits, accepts, connections, recorded; generation, plans; detail;
# pauses, signals, duties; under_way, its size, its start, placed, taken, rings, kernel_timers
_HEAD = struct.Struct("=IIQQQQIIIIIIIIQQQIIIII4x")
_GENERATION_AT = struct.calcsize("=IIQQQQII")
_DETAIL_AT = _GENERATION_AT + 8
_PAUSES_AT = _DETAIL_AT + 4
_TAKEN_AT = _HEAD.size - 16
_CRASH = struct.Struct(f"=IiQQQ{FRAMES_MAX}Q{PROGRAM_MAX}s")  # see struct crash
_CLOCK = struct.Struct("=IIqqQ")  # see struct clock
_WAITER = struct.Struct("=IIIiqIII4x")  # see struct waiter
_TIMER = struct.Struct("=IIiiqq")  # see struct timer
_PLAN = struct.Struct(f"=IiIIQQ{2 * STEPS_MAX}iQQIIii")  # see struct plan; a limit is below 2^31
_STATE = struct.Struct("=QQIIii")  # its last fields, which the server writes
_ENTRY = struct.Struct("=QQqqiiiHHII")  # see struct entry
_NEVER_TAKEN = bytes(16 * _WAITER.size)  # some places of waiters that are next to each other
_CRASH_AT = _HEAD.size
_CLOCK_AT = _CRASH_AT + _CRASH.size
_WAITERS_AT = _CLOCK_AT + _CLOCK.size
_TIMERS_AT = _WAITERS_AT + WAITERS * _WAITER.size
_PLANS_AT = _TIMERS_AT + TIMERS * _TIMER.size
_RECORD_AT = _PLANS_AT + PLANS_MAX * _PLAN.size + 4 * 65536  # behind connection_of
SIZE = _RECORD_AT + TABLES * RECORD_ENTRIES * _ENTRY.size

_NO_ADDRESS = 2**64 - 1
_CALLS, _CRASHES = 1, 2  # duties
NO_DUE = 2**63 - 1
_DESCRIPTOR = 1  # kind of a timer: the others send a signal
FAULT, CLOSED_TWICE, WATCHED, REPEATED = 1, 2, 4, 8  # flags of an entry
# Interest and readiness, in an entry that is watched.
IN, OUT, ERROR, HANGUP, END, URGENT, CLOSED = 1, 2, 4, 8, 16, 32, 64


class Group(IntFlag):
    """What a call does, as far as a schedule is concerned."""

    OUTPUT = 1
    INPUT = 2
    WAIT = 4
    ACCEPT = 8
    CLOSE = 16
    ALLOCATION = 32


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

    groups: which calls. connection: of which connection, by order of acceptance from 0 (see
    Shim.connections), or ANY; a plan of waits says by it which connection SPURIOUS is about. skip:
    so many calls pass first. seed: if not 0, every call gets a step drawn from `steps`, for ever,
    and a piece is of 1 to `limit` bytes. at_least: calls for fewer bytes pass and do not count.
    Steps that cannot happen (EAGAIN on a blocking socket) are left out by the library.
    """

    groups: Group
    steps: Sequence[Step]
    connection: int = ANY
    skip: int = 0
    seed: int = 0
    at_least: int = 0

    def packed(self) -> bytes:
        if not 0 < len(self.steps) <= STEPS_MAX:
            raise ValueError(f"a plan has 1 to {STEPS_MAX} steps, not {len(self.steps)}")
        numbers = [number for step in self.steps for number in step]
        numbers += [0] * (2 * STEPS_MAX - len(numbers))
        head = (self.groups, self.connection, self.skip, len(self.steps), self.seed, self.at_least)
        return _PLAN.pack(*head, *numbers, 0, 0, 0, 0, -1, 0)


class Entry(NamedTuple):
    """One call of the server, after it has returned.

    Or, with `watched`, what the wait behind it was for: `fd` was watched with the interest in
    `size`, and `result` was reported of it, both in bits: IN, OUT and so on. It is told when
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

    @property
    def is_major(self) -> bool:
        """Whether the call tells where the bytes are: see table_of() in turn.c. Lines of the
        server's log count, too."""
        if self.repeated or self.function == "close":
            return True
        return not self.watched and self.result > 0 and self.function in _MOVING


class UnderWay(NamedTuple):
    """A call that has not returned; the last three are as in Entry."""

    function: str
    fd: int
    size: int
    start_ns: int


class Mode(IntEnum):
    """How the clock goes that a server reads; see enum clock_mode."""

    MACHINE = 0
    FLOWS = 1
    STANDS = 2


class Waiter(NamedTuple):
    """A thread that has waited, in a call that the library looks after."""

    pid: int
    tid: int
    function: str  # of its last wait
    fd: int  # that this was for; -1 none
    due_ns: int  # on the monotonic clock of the server: when the wait ends; NO_DUE
    waits: bool  # now
    count: int  # of its waits so far
    seen: int  # generation of the clock when it has looked at it last


class Timer(NamedTuple):
    """A timer of the kernel that goes by the server's clock: see struct timer."""

    place: int
    pid: int
    signal: int  # that it sends; 0: it is a descriptor
    clock: int  # of time.clock_gettime()
    due_ns: int  # on this clock; NO_DUE
    interval_ns: int


class Crash(NamedTuple):
    """A signal that a fault of the program has raised, and where. Addresses are those of memory,
    but for `frames`: these are of the file `program`, the innermost first; 0 is outside of it.
    """

    pid: int
    signal: int
    address: int | None  # that was used; of SIGSEGV and SIGBUS, and not always known
    pc: int
    sp: int
    frames: list[int]
    program: Path


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
        duties = calls * _CALLS | crashes * _CRASHES
        _HEAD.pack_into(self._map, 0, MAGIC, VERSION, *[0] * 11, duties, *[0] * 8)

    def _head(self) -> tuple[int, ...]:
        """Raises NotJudged when the server has spoilt the file."""
        magic, version, *numbers = _HEAD.unpack_from(self._map)
        if (magic, version) != (MAGIC, VERSION):
            raise NotJudged("the counters of system calls were overwritten")
        return tuple(numbers)

    def _put(self, at: int, form: str, *numbers: int) -> None:
        """Writes numbers that the server may read at this moment. struct.pack_into() is not for
        that: it writes zeros first, and a clock of mode 0 is the machine's."""
        packed = struct.pack(form, *numbers)
        self._map[at : at + len(packed)] = packed

    def calls(self) -> Calls:
        """The numbers of this moment."""
        return Calls(*self._head()[:4])

    def connections(self) -> int:
        """How many connections were accepted so far: the number that the next one will have."""
        return self._head()[4]

    def ring_calls(self) -> int:
        """Calls so far that hand over operations of io_uring, or wait for their completions, as far
        as liburing makes them."""
        return self._head()[-2]

    def kernel_timers(self) -> int:
        """Timers so far that send a signal, on the clock of the machine, as far as the C library
        sets them."""
        return self._head()[-1]

    def schedule(self, *plans: Plan) -> None:
        """Replaces the schedule: the first plan that is about a call decides. None: all pass."""
        if len(plans) > PLANS_MAX:
            raise ValueError(f"at most {PLANS_MAX} plans, not {len(plans)}")
        generation = self._head()[6]
        self._put(_GENERATION_AT, "=I", generation | 1)
        for place, plan in enumerate(plans):
            start = _PLANS_AT + place * _PLAN.size
            self._map[start : start + _PLAN.size] = plan.packed()
        new = (generation | 1) + 1 & 0xFFFFFFFF
        self._put(_GENERATION_AT, "=II", new, len(plans))

    def record_what_is_watched(self) -> None:
        """Makes the library record entries that are `watched` from now on, for a trace."""
        self._put(_DETAIL_AT, "=I", 1)

    def hide_pause(self) -> None:
        """The server is about to be stopped and continued, and no call of it fails for that."""
        self._tell(pauses=1)

    def show_signal(self) -> None:
        """A signal is about to be sent: a call that it interrupts does fail."""
        self._tell(signals=1)

    def _tell(self, pauses: int = 0, signals: int = 0) -> None:
        before = self._head()[9:11]
        now = [(number + more) & 0xFFFFFFFF for number, more in zip(before, (pauses, signals))]
        self._put(_PAUSES_AT, "=II", *now)

    def under_way(self) -> UnderWay | None:
        """The last call that has begun and not returned. Of a busy server it may be mixed up with
        the next one.
        """
        call, size, since = self._head()[12:15]
        if not call:
            return None
        fd = call & 0xFFFFFFFF
        return UnderWay(_name((call >> 32) - 1), fd if fd < 2**31 else -1, size, since)

    def set_clock(self, mode: Mode, monotonic_ns: int, realtime_ns: int) -> int:
        """Sets the clock that the server reads: see struct clock. Returns the new generation."""
        generation = struct.unpack_from("=I", self._map, _CLOCK_AT + 4)[0]
        self._put(_CLOCK_AT + 4, "=I", generation | 1)
        new = generation + 2 & 0xFFFFFFFF
        self._put(_CLOCK_AT + 8, "=qq", monotonic_ns, realtime_ns)
        self._put(_CLOCK_AT, "=II", mode, new)
        return new

    def clock_ahead(self) -> int:
        """How far a clock that flows is ahead of the machine's, in ns: the monotonic one."""
        return _CLOCK.unpack_from(self._map, _CLOCK_AT)[2]

    def clock_reads(self) -> int:
        """How often the server has read that clock so far."""
        return _CLOCK.unpack_from(self._map, _CLOCK_AT)[4]

    def waiters(self) -> list[Waiter]:
        """The threads that have waited and not ended; some may have been killed."""
        return [
            Waiter(pid, tid, _name(call), fd, due, bool(waits), *counts)
            for pid, tid, call, fd, due, waits, *counts in self._places()
            if pid and tid
        ]

    def _places(self) -> Iterator[tuple[int, ...]]:
        """The fields of each waiter's place that was ever taken: the first free one is taken, so
        all places after one that never was are free."""
        for at in range(_WAITERS_AT, _TIMERS_AT, len(_NEVER_TAKEN)):
            places = self._map[at : at + len(_NEVER_TAKEN)]
            if places == _NEVER_TAKEN:
                break
            yield from _WAITER.iter_unpack(places)

    def timers(self) -> list[Timer]:
        """The timers that are armed."""
        found = enumerate(_TIMER.iter_unpack(self._map[_TIMERS_AT:_PLANS_AT]))
        return [
            Timer(place, pid, 0 if kind == _DESCRIPTOR else which, clock, due, interval)
            for place, (pid, kind, which, clock, due, interval) in found
            if pid and kind and due != NO_DUE
        ]

    def expire(self, timer: Timer) -> None:
        """Notes that the signal of this timer has been sent: it is due again after its interval."""
        due = timer.due_ns + timer.interval_ns if timer.interval_ns else NO_DUE
        at = _TIMERS_AT + timer.place * _TIMER.size + _TIMER.size - 16
        self._put(at, "=q", due)

    def crash(self) -> Crash | None:
        """The first crash of one of the processes; None: there was none."""
        pid, signal, address, pc, sp, *frames, name = _CRASH.unpack_from(self._map, _CRASH_AT)
        if not signal:
            return None
        while frames and not frames[-1]:
            frames.pop()
        used = None if address == _NO_ADDRESS else address
        program = Path(os.fsdecode(name.split(b"\0")[0]))
        return Crash(pid, signal, used, pc, sp, frames, program)

    def recorded(self) -> int:
        """How many entries were recorded so far; record() has the last of them."""
        return self._head()[5]

    def fired(self, place: int = 0) -> int:
        """How many calls the plan at this place of the schedule has changed."""
        return self._state(place)[1]

    def require_calls(self) -> None:
        """Raises NotJudged if no call has come that the schedule is about. Then a server has passed
        without being disturbed, as the library does not see its calls: those of stdio, or splice().
        """
        plans = self._head()[7]
        if plans and not any(self._state(place)[0] for place in range(plans)):
            text = "the lab's library sees none of the calls with which this server moves bytes"
            raise NotJudged(f"{text}, and so it disturbs none")

    def hit(self, place: int = 0) -> int:
        """The port of the client whose call this plan has changed last, 0 if it was of none."""
        return self._state(place)[4]

    def _state(self, place: int) -> tuple[int, ...]:
        end = _PLANS_AT + (place + 1) * _PLAN.size
        return _STATE.unpack_from(self._map, end - _STATE.size)

    def record(self) -> list[Entry]:
        """The last calls that have returned, in the order they did, as many as fit."""
        return self.record_after(0)[0]

    def record_after(self, last: int) -> tuple[list[Entry], int]:
        """The entries after number `last` that are still there, and the number of the last one.

        Before them come those that are `repeated`, also if they were there before: they may have
        grown. Any thread may ask for it.
        """
        placed = self._head()[16]
        kept = [
            fields
            for fields in _ENTRY.iter_unpack(self._map[_RECORD_AT:SIZE])
            if fields[-1] > last or fields[-1] and fields[-3] & REPEATED
        ]
        self._put(_TAKEN_AT, "=I", placed)
        kept.sort(key=lambda fields: fields[-1])
        return [_entry(*fields) for fields in kept], max(last, kept[-1][-1] if kept else 0)


def _no_space(error: OSError) -> str:
    needed = f"{SIZE / KIB:,.0f} KiB for the counters of system calls"
    return f"{needed} cannot be written to {gettempdir()} (TMPDIR): {error.strerror}"


def _name(call: int) -> str:
    named = FUNCTIONS[call] if call < len(FUNCTIONS) else "?"
    return named.replace("__", "").replace("_chk", "")


def _entry(*fields: int) -> Entry:
    *numbers, call, flags, thread, number = fields
    told = (bool(flags & flag) for flag in (FAULT, CLOSED_TWICE, WATCHED, REPEATED))
    return Entry(*numbers, _name(call), *told, thread, number)
