"""A server under valgrind: how it is started, and what valgrind's logs say against it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.feedback.failure import Failure
from harness.waiting.wait import Deadline, Patience

REMEDY = "another compiler (CC=gcc), or a newer valgrind"
MISSING = "valgrind is not installed; `make setup` installs it"
PROBE_SECONDS = 60
SHOWN_LINES = 12
SANITIZER = b"__asan_init"  # a function that such a program calls
# What an ELF file has in it that is of use to valgrind; and what such a file has, if it is not.
LOADER = b"/ld-linux"
FOREIGN = (SANITIZER, b"__tsan_init", b"__msan_init", b"Go buildinf")
SYSTEM = ("/bin", "/sbin", "/lib", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/share")
INTERPRETER = re.compile(r"(python|pypy|node|deno|bun|ruby|perl|php|lua|java|dotnet|beam|erl)")
PREFIX = re.compile(r"^==\d+== ?", re.M)
FRAME = re.compile(r"^ +(?:at|by) 0x[0-9A-F]+: (.*)$")
PLACE = re.compile(r"\(([^():]+):\d+\)$")
ASKED = 4  # times to end, while one waits for it
NOISE = re.compile(r"FILE DESCRIPTORS: ")
GAVE_UP = re.compile(r"^Valgrind: (.+?):?$", re.M | re.I)
ENDED = "ERROR SUMMARY: "  # stands at the end of a complete log
THREAD = re.compile(r": pthread_create\b")  # allocates what pthread_join() frees
# The C library starts a helper thread for SIGEV_THREAD, and no program can end that thread.
HELPER = re.compile(r": __timer_start_helper_thread\b")
LEAK = re.compile(r"(?:(?:definitely|indirectly|possibly) lost|still reachable) in loss record")


def missing() -> bool:
    return shutil.which("valgrind") is None


def sanitized(program: str) -> bool:
    """Whether it was built with AddressSanitizer, which has a malloc() of its own."""
    return os.path.exists(program) and SANITIZER in Path(program).read_bytes()


def is_native(program: str) -> bool:
    """Whether valgrind can say something of its memory that its author wants to know.

    So it is one that was compiled to be run as it is, and the system's own are none.
    """
    path = Path(shutil.which(program) or program).resolve()
    if INTERPRETER.match(path.name) or any(Path(part) in path.parents for part in SYSTEM):
        return False
    try:
        code = path.read_bytes()
    except OSError:
        return False
    loaded = code.startswith(b"\x7fELF") and LOADER in code
    return loaded and not any(name in code for name in FOREIGN)


def unusable(program: str) -> str:
    """Why this program, or any, does not run under valgrind here; "" if it should."""
    if missing():
        return MISSING
    if sanitized(program):
        return "a program built with AddressSanitizer does not run under valgrind"
    try:
        probe = subprocess.run(
            ["valgrind", "true"], capture_output=True, text=True, timeout=PROBE_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"valgrind does not end within {PROBE_SECONDS} s, whatever it runs"
    said = probe.stderr.strip().splitlines() or ["nothing"]
    return f"valgrind runs no program on this machine: {said[-1]}" if probe.returncode else ""


def gave_up(logs: Path) -> str:
    """Why valgrind itself has ended, and not its program; "" if it has not."""
    for log in sorted(logs.glob("*.log")):
        text = PREFIX.sub("", log.read_text(errors="replace"))
        said = GAVE_UP.search(text)
        if said and ENDED not in text:
            return f"valgrind cannot run this program, and gave up: {said[1]}; this helps: {REMEDY}"
    return ""


def wrapper(logs: Path, leaks: bool = True) -> list[str]:
    """The command in front of the server's. Every process of it writes LOGS/PID.log. With `leaks`,
    the logs have what is left at the end, too: memory and descriptors.

    Plain logs, since the XML of valgrind before 3.21 says nothing of descriptors.
    """
    place = str(logs).replace("%", "%%")
    return [
        "valgrind",
        f"--leak-check={'full' if leaks else 'no'}",
        "--show-leak-kinds=all",
        "--errors-for-leak-kinds=all",
        f"--track-fds={'yes' if leaks else 'no'}",
        "--vgdb=no",  # no pipes in /tmp for a debugger
        f"--log-file={place}/%p.log",
    ]


@dataclass(frozen=True)
class Fault:
    """One report of valgrind. `kind` is the key of a hint, `text` the report itself."""

    kind: str
    text: str


def check(process, logs: Path, sources: Iterable[str], patience: Patience) -> None:
    """Ends the server politely, reads its logs, and raises Failure for what they report."""
    seconds = patience.seconds
    if not _stopped(process, seconds):
        text = f"it did not end within {seconds:g} s of SIGTERM, so leaks cannot be checked"
        raise Failure(text, hint="not-ended")
    faults = []
    for log in sorted(logs.glob("*.log")):
        found = read_log(log.read_text(errors="replace"), set(sources))
        if log.stem != str(process.pid):  # a child shares what its parent owns and may leave it
            found = [fault for fault in found if fault.kind == "memory-fault"]
        faults += found
    killed = process.describe().startswith("killed by SIGTERM")
    if faults and killed and all(fault.kind != "memory-fault" for fault in faults):
        text = "SIGTERM killed it before it could free its memory and close its descriptors"
        raise Failure(text, hint="wrong-exit")
    if faults:
        raise _failure(faults)


def fault_so_far(logs: Path, sources: Iterable[str]) -> Failure | None:
    """What a server that may still run has done to its memory, None if nothing is known.

    Before the end, blocks and descriptors that are still in use are no fault.
    """
    texts = [log.read_text(errors="replace") for log in sorted(logs.glob("*.log"))]
    faults = [fault for text in texts for fault in read_log(text, set(sources))]
    faults = [fault for fault in faults if fault.kind == "memory-fault"]
    return _failure(faults) if faults else None


def _failure(faults: list[Fault]) -> Failure:
    more = "" if len(faults) == 1 else f"{len(faults)} reports, the first: "
    return Failure(f"valgrind: {more}{faults[0].text}", hint=faults[0].kind)


def _stopped(process, seconds: float) -> bool:
    """Asks it to end, some times: how fast it obeys a single signal is another claim's matter.

    Not often: a server that is ending lets the second signal end it where it is.
    """
    deadline = Deadline(seconds)
    while deadline.left():
        pause = min(seconds / ASKED, deadline.left())
        if not process.alive() or process.stop_gently(pause) is not None:
            return True
    return False


def read_log(log: str, sources: set[str]) -> list[Fault]:
    """The faults in valgrind's log, in its order. Frames outside `sources` are left out."""
    faults = []
    for block in PREFIX.sub("", log).split("\n\n"):
        lines = [line for line in block.splitlines() if line and not NOISE.match(line)]
        kind = _kind(lines)
        if kind:
            faults.append(Fault(kind, "\n".join(_shown(lines, sources))))
    return faults


def _kind(lines: list[str]) -> str | None:
    """Which fault a block of the log is about, None if about none."""
    if not any(FRAME.match(line) for line in lines):
        return None
    if lines[0].startswith("Process terminating"):
        return None
    if lines[0].startswith("Open "):
        return "open-descriptor"
    if not LEAK.search(lines[0]):
        return "memory-fault"
    if any(map(HELPER.search, lines)):
        return None
    return "thread-left" if any(map(THREAD.search, lines)) else "memory-leak"


def _shown(lines: list[str], sources: set[str]) -> list[str]:
    """The lines worth reading: titles, and the frames that are in the student's files."""
    mine = [line for line in lines if not FRAME.match(line) or _file(line) in sources]
    if not any(FRAME.match(line) for line in mine):
        mine = lines
    shown = [FRAME.sub(r"  in \1", line) for line in mine][:SHOWN_LINES]
    return [re.sub(r" in loss record .*", "", line) for line in shown]


def _file(frame: str) -> str | None:
    place = PLACE.search(frame)
    return place[1] if place else None
