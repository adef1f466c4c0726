"""The chapters: their names, where they live, and what each may change of the one before.

Everything that needs the list of chapters reads it here. A new chapter is one more entry in
CHAPTERS; docs/working-on-the-lab.md names the files that go with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Chapter:
    """One chapter. `title` is its idea in a few words.

    `inherited`: of its 100 points, how many the claims of all earlier chapters are worth together.
    `changes`, `adds` and `removes` are the C files in which its solution differs from the one
    before, with blanks between them; "conn.[ch]" is conn.c and conn.h. A test compares the
    solutions with these lists; any other difference is noise in the lesson.
    `by_calls`: the options with which its server moves bytes by read() and send(), if it does not
    otherwise. Claims that count or disturb such calls start it with these.
    """

    name: str
    title: str
    inherited: int = 30
    changes: str = ""
    adds: str = ""
    removes: str = ""
    by_calls: str = ""

    @property
    def number(self) -> str:
        """Its place among the chapters, two digits as text ("03")."""
        return f"{CHAPTERS.index(self) + 1:02}"

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


def untouched(chapter: Chapter, source: Path | None) -> list[Path]:
    """Directories with the lab's own C: those of the chapter, or of others where a handout or an
    isolated grade lacks these. `source`, which is graded, is left out: students work in
    chapters/."""
    own = [chapter.chapter_dir, chapter.solution_dir]
    others = [one.chapter_dir for one in CHAPTERS]
    for places in (own, others):
        here = [place for place in places if place.is_dir() and not _same(place, source)]
        if here:
            return here
    return []


def _same(place: Path, source: Path | None) -> bool:
    return source is not None and place.resolve() == source.resolve()


def files(listed: str) -> set[str]:
    """The names of the C files in such a list: "io.c conn.[ch]" is io.c, conn.c and conn.h."""
    found: set[str] = set()
    for word in listed.split():
        stem = word.removesuffix(".[ch]")
        found |= {word} if stem == word else {f"{stem}.c", f"{stem}.h"}
    return found


CHAPTERS = (
    Chapter(
        "blocking",
        "one read is not one message",
        inherited=0,
    ),
    Chapter(
        "nonblocking",
        "one slow client must not stop everyone",
        inherited=20,
        changes="conn.[ch] io.[ch] net.[ch] server.[ch] stop.[ch]",
        adds="buffer.[ch]",
    ),
    Chapter(
        "poll-loop",
        "wait for readiness, do not ask for it",
        inherited=25,
        changes="conn.[ch] main.c server.[ch] stop.[ch]",
    ),
    Chapter(
        "pipelining",
        "many frames in flight, bounded memory",
        changes="buffer.[ch] conn.[ch] frame.[ch] log.[ch]",
    ),
    Chapter(
        "framing",
        "the bytes have no borders but those you draw",
        changes="buffer.[ch] conn.[ch] frame.[ch] main.c options.[ch] server.[ch]",
        adds="answer.[ch] reader.[ch] rpc.[ch] service.h writer.[ch]",
    ),
    Chapter(
        "epoll",
        "the kernel keeps the list",
        changes="conn.[ch] io.c main.c options.[ch] server.[ch] service.h stop.[ch]",
        adds="backend.[ch] backend_epoll.c backend_poll.c backend_select.c events.[ch]",
    ),
    Chapter(
        "timers",
        "nobody tells you when nothing happens",
        changes="answer.c conn.[ch] main.c options.[ch] rpc.[ch] server.[ch] service.h",
        adds="alarms.[ch] timeouts.[ch] timers.[ch]",
    ),
    Chapter(
        "flow-control",
        "one greedy client must not starve the rest",
        changes="answer.[ch] conn.[ch] frame.[ch] main.c net.[ch] options.[ch] server.c service.h",
        adds="acceptor.[ch] flow.[ch] quota.[ch]",
    ),
    Chapter(
        "threads",
        "one loop uses one core",
        changes=(
            "acceptor.[ch] answer.c buffer.[ch] conn.[ch] flow.[ch] main.c options.[ch] rpc.[ch] "
            "server.[ch] service.h"
        ),
        adds="broadcast.[ch] loop.[ch] service.c",
    ),
    Chapter(
        "coroutines",
        "callbacks turn the logic inside out",
        changes=(
            "acceptor.[ch] answer.[ch] conn.[ch] flow.[ch] io.h loop.[ch] main.c options.[ch] "
            "server.c service.[ch] timeouts.[ch]"
        ),
        adds=(
            "clock.h co.[ch] co_io.[ch] context.[ch] overflow.[ch] serve.[ch] stack.[ch] tools.h"
        ),
    ),
    Chapter(
        "completion",
        "say what is to be done, and hear when it is",
        changes=(
            "acceptor.c backend.h buffer.[ch] co.[ch] co_io.[ch] conn.[ch] events.[ch] main.c "
            "net.[ch] options.[ch] tools.h"
        ),
        adds="backend_uring.c co_uring.[ch] lent.[ch] ring.[ch]",
        by_calls="--io epoll",
    ),
    Chapter(
        "redis",
        "clients that others wrote speak to it",
        changes="answer.[ch] conn.[ch] main.c options.[ch] serve.c service.[ch]",
        adds=(
            "call.[ch] channels.[ch] client.[ch] commands.[ch] commands_client.c "
            "commands_connection.c commands_expiry.c commands_info.c commands_keys.c "
            "commands_lists.c commands_multi.c commands_pubsub.c commands_scan.c "
            "commands_server.c commands_set.c commands_strings.c db.[ch] dict.[ch] dispatch.[ch] "
            "expiry.[ch] glob.[ch] list.[ch] multi.[ch] number.[ch] redis.[ch] reply.[ch] "
            "resp.[ch] siphash.h value.[ch] words.[ch]"
        ),
        by_calls="--io epoll",
    ),
)


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
