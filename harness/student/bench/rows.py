"""The rows of the table: what is asked of every server."""

from __future__ import annotations

from dataclasses import dataclass

from harness.lab.units import MIB


@dataclass(frozen=True)
class Load:
    """What the load generator does: `connections` clients, each with `depth` frames of `size` bytes
    in flight, beside `idle` ones. `spoke`: each of those has sent one frame before.
    """

    connections: int = 1
    depth: int = 1
    size: int = 64
    idle: int = 0
    spoke: bool = False

    @property
    def options(self) -> list[str]:
        """Options for the command line of the load generator."""
        words = ["-c", self.connections, "-d", self.depth, "-s", self.size, "-i", self.idle]
        return [*map(str, words), *(["-e"] if self.spoke else [])]

    @property
    def one_client(self) -> bool:
        """Whether a server can answer that serves one client after the other."""
        return self.connections + self.idle == 1


@dataclass(frozen=True)
class Row:
    """A load and the figure that is taken from it.

    `figure`: REQUESTS, a second, where more is better; or BYTES resident for an idle connection.
    """

    key: str
    text: str
    load: Load
    figure: str = "requests"


REQUESTS, BYTES = "requests", "bytes"

ROWS = (
    Row("a", "1 connection, 1 frame in flight, 64 bytes", Load(1, 1, 64)),
    Row("b", "50 connections, 1 in flight, 64 bytes", Load(50, 1, 64)),
    Row("c", "50 connections, 16 in flight, 64 bytes", Load(50, 16, 64)),
    Row("d", "1 connection, 1,000 in flight, 16 bytes", Load(1, 1000, 16)),
    Row("e", "1,000 connections, 1 in flight, 64 bytes", Load(1000, 1, 64)),
    Row("f", "50 connections beside 5,000 idle ones, 64 bytes", Load(50, 1, 64, idle=5000)),
    Row("g", "4 connections, 4 in flight, 1 MiB", Load(4, 4, MIB)),
    Row("h", "1 connection, 1 in flight, 32 MiB", Load(1, 1, 32 * MIB)),
    Row("i", "bytes resident for a connection that never spoke", Load(idle=5000), BYTES),
    Row("j", "the same after one frame", Load(idle=5000, spoke=True), BYTES),
)
