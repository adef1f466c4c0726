"""Which files count as C: those that the shell's `*.c` and `*.[ch]` name.

So a grade compiles what `gcc -I. *.c` compiles. From chapter 06 on the code of a chapter is in
layers, which are directories with the names in LAYERS. A directory that has a layer is compiled as
`gcc -I. *.c */*.c` does it, and a file has the name that it has from there: events/timers.c. In
other directories no folder counts: old/ may hold what somebody has kept.

A name that begins with a dot is hidden: macOS packs `._main.c` beside main.c, and Emacs has a link
`.#main.c` while main.c is not saved. `MAIN.C` does not count: for gcc it is C++.
"""

from __future__ import annotations

import os
from pathlib import Path

PACKED_BY_MACOS = "__MACOSX"  # a directory of a zip, with ._main.c in it

# What may be in a layer. A file includes headers of its own layer and of those above it; the files
# outside of the layers, such as main.c, include headers of all of them.
LAYERS = {
    "base": "what every program needs: memory for bytes, log lines, the time",
    "wire": "bytes and messages: no file of it has a descriptor",
    "net": "sockets, and the calls that move bytes",
    "events": "what waits: for descriptors, times and signals",
    "co": "coroutines, and waiting in them",
    "server": "connections, their limits, and the answers to their requests",
    "redis": "the data and the protocol of Redis, without its commands",
    "commands": "the commands of Redis, and what calls them",
}


def is_c(path: Path) -> bool:
    """Whether it is a file that is compiled. A link counts if it leads to a file."""
    return path.suffix == ".c" and not is_hidden(path.name) and path.is_file()


def is_source(path: Path) -> bool:
    """Whether it is a C file or a header. A link counts if it leads to a file."""
    return is_c(path) or (path.suffix == ".h" and not is_hidden(path.name) and path.is_file())


def is_hidden(name: str) -> bool:
    """Whether a file or directory of this name is left out."""
    return name.startswith(".") or name == PACKED_BY_MACOS


def folders(directory: Path) -> list[Path]:
    """Where its C is: the directory, and those in it if one of them is a layer."""
    below = [path for path in directory.glob("*") if path.is_dir() and not is_hidden(path.name)]
    has_layers = any(path.name in LAYERS for path in below)
    return [directory, *sorted(below)] if has_layers else [directory]


def linked_folders(directory: Path) -> list[Path]:
    """The folders that are links to directories: what is in them counts as in the others."""
    return [path for path in folders(directory)[1:] if path.is_symlink()]


def c_files(directory: Path) -> list[Path]:
    """The files of a directory that are compiled, by name."""
    return [path for path in files(directory) if is_c(path)]


def files(directory: Path) -> list[Path]:
    """The C files and headers of a directory, sorted."""
    return sorted(
        path for folder in folders(directory) for path in folder.glob("*") if is_source(path)
    )


def name_of(path: Path, directory: Path) -> str:
    """What a file of the directory is called: "conn.c", "events/timers.c"."""
    return path.relative_to(directory).as_posix()


def texts(directory: Path) -> dict[str, str]:
    """The texts of its files by name."""
    return {name_of(path, directory): path.read_text() for path in files(directory)}


def write(directory: Path, texts: dict[str, str]) -> None:
    """Writes files with these names and texts, and makes the directories that they need. A link to
    a file or a folder is replaced: what it leads to stays as it is."""
    for file, text in texts.items():
        path = directory / file
        if path.parent in linked_folders(directory):
            open_folder(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        path.write_text(text)


def open_folder(folder: Path) -> None:
    """Puts a folder with a link to each of its files in the place of a link to a folder."""
    ends = {path.name: path.resolve() for path in folder.iterdir()}
    folder.unlink()
    folder.mkdir()
    for name, end in ends.items():
        (folder / name).symlink_to(os.path.relpath(end, folder.resolve()))


def below(top: Path) -> list[Path]:
    """C files and headers of a directory and of those in it."""
    return sorted(
        path
        for path in top.rglob("*")
        if is_source(path) and not any(map(is_hidden, path.relative_to(top).parts))
    )
