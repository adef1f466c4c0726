"""The hints of docs/reading-failures.md#cpu-with-nothing-to-do, by their keys."""

TEXTS = {
    "busy-sweep": (
        "The sweep goes round without a pause. When a whole turn has moved nothing, sleep for a "
        "millisecond; a step that has met EAGAIN has moved nothing, and has to say so."
    ),
    "spins-idle": (
        "The server keeps looking although nothing happens. Let poll() wait without a time limit, "
        "and ask for POLLOUT only while there is something to write: a socket is nearly always "
        "writable."
    ),
    "spins-writing": (
        "The kernel takes no more of the reply, and the server keeps trying, or is woken for "
        "input that it does not read. While it waits to write, POLLOUT is its only interest."
    ),
    "spins-half-closed": (
        "A socket whose peer has half-closed is readable for ever: read() returns 0. Once you "
        "know, or while you read nothing, do not ask for POLLIN."
    ),
    "spins-full": (
        "accept() fails for want of a descriptor, and the listening socket stays readable. Do not "
        "watch it until a descriptor is free, or for a while."
    ),
    "late-reply": (
        "The reply waits for something: a sleep between two looks, or a poll() with a time limit "
        "that does not watch the socket. Readiness should wake the server, not a clock."
    ),
    "waits-too-often": (
        "One wait that returns, then everything that is ready, then the next wait: that is the "
        "loop. A wait that returns with nothing to do asks for an event that is there all the "
        "time, or has a time limit of zero."
    ),
    "spins-in-vain": (
        "A socket is read again and again, and nothing comes. Ask for another call without news "
        "only after a read that has brought something; after EAGAIN wait for news."
    ),
}
