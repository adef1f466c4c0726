"""The autograder for Gradescope, in a fake /autograder of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness.submission import chapters
from harness.submission.chapters import ROOT
from harness.tests import golden, shell, submissions
from harness.tests.parts.test_unpack import tar
from harness.tests.shell import lab, script

CHAPTER = chapters.find("01")
FAKE = Path(__file__).with_name("class_grader.py")
# What the image has: nothing of this machine but its programs, and no copy of the lab.
IMAGE = [name for name in ("usr", "bin", "sbin", "lib", "lib64", "etc") if Path("/", name).exists()]
ENVIRONMENT = {"PATH": "/autograder/tools:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def sandbox(top: Path, *command: str) -> list[str]:
    """The command, where `top` is /autograder, and with no network but loopback."""
    words = [shutil.which("bwrap"), "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    words += ["--die-with-parent", "--cap-add", "ALL", "--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--tmpfs", "/tmp"]
    for name in IMAGE:
        path = Path("/", name)
        how = ["--symlink", os.readlink(path)] if path.is_symlink() else ["--ro-bind", str(path)]
        words += [*how, str(path)]
    return [*words, "--bind", str(top), "/autograder", "--chdir", "/autograder", *command]


@pytest.fixture
def autograder(tmp_path) -> Path:
    """The directory /autograder as docs/recipes/Dockerfile makes it, where nothing is installed."""
    tried = ["setpriv", "--reuid=60617", "--clear-groups", "--bounding-set=-all", "true"]
    if not shutil.which("bwrap") or subprocess.run(sandbox(tmp_path, *tried)).returncode:
        pytest.skip("bubblewrap cannot start processes as another user here")
    packed, top = tmp_path / "new" / "a b.zip", tmp_path / "autograder"
    lab("gradescope", "--chapter", "1", "--out", packed)
    with zipfile.ZipFile(packed) as opened:
        opened.extractall(top / "source")
        for name in ("setup.sh", "run_autograder"):
            assert opened.getinfo(name).external_attr >> 16 & 0o111 == 0o111  # Gradescope runs it
    (top / "results").mkdir()
    (top / "submission_metadata.json").write_text('{"users": [{"name": "Ada"}]}')
    script(top / "tools" / "apt-get", 'echo "apt-get $*" >> /autograder/apt')
    line = re.findall(r"^RUN (.*)$", (ROOT / "docs/recipes/Dockerfile").read_text(), re.M)
    subprocess.run(sandbox(top, "sh", "-c", *line), env=ENVIRONMENT, check=True)
    (top / "run_autograder").chmod(0o755)
    return top


def run(top: Path) -> tuple[int, dict | None, str]:
    """The exit status of run_autograder, the results, and what it printed."""
    (top / "results" / "results.json").write_text('{"score": 100}')
    look = './run_autograder; status=$?; pgrep -x sleep && echo "a process is left"; exit $status'
    how = {"capture_output": True, "text": True, "timeout": 600}
    ended = subprocess.run(sandbox(top, "sh", "-c", look), env=ENVIRONMENT, **how)
    file = top / "results" / "results.json"
    found = json.loads(file.read_text()) if file.exists() else None
    return ended.returncode, found, ended.stdout + ended.stderr


def test_a_real_grade(autograder):
    """The submission is in the directory of its chapter, as in one from GitHub, which has other
    chapters, too. It is graded with fewer claims than the lab has, which is quicker."""
    theirs = autograder / "submission" / "chapters"
    submissions.submission(theirs / CHAPTER.slug, submissions.right(submissions.WRONG_BYTE))
    submissions.submission(theirs / "02-nonblocking", submissions.BROKEN)
    harness = autograder / "source" / "lab" / "harness"
    for claim in harness.glob("*/test_*.py"):
        claim.unlink()
    submissions.claims(harness / "claims", test_01_x=submissions.CLAIMS_01)
    status, found, printed = run(autograder)
    assert status == 0 and found and 0 < found["score"] < 100, printed
    text = json.dumps(found)
    assert "make replay ID=01-01_echoes-" in text and "/tmp/" not in text


HANDED_IN = {  # the name of a file, and what is in it: a word for class_grader.py
    "a/main.c": b"7",
    "main.c": b"once",
    "b/main.c": b"unjudged",
    "c/main.c": b"forges",
    "readme.txt": b"",
    "a.tar.gz": tar(("x/main.c", b"7"), ("x/copy.c", b"", {"type": tarfile.SYMTYPE})),
    "outside.tar.gz": tar(("../main.c", b"7")),
}


def test_what_the_student_gets(autograder):
    shutil.copy(FAKE, autograder / "source" / "lab" / "harness" / "grade" / "grade.py")
    secret = {"score": 100, "extra_data": {"verdict": "passed"}, "tests": []}
    (autograder / "secret.json").write_text(json.dumps(secret))
    seen = []
    for name, data in HANDED_IN.items():
        place = autograder / "submission" / name
        place.parent.mkdir(parents=True)
        place.write_bytes(data)
        os.mkfifo(place.with_name("pipe.c"))
        place.with_name("link.h").symlink_to("/etc/shadow")
        status, found, printed = run(autograder)
        told = found and (found["score"], found["output"])
        printed = re.sub(r"DIR=\S+|/tmp/\S+", "PLACE", printed)
        seen.append(f"---- {name} {data if len(data) < 9 else ''}: {status} {told}\n{printed}")
        shutil.rmtree(autograder / "submission")
    golden.check("gradescope", "".join(seen))


def test_a_course_with_continuous_integration_gets_three_files(tmp_path):
    """docs/recipes/grade.sh, which the workflows of GitHub and GitLab call."""
    source = submissions.submission(tmp_path / "a b", submissions.BROKEN)
    words = {"DIR": str(source), "OUT": str(tmp_path / "x y")}
    ended = shell.run("sh", "docs/recipes/grade.sh", "01", **words)
    assert (ended.returncode, ended.stderr) == (1, "")
    found = sorted(path.name for path in (tmp_path / "x y").iterdir())
    assert found == ["01.json", "01.txt", "01.xml"]
    assert ended.stdout == (tmp_path / "x y" / "01.txt").read_text()
    for name in ("github-actions.yml", "gitlab-ci.yml"):
        assert "sh docs/recipes/grade.sh" in (ROOT / "docs" / "recipes" / name).read_text()
