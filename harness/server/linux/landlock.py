"""Keeps a server to its own directory, where the kernel can do so (Landlock, see landlock(7)).

A confined process, and everything it starts, may read and execute everything, but write only below
the directories that it is given, and send signals only to processes confined with it. No privileges
are needed. Files that are open already stay usable: its outputs are pipes to the grader.

LAB_CONFINE=0 in the environment switches it off, for a server that has to write elsewhere.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from harness.server.linux import prctl

SWITCH = "LAB_CONFINE"
# Not a terminal: the output of a server belongs in a report, and nowhere else.
DEVICES = [Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom")]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on nearly every machine
_VERSION = 1  # flag of _CREATE_RULESET: return the version of the interface
_PATH_BENEATH = 1

# linux/landlock.h: the rights a ruleset can take away, by the version that brought them.
_WRITE_FILE = 1 << 1
_READ_FILE, _READ_DIRECTORY = 0b101, 1 << 3  # execute and read; list
_FILE_RIGHTS = {1: _WRITE_FILE, 3: 1 << 14, 5: 1 << 15}  # write; truncate; ioctl on a device
_TREE_RIGHTS = {1: 0x1FF0, 2: 1 << 13}  # remove and make anything; move between directories
_SCOPES = {6: 0b11}  # abstract unix sockets, signals

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.argtypes = [ctypes.c_long] * 5
_libc.syscall.restype = ctypes.c_long


@functools.lru_cache(maxsize=None)
def version() -> int:
    """The version of the kernel's interface; 0 if there is none, or it is switched off."""
    if os.environ.get(SWITCH) == "0":
        return 0
    return max(0, _libc.syscall(_CREATE_RULESET, 0, 0, _VERSION, 0))


def ruleset(
    writable: Iterable[Path],
    readable: Iterable[Path] | None = None,
    listed: Iterable[Path] = (),
) -> int | None:
    """A descriptor for enter(): it allows writing only below these directories. To be closed.

    With `readable`, files can be read only there and below `writable`; below `listed` the names of
    files can be read, and not the files. None when the kernel cannot confine. Paths that do not
    exist are left out.
    """
    if not version():
        return None
    on_files, on_trees = _known(_FILE_RIGHTS), _known(_TREE_RIGHTS)
    if readable is not None:
        on_files, on_trees = on_files | _READ_FILE, on_trees | _READ_DIRECTORY
    attributes = struct.pack("=QQQ", on_files | on_trees, 0, _known(_SCOPES))
    size = 24 if version() >= 6 else 16 if version() >= 4 else 8  # older kernels know less of it
    made = _libc.syscall(_CREATE_RULESET, _address(attributes), size, 0, 0)
    if made < 0:
        return None
    for device in DEVICES:
        _allow(made, device, on_files)
    for directory in writable:
        _allow(made, directory, on_files | on_trees)
    for path in readable or ():
        _allow(made, path, _READ_FILE | (_READ_DIRECTORY if path.is_dir() else 0))
    for directory in listed:
        _allow(made, directory, _READ_DIRECTORY)
    return made


def enter(made: int) -> bool:
    """Confines the calling thread for ever; for a child between fork and exec: system calls only.

    Returns whether it worked.
    """
    prctl.renounce_privileges()  # else only root may confine itself
    return _libc.syscall(_RESTRICT_SELF, made, 0, 0, 0) == 0


@functools.lru_cache(maxsize=None)
def works() -> bool:
    """Returns true if processes can be confined here."""
    made = ruleset([])
    if made is not None:
        os.close(made)
    return made is not None


def _known(rights: dict[int, int]) -> int:
    """The rights that this kernel knows."""
    return sum(bits for since, bits in rights.items() if since <= version())


def _allow(made: int, path: Path, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights, beneath)
        _libc.syscall(_ADD_RULE, made, _PATH_BENEATH, _address(rule), 0)
    finally:
        os.close(beneath)


def _address(data: bytes) -> int:
    """The address of the bytes, which have to outlive the call."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
