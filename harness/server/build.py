"""Compiles a directory of C into one server, and keeps the binary until the sources change.

    cached_server(source)         all of its files
    server_of(chapter, source)    the same for a submission: finds out whose fault a failure is
    counted_server(source)        all of its files, so that the work of the server is counted
    cached_program(source, ...)   some of them, with a program of the grader's

The objects are kept, too (objects.py): most programs share most of a submission's files.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import resource
import secrets
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.feedback.failure import LabFault, NotJudged
from harness.server import steps
from harness.server.objects import Object, Objects, prerequisites
from harness.server.preload import start_words
from harness.submission import chapters, files
from harness.submission.command_line import BUILD, NO_SPACE
from harness.submission.sizes import MIB
from harness.submission.sources import c_files, folders, name_of
from harness.waiting.wait import Deadline

# DWARF 4 is read by each valgrind, gdb and addr2line; what clang writes as DWARF 5 is not.
# -ffunction-sections is for programs, which can be linked without the functions that they never
# call. -fno-optimize-sibling-calls: a function that ends with a call stays in the stack of a crash,
# of valgrind, a sanitizer and gdb. For the last one see context.h of chapter 10.
FLAGS = (
    *("-std=gnu11", "-O2", "-gdwarf-4", "-Wall", "-Wextra", "-pthread", "-ffunction-sections"),
    *("-fno-optimize-sibling-calls", "-fcf-protection=none"),
)
# No function is in a stack twice, as if it had called itself.
GCC_FLAGS = ("-fno-partial-inlining",)
FASTEST = ("-foptimize-sibling-calls",)  # for measurements beside other programs
COMPILERS = ("gcc", "clang", "cc")
COMPILE_SECONDS = 60  # of a processor, for each of its processes
BUILD_SECONDS = 300  # of the clock, for a whole build: on a busy machine it may stand in line
# By the header that a file includes, as the compiler lists it.
LIBRARIES = {"liburing.h": "-luring"}
MEMORY_BYTES = 4 << 30  # a runaway compiler must not use up the machine
OUTPUT_BYTES = 256 * MIB
HELLO = '#include <stdio.h>\nint main(void)\n{\n    return puts("hello") < 0;\n}\n'
LIMITS = [
    (resource.RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES),
    (resource.RLIMIT_FSIZE, OUTPUT_BYTES, OUTPUT_BYTES),
    (resource.RLIMIT_CORE, 0, 0),
    (resource.RLIMIT_CPU, COMPILE_SECONDS, COMPILE_SECONDS + 5),
]
MESSAGE_LINES = 60
OF_THE_DISK = (*NO_SPACE, errno.EROFS)
CACHE = BUILD / "bin"
# For files of a source with layers: headers as seen from its top, and not by -I, as there may be a
# limits.h.
LAYERED = ("-iquote", ".")
# For the grader's own files. They only call what is to be judged, and compile faster so.
OTHERS = (*LAYERED, "-O1")
# At the beginning of a line: the text of an #error is behind other words.
MISSING = re.compile(
    r"^[^:\n]+:\d+:\d+: fatal error: '?([\w./]+)(?:: No such file|' file not found)", re.M
)
UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?(\w+)")
AT_ONCE = 2  # files that are compiled at the same time


class BuildFailed(Exception):
    """The sources do not compile to a server. `str()` is the text for the student."""


class NoCompiler(NotJudged):
    """This machine has no C compiler that works, or lacks a library: this is no fault of a
    submission."""


@dataclass(frozen=True)
class Compiled:
    """`warnings` is what the compiler said although it succeeded ("" if nothing)."""

    binary: Path
    warnings: str


def find_compiler() -> list[str]:
    """The words of the compiler's command: $CC, else the first of COMPILERS. Raises NoCompiler."""
    try:
        wanted = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise NoCompiler(f"CC={os.environ['CC']}: {error}".lower()) from None
    if wanted and shutil.which(wanted[0]):
        return wanted
    if wanted:
        raise NoCompiler(f"no C compiler found: CC is {wanted[0]!r}, which is not a command")
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise NoCompiler("no C compiler found: looked for gcc, clang and cc; `make setup` installs gcc")


def check_compiler() -> None:
    """Raises NoCompiler if the compiler does not build HELLO: then this is no fault of the
    sources."""
    compiler = find_compiler()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=CACHE) as scratch:
        place = Path(scratch).resolve()
        (place / "main.c").write_text(HELLO)
        command = [*compiler, *FLAGS, "main.c"]
        status, said = _make(place / "main", command, place, Deadline(BUILD_SECONDS))
    if status:
        first = next(iter(said.strip().splitlines()), f"it ended with status {status}")
        raise NoCompiler(
            f"{shlex.join(compiler)} builds no program, not even one of four lines: {first}; "
            "`make setup` installs gcc, and CC names another compiler"
        )


def check_the_lab(what: str, untouched: Iterable[Path], make: Callable[[Path], object]) -> None:
    """Finds out whose fault a failed build is. Raises LabFault if `make` does not build `what` from
    the lab's own files either. `untouched`: directories with these, see chapters.untouched()."""
    failures = []
    for directory in untouched:
        try:
            make(directory)
            return
        except BuildFailed as error:
            failures.append(str(error))
    if failures:
        raise LabFault(what, failures[0])


def server_of(chapter: chapters.Chapter, source: Path) -> Compiled:
    """cached_server() of a submission. Raises BuildFailed only if its files are the reason, and
    otherwise NotJudged."""
    try:
        return cached_server(source)
    except BuildFailed:
        check_compiler()
        untouched = chapters.untouched(chapter, source)
        check_the_lab(f"chapter {chapter.slug}", untouched, cached_server)
        raise


def cached_server(source: Path, *, extra_flags: tuple[str, ...] = ()) -> Compiled:
    """The server of all *.c in `source`, built again if any of its files has changed.

    The binary appears at once, or not at all. Raises BuildFailed with the compiler's messages about
    all files, NoCompiler.
    """
    return cached_program(source, "server", tuple(sources(source)), extra_flags)


def counted_server(source: Path) -> Path:
    """The server of all *.c in `source`, built so that its work is counted, see
    harness/server/steps. One process at a time makes it. Raises what cached_server() raises."""
    words = (*sources(source), str(steps.SOURCE))
    with files.alone(CACHE / f"{_label(source)}.lock"):
        return cached_program(source, "server", words, steps.FLAGS, None, steps.LINKING).binary


def cached_program(
    source: Path,
    name: str,
    words: tuple[str, ...],
    flags: tuple[str, ...],
    compiler: list[str] | None = None,
    linking: tuple[str, ...] = (),
) -> Compiled:
    """Builds the program `name` from the files `words`, whose names are relative to `source`.

    `linking`: options that matter only to the linker. Raises what cached_server() raises.
    """
    compiler = compiler or find_compiler()
    is_gcc = Path(compiler[0]).name.startswith("gcc")
    own = GCC_FLAGS if is_gcc and flags != FASTEST else ()
    command = [*compiler, *FLAGS, *own, *flags]
    deadline = Deadline(BUILD_SECONDS)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=CACHE) as scratch:
        objects = _objects(command, words, source, Path(scratch).resolve(), deadline)
        messages = "".join(one.message for one in objects)
        made_of = "\0".join([*command, *linking, *(one.digest for one in objects)])
        digest = hashlib.sha256(os.fsencode(made_of)).hexdigest()[:16]
        binary = CACHE / f"{_label(source)}-{digest}" / name
        notes = binary.with_name("warnings")
        undefined = binary.with_name(f"{name}-undefined")
        if undefined.exists():
            raise BuildFailed(undefined.read_text())
        if not binary.exists() or not notes.exists():
            product = Path(scratch).resolve() / "server"
            inputs = [*(str(one.file) for one in objects), *_libraries(objects)]
            failed, said = _make(product, [*command, *linking, *inputs], source, deadline)
            if failed:
                error = _failed(messages + said, failed)
                if UNDEFINED.search(str(error)):  # as it will be with the same objects
                    files.write(undefined, str(error).encode())
                raise error
            binary.parent.mkdir(exist_ok=True)
            notes.write_text(said)
            os.replace(product, binary)
        return Compiled(binary, messages + notes.read_text())


def _libraries(objects: list[Object]) -> list[str]:
    """Options for the libraries whose headers the files of these objects include."""
    included = [f"/{name}" for one in objects for name in one.included]
    return [
        option
        for header, option in LIBRARIES.items()
        if any(name.endswith(f"/{header}") for name in included)
    ]


def _label(source: Path) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", source.resolve().name)


def _objects(
    command: list[str], words: tuple[str, ...], source: Path, scratch: Path, deadline: Deadline
) -> list[Object]:
    """An object of each file: one that was kept, or a new one. Raises BuildFailed."""
    commands = {word: [*command, *_more(word, source)] for word in words}
    if steps.FLAGS[0] in command:
        for word in filter(os.path.isabs, words):  # the grader's
            commands[word].append(steps.NOT_COUNTED)
    objects = Objects(CACHE / "objects", commands, source)
    failures: list[int] = []

    def make(numbered: tuple[int, str]) -> Object:
        number, word = numbered
        kept = objects.find(word)
        if kept:
            return kept
        made, rule = scratch / f"{number}.o", scratch / f"{number}.d"
        told = ["-MD", "-MF", str(rule), "-c", word]
        status, message = _make(made, [*commands[word], *told], source, deadline)
        if status:
            failures.append(status)
            return Object(made, "", message)
        included = prerequisites(os.fsdecode(rule.read_bytes())) if rule.exists() else []
        digest = objects.keep(word, made, included, message) if included else None
        return Object(made, digest or secrets.token_hex(8), message, tuple(included))

    with ThreadPoolExecutor(AT_ONCE) as threads:  # all of them, for the mistakes in all files
        found = list(threads.map(make, enumerate(words)))
    if failures:
        raise _failed("".join(one.message for one in found), failures[0])
    return found


def _more(word: str, source: Path) -> tuple[str, ...]:
    """More options for one file.

    A file of the source gets the same ones in each program, so a server and a program that is made
    of some of its files share their objects. The grader's own files include a header of the source
    by its name alone, whatever layer it is in.
    """
    layers = folders(source)[1:]
    if not os.path.isabs(word):
        return LAYERED if layers else ()
    return (*OTHERS, *(option for one in layers for option in ("-iquote", name_of(one, source))))


def _failed(messages: str, status: int) -> BuildFailed | NoCompiler:
    """What to raise. A line with a bar quotes the source."""
    for header in LIBRARIES.keys() & MISSING.findall(messages):
        return NoCompiler(f"{header} is not installed; `make setup` installs it")
    said = [line for line in messages.splitlines() if "|" not in line]
    for reason in map(os.strerror, OF_THE_DISK):
        if any(reason in line for line in said):
            places = f"{BUILD} or {tempfile.gettempdir()}"
            return NoCompiler(f"the compiler cannot write its files in {places}: {reason}")
    return BuildFailed(shorten(messages) or f"the compiler ended with status {status}")


def _make(product: Path, command: list[str], source: Path, deadline: Deadline) -> tuple[int, str]:
    """The status of a compiler, 0 if `product` exists, and its messages. Raises BuildFailed."""
    words = [*command, "-o", str(product)]
    status, message = _run_compiler(words, source, deadline.left())
    if status is None:
        raise BuildFailed(f"the compiler took longer than {BUILD_SECONDS} s")
    if status and signal.strsignal(signal.SIGXCPU) in message:
        raise BuildFailed(f"the compiler computed for longer than {COMPILE_SECONDS} s")
    return status if product.exists() else status or 1, message


def shorten(message: str, lines: int = MESSAGE_LINES) -> str:
    """The first `lines` lines, and how many more there were."""
    kept = message.rstrip().splitlines()
    if len(kept) <= lines:
        return "\n".join(kept)
    return "\n".join([*kept[:lines], f"... and {len(kept) - lines} more lines"])


def sources(source: Path) -> list[str]:
    """Names of the *.c files, so that messages read conn.c:12. Raises BuildFailed if none."""
    names = [name_of(path, source) for path in c_files(source)]
    if not names:
        raise BuildFailed(f"there are no .c files in {source}")
    return [f"./{word}" if word[0] in "-@" else word for word in names]  # "@": a file of options


def _run_compiler(command: list[str], directory: Path, seconds: float) -> tuple[int | None, str]:
    """Status (None: out of time) and messages of the compiler, which leaves no process behind."""
    limited = [*start_words(LIMITS), shutil.which(command[0]) or command[0], *command[1:]]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            limited,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(process)
        messages.seek(0)
        return status, messages.read(MIB).decode(errors="replace")


def _end_group(process: subprocess.Popen) -> None:
    """Kills the compiler driver and its children, if any is left."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    try:
        while os.waitpid(-process.pid, 0):  # its children, where orphans become ours
            pass
    except ChildProcessError:
        pass
