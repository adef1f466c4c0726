"""Chapter 03, with the fault library in the server: see test_01_faults.py."""

from __future__ import annotations

from harness.claims.context.observe import eventually, until_read
from harness.claims.marker import claim
from harness.claims.scenarios.exchanges import SMALL_WINDOW, echo
from harness.client import length_framing
from harness.feedback.failure import Failure
from harness.server.preload import Group, Plan, Step
from harness.waiting.shared import SPURIOUS

BLOCKED = dict.fromkeys(("silence", "connect-stuck"), "ready-for-nothing")


# 03.3 dispatch and closing


@claim("03.3", points=2, hints=BLOCKED, sees_calls=True)
def test_03_readiness_that_was_none(server, rng):
    """A wait that reports input when none is there delays no other client.

    Linux may do that: see the section BUGS of select(2).
    """
    if server.shim is None:
        return
    quiet, live = server.connect("quiet"), server.connect("live")
    for client in (quiet, live):
        echo(client, rng.randbytes(5))
    number = server.shim.shared.connections - 2
    for _ in range(5):
        server.shim.schedule(Plan(Group.INPUT, [Step(SPURIOUS)], connection=number))
        body = rng.randbytes(5)
        quiet.send_frame(body)
        for _ in range(3):
            echo(live, rng.randbytes(5))
        server.shim.schedule()
        quiet.expect_frame(body)


@claim("03.3", points=2, refusals=True, sees_calls=True)
def test_03_no_descriptor_is_closed_twice(server, rng):
    """However a client leaves, its descriptor is closed only once."""
    if server.shim is None:
        return
    base = server.process.descriptors().total
    frame = length_framing.encode(rng.randbytes(100))
    for leave in ("close", "reset", "half_close"):
        leaving = [server.connect(rcvbuf=SMALL_WINDOW) for _ in range(6)]
        for client, sent in zip(leaving, (b"", frame[:2], frame[:50], frame, frame * 3)):
            client.send(sent)
        leaving[-1].send(length_framing.TOO_LONG)
        for client in leaving:
            until_read(client)
            getattr(client, leave)()
        for client in leaving:
            client.close()
    eventually(server, lambda: server.process.descriptors().total <= base)
    echo(server.connect("last"), rng.randbytes(5))
    if any(call.closed_twice for call in server.shim.record()):
        text = "close() was called for a descriptor that was closed already"
        raise Failure(text, hint="closed-twice")
