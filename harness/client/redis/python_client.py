"""A client made of redis-py: python_client.py HOST PORT. It prints steps and mistakes."""

from __future__ import annotations

import sys

WAIT_SECONDS = 60  # for a message; the grader ends us earlier


class Wrong(Exception):
    """A reply is not what is due."""


def check(step: str, came: object, due: object) -> None:
    print(f"step {step}", flush=True)
    if came != due:
        raise Wrong(f"{step} gave {came!r:.200}; due is {due!r:.200}")


def refused(step: str, call, kind: type[Exception]) -> None:
    print(f"step {step}", flush=True)
    try:
        came = call()
    except kind:
        return
    raise Wrong(f"{step} gave {came!r:.200}; due is {kind.__name__}")


def commands(redis, db) -> None:
    check("ping()", db.ping(), True)
    check("set('k', 'v', px=100000)", db.set("k", "v", px=100000), True)
    check("set('k', 'w', nx=True)", db.set("k", "w", nx=True), None)
    check("get('k')", db.get("k"), b"v")
    check("0 < pttl('k') <= 100000", 0 < db.pttl("k") <= 100000, True)
    check("expire('k', 100)", db.expire("k", 100), True)
    check("mget('k', 'none')", db.mget("k", "none"), [b"v", None])
    check("incrby('n', 5)", db.incrby("n", 5), 5)
    check("rpush('l', 'a', 'b', 'c')", db.rpush("l", "a", "b", "c"), 3)
    check("lrange('l', 0, -1)", db.lrange("l", 0, -1), [b"a", b"b", b"c"])
    check("lpop('l', 2)", db.lpop("l", 2), [b"a", b"b"])
    check("type('l')", db.type("l"), b"list")
    check("config_get('databases')", db.config_get("databases"), {"databases": "16"})
    check("info()['redis_version'][0]", db.info()["redis_version"][0], "7")
    check("client_setname('me')", db.client_setname("me"), True)
    check("client_getname()", db.client_getname(), "me")
    refused("lpush('k', 'x')", lambda: db.lpush("k", "x"), redis.ResponseError)
    refused("NOSUCH", lambda: db.execute_command("NOSUCH"), redis.ResponseError)
    large = bytes(range(256)) * 4096
    check("set('large', 1 MiB)", db.set("large", large), True)
    check("get('large')", db.get("large") == large, True)
    many = {f"many:{number}": number for number in range(300)}
    check("mset(300 keys)", db.mset(many), True)
    found = sorted(db.scan_iter("many:*", count=50))
    check("scan_iter('many:*')", sorted(set(found)), sorted(key.encode() for key in many))
    check("delete(300 keys)", db.delete(*many), 300)


def pipelines(redis, db) -> None:
    pipe = db.pipeline(transaction=False)
    for number in range(1000):
        pipe.set(f"p:{number}", number).get(f"p:{number}")
    due = [one for number in range(1000) for one in (True, b"%d" % number)]
    check("a pipeline of 2,000 commands", pipe.execute(), due)
    pipe = db.pipeline(transaction=True)
    pipe.set("t", 1).incr("t").rpush("tl", "a").lrange("tl", 0, -1).get("none")
    check("a transaction", pipe.execute(), [True, 2, 1, [b"a"], None])
    pipe.set("t", "text").incr("t").get("t")
    came = pipe.execute(raise_on_error=False)
    due = (True, True, b"text")
    check("one with an error", (came[0], isinstance(came[1], redis.ResponseError), came[2]), due)
    pipe.set("t", "never").execute_command("NOSUCH")
    refused("one that is aborted", pipe.execute, redis.ResponseError)
    check("get('t')", db.get("t"), b"text")


def messages(db) -> None:
    pubsub = db.pubsub()
    pubsub.subscribe("a", "b")
    for count, channel in enumerate((b"a", b"b"), 1):
        due = {"type": "subscribe", "pattern": None, "channel": channel, "data": count}
        check(f"subscribe({channel!r})", pubsub.get_message(timeout=WAIT_SECONDS), due)
    for number in range(100):
        check(f"publish('b', '{number}')", db.publish("b", number), 1)
    for number in range(100):
        due = {"type": "message", "pattern": None, "channel": b"b", "data": b"%d" % number}
        check(f"message {number}", pubsub.get_message(timeout=WAIT_SECONDS), due)
    pubsub.ping("hello")
    due = {"type": "pong", "pattern": None, "channel": None, "data": b"hello"}
    check("ping('hello') of a subscriber", pubsub.get_message(timeout=WAIT_SECONDS), due)
    pubsub.unsubscribe()
    left = {pubsub.get_message(timeout=WAIT_SECONDS)["channel"] for _ in range(2)}
    check("unsubscribe()", left, {b"a", b"b"})
    check("publish('a', 'x')", db.publish("a", "x"), 0)
    pubsub.close()


def patterns(db) -> None:
    pubsub = db.pubsub()
    pubsub.psubscribe("room.*")
    due = {"type": "psubscribe", "pattern": None, "channel": b"room.*", "data": 1}
    check("psubscribe('room.*')", pubsub.get_message(timeout=WAIT_SECONDS), due)
    check("publish('room.of.a', 'x')", db.publish("room.of.a", "x"), 1)
    check("publish('other', 'x')", db.publish("other", "x"), 0)
    due = {"type": "pmessage", "pattern": b"room.*", "channel": b"room.of.a", "data": b"x"}
    check("the message for the pattern", pubsub.get_message(timeout=WAIT_SECONDS), due)
    pubsub.close()


def watches(redis, db) -> None:
    check("set('stock', 10)", db.set("stock", 10), True)
    pipe = db.pipeline()
    pipe.watch("stock")
    check("watch('stock') and get('stock')", pipe.get("stock"), b"10")
    pipe.multi()
    pipe.decr("stock").get("stock")
    check("execute()", pipe.execute(), [9, b"9"])
    pipe.watch("stock", "other")
    check("get('stock') of a new watch()", pipe.get("stock"), b"9")
    check("decr('stock') of another client", db.decr("stock"), 8)
    pipe.multi()
    pipe.set("stock", 100)
    refused("execute() after that", pipe.execute, redis.WatchError)
    check("get('stock') then", db.get("stock"), b"8")
    pipe.watch("stock")
    check("incr('stock') after watch()", db.incr("stock"), 9)
    pipe.unwatch()
    pipe.multi()
    pipe.get("stock")
    check("execute() after unwatch()", pipe.execute(), [b"9"])
    tries = []

    def take(pipe) -> None:
        left = int(pipe.get("stock"))
        if len(tries) < 3:
            tries.append(db.decr("stock"))  # another client is faster
        pipe.multi()
        pipe.set("stock", left - 1)

    check("transaction(take, 'stock'), 3 times too late", db.transaction(take, "stock"), [True])
    check("its tries", tries, [8, 7, 6])
    check("get('stock') at the end", db.get("stock"), b"5")


def main() -> int:
    import redis  # only here: the lab does without

    host, port = sys.argv[1:]
    db = redis.Redis(host=host, port=int(port), socket_timeout=WAIT_SECONDS)
    try:
        commands(redis, db)
        pipelines(redis, db)
        messages(db)
        patterns(db)
        watches(redis, db)
    except Wrong as error:
        print(f"wrong {error}")
    except redis.RedisError as error:
        print(f"wrong the next step raised {type(error).__name__}: {error!s:.200}")
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        said = f"{type(error).__name__}: {error!s:.150}"
        print(f"wrong redis-py does not understand a reply ({said})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
