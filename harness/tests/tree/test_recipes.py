"""docs/recipes: what their scripts do, with other programs in place of apt-get and the grade."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.tests import shell
from harness.tests.verdicts import test_gradescope
from harness.tests.parts.test_exports import BAD, UNJUDGED
from harness.tests.verdicts.test_gradescope import autograder, pack  # noqa: F401
from harness.tests.tree.test_makefile import script
from harness.course.exports.formats import NAMES
from harness.course.site import OUT
from harness.lab.chapters import ROOT

RECIPES = ROOT / "docs" / "recipes"

# In place of Python: it takes the next result and status of a list for a grade.
PYTHON = """
[ "$1" = - ] && exit 0
echo "$*" >> {calls}
[ "$2 $3" = "harness grade" ] || exec {python} "$@"
while [ "$1" != --results ]; do shift; done
next=$(ls {grades} | head -n 1)
[ -s {grades}/$next ] && cp {grades}/$next "$2"
rm {grades}/$next
echo "text of the grade"
exit ${{next##*-}}
"""


@pytest.fixture
def repository(tmp_path):
    """A repository with the lab, whose grades and calls a test sees; see grades()."""
    top = tmp_path / "repository"
    (top / "docs").mkdir(parents=True)
    shutil.copytree(RECIPES, top / "docs" / "recipes")
    (top / "harness").symlink_to(ROOT / "harness")
    (tmp_path / "grades").mkdir()
    calls = tmp_path / "calls"
    names = {"calls": calls, "grades": tmp_path / "grades", "python": sys.executable}
    script(tmp_path / "tools" / "its-python", PYTHON.format(**names))
    for name in ("apt-get", "make", "sudo"):
        script(tmp_path / "tools" / name, f'echo "{name} $*" >> {calls}')
    return top


def grades(top: Path, *found: tuple[dict | None, int]) -> None:
    """The results and statuses of the next grades."""
    for number, (result, status) in enumerate(found):
        text = json.dumps(result) if result else ""
        (top.parent / "grades" / f"{number}-{status}").write_text(text)


def run(top: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of a script in the repository."""
    tools = top.parent / "tools"
    theirs = {"PATH": f"{tools}:{os.environ['PATH']}", "LAB_PYTHON": str(tools / "its-python")}
    return subprocess.run(
        ["sh", "-c", line],
        cwd=top,
        env=shell.environment(**theirs, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def calls(top: Path) -> list[str]:
    return (top.parent / "calls").read_text().splitlines()


# grade.sh


def test_a_grade_becomes_three_files(repository):
    grades(repository, (BAD, 1))
    ended = run(repository, "sh docs/recipes/grade.sh 04")
    assert (ended.returncode, ended.stdout) == (1, "text of the grade\n")
    out = repository / "build" / "ci"
    assert sorted(path.name for path in out.iterdir()) == ["04.json", "04.txt", "04.xml"]
    assert len(ElementTree.parse(out / "04.xml").findall(".//failure")) == 1


@pytest.mark.parametrize("second, status", [((BAD, 1), 1), ((UNJUDGED, 2), 2), ((None, 2), 2)])
def test_not_judged_is_graded_once_more(repository, second, status):
    grades(repository, (UNJUDGED, 2), second)
    ended = run(repository, "sh docs/recipes/grade.sh 04")
    assert ended.returncode == status
    assert ended.stdout.count("text of the grade") == 2
    assert "not everything was judged; once more" in ended.stdout
    assert (repository / "build" / "ci" / "04.xml").exists() == bool(second[0])


def test_a_directory_and_an_output_can_be_given(repository):
    grades(repository, (BAD, 1))
    run(repository, "sh docs/recipes/grade.sh 04", DIR="a b", OUT="x y")
    assert " --dir a b " in calls(repository)[0]
    assert (repository / "x y" / "04.xml").exists()


def test_a_chapter_is_asked_for(repository):
    ended = run(repository, "sh docs/recipes/grade.sh")
    assert ended.returncode == 2
    assert "which chapter? For instance: sh docs/recipes/grade.sh 04" in ended.stdout


# The files of the services


def lines_of(name: str) -> list[str]:
    """The lines of the scripts in a file of GitHub or GitLab."""
    text = (RECIPES / name).read_text()
    if name != "gitlab-ci.yml":
        return re.findall(r"^ +- run: (.*)$", text, re.M)
    blocks = re.findall(r"^  (?:before_script|script):\n((?:    - .*\n)+)", text, re.M)
    return [line for block in blocks for line in re.findall(r"^    - (.*)$", block, re.M)]


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_the_lines_of_a_service_grade_the_chapter(repository, name):
    grades(repository, (BAD, 1))
    ended = [run(repository, line, CHAPTER="04") for line in lines_of(name)]
    assert [one.returncode for one in ended] == [0] * (len(ended) - 1) + [1]
    done = calls(repository)
    assert done.index("make setup") < len(done) - 2
    assert done[-2].startswith("-m harness grade --verbose --chapter 04 ")
    assert (repository / "build" / "ci" / "04.xml").exists()
    text = (RECIPES / name).read_text()
    assert "build/ci" in text and 'CHAPTER: "04"' in text and "\t" not in text


def test_the_lines_that_publish_the_site(repository):
    theirs = {"GITHUB_REPOSITORY": "school/lab", "GITHUB_SERVER_URL": "https://github.com"}
    ended = [run(repository, line, **theirs) for line in lines_of("pages.yml")]
    assert [one.returncode for one in ended] == [0, 0]
    site = "make site BASE=/lab/ REPO=https://github.com/school/lab"
    assert calls(repository) == ["make setup SITE=1", site]
    assert f"path: {OUT.relative_to(ROOT)}\n" in (RECIPES / "pages.yml").read_text()


def test_the_autograder_as_an_image(autograder):  # noqa: F811
    """The line behind RUN and the entry point, where COPY has put the autograder's files."""
    text = (RECIPES / "Dockerfile").read_text()
    assert "COPY . /autograder/source\n" in text
    (autograder / "run_autograder").unlink()
    apt = 'echo "apt-get $*" >> /autograder/apt'
    script(autograder / "tools" / "apt-get", apt)
    run_line = re.findall(r"^RUN (.*)$", text, re.M)
    environment = {"PATH": f"/autograder/tools:{test_gradescope.ENVIRONMENT['PATH']}"}
    command = test_gradescope.sandbox(autograder, "sh", "-c", *run_line)
    built = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    installed = (autograder / "apt").read_text().splitlines()
    assert installed[0].startswith("apt-get update") and " valgrind " in installed[1]
    test_gradescope.submit(autograder)
    test_gradescope.fake_grade(autograder, test_gradescope.JUDGED_THE_SECOND_TIME)
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1])
    assert entry == ["/autograder/run_autograder"]
    status, found, _ = test_gradescope.run(autograder)
    assert (status, found["score"]) == (0, 7)


# What was tried

INSTRUCTORS = ROOT / "docs" / "instructors.md"
TABLE = "## What was tried, and on what"
UNTRIED = re.compile(
    r"(?:never|not|none|neither|nobody|nor|un)(?:\W+[\w']+){0,6}?\W*"
    r"(?:tried|built by us)\b(?! (?:once|again|twice))",
    re.I,
)
# Two tables and no more: of services, and of operating systems.
SYSTEMS = ROOT / "docs" / "platforms.md"


def test_each_service_has_its_row():
    """It says what was tried, on what, and where it was never tried."""
    section = INSTRUCTORS.read_text().partition(f"\n{TABLE}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    services = " ".join(row[0] for row in rows)
    recipes = {path.name for path in RECIPES.iterdir()} - {"grade.sh", "late-days.py"}
    wanted = recipes | {f"FORMAT={name}" for name in NAMES if name != "gradescope"}
    wanted |= {"make gradescope", "ENGINE=parallel", "ENGINE=slurm", ".devcontainer", "ERRORS=1"}
    assert not [name for name in wanted if f"{name}`" not in services]


@pytest.mark.parametrize(
    "text, found",
    [
        ("It has not been tried on GitHub itself.", True),
        ("None of the formats was tried on the real service", True),
        ("The image was not built by us", True),
        ("Other processors are untried", True),
        ("an accept is tried once more", False),
        ("It was not judged. Then it was tried again", False),
    ],
)
def test_a_sentence_about_what_was_never_tried_is_known(text, found):
    assert bool(untried(text)) == found


def untried(text: str) -> list[str]:
    """The sentences that say so."""
    text = re.sub(r"\[what was\s+tried\]\([^)]*\)|\bnot\s+judged\b", "", text, flags=re.I)
    sentences = re.split(r"(?<=[.:;!?])\s+", " ".join(text.replace("#", " ").split()))
    return [one for one in sentences if UNTRIED.search(one)]


def test_only_the_table_says_what_was_never_tried():
    """The paragraphs lead to it."""
    places = [*ROOT.glob("docs/*.md"), *RECIPES.iterdir(), *ROOT.glob(".devcontainer/*")]
    for path in [ROOT / "README.md", *places]:
        text = path.read_text()
        if path == SYSTEMS:
            continue
        if path == INSTRUCTORS:
            before, _, after = text.partition(f"\n{TABLE}\n")
            text = before + after.partition("\n## ")[2]
        assert not untried(text), f"{path}: move this into the table of {INSTRUCTORS.name}"
