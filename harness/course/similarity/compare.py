"""How much submissions share that is not explained by what all were given, and where.

A file is a sequence of tokens, of one byte each, without what a copy can change and stay the same
program. These differences vanish:

- comments, layout, `#include`, line continuations;
- names: each identifier is the same token, and so is the name of a type of C;
- values: each number, character, NULL, true and false is the same token, each string another;
- braces, since `if (x) y();` and `if (x) { y(); }` are the same program;
- words in front of a type that can come and go: const, static, inline, struct and their like;
- `.` and `->`, which change with the declaration of a name.

Operators, parentheses and the other keywords stay: they are what is left of the structure. What is
compared are windows of GRAM tokens in a row, which are about two lines: 12 tokens are more than an
idiom such as `if (n < 0) return x;` has (9 tokens).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from harness.submission import sources
from harness.submission.chapters import CHAPTERS, Chapter

GRAM = 12
# Windows in more submissions than this are no evidence: many have come to them.
COMMON_AT_LEAST = 10
COMMON_SHARE = 0.1
# A pair is named from here on. Two solutions that were written independently have 0.03 to 0.07.
NAMED_SHARE = 0.25
NAMED_COUNT = 70  # windows

# Tokens

DROPPED = "const volatile restrict static extern inline register auto struct union enum".split()
TYPES = "void char short int long float double signed unsigned _Bool bool".split()
KEYWORDS = (
    "break case continue default do else for goto if return sizeof switch typedef while".split()
)
OPERATORS = (
    "<<= >>= ... -> ++ -- << >> <= >= == != && || += -= *= /= %= &= |= ^= ## "
    "( ) [ ] ; , : ? ~ ! % ^ & * - + = | < > / . #"
).split()
NAME, VALUE, STRING, MEMBER = 1, 2, 3, 4
CODES = {word: 5 + at for at, word in enumerate([*KEYWORDS, *OPERATORS])}
CODES |= {".": MEMBER, "->": MEMBER, "NULL": VALUE, "true": VALUE, "false": VALUE}
TYPE = rf"(?:{'|'.join(TYPES)})\b"
TOKEN = re.compile(
    rf"""
      (?P<skip> \s+ | /\*.*?(?:\*/|\Z) | //(?:\\\n|[^\n])* | [{{}}]
        | ^[ \t]*\#[ \t]*include\b[^\n]* | (?:{'|'.join(DROPPED)})\b )
    | (?P<string> (?:L|u8|u|U)?"(?:\\.|[^"\\\n])*"? )
    | (?P<value> \.?\d(?:[eEpP][+-]|[\w.])* | (?:L|u|U)?'(?:\\.|[^'\\\n])*'? )
    | (?P<type> {TYPE}(?:\s+{TYPE})* )
    | (?P<name> [^\W\d]\w* )
    | (?P<operator> {'|'.join(map(re.escape, OPERATORS))} )
    """,
    re.X | re.S | re.M,
)
KINDS = {"string": STRING, "value": VALUE, "type": NAME}


@dataclass(frozen=True)
class Tokens:
    """A file: its windows, one for each place where one begins, and the line of each token."""

    grams: list[bytes]
    lines: list[int]


@lru_cache(maxsize=None)  # most files of a class are as they were handed out
def tokens(text: str) -> Tokens:
    """The tokens of a C source. Text that is no C is taken as far as it has tokens."""
    codes, lines, line, before = bytearray(), [], 1, 0
    for match in TOKEN.finditer(text):
        line, before = line + text.count("\n", before, match.start()), match.start()
        if match.lastgroup != "skip":
            codes.append(KINDS.get(match.lastgroup) or CODES.get(match[0], NAME))
            lines.append(line)
    data = bytes(codes)
    return Tokens([data[at : at + GRAM] for at in range(len(data) - GRAM + 1)], lines)


def given(chapter: Chapter) -> frozenset[bytes]:
    """The windows of what students of a chapter may have without writing it: its skeleton, those of
    earlier chapters, and the solutions of earlier chapters, where this copy of the lab has them.
    """
    earlier = CHAPTERS[: CHAPTERS.index(chapter)]
    directories = [one.chapter_dir for one in (*earlier, chapter)]
    directories += [one.solution_dir for one in earlier]
    here = [directory for directory in directories if directory.is_dir()]
    texts = {path.read_text() for directory in here for path in sources.files(directory)}
    return frozenset(gram for text in texts for gram in tokens(text).grams)


# A class


@dataclass(frozen=True)
class Pair:
    """Two submissions. `shared`: how many windows both have and few others; `share`: the part that
    these are of those of the one that has fewer."""

    first: str
    second: str
    shared: int
    share: float

    @property
    def named(self) -> bool:
        return self.share >= NAMED_SHARE and self.shared >= NAMED_COUNT


@dataclass(frozen=True)
class Comparison:
    """A class, compared. `pairs`: those that share anything, the most alike first. `common`: the
    windows that more than `limit` submissions have. `alike_to_many`: names of submissions that
    consist of these for the greater part. `count`: of submissions."""

    pairs: list[Pair]
    common: frozenset[bytes]
    limit: int
    alike_to_many: list[str]
    count: int

    @property
    def named(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.named]

    def share_at(self, part: float) -> float:
        """The share that this part of all pairs does not exceed; 0.5 is the median."""
        shares = sorted((pair.share for pair in self.pairs), reverse=True)
        place = int((1 - part) * (self.count * (self.count - 1) // 2))
        return shares[place] if place < len(shares) else 0.0


Files = Mapping[str, str]  # file name to text


def compare(submissions: Mapping[str, Files], known: frozenset[bytes]) -> Comparison:
    """Compares submissions, by name. `known`: windows that are no evidence."""
    marks = {
        name: {gram for text in files.values() for gram in tokens(text).grams} - known
        for name, files in submissions.items()
    }
    owners: dict[bytes, list[str]] = {}
    for name, found in marks.items():
        for mark in found:
            owners.setdefault(mark, []).append(name)
    limit = max(COMMON_AT_LEAST, int(COMMON_SHARE * len(submissions)))
    common = frozenset(mark for mark, names in owners.items() if len(names) > limit)
    shared: Counter[tuple[str, str]] = Counter()
    for mark in owners.keys() - common:
        shared.update(combinations(owners[mark], 2))
    rare = {name: len(found - common) for name, found in marks.items()}
    pairs = [
        Pair(first, second, count, count / min(rare[first], rare[second]))
        for (first, second), count in shared.items()
    ]
    pairs.sort(key=lambda one: (not one.named, -one.share, -one.shared, one.first, one.second))
    many = [name for name, found in marks.items() if 2 * rare[name] < len(found)]
    return Comparison(pairs, common, limit, many, len(submissions))


# Where two submissions are alike


@dataclass
class Piece:
    """`size` tokens that two submissions share: where they begin in a file of each."""

    here: str
    at: int
    there: str
    other: int
    size: int

    def takes(self, later: Piece) -> bool:
        """Returns true if a later piece is its continuation, since it begins soon after it in both
        files. Then this one ends where that one ends."""
        gaps = (later.at - self.at - self.size, later.other - self.other - self.size)
        same = (self.here, self.there) == (later.here, later.there)
        if not same or any(abs(gap) > GRAM for gap in gaps):
            return False
        self.size += later.size + min(gaps)
        return True


Places = Mapping[bytes, Collection[tuple[str, int]]]  # where a window is in files of a submission


def pieces(first: Files, second: Files, left_out: Collection[bytes]) -> list[Piece]:
    """The pieces that two submissions share, in the order of the first. A window of `left_out` is
    in no piece; it may be in a short gap within one."""
    places: dict[bytes, dict[tuple[str, int], None]] = {}
    for name, text in sorted(second.items()):
        for at, gram in enumerate(tokens(text).grams):
            if gram not in left_out:
                places.setdefault(gram, {})[name, at] = None
    found: list[Piece] = []
    for name, text in sorted(first.items()):
        for piece in _pieces_of(name, tokens(text).grams, places):
            if not (found and found[-1].takes(piece)):
                found.append(piece)
    return found


def _pieces_of(name: str, grams: list[bytes], places: Places) -> Iterator[Piece]:
    """The pieces of a file, each as long as it can be."""
    at = 0
    while at < len(grams):
        begins = places.get(grams[at], ())
        sizes = {begin: _size(grams, at, *begin, places) for begin in begins}
        if sizes:
            there, other = longest = max(sizes, key=sizes.__getitem__)
            yield Piece(name, at, there, other, sizes[longest] + GRAM - 1)
        at += max(sizes.values(), default=1)


def _size(grams: list[bytes], at: int, there: str, other: int, places: Places) -> int:
    """How many windows in a row are the same from these two places on."""
    size = 1
    while at + size < len(grams) and (there, other + size) in places.get(grams[at + size], ()):
        size += 1
    return size
