"""Where two submissions are alike: pieces of their files, as lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from harness.course.similarity.fingerprints import GRAM, grams
from harness.course.similarity.tokens import tokens


@dataclass(frozen=True)
class Place:
    """Lines `first` to `last` of a file, counted from 1."""

    file: str
    first: int
    last: int


@dataclass(frozen=True)
class Piece:
    """`size` tokens in a row that two submissions share: where they are in each."""

    size: int
    here: Place
    there: Place


class _File:
    """A file as k-grams, and the line of each token."""

    def __init__(self, name: str, text: str):
        found = tokens(text)
        breaks = [at for at, character in enumerate(text) if character == "\n"]
        self.name = name
        self.grams = grams(found.codes)
        self.lines = [bisect_right(breaks, start - 1) + 1 for start in found.starts]

    def place(self, at: int, size: int) -> Place:
        return Place(self.name, self.lines[at], self.lines[at + size - 1])


@dataclass
class _Match:
    """`size` tokens from `at` on in one file and from `other` on in another."""

    here: _File
    at: int
    there: _File
    other: int
    size: int

    def goes_on_with(self, later: _Match) -> bool:
        """Whether a later match is its continuation: in both files it begins soon after."""
        gaps = (later.at - self.at - self.size, later.other - self.other - self.size)
        same = self.here is later.here and self.there is later.there
        return same and all(-GRAM <= gap <= GRAM for gap in gaps)


def shared_pieces(
    first: Mapping[str, str], second: Mapping[str, str], left_out: Collection[bytes]
) -> list[Piece]:
    """The pieces that two submissions share, in the order of the first. A k-gram of `left_out` is
    in no piece; it may be in a short gap within one."""
    places: dict[bytes, list[tuple[_File, int]]] = {}
    for file in (_File(name, text) for name, text in sorted(second.items())):
        for at, gram in enumerate(file.grams):
            if gram not in left_out:
                places.setdefault(gram, []).append((file, at))
    matches: list[_Match] = []
    for name, text in sorted(first.items()):
        for match in _matches(_File(name, text), places, left_out):
            if matches and matches[-1].goes_on_with(match):
                last = matches[-1]
                ends = (match.at + match.size - last.at, match.other + match.size - last.other)
                last.size = max(last.size, min(ends))
            else:
                matches.append(match)
    return [
        Piece(one.size, one.here.place(one.at, one.size), one.there.place(one.other, one.size))
        for one in matches
    ]


def _matches(
    here: _File, places: Mapping[bytes, list[tuple[_File, int]]], left_out: Collection[bytes]
) -> Iterator[_Match]:
    """The matches of a file with those of the other submission, each as long as it can be."""
    at = 0
    while at < len(here.grams):
        found = [
            _Match(here, at, there, other, _run(here, at, there, other, left_out) + GRAM - 1)
            for there, other in places.get(here.grams[at], [])
        ]
        if not found:
            at += 1
            continue
        longest = max(found, key=lambda match: match.size)
        yield longest
        at += longest.size - GRAM + 1


def _run(here: _File, at: int, there: _File, other: int, left_out: Collection[bytes]) -> int:
    """How many k-grams in a row are the same from these two places on."""
    length = 0
    most = min(len(here.grams) - at, len(there.grams) - other)
    while length < most and here.grams[at + length] == there.grams[other + length]:
        if here.grams[at + length] in left_out:
            break
        length += 1
    return length
