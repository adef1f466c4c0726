"""What the sanitizers of a compiler say of a program, cut down to the lines of a student."""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
from collections.abc import Collection

from harness.feedback.failure import Failure

LASTING = "-fno-sanitize-recover=all -fno-omit-frame-pointer".split()
SHOWN_FRAMES = 4
NO_CHANCE = ["setarch", platform.machine(), "-R"]  # the kernel puts a program where it always does
# Leaks are valgrind's. A report ends the program, since what comes after it may be a consequence.
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "TSAN_OPTIONS": "halt_on_error=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}

# Of what only threads can do wrong.
HINTS = {"data race": "data-race", "thread leak": "thread-left"}

_TITLE = re.compile(r"(?:ERROR|WARNING): (\w+Sanitizer): (.*)")
# Of one that ends before the program begins: it finds no space for its tables, because the kernel
# has put the program there (vm.mmap_rnd_bits above 28), or may not choose (personality(2)).
_FATAL = re.compile(r"FATAL: (\w+Sanitizer: .*)|(\w+Sanitizer: CHECK failed: .*personality.*)")
REMEDY = "`sudo sysctl vm.mmap_rnd_bits=28`, or for a container `--security-opt seccomp=unconfined`"
# Of the thread sanitizer, when pthread_join() has failed. It ends the program, and shows no stack.
_NOT_JOINED = re.compile(r"^==\d+==(\w+Sanitizer): dup thread\b", re.M)
_WHERE = re.compile(r" (?:on (?:unknown )?address |\(pid=).*")
_ACCESS = re.compile(r"^ *((?:READ|WRITE) of size \d+|.* by a (?:READ|WRITE) memory access)", re.M)
_STACK = re.compile(r"^ +#0 .*?(?=\n\s*\n|\Z)", re.M | re.S)
# What one side of a race did to the memory, the thread, and where.
_RACER = re.compile(
    r"^ +((?:Previous )?(?:Atomic )?(?:read|write) of size \d+) at \S+ (by [^(:\n]*\w)[^\n]*:\n"
    r"(.*?)(?=\n\s*\n|\Z)",
    re.M | re.S | re.I,
)
_FRAME = re.compile(r"^ +#\d+ (?:0x[0-9a-f]+ in )?(\S+) (?:.*/)?([^/\n]+?):(\d+)\b.*$", re.M)
_BEGIN = re.compile(
    r"^(?:=+$|\w+Sanitizer:DEADLYSIGNAL$|.* runtime error: |==\d+==\w+Sanitizer: dup thread)", re.M
)
_UNDEFINED = re.compile(r"^(?:.*/)?([^/\n:]+):(\d+):\d+: runtime error: (.*)", re.M)


def flags(names: str) -> tuple[str, ...]:
    """Options of the compiler for sanitizers such as "address,undefined"; none for ""."""
    if not names:
        return ()
    own = ("-DSANITIZED",) if "address" in names else ()  # for programs/check.c
    return (f"-fsanitize={names}", "-O1", *LASTING, *own)  # as their documentation recommends


def environment() -> dict[str, str]:
    """Variables for the program: ours in front, so that the user's count."""
    return {
        name: ":".join(filter(None, [text, os.environ.get(name)])) for name, text in OPTIONS.items()
    }


def wrapper(names: str) -> list[str]:
    """What comes before the command of a program with these sanitizers, where that works.

    The thread sanitizer needs addresses that are not drawn by chance.
    """
    return NO_CHANCE if "thread" in names and _works(tuple(NO_CHANCE)) else []


@functools.cache
def _works(command: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except OSError:
        return False


def fault(printed: str, sources: Collection[str]) -> Failure | None:
    """The first report in what the program has printed; None if there is none."""
    undefined, title = _UNDEFINED.search(printed), _TITLE.search(printed)
    if undefined and not (title and title.start() < undefined.start()):
        text = f"undefined behaviour: {undefined[1]}:{undefined[2]}: {undefined[3]}"
        return Failure(text, hint="undefined-behaviour")
    if not title:
        return _not_joined(printed)
    report = printed[title.end() :]
    what = _WHERE.sub("", title[2])
    access = _ACCESS.search(report)
    lines = [f"{title[1]}: {what}" + (f", {_shortened(access[1])}" if access else "")]
    racers = _RACER.findall(report)[:2]
    for did, thread, stack in racers:
        lines += [f"  {did.lower()} {thread}", *_frames(stack, sources)]
    if not racers:
        lines += _frames(report, sources)
    # If the second access is that of free(), the title of a race is "heap-use-after-free".
    races = len({thread for _, thread, _ in racers}) == 2
    hint = "data-race" if races else HINTS.get(what, "memory-fault")
    return Failure("\n".join(lines), hint=hint)


def _not_joined(printed: str) -> Failure | None:
    found = _NOT_JOINED.search(printed)
    if not found:
        return None
    text = f"{found[1]}: pthread_join() was called for a thread that was not started, or for one "
    return Failure(f"{text}twice", hint="told-one-by-one")


def without_reports(printed: str) -> str:
    """What the program itself has printed before the first report."""
    found = _BEGIN.search(printed)
    return printed[: found.start()] if found else printed


def unusable(printed: str) -> str:
    """Why such a program, which has printed this and ended, cannot run here; "" if it could."""
    found = _FATAL.search(printed)
    if not found:
        return ""
    said = (found[1] or found[2]).strip()
    return f"programs with this sanitizer do not run here: {said}; this helps: {REMEDY}"


def _shortened(access: str) -> str:
    """ "READ of size 1"; of a signal it is not said of what size."""
    return access if access.startswith(("READ", "WRITE")) else access.split(" a ")[-1].split(" ")[0]


def _frames(report: str, sources: Collection[str]) -> list[str]:
    """The first stack, as far as it is in the student's files."""
    stack = _STACK.search(report)
    frames = _FRAME.findall(stack[0]) if stack else []
    own = [frame for frame in frames if frame[1] in sources]
    return [f"  in {function} ({file}:{line})" for function, file, line in own[:SHOWN_FRAMES]]
