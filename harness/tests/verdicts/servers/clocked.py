"""clocked.py WAY MS...: for each byte of input, waits once for each of these times, in the way that
has this name: for the first one here, for the others each in a process. Prints how long each wait
took on its clock, in ns, and whether it ended as it should (0). For test_clock.py."""

import ctypes
import errno
import os
import signal
import sys
import time

MONOTONIC, REALTIME, ABSOLUTE = time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, 1
libc = ctypes.CDLL(None)
event = ctypes.create_string_buffer(12)
mutex, condition, attributes = map(ctypes.create_string_buffer, (64, 64, 64))


def of_ns(*numbers):
    """A struct timespec, or several in a row."""
    parts = [part for number in numbers for part in divmod(number, 10**9)]
    return (ctypes.c_long * len(parts))(*parts)


def on_timerfd(ns):
    timer = libc.timerfd_create(MONOTONIC, 0)
    libc.timerfd_settime(timer, 0, of_ns(0, ns), None)
    return os.read(timer, 8)[0] - 1


def on_alarm(ns):
    signal.setitimer(signal.ITIMER_REAL, ns / 1e9)
    return signal.pause()


def at(clock, ns):
    return of_ns(time.clock_gettime_ns(clock) + ns)


def on_condition(clock, ns):
    """Returns 0 if the wait ended with ETIMEDOUT."""
    libc.pthread_condattr_init(attributes)
    libc.pthread_condattr_setclock(attributes, clock)
    libc.pthread_cond_init(condition, attributes)
    libc.pthread_mutex_lock(mutex)
    ended = libc.pthread_cond_timedwait(condition, mutex, at(clock, ns))
    libc.pthread_mutex_unlock(mutex)
    return ended - errno.ETIMEDOUT


WAYS = {
    "poll": lambda ns: libc.poll(None, 0, ns // 10**6),
    "ppoll": lambda ns: libc.ppoll(None, 0, of_ns(ns), None),
    "select": lambda ns: libc.select(0, None, None, None, (ctypes.c_long * 2)(ns // 10**9, 0)),
    "pselect": lambda ns: libc.pselect(0, None, None, None, of_ns(ns), None),
    "epoll_wait": lambda ns: libc.epoll_wait(libc.epoll_create1(0), event, 1, ns // 10**6),
    "epoll_pwait2": lambda ns: libc.epoll_pwait2(libc.epoll_create1(0), event, 1, of_ns(ns), None),
    "nanosleep": lambda ns: libc.nanosleep(of_ns(ns), None),
    "until": lambda ns: libc.clock_nanosleep(REALTIME, ABSOLUTE, at(REALTIME, ns), None),
    "timerfd": on_timerfd,
    "alarm": on_alarm,
    "timedwait": lambda ns: on_condition(REALTIME, ns),
    "monotonic": lambda ns: on_condition(MONOTONIC, ns),
}
signal.signal(signal.SIGALRM, lambda *_: None)
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
