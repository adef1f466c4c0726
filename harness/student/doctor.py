"""make doctor: what this machine can judge, and what mends the rest.

Exit status: 0 every claim can be judged here, 1 some cannot, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.claims.context import sanitizers, valgrind
from harness.client.redis.here import OTHERS as PROGRAMS_OF_OTHERS
from harness.feedback.failure import NotJudged
from harness.feedback.printable import harmless
from harness.grade import scoring
from harness.grade.scoring import Claim
from harness.server import build, limits, preload
from harness.server.linux import landlock, prctl
from harness.submission import chapters, command_line
from harness.submission.target import setting
from harness.waiting import procfs, sockets

COLUMNS = 80
NAME = 18  # columns
INDENT = " " * 8
SECONDS = 60  # for a program of two lines, on a busy machine
LEAK = """#include <stdlib.h>
char *volatile lost;
int main(void) { lost = malloc(7); lost = NULL; return 0; }
"""


@dataclass(frozen=True)
class Check:
    """`problem()`: what is wrong here, "" if nothing. `remedy`: what mends that. `needed`: whether
    a claim is not judged without it. `otherwise`: what is different without it, if no claim needs
    it. `used()`: which of several it is here."""

    name: str
    problem: Callable[[], str]
    remedy: str
    needed: Callable[[Claim], bool] = lambda claim: False
    otherwise: str = ""
    used: Callable[[], str] = str


def checks(claims: list[Claim]) -> list[Check]:
    """A row for each thing that a grade uses; those that claims need come first."""
    most = max((claim.descriptors for claim in claims), default=0)
    return [
        Check("C compiler", compiler, "`make setup`, or set CC to one", lambda claim: True),
        Check("shim library", library, "`make setup`: gcc and libc6-dev", lambda claim: True),
        Check("valgrind", memory_checker, "`make setup`", lambda claim: claim.valgrind),
        Check(
            "descriptors",
            lambda: limits.lacking_descriptors(most),
            f"raise the hard limit to {most} in /etc/security/limits.conf, "
            f"or `--ulimit nofile={most}`",
            lambda claim: bool(limits.lacking_descriptors(claim.descriptors)),
        ),
        Check(
            "AddressSanitizer",
            lambda: sanitizer("address,undefined"),
            f"install gcc's libasan and libubsan, or {sanitizers.REMEDY}",
            _marked("address,undefined"),
        ),
        Check(
            "ThreadSanitizer",
            lambda: sanitizer("thread"),
            f"install gcc's libtsan, or {sanitizers.REMEDY}",
            _marked("thread"),
        ),
        Check("io_uring", prctl.ring_problem, prctl.RING_REMEDY, _marked("io_uring")),
        Check(
            "sock_diag",
            queues,
            "`sudo modprobe inet_diag tcp_diag`, or a kernel that has them",
            _marked("queues"),
        ),
        *(
            Check(one.name, one.problem, one.remedy, _marked(key), used=one.used)
            for key, one in PROGRAMS_OF_OTHERS.items()
        ),
        Check(
            "Landlock",
            lambda: "" if landlock.works() else "this kernel does not have or allow it",
            "Linux 5.13 or later, or in a container `--security-opt seccomp=unconfined`",
            otherwise="a submission can write to the files of this user and signal its processes",
        ),
        Check(
            "gdb",
            debugger,
            "`make setup`, or in a container `--cap-add SYS_PTRACE`",
            otherwise="`make replay GDB=1` does not work",
        ),
    ]


def _marked(key: str) -> Callable[[Claim], bool]:
    """Returns true if a claim has this mark, see `needs` in claims/marker.py."""
    return lambda claim: claim.needs == key


# How to look: each calls what a grade calls, and returns what is wrong, "" if nothing


def compiler() -> str:
    return _tried(lambda: _ran(build.HELLO), lambda done: "its programs do not run")


def sanitizer(names: str) -> str:
    def says(done: subprocess.CompletedProcess[str]) -> str:
        reason = sanitizers.unusable(done.stdout + done.stderr)
        return reason.split("; this helps")[0] or f"a program ends with status {done.returncode}"

    problem = _tried(lambda: _ran(build.HELLO, names), says)
    return f"with -fsanitize={names} {problem}" if problem.startswith("the compiler") else problem


def memory_checker() -> str:
    """Finds a leak, and its line, in a program that is built as servers are."""
    if valgrind.missing():
        return valgrind.MISSING
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as place:
        logs = Path(place)
        problem = _tried(lambda: _ran(LEAK, wrapper=valgrind.wrapper(logs)), lambda done: "")
        problem = problem or valgrind.gave_up(logs)
        found = any("(main.c:" in log.read_text(errors="replace") for log in logs.glob("*.log"))
    return problem or ("" if found else "it finds no leak in a program that was built here")


def library() -> str:
    """Builds it, and loads it into a program as into a server."""
    try:
        path = preload.shim_library()
    except NotJudged as error:
        return str(error).splitlines()[0]
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as scratch:
        variables = preload.environment([path], Path(scratch, "shim"), Path(scratch))
        command, env = ["cat", "/proc/self/maps"], {**os.environ, **variables}
        done = subprocess.run(command, cwd=scratch, env=env, capture_output=True)
    loaded = procfs.named_in(done.stdout, os.path.realpath(path))
    return "" if loaded else preload.not_loaded(done.stderr.decode(errors="replace"))


def queues() -> str:
    """Asks which bytes wait in a socket."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with socket.create_connection(listener.getsockname()) as client:
                sockets.queues(client.getsockname(), client.getpeername())
    except (OSError, sockets.Unavailable) as error:
        return f"the kernel does not report which bytes wait in a socket: {error}"
    return ""


def debugger() -> str:
    """Runs a program in gdb."""
    if not shutil.which("gdb"):
        return "gdb is not installed"
    wrapper = "gdb -nx -q -batch -ex run --args".split()
    done = _ran(build.HELLO, wrapper=wrapper)
    return "" if "exited normally" in done.stdout else "gdb cannot run a program here (ptrace)"


def _tried(
    run: Callable[[], subprocess.CompletedProcess[str]],
    says: Callable[[subprocess.CompletedProcess[str]], str],
) -> str:
    """Why there is no such program, or what it says if it fails."""
    try:
        done = run()
    except (NotJudged, build.BuildFailed) as error:
        return str(error).splitlines()[0]
    except subprocess.TimeoutExpired:
        return f"a program does not end within {SECONDS} s"
    return says(done) if done.returncode else ""


def _ran(
    program: str, names: str = "", wrapper: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Builds the program, with these sanitizers, and runs it. Raises as build.cached_server."""
    with tempfile.TemporaryDirectory(prefix="lab-checkup-") as scratch:
        Path(scratch, "main.c").write_text(program)
        binary = build.cached_server(Path(scratch), extra_flags=sanitizers.flags(names)).binary
        command = [*sanitizers.wrapper(names), *wrapper, str(binary)]
        how = {"capture_output": True, "text": True, "timeout": SECONDS}
        try:
            return subprocess.run(command, env={**os.environ, **sanitizers.environment()}, **how)
        finally:
            shutil.rmtree(binary.parent, ignore_errors=True)


# The command


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; those not given come from the Makefile's variables."""
    parser = argparse.ArgumentParser(prog="doctor", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--chapter", metavar="NN", default=setting("CH"), help="default: all of them")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    return command_line.run("doctor", lambda: run(options))


def run(options: argparse.Namespace) -> int:
    """Makes every check, and prints what came of it at once."""
    claims = scoring.load()
    if options.chapter:
        claims = scoring.holding(claims, chapters.find(options.chapter))
    print("What this machine can judge\n")
    lost: set[str] = set()
    for check in checks(claims):
        problem = check.problem()
        missing = [claim for claim in claims if problem and check.needed(claim)]
        lost |= {claim.name for claim in missing}
        print("\n".join(told(check, problem, missing, len(claims))), flush=True)
    said = f"All {len(claims)} claims can be judged here."
    if lost:
        count = f"{len(lost)} of {len(claims)} claims"
        said = f"{count} cannot be judged here. A grade leaves them open."
    print(f"\n{said}")
    return 1 if lost else 0


def told(check: Check, problem: str, missing: list[Claim], total: int) -> list[str]:
    """One line if all is well, otherwise what is lost and what mends it. `missing`: the claims, of
    `total`, that are not judged for this reason."""
    if not problem:
        return [f"  yes   {check.name:{NAME}}{harmless(check.used())}".rstrip()]
    lines = _wrapped(f"  {'NO' if missing else 'no':5} {check.name:{NAME}}", harmless(problem))
    if missing:
        names = ", ".join(f"{claim.number} {claim.name[5:]}" for claim in missing)
        lost = "any claim" if len(missing) == total else names
        lines += _wrapped(f"{INDENT}not judged: ", lost)
    elif check.otherwise:
        lines += _wrapped(f"{INDENT}then: ", check.otherwise)
    return [*lines, *_wrapped(f"{INDENT}this helps: ", check.remedy)]


def _wrapped(begin: str, text: str) -> list[str]:
    """The text behind `begin`, in lines that fit the terminal."""
    words, after = " ".join(text.split()), INDENT + "  "
    how = {"initial_indent": begin, "subsequent_indent": after, "break_on_hyphens": False}
    return textwrap.wrap(words, COLUMNS, **how)
