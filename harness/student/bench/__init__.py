"""How fast the servers are, beside servers of the same protocol on known libraries.

    load/            the load generator, in C: one thread, epoll; says what it saw as JSON
    peers/           echo servers on libuv, libevent and libev, and the limit: no parsing at all
    rows.py          what is asked of a server
    subjects.py      who is asked: built, with its command
    measure.py       one server, one row, once
    alone.py         the same as a command, for a server that must run in isolation
    rounds.py        all of it, in turn and again
    table.py         what is printed
    curves.py        cost against a number that grows; plot.py draws it
    command.py       make bench
"""
