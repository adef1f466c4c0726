"""What valgrind reports becomes a failed claim, and only that."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from harness.maintain.wrong_servers.grader import Grader
from harness.claims.context import valgrind
from harness.tests import shell, submissions
from harness.tests.drawn import some
from harness.tests.verdicts.test_grade import grade, verdicts  # noqa: F401: a fixture

needs_valgrind = pytest.mark.skipif(valgrind.missing(), reason="valgrind is not installed")

# Changes of a right server, with the hint and what is said.
FAULTS = [
    (submissions.LEAK, "memory-leak", "definitely lost"),
    ("if (dup(fd) < 0) return;", "open-descriptor", "Open AF_INET socket"),
    ("body[size + 1] = 0;", "memory-fault", "Invalid write of size 1"),
]
# A claim that asks for valgrind in an ordinary grade.
CLAIMS = '''
from harness.claims.marker import claim

@claim("01.1")
def test_01_connects(server):
    """A client can connect."""
    server.connect()

@claim("01.2", valgrind=True)
def test_01_memory(server):
    """Under valgrind: no fault."""
    client = server.connect()
    client.send_frame(b"hello")
    client.expect_frame(b"hello")
    client.close()
'''
LOG = """\
==7== Memcheck, a memory error detector
==7== 
==7== Invalid write of size 4
==7==    at 0x1091CB: leak (conn.c:7)
==7==    by 0x10920E: main (server.c:8)
==7==  Address 0x4a43068 is 0 bytes after a block of size 40 alloc'd
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== FILE DESCRIPTORS: 5 open (3 std) at exit.
==7== Open AF_INET socket 4: <unbound> <-> unbound
==7==    at 0x4968DC7: socket (syscall-template.S:120)
==7==    by 0x109206: main (server.c:8)
==7== 
==7== Open file descriptor 3: /tmp/7.log
==7==    <inherited from parent>
==7== 
==7== 40 bytes in 1 blocks are definitely lost in loss record 1 of 2
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== 90 bytes in 1 blocks are still reachable in loss record 2 of 2
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x1091BE: leak (conn.c:7)
==7== 
==7== 304 bytes in 1 blocks are possibly lost in loss record 1 of 1
==7==    at 0x484BC13: calloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x490C52A: pthread_create@@GLIBC_2.34 (pthread_create.c:655)
==7==    by 0x10920E: start (server.c:56)
==7== 
==7== Process terminating with default action of signal 15 (SIGTERM)
==7==    at 0x497B7F0: accept (accept.c:26)
"""
# What a thread that nobody waits for leaves is no missing free().
SAID = """\
memory-fault: Invalid write of size 4
  in leak (conn.c:7)
  in main (server.c:8)
 Address 0x4a43068 is 0 bytes after a block of size 40 alloc'd
  in leak (conn.c:7)
open-descriptor: Open AF_INET socket 4: <unbound> <-> unbound
  in main (server.c:8)
memory-leak: 40 bytes in 1 blocks are definitely lost
  in leak (conn.c:7)
memory-leak: 90 bytes in 1 blocks are still reachable
  in leak (conn.c:7)
thread-left: 304 bytes in 1 blocks are possibly lost
  in start (server.c:56)"""


def test_the_faults_of_a_log():
    faults = valgrind.read_log(LOG, {"conn.c", "server.c"})
    assert "\n".join(f"{fault.kind}: {fault.text}" for fault in faults) == SAID


@needs_valgrind
@pytest.mark.parametrize(
    "change, hint, said", some(FAULTS, 1, "faults under valgrind", lambda fault: fault[1])
)
@pytest.mark.parametrize("words", [["--memcheck"], []], ids=["memcheck", "a claim"])
def test_a_fault_fails_the_claim(grade, words, change, hint, said):  # noqa: F811
    graded = grade(submissions.right(change), *words, claims=CLAIMS)
    assert graded.status == 1
    assert list(verdicts(graded).values()) == ["passed", "failed"]
    assert graded.results["tests"][1]["extra_data"]["hint"] == hint
    assert said in graded.stdout and "in serve (main.c:" in graded.stdout


@needs_valgrind
@pytest.mark.parametrize("change, verdict", [("", "passed"), (submissions.LEAK, "failed")])
def test_a_compiled_server_of_others_is_run_under_valgrind(
    grade, tmp_path, change, verdict  # noqa: F811
):
    program = compiled(tmp_path, submissions.right(change))
    graded = grade(None, "--server", f"{program} {{port}}", claims=CLAIMS)
    assert verdicts(graded) == {"test_01_connects": "passed", "test_01_memory": verdict}


def compiled(directory, source: str) -> str:
    """The path of a program that is told its port."""
    source = source.replace("main(void)", "main(int count, char **words)")
    port = ".sin_port = htons(count > 1 ? atoi(words[1]) : 0)"
    source = source.replace(".sin_family = AF_INET", f".sin_family = AF_INET, {port}")
    program = directory / "server"
    main = submissions.submission(directory / "sources", source) / "main.c"
    subprocess.run(["gcc", "-w", "-g", "-o", str(program), str(main)], check=True)
    return str(program)


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
    grade, tmp_path, monkeypatch, script, said  # noqa: F811
):
    tools = tmp_path / "tools"  # the only directory of programs
    tools.mkdir()
    for name in ("gcc", "as", "ld", "sh"):
        (tools / name).symlink_to(shutil.which(name))
    if script:
        shell.script(tools / "valgrind", script)
    monkeypatch.setenv("PATH", str(tools))
    with Grader() as by:
        graded = grade(submissions.right(), claims=CLAIMS, by=by)
    assert graded.status == 2
    assert verdicts(graded) == {"test_01_connects": "passed", "test_01_memory": "none"}
    assert said in " ".join(graded.stdout.split())
