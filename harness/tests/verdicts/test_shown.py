"""What a hostile submission can read of the lab and of the machine, in each isolation."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.tests import submissions
from harness.tests.parts import test_handover
from harness.tests.verdicts.outside import HOSTILE, Outside, isolation, outside  # noqa: F401
from harness.claims.stage import linking
from harness.lab import parts
from harness.lab.chapters import CHAPTERS, ROOT, Chapter, find


def seen(chapter: Chapter) -> set[Path]:
    """The files of the lab that a grade of this chapter can read, with a reason for each in
    lab/parts.py."""
    tops = parts.of_a_timeline(ROOT, chapter)
    return {path for top in tops for path in (top, *top.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_nothing_that_a_grade_sees_has_a_line_of_a_solution(chapter):
    """No line of a TODO of this chapter or a later one. Programs of the grader share a few lines
    with solutions, such as the head of a loop."""
    secret = test_handover.secrets_of(CHAPTERS[: int(chapter.number)])
    for path in seen(chapter):
        name = str(path.relative_to(ROOT))
        lines = {line.strip() for line in path.read_text(errors="replace").splitlines()}
        allowed = test_handover.SHOWN.get(f"lab/{name}", test_handover.SHARED)
        assert len(secret & lines) <= allowed, f"{name} has {secret & lines}"


def test_a_grade_sees_its_own_chapter_and_no_later_one():
    found = {str(path.relative_to(ROOT)) for path in seen(find("04"))}
    assert {"chapters/04-pipelining/conn.c", "harness/claims/test_03_poll_loop.py"} < found
    assert "harness/claims/programs/check.h" in found
    later = r"chapters/(?!04)|/(test_)?(0[5-9]|1\d)_"
    hidden = re.compile(later + "|mutants|tests|demos|bench|solutions|docs")
    assert not [name for name in found if hidden.search(name)]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)
def test_a_grade_sees_all_programs_of_its_claims(chapter):
    found = seen(chapter)
    claims = "".join(path.read_text() for path in found if path.parent.name == "claims")
    for name in set(re.findall(r'\bprogram\(\s*"(\w+)"', claims)):
        assert {linking.PROGRAMS / file for file in linking.own_files(name)} <= found


def tree(outside: Outside) -> list[Path]:
    """Each file of the lab, of what git and a build have made some, and others beside it."""
    found = [path for path in files_below(ROOT) if len(path.parts) == len(ROOT.parts) + 1]
    for top in sorted(path for path in ROOT.iterdir() if path.is_dir()):
        some = 100 if top.name in ("build", ".git") else None
        found += itertools.islice(files_below(top), some)
    result = outside.output.parent / "ben" / "result.json"
    result.parent.mkdir(exist_ok=True)
    result.write_text("{}")
    link = outside.submission / "link.h"
    link.symlink_to(ROOT / "solutions" / "01-blocking" / "main.c")
    return [*found, outside.neighbour, result, link, Path("/etc/shadow")]


def files_below(top: Path) -> Iterator[Path]:
    for directory, below, names in os.walk(top):
        below[:] = sorted(name for name in below if name not in ("__pycache__", "npm"))
        yield from (Path(directory, name) for name in sorted(names))


def test_a_server_reads_each_file_of_the_lab(outside):
    """It gets what seen() has, and nothing else."""
    paths = tree(outside)
    assert len(paths) > 1000
    words = [json.dumps(str(path)) for path in paths]
    (outside.submission / "paths.h").write_text(",\n".join(words))
    for name in ("reads.c", "hostile.h"):
        shutil.copy(HOSTILE / name, outside.submission)
    outside.grade()
    told = dict(re.findall(r"^(\w+)(.*)$", (outside.output / "told").read_text(), re.M))
    for how in ("read", "root"):
        found = {paths[int(number)] for number in told[how].split()}
        assert found == seen(CHAPTERS[0]) & set(paths), how
    assert told["processes"] == ""


def test_a_compiler_reads_each_file_of_the_lab(outside):
    """The assembler tries them all, where the compiler would stop at the first that is missing."""
    paths = tree(outside)
    source = outside.submission / "main.c"
    lines = [f"    .incbin {json.dumps(str(path))}" for path in paths]
    source.write_text("".join(f"__asm__({json.dumps(line)});\n" for line in lines))
    said = outside.run("cc", "-c", source, "-o", "/dev/null").stderr
    refused = set(re.findall(r"Error: file not found: (.*)$", said, re.M))
    assert {path for path in paths if str(path) not in refused} == seen(CHAPTERS[0]) & set(paths)


def test_a_class_in_which_answers_are_included(outside, tmp_path):
    """Graded as `make class` does. Each submission includes one file, and does not compile."""
    hidden = {
        "solution": ROOT / "solutions/01-blocking/main.c",
        "later": ROOT / "chapters/08-flow-control/events/timers.c",
        "mutant": ROOT / "solutions/01-blocking/wrong.patch",
        "server": ROOT / "harness/student/bench/peers/limit.c",
        "other": outside.neighbour,
    }
    sub = tmp_path / "class"
    for name, path in hidden.items():
        submissions.submission(sub / name, f'#include "{path}"\n')
    words = ["--chapter", "01", "--submissions", sub, "--results", tmp_path / "results"]
    words += ["--isolate", outside.isolation.name]
    graded = subprocess.run([sys.executable, "-m", "harness", "class", *words], cwd=ROOT)
    assert graded.returncode == 0
    for name, path in hidden.items():
        text = (tmp_path / "results" / "01" / name / "output.txt").read_text()
        assert re.search(rf"error: {path}: (No such file|Permission denied)", text), text
