"""Chapter 11, operations by themselves: how they begin, complete, are cancelled, and what they use.

Most programs have a ring of the grader's own, in which operations complete late, in parts, or not
at all, as the check wants it: see fake_ring.h. The others run on the kernel's.
"""

from __future__ import annotations

from harness.claims.marker import claim

# What a general hint means in a claim, see marker.claim.
BROKEN = ("in-the-module", "module-crashed", "memory-fault", "module-refuses")
OPERATION = dict.fromkeys(BROKEN, "ring-operation")
FULL = dict.fromkeys(BROKEN, "ring-full")
LENT = dict.fromkeys(BROKEN, "lent-buffer")
RECEIVE = dict.fromkeys((*BROKEN, "co-readiness", "co-read"), "ring-receive")
SEND = dict.fromkeys((*BROKEN, "co-write"), "ring-send")
CANCEL = dict.fromkeys(BROKEN, "ring-cancel")
CALLS = dict.fromkeys((*BROKEN, "co-accept", "co-connect"), "ring-calls")
DEAF = dict.fromkeys((*BROKEN, "co-wait", "co-deaf"), "ring-deaf")
FORGET = dict.fromkeys(BROKEN, "ring-forget")


# 11.1 operation


@claim("11.1", module=True, native=True, needs="io_uring", hints=OPERATION)
def test_11_operations_complete(program):
    """One call hands over what was begun and waits; each completion reaches its operation, once."""
    program("11_ring", "operations")


@claim("11.1", module=True, native=True, needs="io_uring", hints=FULL)
def test_11_rings_are_full(program):
    """More operations than a ring holds are all submitted, in order, and all complete."""
    program("11_ring", "full")


@claim("11.1", module=True, native=True, needs="io_uring")
def test_11_kernel_that_refuses(program):
    """While the kernel takes no operations the ring waits; after a second the server ends."""
    program("11_ring", "operations", "refused")


# 11.2 lent


@claim("11.2", module=True, native=True, needs="io_uring", hints=LENT)
def test_11_buffers_are_lent(program):
    """Every buffer is lent, is found by its number, and is lent again after lent_return()."""
    program("11_ring", "lends")


# 11.3 receive


@claim("11.3", module=True, needs="io_uring", hints=RECEIVE)
def test_11_reads_from_lent_buffers(program):
    """With a ring co_read() waits for input, owns no buffer meanwhile, and reads to EOF."""
    program("10_io", "readiness", "owns", "to_the_end", backend="uring")


@claim("11.3", module=True, needs="io_uring", hints=RECEIVE)
def test_11_how_a_read_ends(program):
    """co_read() returns which of input, time limit, wake-up or cancellation has ended its wait."""
    program("10_io", "ends", backend="uring")


@claim("11.3", module=True, native=True, needs="io_uring", hints=RECEIVE)
def test_11_no_buffer_is_free(program):
    """With two buffers for five clients all input is read, in order, and both are given back."""
    program("11_io", "no_buffer", backend="uring")


@claim("11.3", module=True, native=True, needs="io_uring", hints=RECEIVE)
def test_11_input_comes_before_its_end(program):
    """Bytes are read before EOF or an error; what is neither begins the receiving again."""
    program("11_io", "ends_of_receiving", backend="uring")


# 11.4 send


@claim("11.4", module=True, needs="io_uring", hints=SEND)
def test_11_sends_every_byte_once(program):
    """With a ring co_write() waits while the kernel takes nothing, continues, loses nothing."""
    program("10_io", "writes", backend="uring")


@claim("11.4", module=True, native=True, needs="io_uring", hints=SEND)
def test_11_bytes_stay_while_they_are_sent(program):
    """Sends that complete late and with a part: one at a time, and no byte moves meanwhile."""
    program("11_io", "in_parts", backend="uring")


@claim("11.4", module=True, native=True, needs="io_uring", hints=SEND)
def test_11_how_a_send_ends(program):
    """A send that fails, was cancelled, or is waited for no more: each has its own result."""
    program("11_io", "ends_of_sending", backend="uring")


# 11.5 ring_cancel


@claim("11.5", module=True, native=True, needs="io_uring", hints=CANCEL)
def test_11_cancelled_operations_complete(program):
    """The kernel gets one request to cancel; the operation is in flight until it completes."""
    program("11_ring", "cancels")


@claim("11.5", module=True, native=True, needs="io_uring", hints=RECEIVE)
def test_11_nobody_reads(program):
    """While no coroutine reads, receiving stops; later nothing is missing."""
    program("11_io", "flood", backend="uring")


# 11.6 calls


@claim("11.6", module=True, needs="io_uring", hints=CALLS)
def test_11_accepts_and_connects(program):
    """With a ring co_accept() and co_connect() wait, and return what has become of it."""
    program("10_io", "accepts", "connects", "unanswered", backend="uring")


@claim("11.6", module=True, native=True, needs="io_uring", hints=CALLS)
def test_11_calls_leave_nothing_in_flight(program):
    """Whatever ends co_accept() and co_connect(), nothing is in flight when they return."""
    program("11_io", "calls", backend="uring")


@claim("11.6", module=True, needs="io_uring", hints=DEAF)
def test_11_hears_of_a_reset(program):
    """With a ring co_wait() ends when the peer resets the connection, and not with input or EOF."""
    program("10_io", "waits", "hears", backend="uring")


# 11.7 forget


@claim("11.7", module=True, native=True, needs="io_uring", hints=FORGET)
def test_11_nothing_is_freed_in_flight(program):
    """A coroutine that forgets a socket waits until all of its operations have completed."""
    program("11_io", "forgets", backend="uring")
