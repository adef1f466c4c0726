"""When something comes, on the clock of the server: never early, and late by a millisecond at most.

A claim notes the time of the clock (clock.now_ms) before it sends. The clock stands until the claim
moves it, so all that is sent before the next move is handled at this time.

A server that keeps the clock of the machine may be late: there it is found if something is early.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from harness.claims.context.observe import eventually, is_open
from harness.client.client import Client
from harness.feedback.failure import Failure, TooBusy

if TYPE_CHECKING:
    from harness.claims.context.stage import Server

LATE_MS = 1  # docs/protocol.md: the limit of a wait is rounded up to a whole millisecond
MOMENT_MS = 0.001  # before a time: nothing has come yet

# For what the server has sent to be with the client; mostly it is. On a busy machine the kernel has
# to wait for its turn to deliver it, as we have for each look.
HERE_SECONDS, HERE_LOOKS = 0.5, 50

MINUTE, HOUR = 60_000, 3_600_000
LONGEST = 2**31 - 1  # ms: nearly 25 days


def pass_until(server: Server, began: float, ms: float) -> None:
    """Moves the clock to `ms` after the time `began`, if it is not later already."""
    left = began + ms - server.clock.now_ms
    if left > 0:
        server.clock.advance(left)
    if server.clock.spins:
        text = "while its clock stood still the server computed, or called its wait, all the time"
        raise Failure(text, hint="timer-timeout")


def expect_at(
    server: Server, client: Client, bodies: Sequence[bytes], began: float, ms: float
) -> None:
    """Expects these replies `ms` after `began`, not before and not later."""
    told = f"a reply that was due after {ms:,} ms"
    if not server.clock.ours:
        client.expect_frames(bodies)
        passed = server.clock.now_ms - began
        if passed < ms:
            raise Failure(f"{told} came after {passed:.0f} ms", hint="timer-early")
        return
    pass_until(server, began, ms - MOMENT_MS)
    if ms > 0 and is_readable(client):
        client.expect_frames(bodies[:1])
        raise Failure(f"{told} had come before that time", hint="timer-early")
    if not _is_readable_at(server, client, began, ms):
        server.clock.advance(max(ms, MINUTE))
        if not is_open(client):  # it may be closed as idle by now, and rightly
            text = f"{told} had not come {LATE_MS} ms after that time, and later the connection was"
            raise Failure(f"{text} closed", hint="silence")
        if is_readable(client):
            client.expect_frames(bodies[:1])
            text = f"{told} had not come {LATE_MS} ms after that time, and came later"
            raise Failure(text, hint="timer-late")
        text = f"{told} has not come {max(ms, MINUTE):,} ms later"
        raise Failure(text, hint="silence")
    client.expect_frames(bodies)


def expect_closed_at(
    server: Server, client: Client, began: float, ms: float, late: float = LATE_MS
) -> None:
    """Expects that the server closes the connection `ms` after `began`, not before, and `late` ms
    later at most."""
    if not server.clock.ours:
        client.expect_eof()
        passed = server.clock.now_ms - began
        if passed < ms:
            text = f"the connection was closed after {passed:.0f} ms, and {ms:,} ms are allowed"
            raise Failure(text, hint="closed-early")
        return
    pass_until(server, began, ms - MOMENT_MS)
    if is_readable(client):
        client.expect_eof()
        raise Failure(f"the connection was closed before {ms:,} ms were over", hint="closed-early")
    if not _is_readable_at(server, client, began, ms, late):
        server.clock.advance(max(ms, MINUTE))
        text = f"the connection was still open {late} ms after the {ms:,} ms were over"
        if is_readable(client):
            raise Failure(f"{text}, and was closed later", hint="timer-late")
        raise Failure(f"{text}, and long afterwards", hint="not-closed")
    client.expect_eof()


def expect_nothing_until(server: Server, client: Client, began: float, ms: float) -> None:
    """Nothing comes before `ms` after `began`, and the connection stays open."""
    with in_time(server):
        pass_until(server, began, ms)
        client.expect_nothing_yet()


@contextmanager
def in_time(server: Server) -> Iterator[None]:
    """For what the client does in time: a server that keeps the clock of the machine is not judged
    if that goes wrong, since we may have been late. One that sleeps for ever is: nobody is late for
    what never comes."""
    try:
        yield
    except Failure as failure:
        if failure.asleep or server.clock.ours:
            raise
        text = f"a server with a clock of its own could not be asked in time: {failure.message}"
        raise TooBusy(text) from None


def is_readable(client: Client, seconds: float = 0) -> bool:
    """Whether something has come, or the connection is over."""
    poller = select.poll()
    poller.register(client.fileno(), select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def soon(server: Server, condition: Callable[[], bool]) -> bool:
    """Whether the condition holds, although the clock stands. With the clock of the machine, as
    long as a wait for this server may take."""
    if not server.clock.ours:
        return eventually(server, condition)
    return _here(condition)


def _here(condition: Callable[[], bool]) -> bool:
    """Whether it holds, or does within HERE_SECONDS and HERE_LOOKS: whichever takes longer."""
    end = time.monotonic() + HERE_SECONDS
    for look in count(1):
        if condition():
            return True
        if look >= HERE_LOOKS and time.monotonic() >= end:
            return False
        time.sleep(HERE_SECONDS / HERE_LOOKS)


def _is_readable_at(
    server: Server, client: Client, began: float, ms: float, late: float = LATE_MS
) -> bool:
    """Whether something has come at this time, or a little later."""
    pass_until(server, began, ms)
    if is_readable(client):
        return True
    pass_until(server, began, ms + late)
    return _here(lambda: is_readable(client))
