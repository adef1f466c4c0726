"""How much memory a server takes for a million keys: of chapter 12, and of redis-server."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.client import resp
from harness.lab.units import KIB, MIB
from harness.server.linux import procfs
from harness.server.spawn import LOCALHOST
from harness.student.bench.measure import Failed, Place, started
from harness.student.bench.rounds import Progress
from harness.student.bench.subjects import Subject
from harness.student.bench.table import NAME, columns

ROW = "memory"  # its name among the rows
KEYS, VALUE_BYTES = 1_000_000, 32
KEY = "key:{:012}"  # 16 bytes
BATCH = 1000  # commands that are sent at once
REPLIES = BATCH * resp.reply(resp.OK)
REPLY_SECONDS = 30
TITLE = (
    f"resident memory with {KEYS:,} keys of {len(KEY.format(0))} bytes"
    f" and values of {VALUE_BYTES} bytes"
)
WIDE = 12  # columns


@dataclass(frozen=True)
class Memory:
    """Resident bytes of a server: with no key, and with KEYS keys; or why there are none."""

    empty: int = 0
    full: int = 0
    why: str = ""


def measure(subjects: Sequence[Subject], place: Place, told: Progress) -> dict[str, Memory]:
    """The memory of each server, by its name."""
    found: dict[str, Memory] = {}
    for subject in subjects:
        told(f"memory, {subject.name}")
        try:
            found[subject.name] = _memory(subject, place)
        except (Failed, OSError) as error:
            found[subject.name] = Memory(why=str(error))
    return found


def _memory(subject: Subject, place: Place) -> Memory:
    with started(subject, place.server) as (process, port):
        with socket.create_connection((LOCALHOST, port), REPLY_SECONDS) as client:
            replies = client.makefile("rb")
            empty = _resident(process.pid)
            for batch in _batches():
                client.sendall(batch)
                if replies.read(len(REPLIES)) != REPLIES:
                    raise Failed("SET: another reply than OK")
            return Memory(empty, _resident(process.pid))


def _batches() -> Iterator[bytes]:
    """The SET commands of all keys, in batches."""
    value = "v" * VALUE_BYTES
    for begin in range(0, KEYS, BATCH):
        numbers = range(begin, begin + BATCH)
        yield b"".join(resp.command("SET", KEY.format(number), value) for number in numbers)


def _resident(pid: int) -> int:
    """Resident memory of the process in bytes (VmRSS)."""
    words = procfs.status(pid).get("VmRSS", "0 kB").split()
    return int(words[0]) * KIB


def table(found: dict[str, Memory]) -> str:
    """A line for each server."""
    lines = [TITLE, "", columns("", ["no key", "all keys", "for a key"], WIDE)]
    for name, memory in found.items():
        if memory.why:
            lines.append(f"{name:{NAME}}  {memory.why}")
            continue
        sizes = [f"{size / MIB:.1f} MiB" for size in (memory.empty, memory.full)]
        each = f"{(memory.full - memory.empty) / KEYS:.0f} B"
        lines.append(columns(name, [*sizes, each], WIDE))
    return "\n".join(lines)
