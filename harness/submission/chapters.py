"""The chapters: their names, and where they live.

Everything that needs the list of chapters reads it here. A new chapter is one more entry in
CHAPTERS; docs/working-on-the-lab.md names the files that go with it.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.total_ordering
@dataclass(frozen=True, eq=False)  # there is one of each
class Chapter:
    """One chapter; an earlier one is less than a later one. `title` is its idea in a few words.

    `changes` and `adds`: its own C files, with blanks between them; "conn.[ch]" is conn.c and
    conn.h. All others are links to earlier chapters, and a test says so: any other difference is
    noise in the lesson.
    `moves`: files that its solution has in other directories than the one before, and does not
    change, but for the names in their includes; `make skeletons` writes them, see links.py.
    `drops`: files of the one before that it no longer has.
    `by_calls`: the options with which its server moves bytes by read() and send(), if it does not
    otherwise. Claims that count or disturb such calls start it with these.
    """

    name: str
    title: str
    by_calls: str = ""
    moves: str = ""
    drops: str = ""
    changes: str = ""
    adds: str = ""

    def __lt__(self, other: Chapter) -> bool:
        return self.number < other.number

    @property
    def number(self) -> str:
        """The chapter's place among all chapters, two digits as text ("03")."""
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


def named(listed: str) -> set[str]:
    """The names of the C files in such a list: "io.c conn.[ch]" is io.c, conn.c and conn.h."""
    found: set[str] = set()
    for word in listed.split():
        stem = word.removesuffix(".[ch]")
        found |= {word} if stem == word else {f"{stem}.c", f"{stem}.h"}
    return found


CHAPTERS = (
    Chapter("blocking", "one read is not one message"),
    Chapter(
        "nonblocking",
        "one slow client must not stop everyone",
        changes="conn.[ch] io.[ch] net.[ch] server.[ch] stop.[ch]",
        adds="buffer.[ch]",
    ),
    Chapter(
        "poll-loop",
        "wait for readiness, do not ask for it",
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
        adds="answer.[ch] command_line.[ch] reader.[ch] rpc.[ch] service.h writer.[ch]",
    ),
    Chapter(
        "epoll",
        "the kernel keeps the list",
        moves=(
            "base/buffer.c base/command_line.c base/log.c server/answer.h server/rpc.c "
            "server/rpc.h wire/frame.c wire/reader.c wire/writer.c wire/writer.h"
        ),
        drops="service.h",
        changes=(
            "events/stop.[ch] main.c net/io.c net/net.[ch] options.[ch] server/answer.c "
            "server/conn.[ch] server/server.[ch]"
        ),
        adds=(
            "events/backend.h events/backend_epoll.c events/backend_poll.c "
            "events/backend_select.c events/events.[ch]"
        ),
    ),
    Chapter(
        "timers",
        "nobody tells you when nothing happens",
        changes=(
            "main.c options.c server/answer.c server/conn.[ch] server/rpc.[ch] "
            "server/server.[ch]"
        ),
        adds="base/clock.h events/timers.[ch] server/alarms.[ch] server/limits.[ch]",
    ),
    Chapter(
        "flow-control",
        "one greedy client must not starve the rest",
        changes=(
            "events/stop.[ch] main.c net/net.[ch] options.c server/answer.[ch] server/conn.[ch] "
            "server/limits.[ch] server/server.[ch] wire/frame.[ch]"
        ),
        adds="server/acceptor.[ch] server/flow.[ch] server/grace.[ch]",
    ),
    Chapter(
        "threads",
        "one loop uses one core",
        changes=(
            "base/buffer.[ch] main.c options.[ch] server/acceptor.[ch] server/answer.c "
            "server/conn.[ch] server/flow.[ch] server/grace.[ch] server/rpc.[ch] server/server.[ch]"
        ),
        adds="server/broadcast.[ch] server/loop.[ch] server/stats.[ch] server/worker.[ch]",
    ),
    Chapter(
        "coroutines",
        "callbacks turn the logic inside out",
        changes=(
            "net/io.h options.c server/acceptor.[ch] server/answer.[ch] "
            "server/conn.[ch] server/flow.[ch] server/grace.[ch] server/limits.[ch] "
            "server/loop.[ch] server/server.[ch] server/worker.[ch]"
        ),
        adds=(
            "base/tools.h co/co.[ch] co/co_io.[ch] co/context.[ch] "
            "co/overflow.[ch] co/stack.[ch] server/serve.[ch]"
        ),
    ),
    Chapter(
        "completion",
        "say what is to be done, and hear when it is",
        by_calls="--io epoll",
        changes=(
            "base/buffer.[ch] base/tools.h co/co.[ch] co/co_io.[ch] events/backend.h "
            "events/events.[ch] main.c net/net.[ch] options.[ch] server/acceptor.c "
            "server/conn.[ch]"
        ),
        adds="co/co_backend.h co/co_uring.c events/backend_uring.c net/lent.[ch] net/ring.[ch]",
    ),
    Chapter(
        "redis",
        "clients that others wrote speak to it",
        by_calls="--io epoll",
        changes=(
            "main.c options.[ch] server/answer.[ch] server/conn.[ch] server/serve.c "
            "server/server.h server/worker.[ch]"
        ),
        adds=(
            "commands/app_redis.[ch] commands/call.[ch] commands/commands.[ch] "
            "commands/commands_client.c commands/commands_connection.c "
            "commands/commands_expiry.c commands/commands_info.c commands/commands_keys.c "
            "commands/commands_lists.c commands/commands_multi.c commands/commands_pubsub.c "
            "commands/commands_scan.c commands/commands_server.c commands/commands_set.c "
            "commands/commands_strings.c commands/dispatch.[ch] redis/channels.[ch] "
            "redis/client.[ch] redis/db.[ch] redis/dict.[ch] redis/expiry.[ch] redis/garbage.[ch] "
            "redis/glob.[ch] redis/list.[ch] redis/multi.[ch] redis/redis.[ch] "
            "redis/relation.[ch] redis/reply.[ch] redis/resp.[ch] redis/siphash.h "
            "redis/table.[ch] redis/value.[ch] redis/watch.[ch] redis/words.[ch] server/app.h "
            "wire/number.[ch]"
        ),
    ),
)


class UnknownChapter(Exception):
    """The text names no chapter; the message says which there are."""


def find(text: str) -> Chapter:
    """The chapter that `text` names: "3", "03", "03-poll-loop", or a directory of it, such as
    "chapters/06-epoll/events". Raises UnknownChapter."""
    match = re.fullmatch(r"(?:[a-z]+/)?(\d{1,2})(-[a-z-]+)?(?:/\w+)?", text.strip())
    for chapter in CHAPTERS:
        if match and chapter.number == match[1].zfill(2) and match[2] in (None, f"-{chapter.name}"):
            return chapter
    known = ", ".join(chapter.number for chapter in CHAPTERS)
    raise UnknownChapter(f"there is no chapter {text!r}; the chapters are {known}")
