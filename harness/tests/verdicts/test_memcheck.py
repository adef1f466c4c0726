"""What valgrind reports becomes a failed claim, and only that."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from harness.authors.mutants.grader import Grader
from harness.tests import shell
from harness.tests import submissions
from harness.tests.drawn import some
from harness.tests.verdicts.test_grade import both, grade  # noqa: F401: a fixture
from harness.claims.instruments import valgrind

needs_valgrind = pytest.mark.skipif(valgrind.missing(), reason="valgrind is not installed")

LEFT_OPEN = "if (dup(fd) < 0) return;"
# Changes of a right server, with the hint and what is said.
FAULTS = [
    (submissions.LEAK, "memory-leak", "definitely lost"),
    (LEFT_OPEN, "open-descriptor", "Open AF_INET socket"),
    ("body[size + 1] = 0;", "memory-fault", "Invalid write of size 1"),
]
LOG = """\
==7== Memcheck, a memory error detector
==7== Command: ./server
==7== 
==7== Invalid write of size 4
==7==    at 0x1091CB: leak (conn.c:7)
==7==    by 0x10920E: main (server.c:8)
==7==  Address 0x4a43068 is 0 bytes after a block of size 40 alloc'd
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== 
==7== FILE DESCRIPTORS: 5 open (3 std) at exit.
==7== Open AF_INET socket 4: <unbound> <-> unbound
==7==    at 0x4968DC7: socket (syscall-template.S:120)
==7==    by 0x109206: main (server.c:8)
==7== 
==7== Open file descriptor 3: /tmp/7.log
==7==    <inherited from parent>
==7== 
==7== HEAP SUMMARY:
==7==     in use at exit: 40 bytes in 1 blocks
==7== 
==7== 40 bytes in 1 blocks are definitely lost in loss record 1 of 2
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== 90 bytes in 1 blocks are still reachable in loss record 2 of 2
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== Process terminating with default action of signal 15 (SIGTERM)
==7==    at 0x497B7F0: accept (accept.c:26)
==7== 
==7== ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 0 from 0)
"""


def test_the_faults_of_a_log():
    faults = valgrind.read_log(LOG, {"conn.c", "server.c"})
    assert [(fault.kind, fault.text.splitlines()) for fault in faults] == [
        (
            "memory-fault",
            [
                "Invalid write of size 4",
                "  in leak (conn.c:7)",
                "  in main (server.c:8)",
                " Address 0x4a43068 is 0 bytes after a block of size 40 alloc'd",
                "  in leak (conn.c:7)",
            ],
        ),
        (
            "open-descriptor",
            ["Open AF_INET socket 4: <unbound> <-> unbound", "  in main (server.c:8)"],
        ),
        ("memory-leak", ["40 bytes in 1 blocks are definitely lost", "  in leak (conn.c:7)"]),
        ("memory-leak", ["90 bytes in 1 blocks are still reachable", "  in leak (conn.c:7)"]),
    ]


def test_frames_of_others_are_better_than_none():
    assert "  in main (server.c:8)" in valgrind.read_log(LOG, {"other.c"})[1].text.splitlines()


def test_a_thread_that_was_not_waited_for_is_no_missing_free():
    log = """\
==7== 304 bytes in 1 blocks are possibly lost in loss record 1 of 1
==7==    at 0x484BC13: calloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x490C52A: allocate_stack (allocatestack.c:429)
==7==    by 0x490C52A: pthread_create@@GLIBC_2.34 (pthread_create.c:655)
==7==    by 0x10920E: start (server.c:56)
"""
    assert [fault.kind for fault in valgrind.read_log(log, {"server.c"})] == ["thread-left"]


@needs_valgrind
@pytest.mark.parametrize(
    "change, hint, said", some(FAULTS, 1, "faults under valgrind", lambda fault: fault[1])
)
def test_a_fault_fails_the_claim(grade, change, hint, said):  # noqa: F811
    outcome = grade(submissions.right(change), "--memcheck")
    assert outcome.status == 1
    assert outcome.verdicts() == {"test_01_connects": "passed", "test_01_echoes": "failed"}
    assert outcome.results["tests"][1]["extra_data"]["hint"] == hint
    assert said in outcome.stdout and "in serve (main.c:" in outcome.stdout
    assert "make memcheck CH=01" in outcome.stdout


@needs_valgrind
def test_a_right_server_is_clean(grade):  # noqa: F811
    outcome = grade(submissions.right(), "--memcheck")
    assert (outcome.status, outcome.results["score"]) == (0, 100)


# A claim that asks for valgrind, in an ordinary grade

CLAIMS = '''
from harness.claims.marker import claim

@claim("01.1", points=50)
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", points=50, valgrind=True)
def test_01_memory(server):
    """Under valgrind: no fault."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
    client.close()
'''


# What valgrind saw explains the crash that followed.
CRASH = ("*(volatile char *)(long)size = 1;", "memory-fault", "Invalid write of size 1")


def one_claim(tmp_path):
    return submissions.claims(tmp_path / "claims", test_01_x=CLAIMS)


@needs_valgrind
@pytest.mark.parametrize(
    "change, hint, said",
    some([*FAULTS[:2], CRASH], 1, "faults in every grade", lambda fault: fault[1]),
)
def test_a_fault_fails_its_claim_in_every_grade(grade, tmp_path, change, hint, said):  # noqa: F811
    outcome = grade(submissions.right(change), claims=one_claim(tmp_path))
    assert outcome.verdicts()["test_01_memory"] == "failed"
    assert outcome.results["tests"][1]["extra_data"]["hint"] == hint
    assert said in outcome.stdout and "in serve (main.c:" in outcome.stdout


@needs_valgrind
def test_other_claims_do_not_run_under_valgrind(grade, tmp_path):  # noqa: F811
    outcome = grade(submissions.right(), claims=one_claim(tmp_path))
    assert (outcome.status, outcome.results["score"]) == (0, 100)
    leaks = grade(submissions.right(submissions.LEAK), claims=both(tmp_path))
    assert (leaks.status, leaks.results["score"]) == (0, 100)


@needs_valgrind
@pytest.mark.parametrize("change, verdict", [("", "passed"), (submissions.LEAK, "failed")])
def test_a_native_server_is_run_under_valgrind(grade, tmp_path, change, verdict):  # noqa: F811
    program = compiled(tmp_path, submissions.right(change))
    outcome = grade(None, "--server", f"{program} {{port}}", claims=one_claim(tmp_path))
    assert outcome.verdicts() == {"test_01_connects": "passed", "test_01_memory": verdict}


def test_what_valgrind_is_not_for(tmp_path):
    assert valgrind.is_native(compiled(tmp_path, submissions.right()))
    for flag in ("-fsanitize=address", "-fsanitize=thread", "-static"):
        assert not valgrind.is_native(compiled(tmp_path, submissions.right(), flag)), flag
    script = shell.script(tmp_path / "server.sh", "exec ./server")
    for program in (str(script), "sh", "cat", sys.executable, str(tmp_path / "none")):
        assert not valgrind.is_native(program), program


def compiled(directory, source: str, flag: str = "-g", compiler: str = "gcc") -> str:
    """The path of a program that is told its port."""
    source = source.replace("main(void)", "main(int count, char **words)")
    port = ".sin_port = htons(count > 1 ? atoi(words[1]) : 0)"
    source = source.replace(".sin_family = AF_INET", f".sin_family = AF_INET, {port}")
    program = directory / f"server{flag}"
    main = submissions.submission(directory / "sources", source) / "main.c"
    subprocess.run([*compiler.split(), "-w", flag, "-o", str(program), str(main)], check=True)
    return str(program)


def test_a_foreign_server_is_not_run_under_valgrind(grade, tmp_path):  # noqa: F811
    program = f"{sys.executable} harness/tests/verdicts/servers/odd.py forgets_to_say {{port}}"
    outcome = grade(None, "--server", program, claims=one_claim(tmp_path))
    assert outcome.verdicts() == {"test_01_connects": "passed"}


# Instead of valgrind: what it prints, and what a claim that needs it then says.
GIVES_UP = """
for word; do case $word in --log-file=*) log=${word#*=} ;; esac; done
[ -z "$log" ] || echo "==7== Valgrind: debuginfo reader: I can't recover." >"${log%/*}/7.log"
[ -z "$log" ]
"""
BROKEN = {
    "missing": ("", "`make setup` installs it"),
    "broken": ("echo no such luck >&2; exit 1", "on this machine: no such luck"),
    "gives up": (GIVES_UP, "cannot run this program, and gave up: debuginfo reader"),
}


@pytest.mark.parametrize("script, said", BROKEN.values(), ids=BROKEN)
def test_a_claim_is_not_judged_without_valgrind(
    grade, tools, bare, tmp_path, script, said  # noqa: F811
):
    if script:
        shell.script(tools / "valgrind", script)
    outcome = grade(submissions.right(), claims=one_claim(tmp_path), by=bare)
    assert outcome.status == 2
    assert outcome.verdicts() == {"test_01_connects": "passed", "test_01_memory": "none"}
    assert said in " ".join(outcome.stdout.split())


needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")


@needs_valgrind
@needs_clang
def test_what_clang_builds_is_judged(grade, tmp_path, monkeypatch):  # noqa: F811
    """Whatever it writes for a debugger if nobody says which form."""
    monkeypatch.setenv("CC", "clang")
    with Grader() as by:
        outcome = grade(submissions.right(), claims=one_claim(tmp_path), by=by)
        left = grade(submissions.right(LEFT_OPEN), claims=one_claim(tmp_path), by=by)
    assert (outcome.status, outcome.results["score"]) == (0, 100)
    assert left.verdicts()["test_01_memory"] == "failed" and "in serve (main.c:" in left.stdout


@needs_valgrind
@needs_clang
def test_a_program_that_valgrind_cannot_read_is_not_judged(grade, tmp_path):  # noqa: F811
    """One that somebody else has built. There are newer ones that read it."""
    program = compiled(tmp_path, submissions.right(), "-gdwarf-5", "clang -O2")
    outcome = grade(None, "--server", f"{program} {{port}}", claims=one_claim(tmp_path))
    assert outcome.verdicts()["test_01_memory"] in ("passed", "none")
    assert outcome.status != 1


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """The only directory of programs: it has only the compiler."""
    directory = tmp_path / "tools"
    directory.mkdir()
    for name in ("gcc", "as", "ld", "sh"):
        (directory / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def bare(tools):
    """Grades with these programs alone."""
    with Grader() as found:
        yield found


def test_without_valgrind(grade, bare):  # noqa: F811
    outcome = grade(submissions.right(), "--memcheck", by=bare)
    assert outcome.status == 2
    assert outcome.stderr == "grade: valgrind is not installed; `make setup` installs it\n"


@needs_valgrind
def test_a_test_that_is_not_run_under_valgrind_exists_all_the_same():
    words = ["grade", "--memcheck", "--chapter", "03", "--only", "03_idle"]
    shell.check_refused(
        shell.lab(*words),
        "T=03_idle: this is not run under valgrind, which distorts time, memory and limits; "
        "`make grade CH=03 T=03_idle` runs it",
    )
    words[-1] = "xyz"
    shell.check_refused(shell.lab(*words), "has no TODO and no test of that name")


def test_a_test_that_is_not_run_on_any_server_exists_all_the_same():
    words = ["grade", "--chapter", "01", "--server", "cat {port}", "--only"]
    shell.check_refused(shell.lab(*words, "01_says_what"), "tested of the lab's own servers only")
