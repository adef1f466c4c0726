"""The hints of docs/reading-failures.md#calls-that-fail-or-move-little, by their keys."""

TEXTS = {
    "call-disturbed": (
        "EAGAIN and EINTR say that this call has moved nothing, and no more than that. Keep what "
        "has come and how far it was sent, and go on from there at the next chance."
    ),
    "long-stream-lost": (
        "Long frames in many pieces go wrong. Where the next byte goes is lost, when a buffer "
        "grows or a part of it has been sent, or when a number is too small to count the bytes."
    ),
    "reset-ends-one": (
        "ECONNRESET ends one connection: close it, free what it owns, and serve the others as if "
        "nothing had happened."
    ),
    "accept-failed": (
        "accept() can fail for one client (ECONNABORTED, EINTR, EAGAIN) or for a while (EMFILE). "
        "Neither ends the server, and the next client in the queue is to be served."
    ),
    "close-interrupted": (
        "On Linux close() has closed the descriptor even when it returns EINTR. Do not call it "
        "again: the number may belong to another connection by then."
    ),
    "closed-twice": (
        "A connection was closed twice. Between the two another client may have been given the "
        "same number, and loses its connection for no reason: one owner closes, once."
    ),
    "out-of-memory": (
        "malloc() may return NULL. That ends the connection which needed the memory, and nothing "
        "else; what realloc() could not enlarge is still there, and still has to be freed."
    ),
    "ready-for-nothing": (
        "The wait said ready, and nothing was there: the call for that client waited, and "
        "everybody with it. With O_NONBLOCK on every connection it returns EAGAIN instead."
    ),
}
