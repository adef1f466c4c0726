"""Chapter 12: keys that live for some time. Where the server's clock is the claim's, to the
millisecond; otherwise as exactly as the clock of a busy machine allows."""

from __future__ import annotations

from harness.claims.context.observe import until_asleep, waits_in_silence
from harness.claims.marker import claim
from harness.claims.scenarios.cost import EXACT, IDLE_WAITS, WATCHED, bounded, launch_idle, no_cpu
from harness.claims.scenarios.redis_talk import BAD, ask, pipelined, talk, time_of_day_passes, until
from harness.client import resp
from harness.client.resp import NO_KEY, OK, RESP, Simple, reply
from harness.feedback.failure import Failure
from harness.submission.sizes import KIB, MIB

FAR = 1_000  # seconds: no test takes as long
QUIET, QUIET_WAITS = 500, 20  # seconds of our clock, and how often a server may wait in them
LONELY_DAYS = (24.9, 30, 49.8)  # to live: a little more than 2^31 ms, and than 2^32 ms
LIVE_MS = 1_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000

EXPIRING, EXPIRING_BYTES = 80, 256 * KIB
KEPT_BYTES = 4 * MIB  # after their end
REPLACED = 80_000  # times, one key with a time to live
FLUSHED = 4_000  # keys, each of which would end soon
REPLACED_BYTES = 4 * MIB  # lent buffers, and what malloc keeps

# Which commands give a key a time to live, and which take it away.
EXPIRY = (
    ("TTL none", -2),
    ("SET k v", OK),
    ("TTL k", -1),
    ("EXPIRE none 100", 0),
    ("EXPIRE k 1000", 1),
    ("PERSIST k", 1),
    ("TTL k", -1),
    ("SET k v EX 1000", OK),
    ("EXPIRE k 10 NX", 0),
    ("EXPIRE k 10 GT", 0),
    ("EXPIRE k 2000 LT", 0),
    ("GETSET k w", b"v"),
    ("TTL k", -1),
    ("PEXPIRE k 10 XX", 0),
    ("SETEX k 1000 v", OK),
    ("PEXPIREAT k 1", 1),
    ("EXISTS k", 0),
    ("SET k v", OK),
    ("EXPIRE k -1", 1),
    ("GET k", None),
)

# What commands say of a key whose time is over, and that nobody has removed.
OVER = (
    ("GET {}", None),
    ("EXISTS {}", 0),
    ("TYPE {}", Simple("none")),
    ("TTL {}", -2),
    ("STRLEN {}", 0),
    ("INCR {}", 1),
    ("APPEND {} ab", 2),
    ("SET {} new XX", None),
    ("SET {} new NX", OK),
    ("GETSET {} new", None),
    ("GETDEL {}", None),
    ("LPUSH {} a", 1),
    ("LRANGE {} 0 -1", []),
    ("RENAME {} other", NO_KEY),
    ("PERSIST {}", 0),
    ("EXPIRE {} 10", 0),
    ("DEL {}", 0),
    ("MGET {} {}", [None, None]),
    ("KEYS {}", []),
)

# Times to live, {} of LIVE_MS, that are taken back at once: by a value, by a name, by a time.
TAKEN_BACK = (
    ("SET set v PX {}", OK),
    ("SET set new", OK),
    ("SET deleted v PX {}", OK),
    ("DEL deleted", 1),
    ("SET deleted new", OK),
    ("SET moved v PX {}", OK),
    ("RENAME moved to", OK),
    ("SET moved new", OK),
    ("SET kept v PX {}", OK),
    ("PERSIST kept", 1),
    ("SET later v PX {}", OK),
    ("EXPIRE later 1000", 1),
    ("SET over v PX {}", OK),
    ("SET from new", OK),
    ("RENAME from over", OK),
    ("SELECT 1", OK),
    ("SET set v PX {}", OK),
    ("FLUSHDB", OK),
    ("SELECT 2", OK),
    ("SET kept v PX {}", OK),
    ("SELECT 0", OK),
    (f"SET marker v PX {2 * LIVE_MS}", OK),  # the last of all
)


# 12.4 expiry


@claim("12.4", hints=dict.fromkeys(BAD, "expiry-commands"))
def test_12_times_to_live(launch):
    """SET, EXPIRE and PERSIST give a key a time to live, or take it away."""
    talk(launch(framing=RESP).connect(), *EXPIRY)


@claim("12.4", hints=dict.fromkeys(BAD, "expiry-clock"))
def test_12_the_time_of_day_is_set(launch):
    """Times to live go by the time of day: when that is set back an hour, keys live an hour longer;
    when it is set forward, they are gone at once."""
    server = launch(framing=RESP, clock=True)
    client = server.connect()
    talk(client, (f"SET soon v PX {LIVE_MS}", OK), (f"SET late v PX {2 * HOUR_MS}", OK))
    if not server.clock.ours:
        server.clock.advance(LIVE_MS + 1)
        talk(client, ("GET soon", None), ("GET late", b"v"))
        return
    server.clock.jump(-HOUR_MS)
    ask(client, "PTTL soon", HOUR_MS + LIVE_MS)
    server.clock.advance(2 * LIVE_MS)  # any timer that was set for the end has rung
    ask(client, "GET soon", b"v")
    server.clock.advance(HOUR_MS - LIVE_MS + 10 * LIVE_MS)
    ask(client, "DBSIZE", 1)
    ask(client, "PTTL late", 2 * HOUR_MS - 11 * LIVE_MS)
    server.clock.jump(2 * HOUR_MS)
    talk(client, ("GET late", None), ("EXISTS late", 0))


@claim("12.4", hints=dict.fromkeys(BAD, "expiry-far"))
def test_12_a_key_lives_for_sixty_days(launch):
    """A time to live may be longer than any timer waits: 2^31 ms are not 25 days."""
    server = launch(framing=RESP, clock=True)
    client = server.connect()
    talk(client, (f"SET k v PX {60 * DAY_MS}", OK), (f"SET year v PX {365 * DAY_MS}", OK))
    if not server.clock.ours:
        ask(client, "GET k", b"v")
        return
    for days in (20, 39):
        server.clock.advance(days * DAY_MS)
        talk(client, ("GET k", b"v"), ("GET year", b"v"))
    ask(client, "PTTL k", DAY_MS)
    server.clock.advance(DAY_MS + 10 * LIVE_MS)
    talk(client, ("DBSIZE", 1), ("GET k", None))


@claim("12.4", hints=dict.fromkeys(BAD, "expiry-on-access"))
def test_12_expired_keys_are_gone(launch):
    """From the moment a key has expired no command finds it, though no timer has been called."""
    server = launch(framing=RESP, clock=True)
    client = server.connect()
    pipelined(client, [(f"SET over:{number} 9 PX {LIVE_MS}", OK) for number in range(len(OVER))])
    time_of_day_passes(server, LIVE_MS + 2)
    keys = [f"over:{number}" for number in range(len(OVER))]
    pipelined(client, [(text.format(key, key), value) for key, (text, value) in zip(keys, OVER)])


@claim("12.4", native=True, hints=dict.fromkeys((*BAD, "memory-grows"), "expiry-idle"))
def test_12_keys_expire_by_themselves(launch, rng):
    """Keys that nobody asks for expire, too: while no command comes their memory is given back."""
    server = launch(framing=RESP, environment=EXACT, clock=True)
    client = server.connect()
    ask(client, "SET kept v", OK)
    base = server.process.resident_bytes()
    value = rng.randbytes(EXPIRING_BYTES)
    pipelined(client, [(f"SET k{n} x PX {40 + n}", OK) for n in range(EXPIRING)])
    large = [(("SET", f"large{n}", value, "PX", 40 + n), OK) for n in range(EXPIRING)]
    pipelined(client, large)
    server.clock.advance(40 + EXPIRING + 1)
    if server.own:
        what = f"when {EXPIRING} keys with {EXPIRING_BYTES // KIB} KiB each should have expired"
        bounded(server, base, KEPT_BYTES, what)
    until(server, client, "DBSIZE", 1, "expiry-idle")
    ask(client, "GET kept", b"v")


@claim("12.4", native=True, hints=dict.fromkeys((*BAD, "memory-grows"), "expiry-stale"))
def test_12_times_that_were_taken_back(launch):
    """A time to live that was replaced, or whose key is gone, has no effect and costs nothing."""
    server = launch(framing=RESP, clock=True)
    client = server.connect()
    ask(client, f"SET k v EX {FAR}", OK)
    data = resp.command("SET", "k", "v", "EX", FAR) * 1_000
    client.exchange(data, [reply(OK) * 1_000])
    base = server.process.resident_bytes()
    for _ in range(REPLACED // 1_000):
        client.exchange(data, [reply(OK) * 1_000])
    bounded(server, base, REPLACED_BYTES, f"after {REPLACED:,} times to live of the same key")
    pipelined(client, [(command.format(LIVE_MS), value) for command, value in TAKEN_BACK])
    server.clock.advance(2 * LIVE_MS + 2)
    until(server, client, "EXISTS marker", 0, "expiry-idle")
    values = [b"new", b"new", b"new", b"v", b"v", b"new"]
    ask(client, "MGET set deleted moved kept later over", values)
    until(server, client, "EXISTS to", 0, "expiry-stale")
    talk(client, ("SELECT 1", OK), ("DBSIZE", 0), ("SELECT 2", OK))
    until(server, client, "EXISTS kept", 0, "expiry-stale")
    client = launch(framing=RESP).connect()  # where time goes on while keys wait to be freed
    names = [f"k{number}" for number in range(FLUSHED)]
    pairs = [(f"SET {name} v PX {1 + number % 30}", OK) for number, name in enumerate(names)]
    pipelined(client, [*pairs, ("FLUSHALL", OK), *[(f"SET {name} new", OK) for name in names]])
    ask(client, ("EXISTS", *names), FLUSHED)


@claim("12.4", native=True, sees_calls=True)
def test_12_times_to_live_cost_no_cpu(launch):
    """While keys wait for the end of their time the server sleeps."""
    by_machine = launch(framing=RESP)  # a time to live is also over without a clock of ours
    client = by_machine.connect()
    ask(client, "SET soon v PX 1", OK)
    until(by_machine, client, "GET soon", None, "expiry-idle")
    server = launch_idle(launch, framing=RESP)
    client = server.connect()
    pipelined(client, [(f"SET k{n} v EX {FAR + n}", OK) for n in range(1_000)])
    pipelined(client, [(f"SET far{days} v EX {86_400 * days}", OK) for days in (30, 60, 20_000)])
    _expect_sleep(server, "", "expiry-polls")
    no_cpu(server, "while 1,000 keys wait for their end", "expiry-polls", seconds=WATCHED)
    for days in LONELY_DAYS:
        talk(client, ("FLUSHALL", OK), (f"SET k v PX {round(days * DAY_MS)}", OK))
        _expect_sleep(server, f", with one key that lives for {days:g} days,", "expiry-far")
        no_cpu(server, f"while a key lives for {days:g} days", "expiry-far", seconds=WATCHED)


def _expect_sleep(server, what: str, hint: str) -> None:
    """Checks that the server seldom waits: before each wait it has looked at something."""
    until_asleep(server)
    seconds, most = (QUIET, QUIET_WAITS) if server.clock.ours else (WATCHED, IDLE_WAITS)
    waits = waits_in_silence(server, seconds, most)
    if waits is not None and waits > most:  # Redis looks ten times a second
        text = f"in {seconds:g} s in which no key expires{what} the server waits more than {most} "
        raise Failure(f"{text}times", hint=hint)
