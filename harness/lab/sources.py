"""Which files count as C: those that the shell's `*.c` and `*.[ch]` name.

So a grade compiles what `gcc *.c` compiles. A name that begins with a dot is hidden: macOS packs
`._main.c` beside main.c, and Emacs has a link `.#main.c` while main.c is not saved. `MAIN.C` does
not count: for gcc it is C++.
"""

from __future__ import annotations

from pathlib import Path

PACKED_BY_MACOS = "__MACOSX"  # a directory of a zip, with ._main.c in it


def is_c(path: Path) -> bool:
    """Whether it is a file that is compiled. A link counts if it leads to a file."""
    return path.suffix == ".c" and not is_hidden(path.name) and path.is_file()


def is_source(path: Path) -> bool:
    """The same for a header, too."""
    return is_c(path) or (path.suffix == ".h" and not is_hidden(path.name) and path.is_file())


def is_hidden(name: str) -> bool:
    """Whether a file or directory of this name is left out."""
    return name.startswith(".") or name == PACKED_BY_MACOS


def c_files(directory: Path) -> list[Path]:
    """The files of a directory that are compiled, by name."""
    return sorted(filter(is_c, directory.glob("*")))


def files(directory: Path) -> list[Path]:
    """The same, with the headers."""
    return sorted(filter(is_source, directory.glob("*")))


def below(top: Path) -> list[Path]:
    """C files and headers of a directory and of those in it."""
    return sorted(
        path
        for path in top.rglob("*")
        if is_source(path) and not any(map(is_hidden, path.relative_to(top).parts))
    )
