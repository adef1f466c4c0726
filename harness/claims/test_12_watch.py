"""Chapter 12: EXEC runs nothing if a watched key has changed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.claims.context.observe import eventually
from harness.claims.marker import claim
from harness.claims.scenarios.cost import EXACT, bounded
from harness.claims.scenarios.redis_talk import (
    BAD,
    Pair,
    ask,
    pipelined,
    talk,
    time_of_day_passes,
    until,
)
from harness.client import resp
from harness.client.resp import NO_ARRAY, OK, PONG, QUEUED, RESP, Err, Simple, arguments_of
from harness.feedback.failure import Failure
from harness.submission.sizes import MIB

RUN: tuple[Pair, ...] = (("MULTI", OK), ("PING", QUEUED))  # before EXEC

# Commands that change the key k or not, each after those before it.
CHANGES: tuple[tuple[Sequence[Pair], Pair], ...] = (
    ((), ("SET k v", OK)),
    ((), ("SETNX k v", 1)),
    ((), ("APPEND k text", 4)),
    ((("SET a v", OK),), ("RENAME a k", OK)),
    ((("SET k v", OK),), ("SET k v", OK)),
    ((("SET k v", OK),), ("SET k another", OK)),
    ((("SET k v EX 1000", OK),), (("SET", "k", "longer" * 20, "KEEPTTL"), OK)),
    ((("SET k v", OK),), ("GETDEL k", b"v")),
    ((("SET k v", OK),), ("APPEND k w", 2)),
    ((("SET k v", OK),), ("DEL a k b", 1)),
    ((("SET k v", OK),), ("RENAME k a", OK)),
    ((("SET k v", OK), ("SET a v", OK)), ("RENAME a k", OK)),
    ((("SET k v", OK),), ("EXPIRE k 1000", 1)),
    ((("SET k v EX 1000", OK),), ("PERSIST k", 1)),
    ((("SET k v", OK),), ("FLUSHDB", OK)),
    ((("RPUSH k a", 1),), ("RPUSH k b c", 3)),
    ((("RPUSH k a", 1),), ("LPOP k", b"a")),
    ((("RPUSH k a b", 2),), ("LPOP k 5", [b"a", b"b"])),
    ((("RPUSH k a b", 2),), ("LSET k 1 c", OK)),
    ((("RPUSH k a b c", 3),), ("LTRIM k 1 1", OK)),
)
CHANGES_NOTHING: tuple[tuple[Sequence[Pair], Pair], ...] = (
    ((), ("GET k", None)),
    ((), ("DEL k", 0)),
    ((), ("SET k v XX", None)),
    ((), ("EXPIRE k 10", 0)),
    ((("SET k v", OK),), ("GET k", b"v")),
    ((("SET k v", OK),), ("SET k w NX", None)),
    ((("SET k v", OK),), ("PERSIST k", 0)),
    ((("SET k v", OK),), ("RENAME k k", OK)),
    ((("SET k v", OK),), ("TYPE k", Simple("string"))),
    ((("SET k v", OK),), ("LPUSH k a", resp.WRONGTYPE)),
    ((("SET k v", OK),), ("INCR k", resp.NOT_AN_INTEGER)),
    ((("RPUSH k a", 1),), ("LPOP k 0", [])),
    ((("RPUSH k a", 1),), ("LRANGE k 0 -1", [b"a"])),
)

# What forgets all watches, whether a key has changed or not.
FORGET: tuple[Sequence[Pair], ...] = (
    (("UNWATCH", OK),),
    (("MULTI", OK), ("DISCARD", OK)),
    (("MULTI", OK), ("GET", arguments_of("get")), ("EXEC", resp.EXECABORT)),
    (("EXEC x", Err(f"EXECABORT Transaction discarded because of: {arguments_of('exec')[4:]}")),),
)

LIVE_MS = 1_000  # of a key that is watched

LEAVING, MANY = 20, 5_000  # clients, and keys that each of them watches
SAME = 200_000  # times, the same key
ROUNDS = 10  # in which MANY keys change that are watched
LEFT_BYTES = 4 * MIB  # of memory, after the end of all watches: what malloc keeps

# What a general hint means in a claim, see marker.claim.
WATCH = dict.fromkeys(BAD, "watch-keys")
CHANGED = dict.fromkeys(BAD, "watch-changes")
ENDS = dict.fromkeys(BAD, "watch-ends")
FORGOTTEN = dict.fromkeys((*BAD, "memory-grows", "over-limit"), "watch-forgotten")


def _expect_nil(client) -> None:
    talk(client, *RUN, ("EXEC", NO_ARRAY))


def _expect_run(client) -> None:
    talk(client, *RUN, ("EXEC", [PONG]))


# 12.7 watch


@claim("12.7", hints=WATCH)
def test_12_watched_keys(launch):
    """EXEC replies nil and runs nothing, if one of the keys has changed that its client watches."""
    server = launch(framing=RESP)
    client, second, other = (server.connect(name) for name in ("client", "second", "other"))
    talk(client, ("SET stock 10", OK), ("WATCH stock", OK), ("GET stock", b"10"), ("MULTI", OK))
    talk(second, ("WATCH none stock", OK), ("MULTI", OK), ("INCR n", QUEUED))
    talk(client, ("DECR stock", QUEUED), ("SET sold 1", QUEUED), ("EXEC", [9, OK]))
    talk(second, ("EXEC", NO_ARRAY), ("EXISTS n", 0), ("GET stock", b"9"))
    _expect_run(second)  # nothing is left of it
    for one in (client, second):
        talk(one, ("WATCH a b", OK), ("WATCH c", OK))
    ask(other, "SET d 1", OK)
    _expect_run(second)
    ask(other, "SET c 1", OK)  # only one client watches it now
    _expect_nil(client)
    for one in (client, second):
        ask(one, "WATCH c", OK)
    ask(other, "SET c 2", OK)
    for one in (client, second):
        _expect_nil(one)
    ask(client, "WATCH twice", OK)
    ask(other, "SET twice 1", OK)
    ask(second, "WATCH twice", OK)  # it has changed before, and changes again
    ask(other, "SET twice 2", OK)
    for one in (second, client):
        _expect_nil(one)
    talk(client, ("WATCH k", OK), ("SET k own", OK))  # a change of its own counts
    _expect_nil(client)
    talk(client, ("WATCH k", OK), ("MULTI", OK), ("SET k 1", QUEUED), ("SET k 2", QUEUED))
    talk(client, ("EXEC", [OK, OK]))  # changes in EXEC itself do not
    talk(client, ("WATCH k", OK), ("SELECT 1", OK), ("SET k other", OK))  # another key
    _expect_run(client)
    talk(client, ("WATCH k", OK), ("SELECT 0", OK))
    talk(other, ("SELECT 1", OK), ("SET k 3", OK), ("SELECT 0", OK))
    _expect_nil(client)
    ask(client, "WATCH k", OK)
    talk(client, ("MULTI", OK), ("WATCH k", Err("ERR WATCH inside MULTI is not allowed")))
    talk(client, ("PING", QUEUED), ("EXEC", [PONG]), ("WATCH", arguments_of("watch")))
    for number in range(200):
        ask(client, f"WATCH many{number} many{number}", OK)
    ask(other, "SET many77 v", OK)
    _expect_nil(client)


@claim("12.7", hints=CHANGED)
def test_12_what_changes_a_key(launch):
    """Each command that changes a key is noticed by the clients that watch it, and no other."""
    server = launch(framing=RESP)
    client, other = server.connect(), server.connect("other")
    for commands, expect in ((CHANGES, _expect_nil), (CHANGES_NOTHING, _expect_run)):
        for before, command in commands:
            talk(other, ("FLUSHALL", OK), *before)
            ask(client, "WATCH k", OK)
            ask(other, *command)
            expect(client)


@claim("12.7", hints=ENDS)
def test_12_watched_keys_end(launch):
    """A watched key whose time is over has changed, whether it is removed already or not."""
    server = launch(framing=RESP, clock=True)
    client, other = server.connect(), server.connect("other")
    watched: list[Pair] = [(f"SET k 9 PX {LIVE_MS}", OK), ("WATCH k", OK), ("EXISTS k", 1)]
    pipelined(client, watched)
    server.clock.advance(LIVE_MS + 2)
    until(server, other, "EXISTS k", 0, "expiry-idle")
    _expect_nil(client)
    pipelined(client, watched)
    time_of_day_passes(server, LIVE_MS + 2)
    _expect_nil(client)
    ask(client, f"SET k 9 PX {LIVE_MS}", OK)
    time_of_day_passes(server, LIVE_MS + 2)  # when it is watched, it has ended, and that is all
    pipelined(client, [("WATCH k", OK), ("EXISTS k", 0), *RUN, ("EXEC", [PONG])])


@claim("12.7", hints=dict.fromkeys(BAD, "watch-forgotten"))
def test_12_watches_are_forgotten(launch):
    """UNWATCH, DISCARD and EXEC forget the watched keys, and that one of them has changed."""
    server = launch(framing=RESP)
    client, other = server.connect(), server.connect("other")
    ask(client, "UNWATCH", OK)
    for commands in FORGET:
        for changed in (False, True):
            ask(client, "WATCH k a", OK)
            if changed:
                ask(other, "SET k 1", OK)
            talk(client, *commands)
            ask(other, "SET k 2", OK)
            _expect_run(client)
    talk(client, ("WATCH k", OK), ("MULTI", OK), ("EXEC", []))
    ask(other, "SET k 3", OK)
    _expect_run(client)
    ask(client, "WATCH k", OK)
    ask(other, "SET k 4", OK)
    _expect_nil(client)
    _expect_run(client)
    for error in ("EXEC", "DISCARD"):  # these forget nothing
        talk(client, ("WATCH k", OK), (error, Err(f"ERR {error} without MULTI")))
        ask(other, "SET k 3", OK)
        _expect_nil(client)
    talk(client, ("WATCH k", OK), ("MULTI", OK), ("UNWATCH", QUEUED), ("PING", QUEUED))
    ask(other, "SET k 4", OK)
    ask(client, "EXEC", NO_ARRAY)  # a queued UNWATCH comes too late
    talk(client, ("WATCH k", OK))
    ask(other, "SET k 5", OK)
    talk(client, ("WATCH a", OK))
    _expect_nil(client)


@claim("12.7", fatal="growth", cli=True, native=True, hints=FORGOTTEN)
def test_12_watches_leave_no_memory(launch, rng):
    """What a client watches is freed when it leaves, and a key that it watches again costs nothing
    more."""
    server = launch(framing=RESP, environment=EXACT)
    stays, names = server.connect("stays"), [rng.randbytes(200) for _ in range(MANY)]
    _changes_watched(stays, names)  # so that malloc has what it keeps of the largest commands
    ask(stays, "WATCH k", OK)
    base = server.process.resident_bytes()
    for number in range(LEAVING):
        client = server.connect("leaves")
        mine = [name + b"%d" % number for name in names]
        talk(
            client, (("WATCH", *mine), OK), (("WATCH", "k"), OK), (("MGET", *mine[:2]), [None] * 2)
        )
        (client.close, client.reset, client.half_close)[number % 3]()
        client.abandon()
    if not eventually(server, lambda: server.process.descriptors().sockets <= 2):
        text = f"{LEAVING} clients have left, and sockets of them are still open"
        raise Failure(text, hint="watch-forgotten")
    what = f"after {LEAVING} clients have left that have watched {MANY:,} keys each"
    bounded(server, base, LEFT_BYTES, what, "before")
    ask(stays, ("WATCH", *["same"] * SAME), OK)
    pipelined(stays, [("WATCH same", OK)] * 1_000)
    what = f"after a client has watched the same key {SAME:,} times"
    bounded(server, base, LEFT_BYTES, what, "before")
    for number in range(ROUNDS):
        _changes_watched(stays, [name + b":%d" % number for name in names])
    what = f"after {ROUNDS * MANY:,} watched keys have changed"
    bounded(server, base, LEFT_BYTES, what, "before")
    talk(stays, ("WATCH k", OK), ("SET k v", OK))
    _expect_nil(stays)


def _changes_watched(client, names: Sequence[bytes]) -> None:
    """Watches these keys, sets and removes all of them, and forgets the watches."""
    set_all = ("MSET", *(word for name in names for word in (name, b"v")))
    talk(client, (("WATCH", *names), OK), (set_all, OK), (("DEL", *names), len(names)))
    ask(client, "UNWATCH", OK)
