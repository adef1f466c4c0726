"""Tries cuts on a server, and tells the first that it does not survive."""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from harness.claims.scenarios.cuts import BETWEEN, Cut, random_plan
from harness.client.expected_replies import End
from harness.client.stream import Stream
from harness.feedback.compare import first_difference
from harness.feedback.conversation import counted
from harness.feedback.failure import Failure
from harness.server.preload import Group
from harness.submission.sizes import KIB
from harness.waiting.sockets import is_in_backlog
from harness.waiting.wait import Deadline

MOST = 64 * KIB  # bytes asked of one recv
BATCH = 48  # clients at a time; how many more a server can have is another claim's matter
SECONDS = 8  # that many cuts may take together: enough for all, unless the server is slow
FRAMES = 12  # in a long stream
PIECES_A_FRAME = 40  # twice the average
PLAIN_TRIES = 3  # of pieces alone, before it is an error between them that does it

# What a general hint means when the stream was cut; and when calls failed between the pieces, since
# the same cut without that has been tried before.
HINTS = {
    Group.INPUT: {
        **dict.fromkeys(("silence", "stalled-reply", "not-taken"), "waits-for-more"),
        **dict.fromkeys(
            ("wrong-header", "wrong-body", "closed-early", "closed-in-reply", "reset-early"),
            "one-read-one-message",
        ),
    },
    Group.OUTPUT: {
        **dict.fromkeys(
            ("silence", "stalled-reply", "closed-early", "closed-in-reply", "reset-early"),
            "short-write",
        ),
        **dict.fromkeys(("wrong-header", "wrong-body", "extra-bytes"), "remainder-from-elsewhere"),
    },
}
DISTURBED = "call-disturbed"
STUCK = "stuck-after-pause"  # all of a reply came, and the next one never


def try_alone(launch: Callable, cuts: Iterable[Cut]) -> None:
    """Every cut on a server of its own, with one client, which waits for the reply.

    Does nothing if the library that cuts cannot be loaded into the server.
    """
    for number, cut in enumerate(cuts):
        server = launch()
        if server.shim is None:
            return
        if number == 0:
            _tell_uncut(launch(), cut, half_close=False)
        _retell(server, cut, half_close=False)
        server.process.destroy()


def try_together(launch: Callable, cuts: Iterable[Cut]) -> None:
    """All cuts on one server, many clients at a time: each sends, half-closes, and reads all.

    A server that serves one after the other may do so. The first cut that failed is tried again on
    a server of its own, so that a failure shows it alone. Of a server that is slow what does not
    fit into SECONDS is not asked. Does nothing without the library.
    """
    server = launch()
    if server.shim is None:
        return
    deadline = Deadline(SECONDS)
    for batch in _batches(cuts, BATCH):
        if not deadline.left():
            return
        failed = _failing(server, batch)
        if failed is not None:
            _tell_uncut(launch(), failed.cut, half_close=True)
            again = launch()
            _retell(again, failed.cut, half_close=True)
            again.process.destroy()
            raise _of_many(launch(), batch, failed)


class _Failed(NamedTuple):
    """A cut that did not bring back what is due, what it has brought, and whether the server has
    not accepted its client."""

    cut: Cut
    answer: bytes | None
    in_backlog: bool


def _of_many(server, batch: Sequence[Cut], failed: _Failed) -> Failure:
    """The failure of one of many clients, each of which is served if it is alone."""
    uncut = _failing(server, batch, cuts=False)
    told, hint = f"it fails {failed.cut}", HINTS[failed.cut.way]["closed-in-reply"]
    if uncut is not None:
        failed, told = uncut, "it fails although nothing is cut"
        hint = "not-closed" if uncut.answer is None else "closed-in-reply"
    text = f"{told}, with {len(batch)} clients at the same time: "
    text += _symptom(failed.answer, failed.cut.due)
    return Failure(text, hint="not-accepted" if failed.in_backlog else hint)


def _batches(cuts: Iterable[Cut], size: int) -> Iterator[list[Cut]]:
    rest = iter(cuts)
    while batch := list(islice(rest, size)):
        yield batch


def _symptom(answer: bytes | None, due: bytes) -> str:
    """What came in place of the bytes that are due."""
    if answer is None:
        return "the server did not close the connection"
    at = first_difference(due, answer)
    if at is None or at == len(answer):
        return f"{len(answer):,} of {counted(len(due), 'byte')} came back"
    return f"byte {at:,} came back wrong"


def _failing(server, batch: Sequence[Cut], cuts: bool = True) -> _Failed | None:
    """The first that did not bring back what is due, with its cuts or without."""
    first = server.shim.shared.connections
    if cuts:
        server.shim.schedule(*(cut.plan(first + place) for place, cut in enumerate(batch)))
    clients = _asked(server, [cut.stream for cut in batch])
    failed = None
    for client, cut in zip_longest(clients, batch):
        answer = _answer(server, client)
        if answer != cut.due:
            in_backlog = client is not None and is_in_backlog(client)
            failed = _Failed(cut, answer, in_backlog)
            break
    if cuts and failed is None:
        server.shim.require_calls()
    for client in clients:
        client.close(by_reset=False)
    server.shim.schedule()
    return failed


def _asked(server, messages: Iterable[bytes]) -> list[Stream]:
    """For each message a client that has sent it. A fault is found when it reads; after the first
    one that the server does not take, no other is tried."""
    clients: list[Stream] = []
    for message in messages:
        try:
            clients.append(Stream(server.address, server.patience))
            clients[-1].send_all(message)
            clients[-1].socket.shutdown(socket.SHUT_WR)
        except Failure:
            break
        except OSError:
            pass  # the server was the first to close
    return clients


def _answer(server, client: Stream | None) -> bytes | None:
    """The bytes that come until the server closes; None if it does not. Nothing comes to a client
    that could not connect."""
    answer = b""
    while client is not None:
        came = client.receive(MOST, Deadline(server.patience))
        if came is End.SILENCE:
            return None
        if isinstance(came, End):
            break
        answer += came
    return answer


def try_at_random(launch: Callable, rng: random.Random, pieces: Sequence[int]) -> None:
    """Long streams in pieces of 1 to some bytes, in both directions, with EAGAIN and EINTR between.

    pieces: for each stream, how long a piece may be. The streams come one after the other to one
    server. Does nothing without the library.
    """
    server = launch()
    if server.shim is None:
        return
    for most in pieces:
        longest = most * PIECES_A_FRAME
        bodies = [server.framing.sample(rng, rng.randrange(longest)) for _ in range(FRAMES)]
        chance = rng.getrandbits(32)
        try:
            _exchange_in_pieces(server, bodies, most, chance)
        except Failure as failure:
            server.process.settle()
            if server.process.alive():
                _retell_pieces(launch(), bodies, most, *_needed(launch, bodies, most, chance))
            failure.message = f"when a call moves {_at_most(most)}: {failure.message}"
            raise


def _exchange_in_pieces(
    server, bodies: Sequence[bytes], most: int, chance: int, errors: Sequence[int] = BETWEEN
) -> None:
    """`chance`: with the same one the pieces are the same."""
    number, rng = server.shim.shared.connections, random.Random(chance)
    ways = (Group.INPUT, Group.OUTPUT)
    server.shim.schedule(*(random_plan(way, rng, number, most, errors) for way in ways))
    server.conversation.restart()
    server.conversation.note("the grader", f"makes sure that a call moves {_at_most(most)}")
    client = server.connect()
    client.exchange(b"".join(map(server.framing.encode, bodies)), bodies)
    client.half_close()
    client.expect_eof()
    server.shim.require_calls()


def _needed(
    launch: Callable, bodies: Sequence[bytes], most: int, chance: int
) -> tuple[Sequence[int], int]:
    """The errors between its pieces that such a stream does not survive, () if it fails without
    any; and the chance that shows it. If nothing fails again, all that were there."""
    tries = [()] * PLAIN_TRIES + [(error,) for error in BETWEEN] + [BETWEEN]
    for number, errors in enumerate(tries):
        server = launch()
        try:
            _exchange_in_pieces(server, bodies, most, chance + number, errors)
        except Failure:
            return errors, chance + number
        finally:
            server.process.destroy()
    return BETWEEN, chance


def _retell_pieces(
    server, bodies: Sequence[bytes], most: int, errors: Sequence[int], chance: int
) -> None:
    """Repeats the exchange alone, so that its steps can be shown. Raises what goes wrong."""
    try:
        _exchange_in_pieces(server, bodies, most, chance, errors)
    except Failure as failure:
        when = f"when a call moves {_at_most(most)}"
        if errors:
            met = " or ".join(errno.errorcode[error] for error in errors)
            when += f" and calls between meet {met}"
            failure.hint = STUCK if failure.hint == "replies-missing" else DISTURBED
        failure.message = f"{when}: {failure.message}"
        raise


def _at_most(size: int) -> str:
    return "1 byte" if size == 1 else f"{size:,} bytes at most"


def _retell(server, cut: Cut, half_close: bool) -> None:
    """The cut on a fresh server, so that its steps can be shown. Raises what goes wrong."""
    server.conversation.restart()
    server.conversation.note("the grader", f"makes sure that {str(cut)[len('when '):]}")
    server.shim.schedule(cut.plan(server.shim.shared.connections))
    try:
        _exchange(server, cut, half_close)
    except Failure as failure:
        failure.message = f"it fails {cut}: {failure.message}"
        failure.hint = _meaning(cut, failure.hint)
        raise
    server.shim.require_calls()


def _tell_uncut(server, cut: Cut, half_close: bool) -> None:
    """The same on a fresh server without the cut: what goes wrong there has nothing to do with
    it."""
    server.conversation.restart()
    try:
        _exchange(server, cut, half_close)
    except Failure as failure:
        failure.message = f"although nothing is cut: {failure.message}"
        raise
    server.process.destroy()


def _exchange(server, cut: Cut, half_close: bool) -> None:
    client = server.connect()
    client.send(cut.stream)
    if half_close:
        client.half_close()
        client.expect_closed_after(cut.replies)
    else:
        client.expect_frames(cut.replies)


def _meaning(cut: Cut, hint: str) -> str:
    if not cut.disturbed:
        return HINTS[cut.way].get(hint, hint)
    return STUCK if cut.way == Group.OUTPUT and hint == "replies-missing" else DISTURBED
