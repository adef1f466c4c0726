"""Compiles a directory of C into one server, and keeps the binary until the sources change.

    compile_server(source, binary)    one compiler command for each file, no cache
    cached_server(source)             the same, kept under build/bin
    cached_program(source, ...)       some of its files, with a program of the grader's

The objects of the cached ones are kept too: most programs share most of a submission's files.
"""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.lab.chapters import ROOT
from harness.lab.units import MIB
from harness.server.patience import Deadline

FLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-pthread")
COMPILERS = ("gcc", "clang", "cc")
# In the environment, for hundreds of servers that differ from each other in a file or two, and
# include nothing but what lies beside it: what that is need not be found out for each of them.
BESIDE = "LAB_INCLUDES_BESIDE"
COMPILE_SECONDS = 60
MEMORY_BYTES = 4 << 30  # a compiler that is led astray must not take the machine with it
OUTPUT_BYTES = 256 * MIB
MESSAGE_LINES = 60
CACHE = ROOT / "build" / "bin"
AT_ONCE = 2  # files that are compiled at the same time


class BuildFailed(Exception):
    """The sources do not become a server. `str()` is what the student is shown."""


class NoCompiler(Exception):
    """This machine has no C compiler: nobody's submission is to blame."""


@dataclass(frozen=True)
class Compiled:
    """`warnings` is what the compiler said although it succeeded ("" if nothing)."""

    binary: Path
    warnings: str


def find_compiler() -> list[str]:
    """The words of the compiler's command: $CC, else the first of COMPILERS. Raises NoCompiler."""
    wanted = shlex.split(os.environ.get("CC", ""))
    if wanted and shutil.which(wanted[0]):
        return wanted
    if wanted:
        raise NoCompiler(f"no C compiler found: CC is {wanted[0]!r}, and there is no such command")
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise NoCompiler("no C compiler found: looked for gcc, clang and cc; `make setup` installs gcc")


def compile_server(
    source: Path,
    binary: Path,
    *,
    compiler: list[str] | None = None,
    extra_flags: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    keep: bool = False,
) -> Compiled:
    """Compiles `files`, named as from `source`, or all *.c of it, and links them.

    The binary appears at once, or not at all. `keep`: so do the objects, for other programs.
    Raises BuildFailed with the compiler's messages about all files, NoCompiler.
    """
    words = tuple(files or _sources(source))
    command = [*(compiler or find_compiler()), *FLAGS, *extra_flags]
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=binary.parent) as scratch:
        product = Path(scratch).resolve() / "server"
        messages = _build(command, words, source, product, keep)
        os.replace(product, binary)
    return Compiled(binary, messages)


def _build(
    command: list[str], words: tuple[str, ...], source: Path, product: Path, keep: bool
) -> str:
    """Makes an object of each file, or takes the one that was kept, and links them.

    Returns the compiler's messages. Raises BuildFailed.
    """
    deadline = Deadline(COMPILE_SECONDS)
    objects = [product.with_name(f"{number}.o") for number in range(len(words))]

    def make(word: str, made: Path) -> tuple[int, str]:
        kept = _kept(command, word, source) if keep else None
        if kept and kept.exists():
            shutil.copy(kept, made)
            return 0, kept.with_suffix(".txt").read_text()
        status, message = _make(made, [*command, "-c", word], source, deadline)
        if kept and not status:
            _keep(made, message, kept)
        return status, message

    with ThreadPoolExecutor(AT_ONCE) as threads:  # all of them, for the mistakes in all files
        results = list(threads.map(make, words, objects))
    failed = next((status for status, _ in results if status), 0)
    messages = "".join(message for _, message in results)
    if not failed:
        failed, message = _make(product, [*command, *map(str, objects)], source, deadline)
        messages += message
    if failed:
        raise BuildFailed(shorten(messages) or f"the compiler ended with status {failed}")
    return messages


def _kept(command: list[str], word: str, source: Path) -> Path | None:
    """Where the object of this file is kept, for all programs that have it. None: it is not.

    Where headers are searched for does not matter, once the preprocessor has found them.
    """
    if os.environ.get(BESIDE):
        return CACHE / "objects" / f"{_digest_beside(command, source, word)}.o"
    named = [*command, str(source.resolve())]
    while "-iquote" in named:
        at = named.index("-iquote")
        del named[at : at + 2]
    digest = _digest(command, source, (word,), named)
    return CACHE / "objects" / f"{digest}.o" if digest else None


def _keep(made: Path, message: str, kept: Path) -> None:
    """Each file appears at once, the object last."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=kept.parent) as scratch:
        new = Path(scratch, "new")
        for target in (kept.with_suffix(".txt"), kept):
            new.write_bytes(made.read_bytes() if target == kept else message.encode())
            os.replace(new, target)


def _make(product: Path, command: list[str], source: Path, deadline: Deadline) -> tuple[int, str]:
    """The status of a compiler, 0 if `product` is there, and its messages. Raises BuildFailed."""
    words = [*command, "-o", str(product)]
    status, message = _run_compiler(words, source, seconds=deadline.left())
    if status is None:
        raise BuildFailed(f"the compiler took longer than {COMPILE_SECONDS} s")
    return status if product.exists() else status or 1, message


def cached_server(source: Path, *, extra_flags: tuple[str, ...] = ()) -> Compiled:
    """compile_server() into CACHE, unless these sources were compiled before. Raises as it does."""
    return _cached(source, "server", find_compiler(), extra_flags, ())


def cached_program(
    source: Path,
    name: str,
    files: tuple[str, ...],
    extra_flags: tuple[str, ...],
    compiler: list[str] | None = None,
) -> Path:
    """The same for `files`, named as from `source`: a program called `name`. Raises as it does."""
    return _cached(source, name, compiler or find_compiler(), extra_flags, files).binary


def _cached(
    source: Path, name: str, compiler: list[str], flags: tuple[str, ...], files: tuple[str, ...]
) -> Compiled:
    command = [*compiler, *FLAGS, *flags]
    digest = None if os.environ.get(BESIDE) else _digest(command, source, files)
    label = re.sub(r"[^A-Za-z0-9_.-]", "_", source.resolve().name)
    place = hashlib.sha256("\0".join([*command, str(source.resolve())]).encode()).hexdigest()[:16]
    binary = CACHE / f"{label}-{digest or place}" / name
    notes = binary.with_name("warnings")
    if digest and binary.exists() and notes.exists():
        return Compiled(binary, notes.read_text())
    compiled = compile_server(
        source, binary, compiler=compiler, extra_flags=flags, files=files, keep=True
    )
    notes.write_text(compiled.warnings)
    return compiled


def shorten(message: str, lines: int = MESSAGE_LINES) -> str:
    """The first `lines` lines, and how many more there were."""
    kept = message.rstrip().splitlines()
    if len(kept) <= lines:
        return "\n".join(kept)
    return "\n".join([*kept[:lines], f"... and {len(kept) - lines} more lines"])


def _sources(source: Path) -> list[str]:
    """Names of the *.c files, so that messages read conn.c:12. Raises BuildFailed if none."""
    names = sorted(path.name for path in source.glob("*.c") if path.is_file())
    if not names:
        raise BuildFailed(f"there are no .c files in {source}")
    return [f"./{name}" if name[0] in "-@" else name for name in names]  # "@": a file of options


def _digest(
    command: list[str], source: Path, files: tuple[str, ...], named: list[str] | None = None
) -> str | None:
    """A hash of the command, or what it is `named`, and of all that the sources include; None if
    they cannot be read.

    Preprocessing finds headers wherever they are, and takes a tenth of the time of compiling.
    """
    with tempfile.TemporaryFile() as text:
        status, _ = _run_compiler([*command, "-E", *(files or _sources(source))], source, text)
        if status != 0:
            return None
        text.seek(0)
        digest = hashlib.sha256("\0".join(named or command).encode())
        for block in iter(lambda: text.read(MIB), b""):
            digest.update(block)
    return digest.hexdigest()[:16]


def _digest_beside(command: list[str], source: Path, word: str) -> str:
    """A hash of the command, the file, and the headers beside it and in `source`."""
    file = source / word
    headers = {path for place in (source, file.parent) for path in place.glob("*.h")}
    digest = hashlib.sha256("\0".join(command).encode())
    for path in (file, *sorted(headers)):
        data = path.read_bytes()
        digest.update(f"{path.name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]


def _run_compiler(
    command: list[str], directory: Path, output=None, seconds: float = COMPILE_SECONDS
) -> tuple[int | None, str]:
    """Status (None: out of time) and messages of the compiler, which leaves no process behind.

    Its standard output goes into the file `output`, else among the messages.
    """
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output or messages,
            stderr=messages,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
            preexec_fn=_limit_compiler,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(process)
        messages.seek(0)
        return status, messages.read(MIB).decode(errors="replace")


def _limit_compiler() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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
