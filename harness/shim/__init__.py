"""The library that counts a server's system calls (shim.c): built, loaded, and read."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Dict, NamedTuple

from harness.course import ROOT
from harness.failure import NotJudged

SOURCE = Path(__file__).with_name("shim.c")
LIBRARY = ROOT / "build" / "shim" / "shim.so"
VARIABLE = "EVENT_LOOP_SHIM"  # names the file of counters to the library
FLAGS = "-std=c11 -O2 -U_FORTIFY_SOURCE -fPIC -shared -Wall -Wextra".split()
COMPILERS = ("gcc", "cc", "clang")

# struct counters of shim.c: magic, version, outputs, inputs, waits, accepts.
_LAYOUT = struct.Struct("=IIQQQQ")
_MAGIC = 0x4D494853
_VERSION = 1


class Calls(NamedTuple):
    """How many system calls a server has made, all its processes and threads together."""

    outputs: int  # write, send and their relatives, but not to stdin, stdout or stderr
    inputs: int  # read, recv and their relatives, but not from these
    waits: int  # poll, select, epoll_wait and their relatives
    accepts: int  # accept, accept4


class Counters:
    """The file in which the library counts. Can be read when the file is long deleted."""

    def __init__(self, path: Path) -> None:
        """Makes the file. Whoever loads the library with environment() counts in it."""
        self.path = path
        path.write_bytes(_LAYOUT.pack(_MAGIC, _VERSION, 0, 0, 0, 0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size, prot=mmap.PROT_READ)

    def read(self) -> Calls:
        """The numbers of this moment. Raises NotJudged when the server has spoilt them."""
        magic, version, *numbers = _LAYOUT.unpack_from(self._map)
        if (magic, version) != (_MAGIC, _VERSION):
            raise NotJudged("the counters of system calls were overwritten")
        return Calls(*numbers)


def environment(library: Path, counters: Path) -> Dict[str, str]:
    """What to add to a server's environment so that the library is loaded and counts there."""
    before = os.environ.get("LD_PRELOAD")
    sanitizer = os.environ.get("ASAN_OPTIONS")
    return {
        VARIABLE: str(counters),
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
        # AddressSanitizer wants to be the first library and refuses to start when it is not.
        "ASAN_OPTIONS": ":".join(filter(None, [sanitizer, "verify_asan_link_order=0"])),
    }


def shim_library() -> Path:
    """The library, built if it is missing or older than its source. Raises NotJudged if it cannot.

    Several processes may do this at once: each builds its own file and renames it into place.
    """
    if LIBRARY.exists() and LIBRARY.stat().st_mtime >= SOURCE.stat().st_mtime:
        return LIBRARY
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise NotJudged("the shim cannot be built: there is no C compiler")
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=LIBRARY.parent) as scratch:
        built = Path(scratch) / LIBRARY.name
        command = [compiler, *FLAGS, "-o", str(built), str(SOURCE), "-ldl"]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if result.returncode:
            raise NotJudged(f"the shim cannot be built:\n{result.stderr}")
        os.replace(built, LIBRARY)
    return LIBRARY
