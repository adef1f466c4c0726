"""Chapter 11: bytes are moved by operations that complete."""

from __future__ import annotations

from harness.grading.plugin import claim
from harness.scenarios.exchanges import ping


@claim("11.3", points=20, module=True, needs="io_uring")
def test_11_reads_from_lent_buffers(program):
    """With a ring co_read() waits for input, owns no buffer meanwhile, and reads to EOF."""
    program("10_read", "readiness", backend="uring")
    program("10_input", "owns", backend="uring")
    program("10_input", "to_the_end", backend="uring")


@claim("11.4", points=20, module=True, needs="io_uring")
def test_11_sends_every_byte_once(program):
    """With a ring co_write() waits while the kernel takes nothing, continues, loses nothing."""
    program("10_write", "writes", backend="uring")


@claim("11.6", points=20, module=True, needs="io_uring")
def test_11_accepts_and_connects(program):
    """With a ring co_accept() and co_connect() wait, and return what has come of it."""
    program("10_accept", "accepts", backend="uring")
    program("10_connect", "connects", backend="uring")
    program("10_connect", "waits", backend="uring")


@claim("11.8", points=40, cli=True, needs="io_uring")
def test_11_echoes_with_io_uring(launch, rng):
    """With --io uring a frame is echoed."""
    ping(launch(("--io", "uring")).connect(), rng)
