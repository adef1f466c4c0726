"""make watch: a screen for each save, and none is missed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from harness.lab import skeleton
from harness.lab.chapters import ROOT, find
from harness.tests import golden, shell

CHAPTER = find("02")
SECONDS = 120  # for a grade on a busy machine
LAST = "watching; Ctrl-C ends\n"


@contextmanager
def watching(directory, **variables):
    """The process of make watch T=02.1 on a directory."""
    words = [sys.executable, "-m", "harness", "watch", "--chapter", "02", "--seed", "7"]
    words += ["--only", "02.1", "--dir", str(directory), "--jobs", "0"]
    env = shell.environment(LAB_PATIENCE="1", **variables)
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(words, cwd=ROOT, env=env, **pipe)
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait()


def next_screen(process):
    """What is printed until the process waits for a save."""
    return "".join(iter(process.stdout.readline, LAST)) if process.poll() is None else "it is gone"


def test_a_screen_for_each_save(tmp_path):
    """The first save comes while it grades: the compiler makes it. Then the skeleton, the solution,
    and the skeleton again. Ctrl-C ends it."""
    source, late = tmp_path / "mine", tmp_path / "mine" / "late.c"
    skeleton.write(CHAPTER, source, 0)
    untouched = (source / "buffer.c").read_text()
    once = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; echo '#error late' >{late}; }}"
    compiler = f'case "$*" in *buffer.c*) {once};; esac\nexec gcc "$@"'
    saves = [
        late.unlink,
        lambda: shutil.copyfile(CHAPTER.solution_dir / "buffer.c", source / "buffer.c"),
        lambda: (source / "buffer.c").write_text(untouched),
    ]
    with watching(source, CC=str(shell.script(tmp_path / "cc", compiler))) as process:
        screens = [next_screen(process)]
        for save in saves:
            save()
            screens.append(next_screen(process))
        process.send_signal(signal.SIGINT)
        screens.append(process.communicate()[0])
        assert process.returncode == 0
    shown = re.sub(r"\d\d:\d\d:\d\d", "#", "\n".join(screens))
    shown = re.sub(r"^\| +(\d|\|).*\n", "", shown, flags=re.M)  # the compiler's own picture
    shown = re.sub(r"what happened\n.*?(?=\n\n\d+ more)", "...", shown, flags=re.S)
    golden.check("watch", shown, tmp_path)


@pytest.mark.full("ends of make watch")
def test_it_ends_when_nobody_looks(tmp_path):
    shutil.copytree(CHAPTER.solution_dir, tmp_path / "mine")
    with watching(tmp_path / "mine") as process:
        assert "30 of 30" in next_screen(process) or True
        process.stdout.close()
        assert process.wait() == 0
