"""A submission in isolation, and what lies next to it on the machine of an instructor."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.tests.shell import SECONDS
from harness.course.isolation import choice
from harness.course.isolation.isolation import Isolation, Places
from harness.lab.chapters import CHAPTERS, ROOT
from harness.server.linux import procfs

HOSTILE = Path(__file__).parent / "hostile"
TRACE = "HOSTILE_ISOLATION_TEST"  # in the environment of what an isolated command starts
MODES = ("bubblewrap", "landlock")

CLAIMS = '''
import os
from pathlib import Path

from harness.failures.failure import Failure
from harness.claims.marker import claim

@claim("01.1", points=60)
def test_01_echoes(server, rng):
    """A frame comes back as it was sent."""
    client = server.connect()
    body = rng.randbytes(1000)
    client.send_frame(body)
    client.expect_frame(body)

@claim("01.2", points=40)
def test_01_stays(server):
    """It says on stderr what it has reached."""
    client = server.connect()
    client.send_frame(b"x")
    client.expect_frame(b"x")
    server.process.stop_gently(5)
    told = server.process.stderr.text()
    if told:
        Path(os.environ["HOSTILE_TOLD"]).write_text(told)
        raise Failure(told.replace("\\n", ", "))
'''


@pytest.fixture(params=MODES)
def isolation(request) -> Isolation:
    """Each isolation that works here."""
    found = choice.KINDS[request.param]()
    if isinstance(found, str):
        pytest.skip(found)
    return found


class Outside:
    """What lies next to a submission on the machine of an instructor; and `run` in isolation."""

    def __init__(self, top: Path, isolation: Isolation) -> None:
        self.isolation = isolation
        self.trace = secrets.token_hex(8)
        self.submission, self.output = top / "sub" / "ada", top / "out" / "ada"
        self.neighbour = top / "sub" / "ben" / "main.c"
        for directory in (self.submission, self.output, self.neighbour.parent):
            directory.mkdir(parents=True)
        self.neighbour.write_text("int main(void) { return 0; }\n")

        self.libraries = top / "out" / "libraries"
        self.libraries.mkdir()

    def command(self, *argv: object, **variables: object) -> list[str]:
        """The command that runs `argv` in isolation with these variables; isolation clears all
        others."""
        variables[TRACE] = self.trace
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *argv]
        places = Places(ROOT, CHAPTERS[0], self.submission, self.output, self.libraries)
        return self.isolation.command([str(word) for word in words], places)

    def run(self, *argv: object, **variables: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*argv, **variables),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            start_new_session=True,
        )

    def left(self) -> list[int]:
        """The processes that an isolated command has left behind."""
        table = procfs.table()
        return [pid for pid in table if procfs.environment(pid, TRACE) == self.trace]

    def build(self, name: str) -> Path:
        """A program of hostile/, among the files of the submission."""
        program = self.submission / name
        subprocess.run(["cc", "-o", program, HOSTILE / f"{name}.c"], check=True)
        return program

    def grade(self, *words: str, **variables: object) -> dict:
        """The results of the submission, graded in isolation."""
        claims = submissions.claims(self.submission / "claims", test_01_x=CLAIMS)
        results = self.output / "result.json"
        where = ["--dir", self.submission, "--claims", claims, "--results", results]
        grade = [sys.executable, "-m", "harness", "grade", "--chapter", "01", *where, *words]
        printed = self.run(*grade, HOSTILE_TOLD=self.output / "told", **variables)
        assert printed.stderr == "", printed.stderr
        return json.loads(results.read_text())


@pytest.fixture
def outside(tmp_path, isolation):
    """An Outside, and a check at the end that nothing of it is left."""
    found = Outside(tmp_path, isolation)
    yield found
    assert found.left() == []
    assert not list(found.output.glob(".*"))
