"""Which units of Redis' own test suite are run against the server of the lab, which are not, and
which of their tests are left out. Each with the reason. Units are those of Redis 7.0.
"""

from __future__ import annotations

UNITS = (
    *("unit/type/string", "unit/type/incr", "unit/type/list", "unit/type/list-2"),
    *("unit/type/list-3", "unit/keyspace", "unit/scan", "unit/expire", "unit/other", "unit/multi"),
    *("unit/quit", "unit/pubsub", "unit/protocol", "unit/introspection"),
)

# By the reason, in the words of a sentence "left out: ..."; a star stands for any ending.
NOT_RUN = {
    "types that are not here": (
        *("unit/type/set", "unit/type/zset", "unit/type/hash", "unit/type/stream*", "unit/sort"),
        *("unit/bitops", "unit/bitfield", "unit/geo", "unit/hyperloglog"),
    ),
    "files, replicas, clusters, and servers that the suite starts itself": (
        *("integration/*", "unit/cluster*", "unit/dump", "unit/aofrw", "unit/wait", "unit/tls"),
        *("unit/shutdown", "unit/oom-score-adj", "unit/printver", "unit/limits"),
    ),
    "users and passwords": ("unit/auth", "unit/acl*"),
    "scripts": ("unit/scripting", "unit/functions"),
    "memory and its limits, by CONFIG SET or DEBUG": (
        *("unit/maxmemory", "unit/memefficiency", "unit/lazyfree", "unit/obuf-limits"),
        *("unit/querybuf", "unit/pendingquerybuf", "unit/client-eviction", "unit/replybufsize"),
        "unit/violations",
    ),
    "statistics, and other commands that are not here": (
        *("unit/info", "unit/info-command", "unit/introspection-2", "unit/latency-monitor"),
        *("unit/slowlog", "unit/pause", "unit/tracking", "unit/networking", "unit/pubsubshard"),
    ),
}

# A test that fails is left out if a reply to it was one of these: the option --tags of the suite
# does not know which commands a server has.
MISSING = (
    "^-?ERR unknown (sub)?command",
    "^-?ERR .*CONFIG SET",
    "^-?NOPROTO",
)

# Marks of tests that need what is not here.
TAGS = "-needs:debug -needs:repl -needs:save -needs:reset -needs:config-maxmemory -needs:latency"

_FIELDS = "CLIENT LIST, CLIENT INFO and INFO have few fields"
_BUSY = "a script that runs for long, whose error the test does not read"

# By the name of the test.
TESTS = {
    "EXEC and script timeout": _BUSY,
    "just EXEC and script timeout": _BUSY,
    "Regression for pattern matching very long nested loops": (
        "Redis gives up a pattern of more than 1,000 stars; here it matches"
    ),
    "CLIENT LIST": _FIELDS,
    "CLIENT INFO": _FIELDS,
    "CLIENT LIST with IDs": "CLIENT LIST has no options",
    "CLIENT KILL SKIPME YES/NO will kill all clients": _FIELDS,
    "CONFIG GET hidden configs": "CONFIG knows five settings",
    "CONFIG GET multiple args": "CONFIG knows five settings",
}
