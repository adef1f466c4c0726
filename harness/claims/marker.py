"""What a claim is: a graded test, which this marks.

    from harness.claims.marker import claim

    @claim("01.3")
    def test_01_header_cut_everywhere(server, rng):
        '''A header cut at every byte is put together again.'''

To load claims needs this module and no other of the harness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# General hints, for `hints`: no reply comes, or the connection is over.
MUTE = ("silence", "stalled-reply", "replies-missing", "not-taken")
GONE = ("closed-early", "closed-in-reply", "reset-early")

# Faults that nobody could live with: "at most 60 while the server ...".
FATAL = {
    "bytes": "loses or changes bytes",
    "stop": "does not end at SIGTERM",
    "one": "lets one client stop all others",
    "growth": "takes memory or descriptors without bound",
    "leak": "leaks memory or descriptors",
    "memory": "has undefined behaviour",
    "crash": "crashes",
}


@dataclass(frozen=True)
class Mark:
    """What a claim says of itself.

    number: the TODO it grades, "01.3". chapters: "03-04" or "03", if it does not hold for its own
    and all later chapters. guard: the untouched skeleton passes it, so that it earns no points.
    explains: it earns none either, and says once why others fail: it runs first, and is reported
    first. fatal: what it is that the server must not do, a key of FATAL.
    cli: it needs the command line of the lab's own servers, or what only they promise, such as a
    log. native: it is about CPU, memory or limits, which valgrind distorts.
    valgrind: its servers run under valgrind in every grade; with SERVER= where that is a native
    program.
    module: it has no server; programs of the grader call the student's files, see
    modules/program.py.
    hints: what a general hint (a key of failure.HINT_KEYS) means here: the key of a better one.
    descriptors: as many as it opens here, and in its server.
    needs: an instrument without which it is not judged, which student/doctor.py tries.
    sees_calls: it counts or disturbs, with server/preload, calls that move bytes. A server that
    moves them by completion makes none: it is started so that it does, see
    submission.chapters.Chapter.by_calls.
    refusals: clients of it send what has to be refused as too long, so the server may well say so.
    """

    number: str
    chapters: str = ""
    guard: bool = False
    explains: bool = False
    fatal: str = ""
    cli: bool = False
    native: bool = False
    valgrind: bool = False
    module: bool = False
    hints: Mapping[str, str] = field(default_factory=dict, compare=False)
    refusals: bool = False
    descriptors: int = 0
    needs: str = ""
    sees_calls: bool = False


def claim(number: str, **options) -> Callable:
    """Marks a function as a graded test. `options`: the other fields of Mark."""

    def mark(function):
        function.claim = Mark(number, **options)
        return function

    return mark
