"""C of the grader in the process of a server: what starts it, and the library that counts, records
and disturbs its system calls.

    shim.h, *.c      the library; alloc.c is one of its own, for allocations that fail
    start.c          a program, which limits and confines the process of a server
    shared.py        what server and harness share, as shim.h declares it: calls, record, schedule
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.feedback.failure import LabFault, NotJudged
from harness.submission import sources
from harness.submission.command_line import BUILD, ELSEWHERE
from harness.submission.files import appearing
from harness.waiting.shared import Calls, Crash, Entry, Group, Plan, Shim, Step, fail, piece

__all__ = ["Calls", "Crash", "Entry", "Group", "Plan", "Shim", "Step", "fail", "piece"]

DIRECTORY = Path(__file__).parent
OWN = {"alloc.so": "alloc.c", "start": "start.c"}  # products of one source; shim.so has the others
LIBRARIES = BUILD / "shim"
NAMES = ("shim.so", *OWN)
READY = "LAB_LIBRARIES"  # in the environment: a directory that build_into() has filled
VARIABLE = "EVENT_LOOP_SHIM"  # names the shared file to the library
FLAGS = "-std=gnu11 -O2 -U_FORTIFY_SOURCE -fvisibility=hidden -Wall -Wextra".split()
LIBRARY = ["-fPIC", "-shared"]
LINKED = "-ldl -pthread -Wl,-z,now".split()  # now: a signal handler must not look for a function
COMPILERS = ("gcc", "cc", "clang")
PRELOAD = "LD_PRELOAD"
NO_DESCRIPTOR = -1  # for start_words()
CUT = re.compile("[ :$]")  # separators, and the begin of $ORIGIN and the like: see ld.so(8)
REFUSED = re.compile(r"from LD_PRELOAD cannot be preloaded \((.*)\): ignored")

# A number of the module resource, and its limits, soft and hard.
Limit = tuple[int, int, int]


def environment(
    libraries: Sequence[Path], shared: Path, directory: Path | None = None
) -> dict[str, str]:
    """What to add to the environment of a program that starts in `directory` (default: this one),
    so that it loads the libraries and they use the file `shared`. May leave links beside the
    file."""
    return {
        VARIABLE: str(shared),
        PRELOAD: ":".join(_named(library, shared.parent, directory) for library in libraries),
        # AddressSanitizer wants to be the first library and refuses to start when it is not.
        "ASAN_OPTIONS": "verify_asan_link_order=0",
    }


def _named(library: Path, place: Path, directory: Path | None) -> str:
    """A name for LD_PRELOAD, where nothing can be quoted: a library whose path ld.so would cut gets
    a link in `place`, named as from `directory`."""
    path = os.path.abspath(library)
    if not CUT.search(path):
        return path
    link = place / library.name
    if not link.is_symlink():
        link.symlink_to(path)
    return os.path.join(os.curdir, os.path.relpath(link, directory))


def not_loaded(printed: str) -> str:
    """Why a program that has printed this has not loaded the libraries."""
    said = REFUSED.search(printed)
    reason = said[1] if said else "ld.so does not say why"
    return f"programs do not load the lab's own library: {reason}"


def shim_library() -> Path:
    """The library, built if it is missing or older than its sources. Raises NotJudged."""
    return _built("shim.so")


def alloc_library() -> Path:
    """The library that makes allocations fail; to be loaded behind the other. Raises NotJudged."""
    return _built("alloc.so")


@functools.cache
def starter() -> Path:
    """The program that makes its process what a server has to be, see start.c. Raises
    NotJudged."""
    program = _built("start")
    if not os.access(program, os.X_OK):
        raise NotJudged(
            f"the file system of {program.parent} runs no programs (it is mounted with noexec): "
            f"let LAB_BUILD name a directory elsewhere, {ELSEWHERE}"
        )
    return program


def start_words(
    limits: Iterable[Limit],
    report: int = NO_DESCRIPTOR,
    confinement: int = NO_DESCRIPTOR,
    preload: str = "",
) -> list[str]:
    """What to put before a program's file and its arguments, so that start.c starts it. The process
    inherits both descriptors; the program gets none of them, and the libraries `preload`. Raises
    NotJudged."""
    each = [":".join(map(str, limit)) for limit in limits]
    return [str(starter()), str(report), str(confinement), preload, *each, "--"]


def build_into(directory: Path, again: bool = True) -> None:
    """Builds all of NAMES, for processes that may only read this directory. Without `again`, only
    what is missing or older than its sources. Raises NotJudged."""
    for name in NAMES:
        if again or not _is_new(name, directory):
            _build(name, directory)


def _sources(name: str) -> list[Path]:
    if name in OWN:
        return [DIRECTORY / OWN[name]]
    return [path for path in sources.c_files(DIRECTORY) if path.name not in OWN.values()]


def _built(name: str) -> Path:
    for directory in (Path(os.environ.get(READY) or LIBRARIES), LIBRARIES):
        if _is_new(name, directory):
            return directory / name
    return _build(name, LIBRARIES)


def _is_new(name: str, directory: Path) -> bool:
    """Whether it is there, and not older than its sources."""
    library = directory / name
    youngest = max(path.stat().st_mtime for path in sources.files(DIRECTORY))
    return library.exists() and library.stat().st_mtime >= youngest


def _build(name: str, directory: Path) -> Path:
    """The product, new. Raises NotJudged."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise NotJudged("the shim cannot be built: there is no C compiler")
    with appearing(directory / name) as built:
        kind = LIBRARY if name.endswith(".so") else []
        command = [compiler, *FLAGS, *kind, "-o", str(built), *map(str, _sources(name)), *LINKED]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if result.returncode:
            raise LabFault(f"{name} of the grader", result.stderr)
    return directory / name
