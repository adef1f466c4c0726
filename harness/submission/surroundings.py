"""What a command of the lab has around it, whatever started it: variables, signals, limits.

A shell, a CI runner, a git hook or a batch system leaves these to the programs that it starts. They
must not decide a grade. docs/decisions.md says why each of them is kept or changed.
"""

from __future__ import annotations

import importlib.machinery
import os
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from harness.submission.sizes import MIB

# The variables that a server gets, beside what its start adds. A star stands for any ending.
SERVERS = (
    *("PATH", "LD_LIBRARY_PATH"),  # where programs and libraries are: modules of a cluster set both
    *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ"),
    "HOSTILE_*",  # of the lab's own tests, for the servers in harness/tests/verdicts/hostile
)
# Those that the lab and its tools get, beside these.
TOOLS = (
    *("LAB_*", "EVENT_LOOP_LAB_*"),  # of the Makefile, and from one process of the lab to another
    *("CC", "TMPDIR", "SHELL", "TERM", "COLUMNS", "LINES", "NO_COLOR"),
    *("PYTHONPATH", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE"),  # see find-python.sh
    "GIT_CONFIG_*",  # such as safe.directory; other variables of git may name another repository
    # For the front end of a debugger.
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
)
# nohup(1), or a shell that starts a job in the background, ignores these on purpose.
IGNORED_ON_PURPOSE = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}
PYTHONS = {signal.SIGPIPE, signal.SIGXFSZ}  # Python ignores them, and raises OSError instead
STACK_BYTES = 8 * MIB  # the default of Linux: of the first thread, and of each further one
# Limits that stay as they are: a process raises that of descriptors when it needs more.
LIMITS_KEPT = {resource.RLIMIT_CORE, resource.RLIMIT_NOFILE}
SLACK_NS = 50_000  # the default of Linux: how much later a wait may end, see prctl(2)
OWNER = 0o700

caller: Mapping[str, str] = os.environ  # the variables before choose()


def choose() -> None:
    """Gives this process the surroundings that a command of the lab has. It may start again, if
    Python itself has to run with other variables. To be called once, by the first thread."""
    global caller
    _open_descriptors()
    _reset_signals()
    _reset_limits()
    _restart_python()
    caller = dict(os.environ)
    chosen = of(caller, SERVERS + TOOLS)
    os.environ.clear()
    os.environ.update(chosen)


def of_a_server() -> dict[str, str]:
    """The variables of a server, of those that this process has."""
    return of(os.environ, SERVERS)


def of(variables: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The variables that `names` stand for; a name may end in *."""
    begins = tuple(name[:-1] for name in names if name.endswith("*"))
    return {k: v for k, v in variables.items() if k in names or k.startswith(begins)}


def _open_descriptors() -> None:
    """Opens each of the first three descriptors that is closed: otherwise a file of ours would take
    its place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)
    for descriptor in (1, 2):  # print() would lose what does not fit into the pipe
        os.set_blocking(descriptor, True)


def _reset_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - IGNORED_ON_PURPOSE - PYTHONS:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _reset_limits() -> None:
    """Raises limits that can be raised; and the rights, priority and times that files, threads and
    waits of ours get become those of a login."""
    os.umask(os.umask(OWNER) & ~OWNER)
    for name in dir(resource):
        which = getattr(resource, name)
        if name.startswith("RLIMIT_") and which not in LIMITS_KEPT:
            hard = resource.getrlimit(which)[1]
            soft = within(STACK_BYTES, hard) if which == resource.RLIMIT_STACK else hard
            with suppress(OSError, ValueError):
                resource.setrlimit(which, (soft, hard))
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text(str(SLACK_NS))


def within(limit: int, hard: int) -> int:
    """The limit, or less if the hard limit is lower."""
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def _restart_python() -> None:
    """Starts this command again if a variable has changed what Python itself does, such as whether
    docstrings exist."""
    found = {name for name in os.environ if name.startswith("PYTHON")} - set(TOOLS)
    if os.environ.get("PYTHONPATH") and _has_pytest_without():
        found.add("PYTHONPATH")
    if not (found or sys.flags.optimize or sys.getfilesystemencoding() != "utf-8"):
        return
    kept = {name: text for name, text in os.environ.items() if name not in found}
    module = sys.modules["__main__"].__spec__
    if module:  # None: of python -c
        words = [sys.executable, "-m", module.name, *sys.argv[1:]]
        os.execve(sys.executable, words, {**kept, "PYTHONUTF8": "1"})


def _has_pytest_without() -> bool:
    """Whether Python finds pytest although it leaves out the directories in PYTHONPATH."""
    left_out = set(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))
    path = [place for place in sys.path if os.path.abspath(place) not in left_out]
    return importlib.machinery.PathFinder.find_spec("pytest", path) is not None
