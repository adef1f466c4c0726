"""make watch: a screen for each save, and none is missed."""

import re
import shutil
import signal
import subprocess
import sys
import threading

from harness.submission import skeleton
from harness.submission.chapters import ROOT, find
from harness.tests import golden, shell

SECONDS = 120  # for some grades on a busy machine


def test_a_screen_for_each_save(tmp_path):
    """The first save comes while it grades: the compiler makes it. Then the skeleton, the solution,
    and the skeleton again. Ctrl-C ends it."""
    own, solved = tmp_path / "mine", find("02").solution_dir / "buffer.c"
    skeleton.write(find("02"), own, 0)
    untouched = (own / "buffer.c").read_text()
    once = f"[ -e {tmp_path}/once ] || {{ >{tmp_path}/once; echo '#error late' >{own}/late.c; }}"
    compiler = f'case "$*" in *buffer.c*) {once};; esac\nexec gcc "$@"'
    saves = (
        (own / "late.c").unlink,
        lambda: shutil.copyfile(solved, own / "buffer.c"),
        lambda: (own / "buffer.c").write_text(untouched),
    )
    words = "-m harness watch --chapter 02 --only 02.1 --seed 7 --jobs 0 --dir".split()
    env = shell.environment(LAB_PATIENCE="1", CC=str(shell.script(tmp_path / "cc", compiler)))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen([sys.executable, *words, own], cwd=ROOT, env=env, **pipes) as process:
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        screens = []
        for save in (*saves, lambda: process.send_signal(signal.SIGINT)):
            for line in process.stdout:
                screens.append(line)
                if line.startswith("watching"):
                    break
            save()
        rest = process.communicate()[0]
        timer.cancel()
    assert process.returncode == 0
    shown = re.sub(r"\d\d:\d\d:\d\d", "#", "".join([*screens, rest]))
    shown = re.sub(r"^\| +(\d|\|).*\n", "", shown, flags=re.M)  # the compiler's own picture
    shown = re.sub(r"what happened\n.*?(?=\n\n)", "...", shown, flags=re.S)
    golden.check("watch", shown, tmp_path)
