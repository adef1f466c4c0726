"""Thousands of clients that are connected at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.client.stream import Stream
from harness.evidence.failure import Failure, NotJudged, TooBusy


@contextmanager
def connected(server, count: int) -> Iterator[list[Stream]]:
    """Meanwhile so many clients are connected. They leave by a reset, so no port stays taken.

    Raises Failure if the server does not take them all, NotJudged if this machine does not.
    """
    __tracebackhide__ = True
    with ExitStack() as stack:
        streams = []
        for _ in range(count):
            try:
                stream = Stream(server.address, server.patience)
            except Failure as failure:
                text = f"one of {count:,} clients could not connect: {failure}"
                raise Failure(text, hint="table-too-small") from None
            except TooBusy:  # that is no matter of how many they are
                raise
            except (NotJudged, OSError) as reason:
                raise NotJudged(f"{count:,} clients are too many here: {reason}") from None
            streams.append(stream)
            stack.callback(stream.close, by_reset=True)
        yield streams
