"""What students handed in, as the text of their C files: the hand-in that `make class` grades."""

from __future__ import annotations

from pathlib import Path

from harness.course.classes import submissions, unpack
from harness.course.classes.labels import Class
from harness.course.classes.submissions import Submission
from harness.lab import sources
from harness.lab.units import MIB
from harness.server import scratch

MOST_BYTES = 2 * MIB  # of C in one submission; a solution has at most 100 KiB

Files = dict[str, str]


def read(found: list[Submission], of: Class) -> tuple[dict[str, Files], dict[str, str]]:
    """The submissions by label, file name to text; and why others are left out, by label."""
    texts: dict[str, Files] = {}
    left_out: dict[str, str] = {}
    for one in sorted(found, key=lambda one: of.label(one.name)):
        label = of.label(one.name)
        try:
            texts[label] = _texts(one, of)
        except unpack.Unusable as error:
            left_out[label] = str(error)
        except OSError as error:
            left_out[label] = f"It cannot be read: {error.strerror or 'a fault of the machine'}."
    return texts, left_out


def _texts(one: Submission, of: Class) -> Files:
    """Raises Unusable, OSError."""
    chapter = of.chapter.slug
    with scratch.directory("similar-") as place:
        top = place / "sources"
        chosen = submissions.latest(one.places, chapter)
        unpack.sources(chosen, top, place / "unpacked", chapter)
        files = sources.below(top)
        if sum(path.stat().st_size for path in files) > MOST_BYTES:
            raise unpack.Unusable(f"It has more than {MOST_BYTES // MIB} MiB of C.")
        return {str(path.relative_to(top)): _decoded(path) for path in files}


def _decoded(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
