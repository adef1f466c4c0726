"""Runs the claims in forks of the pytest process, several at the same time.

A fork has what pytest has imported and collected. pytest-xdist would start Python for each of them,
which imports and collects everything again.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NoReturn

import pytest

from harness.server.linux import prctl
from harness.server.process_tree import destroy_all

KILLED = (
    "the grader's own process was killed while this test ran; "
    "a server that signals other processes cannot be judged"
)
GONE = "???"  # the phase of the report of a test whose process has died
_FAULT = 70  # EX_SOFTWARE of sysexits.h


@contextmanager
def confined() -> Iterator[None]:
    """A worker of a grade: a server can neither outlive nor stop it."""
    prctl.adopt_orphans()  # which a fork does not inherit
    os.setpgid(0, 0)  # a server that kills the group of its parent then kills this process alone
    yield
    destroy_all()


class Workers:
    """A plugin of pytest: `count` processes run the tests in their order, one test at a time each.

    `reports_of` runs a test, and `around` is entered by a process before its first one. `died` is
    called when a process has ended by itself; another one takes its place."""

    def __init__(
        self,
        count: int,
        reports_of: Callable[[pytest.Item], list[pytest.TestReport]],
        died: Callable[[], object],
        around: Callable[[], AbstractContextManager[None]] = confined,
    ) -> None:
        self._count = count
        self._reports_of = reports_of
        self._died = died
        self._around = around
        self._reports: list[pytest.TestReport] = []  # of the last test, in a worker

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed:  # it cannot import a claim, and pytest says so
            return None
        gc.collect()
        gc.freeze()  # so that no worker looks through what was imported, and copies its pages
        waiting = deque(range(len(session.items)))
        busy: list[_Worker] = []
        idle: list[_Worker] = []
        while waiting or busy:
            while waiting and len(busy) < self._count:
                worker = idle.pop() if idle else _Worker(session, self._work)
                busy.append(worker)
                worker.begin(waiting.popleft())
            for worker in select.select(busy, [], [])[0]:
                busy.remove(worker)
                if worker.finish():
                    idle.append(worker)
                else:
                    worker.end()
                    self._died()
            if session.shouldfail or session.shouldstop:  # -x
                waiting.clear()
        for worker in idle:
            worker.end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        """Takes the place of pytest's own in a worker: the reports go to the other process."""
        self._reports = self._reports_of(item)
        return True

    def _work(self, session: pytest.Session, link: socket.socket) -> NoReturn:
        """Runs each test whose number comes, and sends its reports; ends this process."""
        status = _FAULT
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            prctl.die_with_parent()
            hook = session.config.hook
            with self._around(), link.makefile("rw") as file:
                for line in file:
                    item = session.items[int(line)]
                    hook.pytest_runtest_protocol(item=item, nextitem=None)
                    reports = [
                        hook.pytest_report_to_serializable(config=session.config, report=report)
                        for report in self._reports
                    ]
                    print(json.dumps(reports), file=file, flush=True)
            status = 0
        except BaseException:  # nothing above may see it: this is a copy of the pytest process
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


class _Worker:
    """One of the processes, as pytest sees it. It has at most one test."""

    def __init__(
        self, session: pytest.Session, work: Callable[[pytest.Session, socket.socket], NoReturn]
    ) -> None:
        self._session = session
        sys.stdout.flush()  # else both processes write what is in its buffer
        self._link, its = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._link.close()
            work(session, its)
        its.close()

    def fileno(self) -> int:
        return self._link.fileno()

    def begin(self, number: int) -> None:
        """Gives it the test with this number."""
        self._item = self._session.items[number]
        hook = self._session.config.hook
        hook.pytest_runtest_logstart(nodeid=self._item.nodeid, location=self._item.location)
        with suppress(BrokenPipeError):  # it has died: finish() will find out
            self._link.sendall(b"%d\n" % number)

    def finish(self) -> bool:
        """Reports its test, which has ended; False if the process has."""
        config, item = self._session.config, self._item
        with self._link.makefile("r") as file, suppress(ConnectionResetError):
            line = file.readline()
        for data in json.loads(line) if line else ():
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        if not line:
            lost = (item.nodeid, item.location, {}, "failed", KILLED, GONE)
            config.hook.pytest_runtest_logreport(report=pytest.TestReport(*lost))
        config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return bool(line)

    def end(self) -> None:
        """Lets it end, and waits for that."""
        self._link.shutdown(socket.SHUT_RDWR)  # a worker that was forked later has a copy
        self._link.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
