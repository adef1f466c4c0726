"""Right servers of unusual makes get full marks: how a server does its work is its own business.

Without FULL=1 some of them are tried by DRAWN claims of that chapter.
"""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.grade import scoring
from harness.maintain.wrong_servers.catalogue import CATALOGUE
from harness.server import build, spawn
from harness.submission import chapters
from harness.tests.drawn import FULL, NO_WORKERS, SEED, some
from harness.tests.verdicts.test_solutions import grade, lost

SERVERS = Path(__file__).parent / "servers" / "unusual"
FLAGS = (*build.FLAGS, "-Werror")

# Each is graded in the last chapter that says something new of it: a grade contains the earlier
# ones. Where that is not 04, the reason stands beside it.
GRADED = {
    "threads.c": "04",
    "processes.c": "04",
    "select.c": "03",  # 03.2 is what there is to say of select(): over 1,024 descriptors
    "epoll_edge.c": "04",
    "one_byte.c": "02",
    "thousand.c": "04",
    "keeps.c": "04",
    "chatty.c": "03",  # so are logs: 04 adds nothing to log
    "pool.c": "02",  # many clients at once; what 03 and 04 add is about one process
    "late.py": "02",  # 04 takes a minute
    "resets.py": "01",  # which has the claims about a frame that is too long
    "asyncio_echo.py": "04",
}
DRAWN = 2
# Not drawn: they take millions of calls from a server that moves few bytes in each.
LONG = ("largest", "write_interrupted", "single_faults", "long_stream")
INTERPRETERS = {".c": [], ".py": [sys.executable]}


@pytest.mark.parametrize(
    "name, chapter", some(list(GRADED.items()), 3, "unusual servers", lambda one: one[0])
)
def test_unusual_server_gets_full_marks(name, chapter, patient, tmp_path):
    server = shlex.join([*_command(name, tmp_path), "{port}"])
    words = ["--chapter", chapter, "--server", server]
    words += [] if FULL else ["--only", ",".join(_drawn(name, chapter)), *NO_WORKERS]
    results, status = grade(patient, *words)
    assert (lost(results), status) == ([], 0)


def test_a_server_with_a_clock_of_its_own_fails_nothing(patient, tmp_path):
    """It asks the library for the time, and waits in calls of its own: a claim begins again with
    the clock of the machine when that is found out. Beside other work it may not be judged."""
    source = tmp_path / "source"
    shutil.copytree(chapters.find("07").solution_dir, source)
    backend = source / "events" / "backend_epoll.c"
    text = backend.read_text().replace("epoll_wait(s", "syscall(SYS_epoll_pwait, s")
    text = text.replace("BATCH, timeout_ms)", "BATCH, timeout_ms, NULL, 8)")
    backend.write_text(f"#include <sys/syscall.h>\n#include <unistd.h>\n{text}")
    results, _ = grade(patient, "--chapter", "07", "--dir", str(source), "--only", "07.6")
    verdicts = [test["extra_data"]["verdict"] for test in results["tests"]]
    assert "passed" in verdicts and "failed" not in verdicts, lost(results)


def test_a_fixed_port_without_reuseaddr_costs_one_claim(patient, tmp_path):
    """A server that closes first leaves its port in TIME_WAIT, where the next one cannot bind."""
    wrong = next(one for one in CATALOGUE if one.id == "01-no-reuseaddr")
    wrong.write(tmp_path / "server")
    port = str(spawn.free_port())
    server = shlex.join([str(build.cached_server(tmp_path / "server").binary), "-p", port])
    only = "restarts_at_once,one_byte_over_the_maximum,empty_frames"
    words = ["--chapter", "01", "--server", server, "--port", port, "--only", only]
    results, _ = grade(patient, *words, *NO_WORKERS)
    failed = [test["extra_data"]["test"] for test in results["tests"] if test["score"] == 0]
    assert failed == ["test_01_restarts_at_once_on_the_same_port"], lost(results)


def _drawn(name: str, chapter: str) -> list[str]:
    """The names of some claims of the chapter that hold for any server. Valgrind is for programs
    that are compiled."""
    names = [
        claim.name
        for claim in scoring.load()
        if claim.chapter.number == chapter
        and not claim.cli
        and not any(word in claim.name for word in LONG)
        and (name.endswith(".c") or not claim.valgrind)
    ]
    return random.Random(f"{SEED} {name}").sample(names, DRAWN)


def _command(name: str, directory: Path) -> list[str]:
    """The words that start the server, compiled into `directory` if need be."""
    source = SERVERS / name
    if source.suffix != ".c":
        return [*INTERPRETERS[source.suffix], str(source)]
    binary = directory / source.stem
    command = [*build.find_compiler(), *FLAGS, str(source), "-o", str(binary)]
    compiled = subprocess.run(command, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    return [str(binary)]
