"""Random commands whose replies do not depend on chance or on time, one reply each. No I/O.

So there is no TTL of a key that lives for some time, no order of keys, and no CLIENT ID. There is
no TIME and no CLIENT INFO, but for their mistakes. A time to
live is long, or over at once. A few keys are used again and again, so that commands meet keys of
each type, and mistakes are part of the game.
"""

from __future__ import annotations

import random
from collections.abc import Callable

Command = list[bytes]

NAMES = ("a", "b", "c", "d", "e", "f", "list", "l2", "n", "m")
NUMBERS = (
    *("0", "1", "-1", "2", "3", "-3", "10", "100", "07", "+1", " 1", "1.5", "", "x", "-0"),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "4294967296"),
)
INDEXES = ("0", "1", "2", "-1", "-2", "5", "-100", "100", "x")
TEXTS = ("", "x", "hello", "a b", "12", "-7", "9223372036854775807", "\r\n", "\0", "é", "*", "$5")
PATTERNS = ("nothing*", "zz?", "[0-9]", "q[^a]", "\\*", "")
TOO_FEW = (
    *("GET", "SET", "MSET", "DEL", "LPUSH", "LRANGE", "ECHO", "EXPIRE", "SETNX", "SETEX", "PSETEX"),
    *("UNLINK", "LINDEX", "LSET", "LTRIM", "GETRANGE", "RENAMENX", "PEXPIREAT", "WATCH"),
    *("PSUBSCRIBE", "CLIENT"),
)
TOO_MANY = (
    *("GET", "STRLEN", "TTL", "INCR", "LLEN", "DBSIZE", "RENAME", "SETNX", "SETEX", "PSETEX"),
    *("LINDEX", "LSET", "LTRIM", "GETRANGE", "RENAMENX", "TIME", "CLIENT INFO", "UNWATCH"),
)


def _key(rng: random.Random) -> str:
    return rng.choice(NAMES)


def _number(rng: random.Random) -> str:
    return rng.choice(NUMBERS) if rng.random() < 0.4 else str(rng.randint(-50, 50))


def _text(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return str(rng.randint(-1000, 1000))
    return rng.choice(TEXTS) if rng.random() < 0.7 else "v" * rng.choice((40, 63, 200, 5000))


def _set(rng: random.Random) -> list[str]:
    words = ["SET", _key(rng), _text(rng)]
    for option in ("NX", "XX", "GET", "KEEPTTL"):
        if rng.random() < 0.15:
            words.append(option if rng.random() < 0.7 else option.lower())
    if rng.random() < 0.3:
        unit = rng.choice(("EX", "PX", "EXAT", "PXAT"))
        value = {"EX": "100000", "PX": "100000000", "EXAT": "4102444800", "PXAT": "4102444800000"}
        words += [unit, value[unit] if rng.random() < 0.7 else _number_of_time(rng)]
    options = words[3:]
    if rng.random() < 0.2:  # most are wrong then: a time has to follow its unit
        rng.shuffle(options)
    return [*words[:3], *options]


def _set_in_short(rng: random.Random) -> list[str]:
    """What SET does with one option, as a command of its own."""
    name = rng.choice(("SETNX", "SETEX", "PSETEX", "psetex"))
    if name == "SETNX":
        return [name, _key(rng), _text(rng)]
    seconds = "100000000" if rng.random() < 0.7 else _number_of_time(rng)
    return [name, _key(rng), seconds, _text(rng)]


def _number_of_time(rng: random.Random) -> str:
    """A time to live that is refused, or far in the future, also as a date in milliseconds. No
    short one: a key that SET stores with a time that is over counts in DBSIZE until Redis
    notices."""
    return rng.choice(("0", "-1", "x", "", "1.5", "9223372036854775807", "10000000000000"))


def _expire(rng: random.Random) -> list[str]:
    name = rng.choice(("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "expire"))
    value = {
        "EXPIRE": "100000",
        "PEXPIRE": "100000000",
        "EXPIREAT": "4102444800",
        "PEXPIREAT": "4102444800000",
    }[name.upper()]
    if rng.random() < 0.3:
        value = rng.choice(("0", "-1", "x", "9223372036854775807", "-9223372036854775808"))
    options = []
    while rng.random() < 0.25:
        options.append(rng.choice(("NX", "XX", "GT", "LT", "lt", "FOO")))
    if {"GT", "LT", "lt"} & {*options}:  # times from now would differ by how long ago each was set
        name, value = "EXPIREAT", rng.choice(("4102444800", "4102444801", "0", "x"))
        if rng.random() < 0.5:
            name, value = "PEXPIREAT", rng.choice((f"{value}000", f"{value}001"))
    return [name, _key(rng), value, *options]


def _keys(rng: random.Random, most: int = 3) -> list[str]:
    return [_key(rng) for _ in range(rng.randint(1, most))]


def _pairs(rng: random.Random) -> list[str]:
    return [word for _ in range(rng.randint(1, 3)) for word in (_key(rng), _text(rng))]


def _push(rng: random.Random) -> list[str]:
    name = rng.choice(("LPUSH", "RPUSH"))
    return [name, _list(rng), *(_text(rng) for _ in range(rng.randint(1, 4)))]


def _pop(rng: random.Random) -> list[str]:
    words = [rng.choice(("LPOP", "RPOP")), _list(rng)]
    if rng.random() < 0.4:
        words.append(rng.choice(("0", "1", "2", "5", "-1", "x", "9223372036854775807")))
    return words


def _list(rng: random.Random) -> str:
    """A key that has a list more often than others."""
    return rng.choice(("list", "l2", _key(rng)))


def _wrong(rng: random.Random) -> list[str]:
    """A faulty command: too few or too many arguments, an unknown command or an unknown option."""
    kind = rng.randrange(4)
    if kind == 0:
        return [rng.choice(TOO_FEW)]
    if kind == 1:
        return [*rng.choice(TOO_MANY).split(), *"abcd"]
    if kind == 2:
        return [rng.choice(("NOSUCH", "G ET", "GETT", "", "get\r\n")), *_keys(rng)]
    return ["SET", _key(rng), _text(rng), rng.choice(("FOO", "EX", "PX", "NX XX", ""))]


# Each kind, and how often it comes.
KINDS: tuple[tuple[int, Callable[[random.Random], list[str]]], ...] = (
    (8, _set),
    (8, lambda rng: ["GET", _key(rng)]),
    (4, _set_in_short),
    (4, lambda rng: ["GETRANGE", _key(rng), *rng.choices(INDEXES, k=2)]),
    (2, lambda rng: ["GETSET", _key(rng), _text(rng)]),
    (2, lambda rng: ["GETDEL", _key(rng)]),
    (2, lambda rng: ["MSET", *_pairs(rng)]),
    (3, lambda rng: ["MGET", *_keys(rng, 5)]),
    (3, lambda rng: [rng.choice(("INCR", "DECR", "incr")), _key(rng)]),
    (3, lambda rng: [rng.choice(("INCRBY", "DECRBY")), _key(rng), _number(rng)]),
    (3, lambda rng: ["APPEND", _key(rng), _text(rng)]),
    (3, lambda rng: ["STRLEN", _key(rng)]),
    (3, lambda rng: [rng.choice(("DEL", "DEL", "UNLINK")), *_keys(rng)]),
    (3, lambda rng: ["EXISTS", *_keys(rng)]),
    (3, lambda rng: ["TYPE", _key(rng)]),
    (3, lambda rng: [rng.choice(("RENAME", "RENAMENX")), _key(rng), _key(rng)]),
    (4, _expire),
    (2, lambda rng: ["PERSIST", _key(rng)]),
    (8, _push),
    (6, _pop),
    (6, lambda rng: ["LRANGE", _list(rng), *rng.choices(INDEXES, k=2)]),
    (3, lambda rng: ["LINDEX", _list(rng), rng.choice(INDEXES)]),
    (3, lambda rng: ["LSET", _list(rng), rng.choice(INDEXES), _text(rng)]),
    (2, lambda rng: ["LTRIM", _list(rng), *rng.choices(INDEXES, k=2)]),
    (3, lambda rng: ["LLEN", _key(rng)]),
    (2, lambda rng: ["PING", *([_text(rng)] if rng.random() < 0.5 else [])]),
    (1, lambda rng: ["ECHO", _text(rng)]),
    (2, lambda rng: ["SELECT", rng.choice(("0", "0", "1", "15", "16", "-1", "x"))]),
    (1, lambda rng: ["DBSIZE"]),
    (1, lambda rng: [rng.choice(("FLUSHDB", "FLUSHALL")) if rng.random() < 0.3 else "DBSIZE"]),
    (1, lambda rng: ["KEYS", rng.choice(PATTERNS)]),
    (1, lambda rng: ["SCAN", rng.choice(("x", "1.5", "- 1"))]),
    (1, lambda rng: ["PUBLISH", _key(rng), _text(rng)]),
    (5, _wrong),
)
MULTI_PART = 0.05  # of all places a MULTI begins, or a WATCH before it
SUBSCRIBED_PART = 0.01  # at so many places the client has subscriptions for a while
MULTI_ENDS = ("EXEC", "EXEC", "EXEC", "DISCARD")
ALONE = ("EXEC", "DISCARD", "UNWATCH", "WATCH a")  # without a MULTI


def one(rng: random.Random) -> Command:
    """A command."""
    weights = [weight for weight, _ in KINDS]
    kind = rng.choices([kind for _, kind in KINDS], weights)[0]
    return [word.encode() for word in kind(rng)]


def _watched(rng: random.Random) -> list[Command]:
    """What may be before a MULTI: keys are watched, and perhaps changed."""
    keys = [key.encode() for key in _keys(rng, 2)]
    found = [[b"WATCH", *keys]]
    for _ in range(rng.randrange(4)):
        words = one(rng)
        if rng.random() < 0.5 and words[0] != b"CLIENT":
            words[1:2] = [rng.choice(keys)]
        found.append(words)
    if rng.random() < 0.1:
        found.append([b"UNWATCH"])
    return found


def _transaction(rng: random.Random) -> list[Command]:
    found = _watched(rng) if rng.random() < 0.6 else []
    found.append([b"MULTI"])
    found += [one(rng) for _ in range(rng.randrange(6))]
    if rng.random() < 0.1:
        found.append(rng.choice(([b"MULTI"], [b"WATCH", b"a"], [b"UNWATCH"])))
    found.append([rng.choice(MULTI_ENDS).encode()])
    return found


def _subscribed(rng: random.Random) -> list[Command]:
    """What a client does with subscriptions, until it has none. It gets no message: while it has
    them, it may not publish."""
    subscribed = [rng.choice((b"SUBSCRIBE", b"PSUBSCRIBE")) for _ in range(rng.randint(1, 3))]
    pairs = [(name, rng.choice((b"a", b"b*", b"\r\n"))) for name in subscribed]
    ends = [(name.replace(b"SUB", b"UNSUB"), argument) for name, argument in pairs]
    rng.shuffle(ends)
    between = [one(rng) for _ in range(rng.randrange(4))]
    return [*map(list, pairs), *between, *map(list, ends)]


def sequence(rng: random.Random, length: int) -> list[Command]:
    """About `length` random commands. They begin with an empty database 0, and end outside of a
    MULTI."""
    found: list[Command] = []
    while len(found) < length:
        if rng.random() < MULTI_PART:
            found += _transaction(rng)
        elif rng.random() < SUBSCRIBED_PART:
            found += _subscribed(rng)
        elif rng.random() < 0.01:
            found.append(rng.choice(ALONE).encode().split())
        else:
            found.append(one(rng))
    return found
