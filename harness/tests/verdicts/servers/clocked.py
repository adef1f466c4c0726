"""clocked.py WAY MS...: for each byte of input, waits once for each of these times, in the way that
has this name: for the first one here, for the others each in a process. Prints how long each wait
took on its clock, in ns, and whether it ended as it should (0). For test_clock.py."""

import ctypes
import os
import sys
import time

MONOTONIC, ABSOLUTE = time.CLOCK_MONOTONIC, 1
libc = ctypes.CDLL(None)
event = ctypes.create_string_buffer(12)


def of_ns(*numbers):
    """A struct timespec, or several in a row."""
    parts = [part for number in numbers for part in divmod(number, 10**9)]
    return (ctypes.c_long * len(parts))(*parts)


def until(ns):
    at = of_ns(time.clock_gettime_ns(MONOTONIC) + ns)
    return libc.clock_nanosleep(MONOTONIC, ABSOLUTE, at, None)


WAYS = {
    "poll": lambda ns: libc.poll(None, 0, ns // 10**6),
    "ppoll": lambda ns: libc.ppoll(None, 0, of_ns(ns), None),
    "select": lambda ns: libc.select(0, None, None, None, (ctypes.c_long * 2)(ns // 10**9, 0)),
    "pselect": lambda ns: libc.pselect(0, None, None, None, of_ns(ns), None),
    "epoll_wait": lambda ns: libc.epoll_wait(libc.epoll_create1(0), event, 1, ns // 10**6),
    "epoll_pwait": lambda ns: libc.epoll_pwait(libc.epoll_create1(0), event, 1, ns // 10**6, None),
    "nanosleep": lambda ns: libc.nanosleep(of_ns(ns), None),
    "usleep": lambda ns: libc.usleep(ns // 1000),
    "until": until,
}
print("ready", flush=True)
while os.read(0, 1):
    mine, *others = sys.argv[2:]
    for ms in others:
        if os.fork() == 0:
            mine, others = ms, None
            break
    began = time.monotonic_ns()
    wrong = WAYS[sys.argv[1]](int(mine) * 10**6)
    os.write(1, b"%d %d\n" % (time.monotonic_ns() - began, wrong or 0))
    if others is None:
        os._exit(0)
