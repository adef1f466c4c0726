"""Objects that are kept until their origin changes: the command, the file, its headers.

The compiler lists these headers when it makes an object (-MD), so a later build finds the object
without the compiler. ccache does the same and calls it the direct mode:
https://ccache.dev/manual/latest.html#_the_direct_mode
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from harness.submission import files, sources

SHARED = "LAB_SHARED_OBJECTS"  # in the environment: objects of another directory count as well
CLOCK_NS = 20_000_000  # the kernel's time of a file may be this much too early
SETTLED_NS = 2_000_000_000  # some file systems count in seconds

_read: dict[Path, tuple] = {}  # the state of a file when it was read, and its hash


@dataclass(frozen=True)
class Object:
    """`digest`: of everything that it was made of. `message`: what the compiler printed.
    `included`: its source and the headers that this includes, as the compiler lists them."""

    file: Path
    digest: str
    message: str
    included: tuple[str, ...] = ()


class Objects:
    """The objects of one directory, for one build. Threads may share it."""

    def __init__(self, kept: Path, commands: dict[str, list[str]], source: Path):
        """`kept`: the directory that they are in. `commands`: what compiles each file, which is
        named as from `source`.

        A debugger looks for the sources where they were compiled. So the place counts as a part of
        an object's origin, unless SHARED is set.
        """
        self._kept = kept
        self._source = source
        place = "" if os.environ.get(SHARED) else str(source.resolve())
        beside = {word: {source, (source / word).parent} for word in commands}
        found = {path: sources.files(path) for path in set().union(*beside.values())}
        # A new file there may be found before another of its name: so all the names count.
        names = {
            path: [sources.name_of(file, path) for file in there] for path, there in found.items()
        }
        self._origins = {
            word: json.dumps([command, place, [names[path] for path in sorted(beside[word])]])
            for word, command in commands.items()
        }
        self._begin = time.time_ns()
        self._contents: dict[Path, str | None] = {}
        self._beside = {path: self._content(path) for there in found.values() for path in there}

    def find(self, word: str) -> Object | None:
        """The object of one file. None: it has to be made."""
        try:
            included = json.loads(self._list(word).read_text())
            digest = self._digest(word, included, self._content)
            file = self._kept / f"{digest}.o"
            if digest and file.exists():
                message = file.with_suffix(".txt").read_text()
                return Object(file, digest, message, tuple(included))
        except (OSError, ValueError):  # it was never made, or is damaged
            pass
        return None

    def keep(self, word: str, made: Path, included: list[str], message: str) -> str | None:
        """Keeps the object of a file; returns the digest. Raises OSError.

        None: the object is not kept, since one of the files may have changed during the build, or
        cannot be read again.
        """
        digest = self._digest(word, included, self._unchanged)
        if digest:
            file = self._kept / f"{digest}.o"
            files.write(self._list(word), json.dumps(included).encode())
            files.write(file.with_suffix(".txt"), message.encode())
            files.write(file, made.read_bytes())  # last: see find()
        return digest

    def _list(self, word: str) -> Path:
        """The file that lists what it included when it was made last."""
        return self._kept / f"{_hash(self._origins[word], word)}.json"

    def _digest(self, word: str, included: list[str], content) -> str | None:
        """The digest of the command and each of these files; None if one cannot be read."""
        found = [(name, content(self._source / name)) for name in included]
        if not all(digest for _, digest in found):
            return None
        return _hash(self._origins[word], word, json.dumps(found))

    def _content(self, path: Path) -> str | None:
        """A hash of the file, taken once in a build; None if it cannot be read."""
        if path not in self._contents:
            self._contents[path] = _content(path)
        return self._contents[path]

    def _unchanged(self, path: Path) -> str | None:
        """A hash of the file; None if it cannot be read, or may have changed since the build
        began."""
        if path in self._beside:
            now = _content(path)
            return now if now == self._beside[path] else None
        now = self._content(path)
        return now if now and path.stat().st_mtime_ns < self._begin - CLOCK_NS else None


def _content(path: Path) -> str | None:
    """A hash of the file, read again only if it may have changed; None if it cannot be read."""
    try:
        now = path.stat()
        if not stat.S_ISREG(now.st_mode):
            return None
        state = (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
        known, digest = _read.get(path, (None, None))
        if known != state:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if now.st_ctime_ns < time.time_ns() - SETTLED_NS:  # else the next change may look alike
                _read[path] = state, digest
        return digest
    except OSError:
        return None


def prerequisites(rule: str) -> list[str]:
    """The files that a rule of make names after its colon: what the compiler lists. A backslash
    precedes a space."""
    words = re.findall(r"(?:\\.|[^\s\\])+", rule.replace("\\\n", " ").partition(": ")[2])
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


def _hash(*words: str) -> str:
    return hashlib.sha256(os.fsencode("\0".join(words))).hexdigest()[:16]
