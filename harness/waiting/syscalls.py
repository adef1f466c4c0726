"""Whether a process waits in system calls that have no time limit: then only an event from outside
can end its sleep. See /proc/PID/syscall in proc(5)."""

from __future__ import annotations

import platform
import re
import signal

from harness.waiting import procfs

# The calls that can wait, by their numbers in the kernel's unistd.h for each machine.
_X86_64 = {
    **{0: "read", 1: "write", 7: "poll", 19: "readv", 20: "writev", 23: "select", 34: "pause"},
    **{43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4"},
    **{128: "rt_sigtimedwait", 202: "futex", 232: "epoll_wait", 270: "pselect6", 271: "ppoll"},
    **{281: "epoll_pwait", 288: "accept4", 426: "io_uring_enter", 441: "epoll_pwait2"},
}
_AARCH64 = {
    **{22: "epoll_pwait", 63: "read", 64: "write", 65: "readv", 66: "writev", 72: "pselect6"},
    **{73: "ppoll", 98: "futex", 137: "rt_sigtimedwait", 202: "accept", 206: "sendto"},
    **{207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 260: "wait4"},
    **{426: "io_uring_enter", 441: "epoll_pwait2"},
}
CALLS = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})

# Of those that have a time limit, which argument it is, counted from 0: a negative int or a null
# pointer means no limit, and so do flags without _EXT_ARG.
_INT, _POINTER, _FLAG = "int", "pointer", "flag"
_EXT_ARG = 8  # of io_uring_enter: one more argument, with a time limit
_LIMITS = {
    **{"poll": (_INT, 2), "ppoll": (_POINTER, 2), "select": (_POINTER, 4)},
    **{"pselect6": (_POINTER, 4), "epoll_wait": (_INT, 3), "epoll_pwait": (_INT, 3)},
    **{"epoll_pwait2": (_POINTER, 3), "futex": (_POINTER, 3), "io_uring_enter": (_FLAG, 3)},
    "rt_sigtimedwait": (_POINTER, 2),
}
# They do nothing else than to let time pass.
_SLEEPS = {"x86_64": {35, 230}, "aarch64": {101, 115}}.get(platform.machine(), set())
_CAUGHT = re.compile(rb"^SigCgt:\s*([0-9a-f]+)$", re.M)
_CLOSE = {"x86_64": "3", "aarch64": "57"}.get(platform.machine())


def sleeps_for_ever(pid: int) -> bool:
    """Whether all its threads are asleep in calls without a time limit. False if the kernel does
    not say."""
    lines = procfs.of_threads(pid, "syscall")
    return bool(lines) and all(map(is_endless, lines))


def sleeps_in_close(pid: int) -> bool:
    """Whether all its threads are asleep, and one of them in close(). False if the kernel does not
    say."""
    numbers = [line.split()[0] for line in procfs.of_threads(pid, "syscall") if line.strip()]
    return bool(numbers) and "running" not in numbers and _CLOSE in numbers


def has_timerfd(pid: int) -> bool:
    """Whether it has a timer that is a descriptor, set or not."""
    return any("[timerfd]" in target for target in procfs.descriptor_targets(pid))


def catches_alarm(pid: int) -> bool:
    """Whether it has a handler of SIGALRM, so that a timer may wake it. Under valgrind each program
    has, which is valgrind's."""
    caught = _CAUGHT.search(procfs.read(f"/proc/{pid}/status"))
    return caught is None or bool(int(caught[1], 16) >> (signal.SIGALRM - 1) & 1)


def is_limited(line: str) -> bool:
    """Whether one thread sleeps in a call that has a time limit, or is one. `line`: see
    is_endless()."""
    words = line.split()
    if len(words) < 2 or not words[0].isdigit():
        return False
    number, counter = int(words[0]), int(words[-1], 16)
    if counter == 0:  # a thread of the kernel, such as a worker of a ring, has no program
        return False
    known = CALLS.get(number) in _LIMITS
    return number in _SLEEPS or known and not is_endless(line)


def is_endless(line: str) -> bool:
    """Whether one thread sleeps in a call without a time limit. `line`: the call's number and six
    arguments in hexadecimal, stack and program counter; "running" if it does not sleep."""
    number, *arguments = line.split() or ["running"]
    if not number.isdigit() or int(number) not in CALLS:
        return False
    limit = _LIMITS.get(CALLS[int(number)])
    if limit is None:
        return True
    kind, place = limit
    given = int(arguments[place], 16)
    if kind == _FLAG:
        return not given & _EXT_ARG
    return given == 0 if kind == _POINTER else bool(given & 0x8000_0000)
