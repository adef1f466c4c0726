"""The hints of docs/reading-failures.md#the-server-does-not-start, by their keys."""

TEXTS = {
    "cannot-start": (
        "The program could not be executed. Is it there, may it be executed, and is it made for "
        "this machine?"
    ),
    "died-at-start": (
        "The server ended before it listened. Start it by hand (`make run`) and read what it "
        "says."
    ),
    "not-listening": (
        "The server runs and does not listen. socket(), bind(), listen(), in this order; and the "
        "line `listening on ADDR:PORT` only after them."
    ),
    "not-announced": (
        "Once the server listens, it prints `listening on ADDR:PORT` and a newline on stdout, and "
        "flushes it: stdout is a pipe here, and keeps a line back until fflush()."
    ),
    "wrong-first-line": (
        "The first line on stdout has to be `listening on ADDR:PORT`. Everything else that is to "
        "be told goes to stderr."
    ),
    "wrong-address": (
        "The address and port come from the command line, and bind() gives them to the socket. A "
        "socket that is never bound gets a port that the kernel picks; one that is bound to "
        "0.0.0.0 can be reached from everywhere."
    ),
    "port-still-in-use": (
        "Connections of a server that has ended stay in TIME_WAIT for a minute and hold its port. "
        "SO_REUSEADDR, set before bind(), lets the next server have it."
    ),
    "backlog-too-short": (
        "Clients that nobody has accepted yet wait in the backlog, and its length is the second "
        "argument of listen(). When it is full, new ones are not connected: SOMAXCONN is as long "
        "as the kernel allows."
    ),
    "bad-start": (
        "Wrong usage: a usage line on stderr and status 2. Cannot listen: the reason on stderr "
        "and status 1. Does the return value of every call that can fail reach the caller?"
    ),
    "not-verbose": (
        "With -v the server says something of each frame on stderr. Does it know the option, and "
        "is what it says written at once? stderr has no buffer, unless you give it one."
    ),
    "stdout-is-taken": (
        "stdout has the line `listening on ADDR:PORT` and nothing more. The log goes to stderr: "
        "fprintf(stderr, ...), not printf()."
    ),
}
