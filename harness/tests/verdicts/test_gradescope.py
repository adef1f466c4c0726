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

from harness.tests import submissions
from harness.tests.shell import check_refused, lab, script
from harness.course.gradescope import command as gradescope
from harness.course.handover import archive, handout
from harness.lab import chapters, sources
from harness.lab.target import WrongUsage

CHAPTER = chapters.find("01")
# What the image has: nothing of this machine but its programs, and no copy of the lab.
IMAGE = [name for name in ("usr", "bin", "sbin", "lib", "lib64", "etc") if Path("/", name).exists()]
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def sandbox(top: Path, *command: str) -> list[str]:
    """The command, where `top` is /autograder, and with no network but loopback."""
    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"]
    words += ["--cap-add", "ALL", "--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--tmpfs", "/tmp"]
    for name in IMAGE:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        else:
            words += ["--ro-bind", str(path), str(path)]
    return [*words, "--bind", str(top), "/autograder", "--chdir", "/autograder", *command]


def why_not(top: Path) -> str:
    """Why a fake /autograder cannot be made here, "" if it can."""
    if os.geteuid() != 0:
        return "only root can start processes as another user"
    if not shutil.which("bwrap"):
        return "bwrap is not installed: apt-get install bubblewrap"
    command = ["setpriv", "--reuid=60617", "--clear-groups", "--bounding-set=-all", "true"]
    tried = subprocess.run(sandbox(top, *command), capture_output=True, text=True)
    return f"bubblewrap does not work here: {tried.stderr.strip()}" if tried.returncode else ""


def written(directory: Path) -> Path:
    """The zip."""
    archive.write_zip(directory / "a.zip", gradescope.members(CHAPTER))
    return directory / "a.zip"


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """The zip, opened."""
    with zipfile.ZipFile(written(tmp_path_factory.mktemp("zip"))) as opened:
        yield opened


@pytest.fixture
def autograder(tmp_path, pack):
    """The directory /autograder, as Gradescope makes it from the zip and a submission."""
    reason = why_not(tmp_path)
    if reason:
        pytest.skip(reason)
    top = tmp_path / "autograder"
    (top / "results").mkdir(parents=True)
    (top / "results" / "results.json").write_text('{"score": 100}')
    (top / "submission_metadata.json").write_text('{"users": [{"name": "Ada"}]}')
    pack.extractall(top / "source")
    shutil.copy(top / "source" / "run_autograder", top / "run_autograder")
    (top / "run_autograder").chmod(0o755)
    return top


def run(top: Path) -> tuple[int, dict | None, str]:
    """The exit status of run_autograder, the results, and what it printed."""
    ended = subprocess.run(
        sandbox(top, "./run_autograder"),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    file = top / "results" / "results.json"
    found = json.loads(file.read_text()) if file.exists() else None
    return ended.returncode, found, ended.stdout


def submit(top: Path) -> Path:
    """Hands in the solution of 01."""
    sources.write(top / "submission", sources.texts(CHAPTER.solution_dir))
    return top / "submission"


FAKE = """
import json, os, pathlib, subprocess, sys
results, place = (pathlib.Path(sys.argv[sys.argv.index(n) + 1]) for n in ("--results", "--dir"))
results.parent.mkdir(exist_ok=True)
"""


def fake_grade(top: Path, text: str) -> None:
    """Another program in place of the grade. It knows its `results`, and the `place` of files."""
    (top / "source" / "lab" / "harness" / "__main__.py").write_text(FAKE + text)


# Looks for what a submission must not find before main() begins, and ends the server if it does.
SPY = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const PACKED[] = {
#include "packed.h"
};

/* All that can be read in /autograder is what was packed, or what this grade has made. */
static int look(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about, (void)at;
    const char *made = "/autograder/source/lab/build/";
    if (kind != FTW_F || access(path, R_OK) || !strncmp(path, made, strlen(made)))
        return 0;
    for (size_t i = 0; i < sizeof PACKED / sizeof *PACKED; i++)
        if (!strcmp(path, PACKED[i]))
            return 0;
    fprintf(stderr, "found %s\n", path);
    exit(3);
}

__attribute__((constructor)) static void spy(void)
{
    const char *closed[] = {
        "/autograder/results", "/autograder/results/results.json", "/autograder/submission",
        "/autograder/submission_metadata.json", "/etc/shadow",
    };
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (open(closed[i], O_RDONLY) >= 0 || errno != EACCES) {
            fprintf(stderr, "%s: %m\n", closed[i]);
            exit(3);
        }
    if (getuid() == 0 || setuid(0) == 0 || access("/autograder/source/lab/harness", R_OK)) {
        fprintf(stderr, "the wrong user: %d\n", getuid());
        exit(3);
    }
    const char *kept[] = {"/autograder/source/lab/harness/__main__.py", "/autograder/source/x"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (open(kept[i], O_WRONLY | O_CREAT, 0600) >= 0) {
            fprintf(stderr, "%s can be written\n", kept[i]);
            exit(3);
        }
    nftw("/autograder", look, 16, FTW_PHYS);
}
"""


def test_the_solution_gets_100_and_finds_nothing(autograder, pack):
    """If it found anything, its server would end, and it would have no points."""
    sources = submit(autograder)
    names = [json.dumps(f"/autograder/source/{name}") for name in pack.namelist()]
    (sources / "packed.h").write_text(",\n".join(names))
    (sources / "spy.c").write_text(SPY)
    status, found, printed = run(autograder)
    assert status == 0, printed
    assert (found["score"], found["extra_data"]["verdict"]) == (100, "passed"), printed
    assert found["output_format"] == found["test_output_format"] == "text"


def test_a_wrong_server_loses_its_claim(autograder):
    """In the directory of its chapter, as in a submission from GitHub, which has other chapters,
    too. With fewer claims than the lab has, which makes it shorter."""
    wrong = submissions.right(submissions.WRONG_BYTE)
    sources = autograder / "submission" / "chapters"
    submissions.submission(sources / CHAPTER.slug, wrong)
    submissions.submission(sources / "02-nonblocking", submissions.BROKEN)
    claims = autograder / "source" / "lab" / "harness" / "claims"
    for claim in claims.glob("test_*.py"):
        claim.unlink()
    submissions.claims(claims, test_01_x=submissions.CLAIMS_01)
    status, found, printed = run(autograder)
    assert status == 0, printed
    verdicts = {test["extra_data"]["test"]: test["status"] for test in found["tests"]}
    assert verdicts == {
        "test_01_connects": "passed",
        "test_01_echoes": "failed",
        "test_01_ends": "passed",
    }
    assert found["score"] == 60
    text = json.dumps(found)
    assert "make replay ID=01-01_echoes-" in text and "/tmp/" not in text


def test_not_judged_is_tried_once_more_and_leaves_no_results(autograder):
    submit(autograder)
    fake_grade(autograder, "print('a try')\nsys.exit(2)\n")
    status, found, printed = run(autograder)
    assert (status, found) == (1, None)
    assert printed.count("a try") == 2
    assert printed.endswith("there is no score, so results.json was not written\n")


JUDGED_THE_SECOND_TIME = """
once = pathlib.Path("build/once")
verdict = "failed" if once.exists() else "not judged"
once.touch()
results.write_text(json.dumps({"score": 7, "extra_data": {"verdict": verdict}, "tests": []}))
sys.exit(1)
"""


def test_a_second_try_counts(autograder):
    submit(autograder)
    fake_grade(autograder, JUDGED_THE_SECOND_TIME)
    status, found, _ = run(autograder)
    assert (status, found["score"]) == (0, 7)


# Leaves a process in a session of its own that would write another result after the grade, and
# gives a link in place of a result.
FORGES = """
results.symlink_to("/autograder/secret.json")
subprocess.Popen(["sleep", "1000"], start_new_session=True)
sys.exit(0)
"""


def test_a_result_is_not_read_through_a_link_and_no_process_is_left(autograder):
    submit(autograder)
    secret = {"score": 100, "extra_data": {"verdict": "passed"}, "tests": []}
    (autograder / "secret.json").write_text(json.dumps(secret))
    fake_grade(autograder, FORGES)
    shutil.move(autograder / "run_autograder", autograder / "again")
    look = "./again; status=$?; pgrep -x sleep && echo left; exit $status"
    script(autograder / "run_autograder", look)
    status, found, printed = run(autograder)
    assert (status, found) == (1, None)
    assert "left" not in printed


def test_a_submission_without_sources_has_no_points(autograder):
    (autograder / "submission" / "x").mkdir(parents=True)
    os.mkfifo(autograder / "submission" / "x" / "pipe.c")
    (autograder / "submission" / "x" / "link.h").symlink_to("/etc/shadow")
    status, found, _ = run(autograder)
    assert (status, found["score"]) == (0, 0)
    assert "Hand in the files of chapters/01-blocking" in found["output"]


LISTS = """
output = f"{sorted(os.listdir(place))} {os.access(place, os.W_OK)}"
extra = {"verdict": "failed"}
results.write_text(json.dumps({"output": output, "score": 7, "extra_data": extra}))
sys.exit(1)
"""


def hand_in(top: Path, name: str, *members: tuple[str, bytes]) -> None:
    """A tar as the whole submission."""
    (top / "submission").mkdir()
    with tarfile.open(top / "submission" / name, "w:gz") as made:
        for member, kind in members:
            info = tarfile.TarInfo(member)
            info.type = kind
            made.addfile(info)


def test_an_archive_is_unpacked_as_for_a_class(autograder):
    """`make handin` makes one. Nobody but root can change what came out of it."""
    members = [("main.c", tarfile.REGTYPE), ("copy.c", tarfile.SYMTYPE)]
    members += [("__MACOSX/._main.c", tarfile.REGTYPE)]
    hand_in(autograder, "01-blocking.tar.gz", *((f"01-blocking/{name}", k) for name, k in members))
    fake_grade(autograder, LISTS)
    status, found, _ = run(autograder)
    assert (status, found["score"]) == (0, 7)
    left_out = "Left out: 01-blocking/copy.c (a link)."
    assert found["output"] == f"{left_out}\n\n['__MACOSX', 'main.c'] False"


def test_an_archive_that_cannot_be_unpacked_has_no_points_and_a_reason(autograder):
    hand_in(autograder, "a.tar.gz", ("../main.c", tarfile.REGTYPE))
    status, found, _ = run(autograder)
    assert (status, found["score"]) == (0, 0)
    assert "../main.c, would be outside of it. Hand in the .c and .h files" in found["output"]


# The zip


def test_the_zip_has_what_gradescope_calls_and_nothing_of_a_solution(pack):
    """Of the chapters it has the one that is graded, as students get it."""
    found = pack.namelist()
    assert {"setup.sh", "run_autograder", "lab/harness/grading/grade.py"} < set(found)
    assert "lab/chapters/01-blocking/conn.c" in found
    hidden = "solutions|answers\\.md|packed|mutants|tests|bench|\\.git|__pycache__|build/"
    hidden += "|chapters/(?!01)|/(test_)?(0[2-9]|1\\d)_"
    assert not [name for name in found if re.search(hidden, name)]


def test_no_file_in_the_zip_has_the_lines_of_a_solution(pack):
    """The regions that students write, of all chapters: no file has one of them."""
    texts = {name: squeezed(pack.read(name).decode(errors="replace")) for name in pack.namelist()}
    regions = []
    for chapter in chapters.CHAPTERS:
        text = "".join(sources.texts(chapter.solution_dir).values())
        regions += re.findall(r"// BEGIN [\w-]+\n(.*?)// END", text, re.S)
    long = {squeezed(region) for region in regions if len(region) > 150}
    assert len(long) > 50
    assert not [name for name, text in texts.items() if any(region in text for region in long)]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_same_lab_gives_the_same_zip(tmp_path, pack):
    assert written(tmp_path).read_bytes() == Path(pack.filename).read_bytes()


def test_a_chapter_that_was_worked_on_is_not_packed(monkeypatch):
    monkeypatch.setattr(handout, "_changed", lambda chapter: [f"chapters/{chapter.slug}/conn.c"])
    with pytest.raises(WrongUsage, match="chapters/01-blocking/conn.c: not what students begin"):
        gradescope.members(CHAPTER)


def test_its_programs_can_be_executed(pack):
    modes = {info.filename: info.external_attr >> 16 for info in pack.filelist}
    assert modes["run_autograder"] == modes["setup.sh"] == 0o100755


def test_its_scripts_have_no_mistake_in_their_syntax():
    checked = subprocess.run(["bash", "-n", str(gradescope.HERE / "setup.sh")])
    assert checked.returncode == 0
    compile((gradescope.HERE / "run_autograder.py").read_text(), "run_autograder", "exec")


# The command


def test_the_command_writes_the_zip(tmp_path):
    out = tmp_path / "new" / "a b.zip"
    ended = lab("gradescope", "--chapter", "4", "--out", out)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "the autograder of 04-pipelining" in ended.stdout
    assert zipfile.ZipFile(out).read("chapter") == b"04-pipelining\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "which chapter? For instance: make gradescope CH=03"),
        (["--chapter", "99"], "there is no chapter '99'"),
        (["--chapter", "01", "--out", "/proc/x/y.zip"], "/proc/x/y.zip cannot be written: "),
    ],
)
def test_wrong_usage_is_one_line(arguments, said):
    check_refused(lab("gradescope", *arguments), said)
