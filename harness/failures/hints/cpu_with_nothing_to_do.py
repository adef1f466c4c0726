"""The hints of docs/reading-failures.md#cpu-with-nothing-to-do, by their keys."""

TEXTS = {
    "busy-sweep": (
        "The sweep runs without a pause. If a whole sweep has moved nothing, sleep for a "
        "millisecond. A step that got EAGAIN has moved nothing, and has to return that."
    ),
    "spins-idle": (
        "The server keeps checking although nothing happens. Let poll() wait without a time "
        "limit. Request POLLOUT only while there is something to write: a socket is nearly always "
        "writable."
    ),
    "spins-writing": (
        "The kernel takes no more of the reply, and the server keeps trying, or is woken for "
        "input that it does not read. While it waits to write, POLLOUT has to be its only "
        "interest."
    ),
    "spins-half-closed": (
        "A socket whose peer has half-closed stays readable: read() returns 0 each time. Do not "
        "request POLLIN once you have seen EOF, or while you do not read."
    ),
    "spins-full": (
        "accept() fails because no descriptor is free, and the listening socket stays readable. "
        "Do not watch it until a descriptor is free, or for a while."
    ),
    "late-reply": (
        "Something delays the reply: a sleep between two checks, or a poll() with a time limit "
        "that does not watch the socket. Readiness should wake the server, not a clock."
    ),
    "waits-too-often": (
        "An event loop waits once, handles everything that is ready, and waits again. A wait that "
        "returns with nothing to do has a time limit of zero, or requests an event that is always "
        "ready."
    ),
    "spins-in-vain": (
        "A socket is read again and again, and nothing comes. Request another call without "
        "readiness only after a read that returned bytes. After EAGAIN wait for readiness."
    ),
}
