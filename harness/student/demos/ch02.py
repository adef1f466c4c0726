"""One client at a time: the second client waits for the first."""

from __future__ import annotations

from harness.client import length_framing
from harness.student.demos.shown import Stopwatch, server_of


def show() -> None:
    """B gets no reply while A is slow, and no reply before A has left."""
    with server_of("01", together=1) as server:
        frame = length_framing.encode(b"hello")
        a, b = server.connect("A"), server.connect("B")
        clock = Stopwatch()
        a.send(frame[:6])
        clock.tell("A sends 6 of the 9 bytes of a frame, and stalls")
        b.send(frame)
        clock.tell("B sends all 9 bytes of a frame")
        b.expect_nothing(2)
        clock.tell("B has no reply: the server sits in a read() on A's socket")
        a.send(frame[6:])
        a.expect_frame(b"hello")
        clock.tell("A sends the other 3 bytes and gets its reply")
        b.expect_nothing(0.5)
        clock.tell("B has no reply: A is still connected, so the server reads from A")
        a.close()
        b.expect_frame(b"hello")
        clock.tell("A leaves, and B gets its reply")
        print(f"\nB waited {clock.seconds():.1f} s for a reply that takes less than a millisecond.")
