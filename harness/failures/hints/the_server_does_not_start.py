"""The hints of docs/reading-failures.md#the-server-does-not-start, by their keys."""

TEXTS = {
    "cannot-start": (
        "The program could not be executed. Is it there, may it be executed, and is it made for "
        "this machine?"
    ),
    "died-at-start": (
        "The server ended before it listened. Start it by hand with `make run`, and read what it "
        "prints."
    ),
    "not-listening": (
        "The server runs and does not listen. Call socket(), bind() and listen(), in this order. "
        "Print `listening on ADDR:PORT` only after them."
    ),
    "not-announced": (
        "Once the server listens, it prints `listening on ADDR:PORT` and a newline on stdout. "
        "Call fflush() after that: stdout is a pipe here, and holds the line back until then."
    ),
    "wrong-first-line": (
        "The first line on stdout has to be `listening on ADDR:PORT`. All other messages go to "
        "stderr."
    ),
    "wrong-address": (
        "bind() gives the socket the address and port of the command line; a socket that is never "
        "bound gets a port that the kernel picks. If the two bytes of the port are swapped, "
        "htons() was called twice, or never. A socket on 0.0.0.0 can be reached from every network."
    ),
    "port-still-in-use": (
        "Connections of a server that has ended stay in TIME_WAIT for a minute and hold its port. "
        "SO_REUSEADDR, set before bind(), lets the next server use it."
    ),
    "port-taken": (
        "If another server listens on the port, bind() fails: print the reason on stderr and exit "
        "with 1. With SO_REUSEPORT two servers share a port: do not set it."
    ),
    "backlog-too-short": (
        "Clients that are not accepted yet wait in the backlog, and its length is the second "
        "argument of listen(). When it is full, new clients are not connected. SOMAXCONN is the "
        "longest that the kernel allows."
    ),
    "bad-start": (
        "Wrong usage: print a usage line on stderr and exit with 2. Cannot listen: print the "
        "reason on stderr and exit with 1. Does the return value of every call that can fail "
        "reach the caller?"
    ),
    "shortened-name": (
        "getopt_long() takes the beginning of a name for the whole, and a later version may have a "
        "second option that begins so: then the same command means something else. Compare the "
        "argument with the name of the option that was found."
    ),
    "not-verbose": (
        "With -v the server logs each frame on stderr. Does it know the option, and is each line "
        "written at once? stderr has no buffer, unless you give it one."
    ),
    "stdout-is-taken": (
        "stdout has the line `listening on ADDR:PORT` and nothing more. The log goes to stderr: "
        "use fprintf(stderr, ...), not printf()."
    ),
}
