"""The chapters: their names, where they live, and what each may change of the one before.

Everything that needs to know "which chapters are there" asks here. A new chapter is one more line
in CHAPTERS, one in INHERITED and one in MAY_CHANGE.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Chapter:
    """One chapter. `number` is two digits as text ("03"), `title` is its idea in a few words."""

    number: str
    name: str
    title: str

    @property
    def slug(self) -> str:
        return f"{self.number}-{self.name}"

    @property
    def chapter_dir(self) -> Path:
        return ROOT / "chapters" / self.slug

    @property
    def solution_dir(self) -> Path:
        return ROOT / "solutions" / self.slug

    @property
    def previous(self) -> Chapter | None:
        """The chapter before this one, None for the first."""
        place = CHAPTERS.index(self)
        return CHAPTERS[place - 1] if place else None


CHAPTERS = (
    Chapter("01", "blocking", "one read is not one message"),
    Chapter("02", "nonblocking", "one slow client must not stop everyone"),
    Chapter("03", "poll-loop", "wait for readiness, do not ask for it"),
    Chapter("04", "pipelining", "many frames in flight, bounded memory"),
    Chapter("05", "framing", "the bytes have no borders but those you draw"),
    Chapter("06", "epoll", "the kernel keeps the list"),
    Chapter("07", "timers", "nobody tells you when nothing happens"),
    Chapter("08", "flow-control", "one greedy client must not starve the rest"),
    Chapter("09", "threads", "one loop uses one core"),
    Chapter("10", "coroutines", "callbacks turn the logic inside out"),
)

# Of a chapter's 100 points, how many the claims of all earlier chapters are worth together.
INHERITED = {
    "01": 0,
    "02": 20,
    "03": 25,
    "04": 30,
    "05": 30,
    "06": 30,
    "07": 30,
    "08": 30,
    "09": 30,
    "10": 30,
}

# The C files a chapter may change, may add and may remove (most remove none), against the chapter
# before. A test compares the solutions with these tables; any other difference is noise in the
# lesson.
MAY_CHANGE = {
    "02": {
        *("conn.c", "conn.h", "io.c", "io.h", "net.c", "net.h"),
        *("server.c", "server.h", "stop.c", "stop.h"),
    },
    "03": {"conn.c", "conn.h", "main.c", "server.c", "server.h", "stop.c", "stop.h"},
    "04": {
        *("buffer.c", "buffer.h", "conn.c", "conn.h", "frame.c", "frame.h"),
        *("log.c", "log.h"),
    },
    "05": {
        *("buffer.c", "buffer.h", "conn.c", "conn.h", "frame.c", "frame.h", "main.c"),
        *("options.c", "options.h", "server.c", "server.h"),
    },
    "06": {
        *("conn.c", "conn.h", "io.c", "main.c", "options.c", "options.h"),
        *("server.c", "server.h", "service.h", "stop.c", "stop.h"),
    },
    "07": {
        *("answer.c", "conn.c", "conn.h", "main.c", "options.c", "options.h", "rpc.c"),
        *("rpc.h", "server.c", "server.h", "service.h"),
    },
    "08": {
        *("answer.c", "answer.h", "conn.c", "conn.h", "frame.c", "frame.h"),
        *("main.c", "net.c", "net.h", "options.c", "options.h", "server.c", "service.h"),
    },
    "09": {
        *("acceptor.c", "acceptor.h", "answer.c", "buffer.c", "buffer.h", "conn.c", "conn.h"),
        *("flow.c", "flow.h", "main.c", "options.c", "options.h", "rpc.c", "rpc.h"),
        *("server.c", "server.h", "service.h"),
    },
    "10": {
        *(
            "acceptor.c",
            "acceptor.h",
            "answer.c",
            "answer.h",
            "conn.c",
            "conn.h",
            "flow.c",
            "flow.h",
        ),
        *("io.h", "loop.c", "loop.h", "main.c", "options.c", "options.h", "server.c", "service.c"),
        *("service.h", "timeouts.c", "timeouts.h"),
    },
}
MAY_ADD = {
    "02": {"buffer.c", "buffer.h"},
    "03": set(),
    "04": set(),
    "05": {
        *("answer.c", "answer.h", "reader.c", "reader.h", "rpc.c", "rpc.h", "service.h"),
        *("writer.c", "writer.h"),
    },
    "06": {
        *("backend.c", "backend.h", "backend_epoll.c", "backend_poll.c", "backend_select.c"),
        *("events.c", "events.h"),
    },
    "07": {"alarms.c", "alarms.h", "timeouts.c", "timeouts.h", "timers.c", "timers.h"},
    "08": {
        *("acceptor.c", "acceptor.h", "closing.c", "closing.h", "exchange.c", "exchange.h"),
        *("flow.c", "flow.h", "quota.c", "quota.h"),
    },
    "09": {*("broadcast.c", "broadcast.h", "loop.c", "loop.h", "service.c", "stats.c", "stats.h")},
    "10": {
        *("clock.h", "co.c", "co.h", "co_io.c", "co_io.h", "overflow.c", "overflow.h"),
        *("serve.c", "serve.h", "stack.c", "stack.h", "tools.h"),
    },
}
MAY_REMOVE = {"10": {"closing.c", "closing.h", "exchange.c", "exchange.h"}}


class UnknownChapter(Exception):
    """The text names no chapter; the message says which there are."""


def find(text: str) -> Chapter:
    """The chapter that `text` names: "3", "03" or "03-poll-loop". Raises UnknownChapter."""
    match = re.fullmatch(r"(\d{1,2})(-[a-z-]+)?", text.strip())
    for chapter in CHAPTERS:
        if match and chapter.number == match[1].zfill(2) and match[2] in (None, f"-{chapter.name}"):
            return chapter
    known = ", ".join(chapter.number for chapter in CHAPTERS)
    raise UnknownChapter(f"there is no chapter {text!r}; the chapters are {known}")
