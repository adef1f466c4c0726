"""Chapter 07, replies for later: AFTER, EVERY, CANCEL and RESET.

The clock of the server is ours: a reply that is early, or late by more than a millisecond, is
found, however busy the machine is. The claim about what nobody reads keeps the machine's.
"""

from __future__ import annotations

import time

from harness.claims.context.observe import until_asleep
from harness.claims.marker import GONE, claim
from harness.claims.scenarios.cost import (
    HELD_BYTES,
    WATCHED,
    bounded,
    few_waits,
    launch_idle,
    no_cpu,
)
from harness.claims.scenarios.exchanges import SMALL_WINDOW, ask, words
from harness.claims.scenarios.rpc_talk import echo_text, expect_in_any_order
from harness.claims.scenarios.timed import (
    HOUR,
    LATE_MS,
    LONGEST,
    MINUTE,
    expect_at,
    expect_closed_at,
    expect_nothing_until,
    pass_until,
)
from harness.client.client import Client
from harness.client.messages import (
    AFTER,
    CANCEL,
    CANCELLED,
    EVERY,
    MESSAGES,
    NO_TIMER,
    OK,
    RESET,
    after,
    cancel,
    every,
    reply,
    reset,
    rung,
    rung_again,
)
from harness.feedback.failure import meaning
from harness.waiting.clock import Start

FAR = 60_000  # ms: nobody waits for it
TICK_MS = 50_017  # the second one is beyond a minute
DAY = 24 * HOUR
LONG_AGO = 150  # ms, between the start of a timer and a reset

# What a general hint means in a claim, see marker.claim.
LOST = ("silence", "stalled-reply", "replies-missing")
WRONG = ("wrong-header", "wrong-seq", "wrong-status", "wrong-fields", "extra-bytes")
RINGS = {**dict.fromkeys(LOST, "alarm-lost"), "wrong-seq": "timer-order"}
EVERY_HINTS = {**dict.fromkeys(LOST, "alarm-lost"), **dict.fromkeys(WRONG, "every-replies")}
OWED = {
    **dict.fromkeys((*GONE, *LOST), "replies-lost-at-eof"),
    "wrong-seq": "alarm-of-another",
}
RESETS = dict.fromkeys((*WRONG, *LOST, "timer-early", "timer-late"), "timer-start")
RESUME = dict.fromkeys(LOST, "alarms-not-resumed")
WEEKS = {
    **dict.fromkeys((*LOST, "timer-early", "timer-late", "closed-early"), "time-in-32-bits"),
    **{"not-closed": "time-in-32-bits", "wrong-seq": "alarm-of-another"},
}


def expect_cancelled(client: Client, cmd: int, seq: int) -> None:
    """Cancels what has this cmd and seq, and gets the last reply of it."""
    client.send_frame(cancel(7, seq))
    expect_in_any_order(client, [reply(CANCEL, 7, OK), reply(cmd, seq, CANCELLED)])


# 07.1 sift


@claim("07.1", cli=True, hints=RINGS)
def test_07_earlier_timer_rings_first(launch, rng):
    """Of two AFTERs the one with the earlier deadline is answered first, and none too early."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    for late, soon in ((150, 30), (100, 0), (101, 100)):
        text, began = words(rng, 5), server.clock.now_ms
        client.send_frames([after(1, late, text), after(2, soon, b"")])
        expect_at(server, client, [rung(2, b"")], began, soon)
        expect_at(server, client, [rung(1, text)], began, late)
    echo_text(client)


# 07.2 take_out


@claim("07.2", guard=True, cli=True, hints=dict.fromkeys((*WRONG, *LOST), "alarm-cancel"))
def test_07_cancel(launch):
    """CANCEL is answered, the alarm gets a last reply, and nothing more comes of it."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    client.send_frames([after(1, FAR, b"far"), every(2, FAR, 9, b"far")])
    client.send_frames([after(3, 150, b"never"), cancel(7, 3)])
    expect_in_any_order(client, [reply(CANCEL, 7, OK), reply(AFTER, 3, CANCELLED)])
    for cmd, seq in ((EVERY, 2), (AFTER, 1)):
        expect_cancelled(client, cmd, seq)
        ask(client, cancel(8, seq), reply(CANCEL, 8, NO_TIMER))
    began = server.clock.now_ms
    client.send_frame(after(1, 200, b"next"))
    expect_at(server, client, [rung(1, b"next")], began, 200)
    ask(client, cancel(8, 1), reply(CANCEL, 8, NO_TIMER))
    echo_text(client)


# 07.3 timers_run


@claim("07.3", cli=True, hints=EVERY_HINTS)
def test_07_every_rings_count_times(launch, rng):
    """EVERY is answered `count` times, `ms` apart, with an index that starts at 0; then its seq is
    free."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    for ms, count in ((30, 4), (1, 20), (20, 1)):
        _rings_in_rounds(server, client, words(rng, 5), ms, count)
    _ends_beside_another(server, client)
    if server.clock.ours:
        _rings_in_rounds(server, client, words(rng, 5), MINUTE, 100)
    echo_text(client)


def _rings_in_rounds(server, client: Client, text: bytes, ms: int, count: int) -> None:
    began = server.clock.now_ms
    client.send_frame(every(1, ms, count, text))
    for index in range(count):
        expect_at(server, client, [rung_again(1, index, text)], began, ms * (index + 1))


def _ends_beside_another(server, client: Client) -> None:
    """Two EVERYs ring together; one ends, and the other goes on."""
    began = server.clock.now_ms
    client.send_frames([every(1, 10, 2, b"ends"), every(2, 10, 4, b"goes on")])
    for index in range(4):
        rings = [rung_again(1, index, b"ends")] if index < 2 else []
        rings.append(rung_again(2, index, b"goes on"))
        expect_at(server, client, rings, began, 10 * (index + 1))


@claim("07.3", fatal="bytes", cli=True, hints=OWED)
def test_07_half_close_with_alarms_owed(launch):
    """A client that half-closes gets all its delayed replies, then it is closed."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    began = server.clock.now_ms
    client.send_frames([after(1, 100, b"ring"), every(2, 20, 3, b"tick"), after(3, 10, b"ring")])
    client.half_close()
    expect_at(server, client, [rung(3, b"ring")], began, 10)
    for index in range(3):
        expect_at(server, client, [rung_again(2, index, b"tick")], began, 20 * (index + 1))
    expect_at(server, client, [rung(1, b"ring")], began, 100)
    client.expect_eof()


@claim("07.3", fatal="growth", cli=True, native=True, hints=RESUME)
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


# 07.4 timer_reset


@claim("07.4", cli=True, hints=RESETS)
def test_07_reset(launch):
    """RESET moves an alarm forward or back, counted from now or from when it was set."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    began = _set_long_ago(server, client)
    client.send_frames([reset(4, 1, 200, 0), after(2, 100, b"later")])
    client.expect_frame(reply(RESET, 4, OK))
    expect_at(server, client, [rung(1, b"set")], began, 200)
    expect_at(server, client, [rung(2, b"later")], began, LONG_AGO + 100)
    _set_long_ago(server, client)
    began = server.clock.now_ms
    client.send_frame(reset(4, 1, 180, 1))
    client.expect_frame(reply(RESET, 4, OK))
    expect_at(server, client, [rung(1, b"set")], began, 180)
    _set_long_ago(server, client)
    client.send_frame(reset(4, 1, LONG_AGO // 2, 0))  # that is over
    client.expect_frames([reply(RESET, 4, OK), rung(1, b"set")])
    began = server.clock.now_ms
    client.send_frames([every(1, FAR, 3, b"tick"), reset(4, 1, 20, 1)])
    client.expect_frame(reply(RESET, 4, OK))
    for index in range(3):
        expect_at(server, client, [rung_again(1, index, b"tick")], began, 20 * (index + 1))
    echo_text(client)


def _set_long_ago(server, client: Client) -> float:
    """Sets an alarm, and lets some time go by. Returns when it was set."""
    began = server.clock.now_ms
    client.send_frame(after(1, FAR, b"set"))
    echo_text(client)
    pass_until(server, began, LONG_AGO)
    return began


# 07.5 timers_timeout


@claim("07.5", cli=True, native=True)
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
    until_asleep(server)
    few_waits(server, when, "timer-timeout")


@claim("07.5", cli=True, hints=RINGS)
def test_07_an_hour_and_the_longest_time(launch):
    """An alarm rings after exactly an hour, though the time of day is set meanwhile, and after
    2,147,483,647 ms, which are 24.8 days."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    began = server.clock.now_ms
    client.send_frame(after(1, LONGEST, b"weeks"))
    if not server.clock.ours:
        expect_nothing_until(server, client, began, LONG_AGO)
        return
    expect_at(server, client, [rung(1, b"weeks")], began, LONGEST)
    began = server.clock.now_ms
    client.send_frames([after(1, HOUR, b"hour"), every(2, LONGEST, 2, b"weeks")])
    server.clock.settle()
    server.clock.jump(2 * HOUR)
    expect_at(server, client, [rung(1, b"hour")], began, HOUR)
    for index in range(2):
        ring = rung_again(2, index, b"weeks")
        expect_at(server, client, [ring], began, LONGEST * (index + 1))


@claim("07.5", cli=True, hints=RINGS)
def test_07_no_part_of_a_millisecond_early(launch):
    """Alarms are not early, and no later than a millisecond, when other messages end the waits."""
    server = launch(framing=MESSAGES, clock=True)
    client = server.connect()
    for passed in (0.25, 0.5, 0.999):
        server.clock.advance(passed)
        began = server.clock.now_ms
        client.send_frames([after(1, 15, b"once"), every(2, 10, 12, b"tick")])
        if not server.clock.ours:  # then an ECHO may come too late to be in front of a tick
            expect_in_any_order(
                client, [rung(1, b"once"), *(rung_again(2, n, b"tick") for n in range(12))]
            )
            continue
        for index in range(12):
            pass_until(server, began, 10 * index + 3.5)
            echo_text(client)  # and the server waits again, for a part of a millisecond, too
            expect_at(server, client, [rung_again(2, index, b"tick")], began, 10 * (index + 1))
            if index == 0:
                expect_at(server, client, [rung(1, b"once")], began, 15)


@claim("07.6", cli=True, hints=WEEKS)
def test_07_server_on_a_machine_that_runs_for_weeks(launch):
    """Alarms and time limits hold when the uptime passes 2^31 and 2^32 ms, 24.8 and 49.7 days."""
    with meaning(RINGS):  # without a wrap
        _rings_over_the_wrap(launch, 2 * MINUTE, 6 * MINUTE)
    for wrap in (2**31, 2**32):
        _rings_over_the_wrap(launch, wrap, DAY)


def _rings_over_the_wrap(launch, wrap: int, idle_ms: int) -> None:
    start = Start(uptime_ms=wrap - MINUTE)
    server = launch(("--idle-timeout", str(idle_ms)), framing=MESSAGES, clock=start)
    client = server.connect()
    began = server.clock.now_ms
    client.send_frames([after(1, 2 * MINUTE, b"over it"), every(2, TICK_MS, 3, b"tick")])
    echo_text(client)
    if not server.clock.ours:
        return
    ticks = [rung_again(2, index, b"tick") for index in range(3)]
    expect_at(server, client, ticks[:1], began, TICK_MS)
    expect_at(server, client, ticks[1:2], began, 2 * TICK_MS)
    expect_at(server, client, [rung(1, b"over it")], began, 2 * MINUTE)
    expect_at(server, client, ticks[2:], began, 3 * TICK_MS)
    expect_closed_at(server, client, began + 3 * TICK_MS, idle_ms)
