"""python3 -m harness.grading.workers ...: pytest with these arguments, and workers that are forks
of its process.

pytest-xdist starts Python for each worker, which imports pytest, the lab and the claims: as much as
fifty claims cost. Here they are imported once, before the forks. A worker that has died is replaced
by one that is started.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

import execnet.gateway_base
import execnet.gateway_io
import pytest

# These, too, are imported for the workers.
import pytest_timeout  # noqa: F401
import xdist.plugin  # noqa: F401
import xdist.remote  # noqa: F401
from _pytest.config import get_config

import harness.grading.plugin  # noqa: F401
from harness.lab.chapters import ROOT
from harness.server.linux import prctl

CLAIMS = os.path.join("harness", "claims", "")
_FAULT = 70  # EX_SOFTWARE of sysexits.h

_start = execnet.gateway_io.create_io


def main(arguments: list[str]) -> int:
    """Runs pytest. Returns its exit status."""
    _import(arguments)
    gc.collect()
    gc.freeze()  # so that no worker looks through what was imported, and copies its pages
    waiting: list[_Forked] = []
    for _ in range(int(arguments[arguments.index("-n") + 1])):
        waiting.append(_Forked())

    def create(spec, execmodel):
        return _Connection(waiting.pop(0), execmodel) if waiting else _start(spec, execmodel)

    execnet.gateway_io.create_io = create
    return int(pytest.main(arguments))


def _import(arguments: list[str]) -> None:
    """Imports what pytest is made of, and the claims that it is to run."""
    get_config()
    for file in dict.fromkeys(word.partition("::")[0] for word in arguments if "::" in word):
        if file.startswith(CLAIMS) and os.getcwd() == str(ROOT):
            import_module(file.removesuffix(".py").replace(os.sep, "."))


class _Forked:
    """A process that waits until execnet tells it what to be. The functions are those of Popen that
    execnet calls."""

    def __init__(self) -> None:
        told, self.stdin = os.pipe()
        self.stdout, said = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _work(told, said)
        os.close(told)
        os.close(said)

    def wait(self) -> int | None:
        with suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class _Connection(execnet.gateway_base.Popen2IO):
    """What execnet reads from a worker and writes to it."""

    def __init__(self, worker: _Forked, execmodel) -> None:
        self.popen = worker
        files = os.fdopen(worker.stdin, "wb"), os.fdopen(worker.stdout, "rb")
        super().__init__(*files, execmodel=execmodel)
        self.wait, self.kill = worker.wait, worker.kill


def _work(told: int, said: int) -> None:
    """What `python3 -c` does for execnet; ends this process."""
    status = _FAULT
    try:
        prctl.die_with_parent()
        prctl.adopt_orphans()  # which a fork does not inherit
        os.dup2(told, 0)
        os.dup2(said, 1)
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        sys.stdin, sys.stdout = (open(fd, mode, 1, closefd=False) for fd, mode in enumerate("rw"))
        line = sys.stdin.readline()
        if line:  # else pytest has ended
            exec(eval(line), {"__name__": "__main__"})
        atexit._run_exitfuncs()
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
