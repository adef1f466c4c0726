"""Whether a process waits without a time limit, as the kernel's line about its call tells."""

import platform
import signal
import subprocess
import sys

import pytest

from harness.server.waiting import syscalls

X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of x86-64")
REST = "0x7ffc 0x7f12"


@X86
@pytest.mark.parametrize(
    "line, endless",
    [
        ("running", False),
        ("-1 0x7ffc 0x7f12", False),
        ("", False),
        (f"0 0x4 0x7ffd 0x4 0x0 0x0 0x0 {REST}", True),  # read
        (f"7 0x7ffd 0x2 0xffffffff 0x0 0x0 0x0 {REST}", True),  # poll, -1
        (f"7 0x7ffd 0x2 0xffffffffffffffff 0x0 0x0 0x0 {REST}", True),
        (f"7 0x7ffd 0x2 0x64 0x0 0x0 0x0 {REST}", False),
        (f"232 0x3 0x7ffd 0x40 0xffffffff 0x0 0x8 {REST}", True),  # epoll_wait, -1
        (f"232 0x3 0x7ffd 0x40 0x0 0x0 0x8 {REST}", False),
        (f"270 0x4 0x7ffd 0x0 0x0 0x0 0x7ffd {REST}", True),  # pselect6, no limit
        (f"270 0x4 0x7ffd 0x0 0x0 0x7ffd 0x7ffd {REST}", False),
        (f"426 0x4 0x1 0x1 0x1 0x0 0x8 {REST}", True),  # io_uring_enter, GETEVENTS
        (f"426 0x4 0x1 0x1 0x9 0x7ffd 0x18 {REST}", False),  # and EXT_ARG
        (f"230 0x0 0x0 0x7ffd 0x7ffd 0x0 0x0 {REST}", False),  # clock_nanosleep
    ],
)
def test_what_has_no_time_limit(line, endless):
    assert syscalls.is_endless(line) is endless


@pytest.mark.parametrize(
    "program, timerfd, alarm",
    [
        ("", False, False),
        ("import signal; signal.signal(signal.SIGALRM, print)", False, True),
        ("import ctypes; ctypes.CDLL(None).timerfd_create(1, 0)", True, False),
    ],
    ids=["none", "a handler", "a timerfd"],
)
def test_a_timer_may_wake_it(program, timerfd, alarm):
    told = f"{program}\nprint(flush=True)\nimport signal; signal.pause()"
    with subprocess.Popen([sys.executable, "-c", told], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = syscalls.has_timerfd(process.pid), syscalls.catches_alarm(process.pid)
        process.send_signal(signal.SIGKILL)
    assert found == (timerfd, alarm)


def test_who_is_gone_may_be_woken():
    assert not syscalls.sleeps_for_ever(2**22) and syscalls.catches_alarm(2**22)
