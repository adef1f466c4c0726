"""The chapters: their names, and where they live.

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
    `moves`: files that its solution has in other directories than the one before, and does not
    change, but for the names in their includes; `make skeletons` writes them, see links.py.
    `by_calls`: the options with which its server moves bytes by read() and send(), if it does not
    otherwise. Claims that count or disturb such calls start it with these.
    """

    name: str
    title: str
    inherited: int = 30
    by_calls: str = ""
    moves: str = ""

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


CHAPTERS = (
    Chapter("blocking", "one read is not one message", inherited=0),
    Chapter("nonblocking", "one slow client must not stop everyone", inherited=20),
    Chapter("poll-loop", "wait for readiness, do not ask for it", inherited=25),
    Chapter("pipelining", "many frames in flight, bounded memory"),
    Chapter("framing", "the bytes have no borders but those you draw"),
    Chapter(
        "epoll",
        "the kernel keeps the list",
        moves=(
            "base/buffer.c base/log.c net/net.c server/answer.c server/answer.h server/rpc.c "
            "server/rpc.h wire/frame.c wire/reader.c wire/writer.c wire/writer.h"
        ),
    ),
    Chapter("timers", "nobody tells you when nothing happens"),
    Chapter("flow-control", "one greedy client must not starve the rest"),
    Chapter("threads", "one loop uses one core"),
    Chapter("coroutines", "callbacks turn the logic inside out"),
    Chapter("completion", "say what is to be done, and hear when it is", by_calls="--io epoll"),
    Chapter("redis", "clients that others wrote speak to it", by_calls="--io epoll"),
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
