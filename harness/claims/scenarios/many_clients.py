"""Thousands of clients that are connected at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.client import length_framing
from harness.client.stream import Stream
from harness.failures.failure import Failure, NotJudged, TooBusy


@contextmanager
def connected(server, count: int, at_once: bool = False) -> Iterator[list[Stream]]:
    """Connects `count` clients, and closes them at the end of the block by a reset, so that no port
    stays taken.

    `at_once`: all of them begin to connect before we wait for the first one. Raises Failure if the
    server does not take them all, NotJudged if this machine does not.
    """
    with ExitStack() as stack:
        streams = []
        try:
            for _ in range(count):
                stream = Stream(server.address, server.patience, wait=not at_once)
                streams.append(stream)
                stack.callback(stream.close, by_reset=True)
            for stream in streams if at_once else ():
                stream.wait_until_connected()
        except Failure as failure:
            text = f"one of {count:,} clients could not connect: {failure}"
            raise Failure(text, hint="table-too-small") from None
        except TooBusy:  # that is no matter of how many they are
            raise
        except (NotJudged, OSError) as reason:
            raise NotJudged(f"{count:,} clients are too many here: {reason}") from None
        yield streams


@contextmanager
def served(server, count: int, at_once: bool = False) -> Iterator[None]:
    """Connects `count` clients for the time of the block; each of them gets one reply first."""
    what = f"connects {count:,} clients{' at once' if at_once else ''}; each has a frame echoed"
    server.conversation.note("the grader", what)
    frame = length_framing.encode(b"here")
    with connected(server, count, at_once) as streams:
        for stream in streams:
            stream.send_all(frame)
        for number, stream in enumerate(streams):
            came = stream.read_exactly(len(frame), f"the reply to client {number} of {count:,}")
            if came != frame:
                raise Failure(f"client {number} of {count:,} got a wrong reply", hint="wrong-body")
        yield
