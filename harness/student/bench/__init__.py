"""How fast the servers are, beside servers of the same protocol on known libraries.

    load.c               the load generator: one thread, epoll; says what it saw as JSON
    peers/               echo servers on libuv, libevent and libev, and the limit: no parsing at all
    subjects.py          what is asked, and who: built, with its command
    redis_benchmark.py   the same for chapter 12, whose clients are those of redis-benchmark
    measure.py           one server, one row, once; then all of them, in turn and again
    table.py             what is printed; plot.py draws it
    command.py           make bench
"""
