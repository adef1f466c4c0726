"""Solutions get full marks however they are built; a submission that does nothing gets none."""

from __future__ import annotations

import random
import shutil

import pytest

from harness.grade import scoring
from harness.maintain.wrong_servers.grader import Grader
from harness.server.build import CACHE
from harness.submission.chapters import CHAPTERS
from harness.submission.target import setting
from harness.tests.drawn import FULL, NO_WORKERS, SEED, drawn_claims, each_chapter, slug, some
from harness.waiting import procfs

WHOLE = 2  # grades of solutions with what they inherit, beside that of the last chapter
# gcc brings the runtime of its sanitizers along; for clang it is a package of its own.
SANITIZED = "gcc -fsanitize=address,undefined -fno-sanitize-recover=all"


def grade(grader: Grader, *words: str) -> tuple[dict, int]:
    """Results and exit status of a grade with these words."""
    graded = grader.grade(list(words))
    assert graded.stderr == ""
    return graded.results, graded.status


def lost(results: dict) -> list[str]:
    """What was not passed, with the reason."""
    return [
        f"{test.get('extra_data', {}).get('test', test['name'])}: {test['output']}"
        for test in results["tests"]
        if test.get("status") != "passed"
    ]


def solution(chapter) -> list[str]:
    return ["--chapter", chapter.number, "--from", "solutions"]


def whole_grades() -> list:
    """The chapters whose solutions are graded with what they inherit, too."""
    if setting("FULL") == "2":
        return list(CHAPTERS)
    drawn = random.Random(SEED).sample(CHAPTERS[:-1], WHOLE)
    return [*drawn, CHAPTERS[-1]] if FULL else []


@pytest.mark.long
@pytest.mark.parametrize("chapter", CHAPTERS[::-1], ids=slug)
def test_solution_gets_full_marks(chapter, patient):
    """By the claims of its chapter. With FULL=1 some also by those that it inherits, and with
    workers, as a student's grade has them; with FULL=2 all."""
    own = ["--only", f"test_{chapter.number}_", *NO_WORKERS]
    words = [] if chapter in whole_grades() else own
    results, status = grade(patient, *solution(chapter), *words)
    assert (lost(results), status) == ([], 0)
    assert words or results["score"] == 100


@pytest.mark.full("solutions that clang compiles")
@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
@each_chapter
def test_solution_that_clang_compiles_gets_full_marks(chapter):
    """A student may set CC. The programs of the grader are compiled by it as well."""
    with Grader({"CC": "clang"}) as grader:
        results, status = grade(grader, *solution(chapter), *drawn_claims(chapter, 4))
    assert (lost(results), status) == ([], 0)


@pytest.mark.full("grades under valgrind")
@each_chapter
def test_solution_is_silent_under_valgrind(chapter, patient):
    words = [*solution(chapter), "--memcheck", *drawn_claims(chapter, 3, native=False)]
    results, status = grade(patient, *words)
    assert (lost(results), status) == ([], 0)


@pytest.mark.full("grades under the sanitizers")
@each_chapter
def test_solution_is_silent_under_the_sanitizers(chapter):
    """Only what measures CPU and memory may fail: the sanitizers cost both. And valgrind does not
    run such a program."""
    with Grader({"CC": SANITIZED}) as grader:
        results, _ = grade(grader, *solution(chapter), *drawn_claims(chapter, 4))
    other = {claim.name for claim in scoring.load() if claim.native or claim.valgrind}
    faults = [line for line in lost(results) if line.split(":")[0] not in other]
    assert faults == []
    assert not any("Sanitizer:" in line or "runtime error" in line for line in lost(results))


INCLUDES = "".join(
    f"#include <{name}>\n" for name in ("signal.h", "stdio.h", "sys/wait.h", "unistd.h")
)
HOPELESS = {
    "never listens": "int main(void) { for (;;) pause(); }",
    "dies at once": "int main(void) { return 3; }",
    "prints a megabyte": """
        int main(void) {
            for (int i = 0; i < 1 << 15; i++) puts("thirty-one characters, and a LF.");
            pause(); }""",
    "forks and leaves": """
        int main(void) {
            for (int i = 0; i < 20; i++)
                if (fork() == 0) { setsid(); for (;;) pause(); }
            return 0; }""",
}


@pytest.mark.parametrize("what", some(list(HOPELESS), 1, "hopeless submissions", str))
def test_hopeless_submission_gets_no_points(what, patient, tmp_path):
    """And no process is left behind."""
    source = tmp_path / f"hopeless_{what.replace(' ', '_')}"
    source.mkdir()
    (source / "server.c").write_text(INCLUDES + HOPELESS[what])
    results, status = grade(patient, "--chapter", "01", "--dir", str(source))
    assert (results["score"], status) == (0, 1)
    lines = [procfs.read(f"/proc/{pid}/cmdline").decode(errors="replace") for pid in procfs.table()]
    assert [line for line in lines if f"{CACHE}/{source.name}-" in line] == []


@pytest.mark.full("builds for another processor")
def test_10_can_switch_by_ucontext():
    """On a processor for which context.c has no assembly, the solution is as right."""
    with Grader({"CC": "gcc -DCONTEXT_UCONTEXT"}) as other:
        graded = other.grade(["--chapter", "10", "--from", "solutions", "--only", "10.1"])
    assert (graded.status, graded.stderr) == (0, ""), graded.stdout
