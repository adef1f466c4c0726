"""Chapter 07, what replies for later cost: waits, CPU time, memory, and where nobody reads them."""

from __future__ import annotations

import errno
import signal
import struct
import time

from harness.claims.instruments.observe import (
    SOCKET_BYTES,
    kernel_bytes,
    made_since,
    until_asleep,
    until_read,
)
from harness.claims.marker import claim
from harness.claims.scenarios.cost import (
    HELD_BYTES,
    WATCHED,
    bounded,
    few_waits,
    launch_idle,
    no_cpu,
)
from harness.claims.scenarios.exchanges import SHORT_SEGMENT, SMALL_WINDOW, ask, expect_stop
from harness.claims.scenarios.rpc_talk import echo_text
from harness.claims.scenarios.single_faults import DROPPED
from harness.claims.scenarios.timed import LATE_MS, expect_at, in_time
from harness.client import length_framing
from harness.client.client import Client
from harness.client.expected_replies import Replies
from harness.client.messages import (
    AFTER,
    BAD_ARGUMENT,
    CANCEL,
    CANCELLED,
    ECHO,
    MESSAGES,
    OK,
    RESET,
    after,
    cancel,
    every,
    reply,
    request,
    reset,
    rung,
    rung_again,
    string,
)
from harness.failures.failure import Failure, NotJudged
from harness.lab.units import MIB
from harness.server.shim import Group, Plan, fail

FAR = 60_000  # ms: nobody waits for it
FAR_AWAY = 2_000_000_000  # ms
MOST_ALARMS, LOT = 400_000, 10_000  # with 84 bytes for each, 32 MiB
REFUSED_CALLS = 4  # allocations of an AFTER: the alarm, its timer, its place in a table

TOGETHER, TOGETHER_MS = 10_000, 300  # alarms, and when they are due
TOGETHER_SENDS = TOGETHER // 20  # one for each call of timers_run() is needed, and some more

OVER_BYTES = 6 * MIB  # of a reply: above the high-water mark, whatever the kernel takes
FULL_MS = 100  # until it is made
IN_LINE = 20  # alarms that are due after it

WAITS_A_TIMER = 6  # on average; one is needed, and a server may look once more before it sleeps

# Of a reply: less than that the client has to read before the server may make another one.
HALF = 6 * MIB

# What a general hint means in a claim, see marker.claim.
LOST = ("silence", "stalled-reply", "replies-missing")
RINGS = {**dict.fromkeys(LOST, "alarm-lost"), "wrong-seq": "alarm-of-another"}
RESUME = dict.fromkeys(LOST, "alarms-not-resumed")
RESUME_IN_TIME = {**RESUME, "timer-early": "every-in-a-burst"}
IN_ORDER = {**RESUME, "wrong-seq": "alarms-owed"}


def cancel_one(client: Client) -> None:
    """Cancels the AFTER with seq 1; its last reply comes in front of that of CANCEL, or behind."""
    client.send_frame(cancel(7, 1))
    replies = {client.read_frame(), client.read_frame()}
    if replies != {reply(CANCEL, 7, OK), reply(AFTER, 1, CANCELLED)}:
        raise Failure("CANCEL did not have the two replies that are due", hint="alarm-cancel")


# 07.3 timers_run


@claim("07.3", points=1, cli=True, native=True, hints=RESUME)
def test_07_alarms_that_nobody_reads(launch, rng):
    """EVERY 1 ms to a client that does not read costs no memory and no CPU; all replies come."""
    server = launch(framing=MESSAGES, steps=True)
    echo_text(server.connect())
    base = server.process.resident_bytes()
    client = server.connect(rcvbuf=SMALL_WINDOW)
    text, count = rng.randbytes(200_000), 100
    client.send_frame(every(1, 1, count, text))
    time.sleep(2 * count / 1000)  # who piles replies up has made them by now
    when = "while the client does not read the replies of an EVERY"
    no_cpu(server, when, "spins-writing", seconds=WATCHED)
    bounded(server, base, HELD_BYTES, f"of {count} replies of 200 KB that the client does not read")
    client.expect_frames([rung_again(1, index, text) for index in range(count)])
    echo_text(client)


@claim("07.3", points=1, cli=True, hints=IN_ORDER)
def test_07_alarms_wait_in_line(launch, rng):
    """Alarms that wait for a client that does not read are answered in the order in which they
    rang, and before those that ring later."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect(rcvbuf=SMALL_WINDOW, segment=SHORT_SEGMENT)
    texts = [rng.randbytes(OVER_BYTES), *(b"%d" % seq for seq in range(1, IN_LINE + 1))]
    with in_time(server):
        client.send_frames([after(seq, FULL_MS, text) for seq, text in enumerate(texts)])
        server.clock.advance(2 * FULL_MS)
        until_asleep(server)  # they have rung, and there is no space for their replies
        client.send_frame(after(len(texts), 0, b"last"))  # is read when there is space for one
        rings = [rung(seq, text) for seq, text in enumerate(texts)]
        client.expect_frames([*rings, rung(len(texts), b"last")])


@claim("07.3", points=1, cli=True, hints=RESUME_IN_TIME, needs="small-sockets")
def test_07_every_waits_for_its_client(launch, rng):
    """An EVERY whose replies were not read for a while continues `ms` apart, without a burst."""
    if kernel_bytes() > SOCKET_BYTES:
        raise NotJudged(
            "on this machine a socket holds much more than 4 MiB: see tcp_wmem in tcp(7)"
        )
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect(rcvbuf=SMALL_WINDOW)
    large, ms, count = rng.randbytes(2 * HALF), 100, 8
    client.send_frame(after(1, FAR, large))
    echo_text(client)
    client.send_frames([reset(3, 1, 0, 1), every(2, ms, count, b"tick")])  # the large one is first
    ticks = [rung_again(2, index, b"tick") for index in range(count)]
    replies = Replies([reply(RESET, 3, OK), rung(1, large), ticks[0]])
    while replies.missing > HALF:
        client.expect_part(replies, replies.missing - HALF)
    server.clock.advance(4 * ms)
    began = server.clock.now_ms  # and there is still no space for a reply
    client.expect_frames(replies)
    for index in range(1, count):
        expect_at(server, client, [ticks[index]], began, ms * index)


@claim("07.3", points=2, cli=True, native=True, sees_calls=True, hints=RINGS)
def test_07_alarms_due_together(launch):
    """10,000 replies for later that are due at the same time are sent with a few hundred calls."""
    server = launch(framing=MESSAGES, clock=True)
    client, text = server.connect(), b"together"
    echo_text(client)
    before = server.process.calls()
    client.send_frames([after(seq, TOGETHER_MS, text) for seq in range(TOGETHER)])
    until_read(client)
    server.clock.settle()
    with server.paused():
        server.clock.advance(TOGETHER_MS + LATE_MS)
    client.expect_frames([rung(seq, text) for seq in range(TOGETHER)])
    if before is None:  # the library that counts is not in this server
        return
    sends = made_since(server, before, "outputs")
    if sends > TOGETHER_SENDS:
        text = f"for {TOGETHER:,} alarms that were due together the server made {sends:,} calls"
        raise Failure(f"{text} that send", hint="write-per-alarm")


@claim("07.3", points=1, chapters="07-09", cli=True, native=True, hints={"silence": "memory-grows"})
def test_07_alarms_hold_32_mib(launch):
    """The alarms of a connection may hold 32 MiB together; more than that is a bad argument."""
    server = launch(framing=MESSAGES)
    client = server.connect()
    text = bytes(12 * MIB)
    client.send_frames([after(1, FAR, text), after(2, FAR, text)])
    client.exchange(length_framing.encode(after(3, FAR, text)), [reply(AFTER, 3, BAD_ARGUMENT)])
    cancel_one(client)
    client.send_frame(after(3, FAR, text))
    echo_text(client)


@claim(
    "07.3",
    points=1,
    chapters="07-09",
    cli=True,
    native=True,
    hints={"memory-grows": "alarms-cost-more"},
)
def test_07_small_alarms_hold_32_mib_too(launch):
    """The limit of 32 MiB is one of memory: many alarms with short strings cost no more."""
    server = launch(framing=MESSAGES)
    client = server.connect()
    echo_text(client)
    base = server.process.resident_bytes()
    when = "with as many alarms of one byte as a connection may have"
    for first in range(0, MOST_ALARMS, LOT):
        client.send_frames([after(seq, FAR_AWAY, b"x") for seq in range(first, first + LOT)])
        refused = _refused(client)
        bounded(server, base, 32 * MIB + HELD_BYTES, when)
        if refused:
            break
    ask(server.connect(), after(1, 10, b"another client"), rung(1, b"another client"))


def _refused(client: Client) -> int:
    """How many of the AFTER so far were refused as bad arguments and not counted yet."""
    __tracebackhide__ = True
    last = reply(ECHO, 0, OK, string(b"last"))
    client.send_frame(request(ECHO, 0, string(b"last")))
    count = 0
    while (body := client.read_frame()) != last:
        cmd, seq, status = struct.unpack_from("<iii", body.ljust(12, b"\0"))
        if (cmd, status) != (AFTER, BAD_ARGUMENT):
            raise Failure(f"AFTER {seq} was not refused with status 3", hint="wrong-status")
        count += 1
    return count


@claim("07.3", points=1, cli=True, hints=RINGS)
def test_07_no_memory_is_no_bad_argument(launch):
    """If there is no memory for an alarm, its connection is closed: the request was right."""
    server = launch(framing=MESSAGES, allocations=True)
    ask(server.connect(), after(1, 10, b"x"), rung(1, b"x"))
    if server.shim is None:
        return
    for number in range(REFUSED_CALLS):
        client = server.connect()
        echo_text(client)
        text = f"lets the next allocation but {number} fail" if number else "lets one fail"
        server.conversation.note("the grader", text)
        server.shim.schedule(Plan(Group.ALLOCATION, [fail(errno.ENOMEM)], skip=number))
        try:
            came = _told_of(client, after(1, 10, b"x"))
        finally:
            server.shim.schedule()
        if came == reply(AFTER, 1, BAD_ARGUMENT):
            text = "there was no memory for an alarm, and status 3 came as for a bad argument"
            raise Failure(text, hint="no-memory-as-status")
    client = server.connect()
    client.send_frame(every(1, 5, 2, b"x"))
    client.expect_frames([rung_again(1, index, b"x") for index in range(2)])


def _told_of(client: Client, body: bytes) -> bytes:
    """The reply; "" when the connection is closed instead."""
    __tracebackhide__ = True
    client.send_frame(body)
    try:
        return client.read_frame()
    except Failure as failure:
        if failure.hint not in DROPPED:
            raise
        return b""


@claim("07.3", points=2, chapters="07", cli=True, valgrind=True)
def test_07_memory(launch):
    """Under valgrind: clients leave, and the server stops, with timers of all kinds set."""
    server = launch(("--idle-timeout", "60000", "--frame-timeout", "60000"), framing=MESSAGES)
    pending = (after(1, 50, b"x"), every(2, 20, 1000, b"y"), after(3, FAR, b"z"), after(4, 0, b"0"))
    for leave in ("close", "reset", "half_close"):
        client = server.connect("leaves")
        client.send_frames(pending)
        client.send(length_framing.header(100))
        until_read(client)
        getattr(client, leave)()
    client = server.connect()
    client.send_frames([after(1, FAR, b"x"), every(2, FAR, 5, b"y")])
    cancel_one(client)
    ask(client, reset(8, 2, FAR, 0), reply(RESET, 8, OK))
    ask(client, after(1, 300, b"all others are over"), rung(1, b"all others are over"))


@claim("07.3", points=1, cli=True)
def test_07_stop_with_alarms(launch):
    """SIGTERM ends the server within a second, with status 0, whatever timers are set."""
    server = launch(("--idle-timeout", "50000"), framing=MESSAGES)
    client = server.connect()
    client.send_frames([after(1, FAR, b"x"), every(2, FAR, 5, b"y")])
    echo_text(client)
    expect_stop(server, signal.SIGTERM)


# 07.5 timers_timeout


@claim("07.5", points=3, cli=True, native=True)
def test_07_sleeps_until_the_first_timer(launch):
    """While no timer is due, or none is set, the server sleeps: it uses no CPU and no wait ends."""
    for backend in ("select", "poll", "epoll"):
        server = launch_idle(launch, argv_extra=("--backend", backend), framing=MESSAGES)
        client = server.connect()
        echo_text(client)
        _sleeps(server, f"with no timer set, and {backend},")
        client.send_frame(after(1, 10, b"x"))
        server.clock.advance(10 + LATE_MS)
        client.expect_frame(rung(1, b"x"))
        _sleeps(server, f"after the only timer has rung, with {backend},")
    client.send_frames([after(1, FAR, b"x"), every(2, 2_000_000_000, 3, b"y")])
    echo_text(client)
    when = "with the first timer due in a minute"
    _sleeps(server, when)
    no_cpu(server, when, "timer-timeout", seconds=WATCHED)


def _sleeps(server, when: str) -> None:
    __tracebackhide__ = True
    until_asleep(server)
    few_waits(server, when, "timer-timeout")


@claim("07.5", points=3, cli=True, sees_calls=True, hints=RINGS)
def test_07_no_wait_ends_too_early(launch):
    """Twenty timers cost some twenty waits: each one ends when a timer is due, and not before.

    On the clock of the machine, so that a server cannot know that time is moved.
    """
    server = launch(framing=MESSAGES)
    client = server.connect()
    echo_text(client)
    until_asleep(server)
    before = server.process.calls()
    count, began = 20, time.monotonic()
    client.send_frames([after(seq, 15 * seq, b"x") for seq in range(1, count + 1)])
    for seq in range(1, count + 1):
        client.expect_frame(rung(seq, b"x"))
        passed = 1000 * (time.monotonic() - began)
        if passed < 15 * seq:
            text = f"a reply that was due after {15 * seq} ms came after {passed:.0f} ms"
            raise Failure(text, hint="timer-early")
    if before is None:  # the library that counts is not in this server
        return
    waits = made_since(server, before, "waits")
    if waits > WAITS_A_TIMER * count:
        text = f"for {count} timers, one after the other, the server made {waits:,} wait calls"
        raise Failure(text, hint="timer-timeout")
