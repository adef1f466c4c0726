"""Fingerprints of a program: a few of its k-grams; equal pieces of programs have equal ones.

The method is winnowing: S. Schleimer, D. S. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for
Document Fingerprinting", SIGMOD 2003. A k-gram is GRAM tokens in a row. Of each WINDOW k-grams in a
row the one with the smallest hash is a fingerprint. So two programs that have GRAM + WINDOW - 1
equal tokens in a row have a fingerprint in common, wherever in their files these tokens are.

12 tokens are more than an idiom such as `if (n < 0) return x;` has (9 tokens here): shorter k-grams
are in every server. 12 + 8 - 1 = 19 tokens are two or three lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

from harness.course.similarity.tokens import tokens
from harness.submission import sources
from harness.submission.chapters import CHAPTERS, Chapter

GRAM = 12
WINDOW = 8


def grams(codes: bytes) -> list[bytes]:
    """The k-grams of a file, one for each place where one begins."""
    return [codes[at : at + GRAM] for at in range(len(codes) - GRAM + 1)]


def given(chapter: Chapter) -> frozenset[bytes]:
    """The k-grams of what students of a chapter may have without writing it: its skeleton, those of
    earlier chapters, and the solutions of earlier chapters, where this copy of the lab has them.
    """
    earlier = CHAPTERS[: CHAPTERS.index(chapter)]
    directories = [one.chapter_dir for one in (*earlier, chapter)]
    directories += [one.solution_dir for one in earlier]
    here = [directory for directory in directories if directory.is_dir()]
    texts = {path.read_text() for directory in here for path in sources.files(directory)}
    return frozenset(gram for text in texts for gram in grams(tokens(text).codes))


def fingerprints(texts: Iterable[str], known: frozenset[bytes]) -> frozenset[bytes]:
    """The fingerprints of these files. The k-grams in `known` are left out before any is chosen."""
    return frozenset(gram for text in texts for gram in of_file(text, known))


@lru_cache(maxsize=None)
def of_file(text: str, known: frozenset[bytes]) -> frozenset[bytes]:
    """Most files of a class are as they were handed out: these are looked at once."""
    return frozenset(winnowed([one for one in grams(tokens(text).codes) if one not in known]))


def winnowed(chosen_from: list[bytes]) -> set[bytes]:
    """The k-gram with the smallest hash of each WINDOW in a row; of fewer, the smallest of all."""
    hashed = [(crc32(gram), gram) for gram in chosen_from]
    windows = max(1, len(hashed) - WINDOW + 1) if hashed else 0
    return {min(hashed[at : at + WINDOW])[1] for at in range(windows)}
