"""gdb beside a test: the server stands still before the first byte, until gdb lets it go on.

Two processes take part. The one that runs the test starts the server, writes its pid into a file
and waits until a debugger has attached to it and continued it. The other one, which has the
terminal, waits for the file and becomes gdb's parent.
"""

from __future__ import annotations

import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.feedback.failure import NotJudged
from harness.submission.target import WrongUsage
from harness.waiting import procfs
from harness.waiting.wait import Patience, wait_until

SECONDS = 3600  # for a person who debugs
PATIENCE = Patience(SECONDS)
ENVIRONMENT = {"EVENT_LOOP_DEBUG": "1"}  # the shim lets a debugger attach that is no ancestor
ATTACH_SECONDS = 60  # until gdb has read the symbols
LOOK_SECONDS = 0.02
OF_A_SERVER = """
The server has started and is stopped; the clients have not sent a byte yet.
  break conn_read     stops there, for instance
  continue            the conversation begins
  quit, then y        lets the server continue without gdb
"""
OF_A_PROGRAM = """
A program of the grader has started and is stopped; it has not called the module yet. If the test
starts others, gdb is started on each, when it has left the one before.
  break check_fail    stops where the check fails: `up` goes to the call that failed
  continue            the check begins; gdb stops at a crash, and Ctrl-C stops a hang
  quit, then y        lets the program continue without gdb
"""


@contextmanager
def session(command: str | None, greeting: str = OF_A_SERVER) -> Iterator[Path | None]:
    """While the block runs, gdb is started on each server whose pid is written to the file that is
    given, one after the other.

    command: None or "" nothing happens; "1" gdb, or a command that takes -p PID. `greeting` is
    printed before. Raises WrongUsage.
    """
    if not command:
        yield None
        return
    words = shlex.split("gdb -q" if command == "1" else command)
    if not shutil.which(words[0]):
        raise WrongUsage(f"{words[0]} is not installed; `make setup` installs gdb")
    # Ctrl-C is gdb's: it stops the server. A handler that does nothing ends with the next exec.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="lab-gdb-") as scratch:
        file, over = Path(scratch) / "pid", threading.Event()
        thread = threading.Thread(target=_debug, args=(words, file, over, greeting))
        thread.start()
        try:
            yield file
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGINT, before)


def _debug(words: list[str], file: Path, over: threading.Event, greeting: str) -> None:
    """Waits for each pid and debugs it."""
    while not over.wait(LOOK_SECONDS):
        if file.exists():
            pid = file.read_text()
            file.unlink()
            print(greeting, flush=True)
            subprocess.run([*words, "-p", pid])


def hold(pid: int, file: Path) -> None:
    """Names the server, and waits for the debugger, which may still look at another one; called in
    the process that runs the test. Raises NotJudged when none comes."""
    other = file.with_suffix(".new")
    other.write_text(str(pid))
    other.rename(file)
    wait_until(lambda: not file.exists(), SECONDS, LOOK_SECONDS)
    if not wait_until(lambda: _traced(pid), ATTACH_SECONDS, LOOK_SECONDS):
        raise NotJudged("no debugger has attached to the server")
    if not wait_until(lambda: not _stopped(pid), SECONDS, LOOK_SECONDS):
        raise NotJudged("the server was not continued")


def _traced(pid: int) -> bool:
    return procfs.status(pid).get("TracerPid", "0") != "0" or not procfs.status(pid)


def _stopped(pid: int) -> bool:
    """Whether a debugger has stopped the process. A process from which it has detached runs
    again."""
    return procfs.status(pid).get("State", "").startswith("t")
