"""Whole grades: right servers get full marks, and whatever else is graded ends in a verdict."""

from __future__ import annotations

import random
import shutil
import time

import pytest

from harness.authors.mutants.grader import Grader
from harness.tests.drawn import (
    FULL,
    INHERITED_PART,
    NO_WORKERS,
    SEED,
    drawn_claims,
    slug,
    some,
)
from harness.grading import scoring
from harness.lab.chapters import CHAPTERS
from harness.lab.target import setting
from harness.server.build import CACHE
from harness.server.linux import procfs

VERDICT_SECONDS = 60  # for a submission that hangs everywhere
WHOLE = 2  # grades of solutions, beside that of the last chapter
SLOWER = 3  # times: the lab's own tests run several at a time, on a machine with other work
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


def own_claims(chapter) -> list[str]:
    """The words that select what a chapter adds."""
    return ["--only", f"test_{chapter.number}_"]


def slow_claims(chapter, part: int = 2) -> list[str]:
    """The words that select what slow grades try: of what a chapter adds one claim in `part`; in
    the last chapter also some of what it inherits. FULL=2 tries all."""
    inherited_part = INHERITED_PART if chapter is CHAPTERS[-1] else 0
    return drawn_claims(chapter, part, inherited_part, native=False)


def whole_grades() -> list:
    """The chapters whose solutions are graded with what they inherit, too."""
    if setting("FULL") == "2":
        return list(CHAPTERS)
    drawn = random.Random(SEED).sample(CHAPTERS[:-1], WHOLE)
    return [*drawn, CHAPTERS[-1]] if FULL else []


@pytest.mark.parametrize("chapter", CHAPTERS, ids=slug)
def test_solution_gets_full_marks(chapter, patient):
    """With FULL=1 some with workers, as a student's grade has them; with FULL=2 all."""
    words = [] if chapter in whole_grades() else [*own_claims(chapter), *NO_WORKERS]
    results, status = grade(patient, "--chapter", chapter.number, "--from", "solutions", *words)
    assert (lost(results), status) == ([], 0)
    assert words or results["score"] == 100


@pytest.mark.full("solutions that clang compiles")
@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
@pytest.mark.parametrize("chapter", CHAPTERS, ids=slug)
def test_solution_that_clang_compiles_gets_full_marks(chapter):
    """A student may set CC. The programs of the grader are compiled by it as well."""
    words = ["--chapter", chapter.number, "--from", "solutions", *slow_claims(chapter, 4)]
    with Grader({"CC": "clang"}) as grader:
        results, status = grade(grader, *words)
    assert (lost(results), status) == ([], 0)


@pytest.mark.parametrize("chapter", some(CHAPTERS, 0, "grades under valgrind", slug))
def test_solution_is_silent_under_valgrind(chapter, patient):
    words = ["--chapter", chapter.number, "--from", "solutions", "--memcheck"]
    results, status = grade(patient, *words, *slow_claims(chapter))
    assert (lost(results), status) == ([], 0)


@pytest.mark.parametrize("chapter", some(CHAPTERS, 0, "grades under the sanitizers", slug))
def test_solution_is_silent_under_the_sanitizers(chapter):
    """Only what measures CPU and memory may fail: the sanitizers cost both. And valgrind does not
    run such a program."""
    words = ["--chapter", chapter.number, "--from", "solutions", *slow_claims(chapter, 4)]
    with Grader({"CC": SANITIZED}) as grader:
        results, _ = grade(grader, *words)
    other = {claim.name for claim in scoring.load() if claim.native or claim.valgrind}
    faults = [line for line in lost(results) if line.split(":")[0] not in other]
    assert faults == []
    assert not any("Sanitizer:" in line or "runtime error" in line for line in lost(results))


HOPELESS = {
    "never listens": "int main(void) { for (;;) pause(); }",
    "dies at once": "int main(void) { return 3; }",
    "prints a megabyte": """
        int main(void) {
            for (int i = 0; i < 1 << 15; i++) puts("thirty-one characters, and a LF.");
            pause(); }""",
    "accepts and says nothing": """
        static int listen_somewhere(void) {
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
            socklen_t size = sizeof a;
            bind(fd, (struct sockaddr *)&a, size), listen(fd, SOMAXCONN);
            getsockname(fd, (struct sockaddr *)&a, &size);
            printf("listening on 127.0.0.1:%d\\n", ntohs(a.sin_port)), fflush(stdout);
            return fd; }
        int main(void) {
            int fd = listen_somewhere();
            signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN);
            for (;;) accept(fd, NULL, NULL); }""",
    "forks and leaves": """
        int main(void) {
            for (int i = 0; i < 20; i++)
                if (fork() == 0) { setsid(); for (;;) pause(); }
            return 0; }""",
}
HOPE = {"accepts and says nothing": 1}  # the point for accepting 200 clients that connect at once
INCLUDES = "".join(
    f"#include <{name}>\n"
    for name in ("arpa/inet.h", "signal.h", "stdio.h", "sys/socket.h", "unistd.h")
)


@pytest.mark.parametrize("what", some(list(HOPELESS), 1, "hopeless submissions", str))
def test_hopeless_submission_ends_in_a_verdict(what, patient, tmp_path):
    """No points but HOPE, soon, and no process is left behind."""
    source = tmp_path / f"hopeless_{what.replace(' ', '_')}"
    source.mkdir()
    (source / "server.c").write_text(INCLUDES + HOPELESS[what])
    start = time.monotonic()
    results, status = grade(patient, "--chapter", "01", "--dir", str(source))
    assert time.monotonic() - start < SLOWER * VERDICT_SECONDS
    assert (results["score"], status) == (HOPE.get(what, 0), 1)
    assert _running(source.name) == []


def _running(name: str) -> list[str]:
    """The command lines of the processes whose program was built from the directory `name`."""
    lines = [procfs.read(f"/proc/{pid}/cmdline").decode(errors="replace") for pid in procfs.table()]
    return [line for line in lines if f"{CACHE}/{name}-" in line]


@pytest.mark.full("builds for another processor")
def test_10_can_switch_by_ucontext():
    """On a processor for which context.c has no assembly, the solution is as right."""
    with Grader({"CC": "gcc -DCONTEXT_UCONTEXT"}) as other:
        graded = other.grade(["--chapter", "10", "--from", "solutions", "--only", "10.1"])
    assert (graded.status, graded.stderr) == (0, ""), graded.stdout
