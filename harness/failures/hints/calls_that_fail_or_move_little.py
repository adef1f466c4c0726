"""The hints of docs/reading-failures.md#calls-that-fail-or-move-little, by their keys."""

TEXTS = {
    "call-disturbed": (
        "EAGAIN and EINTR mean only that this call has moved no bytes. Keep the bytes that have "
        "arrived and the count of those sent, and continue from there with the next call."
    ),
    "long-stream-lost": (
        "Long frames in many pieces go wrong. Either the position of the next byte is lost when a "
        "buffer grows or after a partial write, or a variable is too small to count the bytes."
    ),
    "reset-ends-one": (
        "ECONNRESET ends one connection. Close it, free its memory, and serve the other clients "
        "as before."
    ),
    "accept-failed": (
        "accept() can fail for one client (ECONNABORTED, EINTR, EAGAIN) or for a while (EMFILE). "
        "Neither may end the server. The next client in the backlog has to be served."
    ),
    "close-interrupted": (
        "On Linux close() has closed the descriptor even when it fails with EINTR. Do not call it "
        "again: the number may belong to another connection by then."
    ),
    "closed-twice": (
        "A descriptor was closed twice. Between the two calls another client may get the same "
        "number, and the second close() then ends its connection. Each descriptor needs one "
        "owner, which closes it once."
    ),
    "out-of-memory": (
        "malloc() may return NULL. That may end only the connection that needed the memory. When "
        "realloc() fails, the old block still exists and still has to be freed."
    ),
    "no-memory-as-status": (
        "The client did nothing wrong, so it must not get status 3. As with any other memory that "
        "is missing, close its connection."
    ),
    "ready-for-nothing": (
        "The wait reported readiness, but nothing was there. The call for that client blocked, "
        "and all other clients waited for it. With O_NONBLOCK on every connection the call "
        "returns EAGAIN instead."
    ),
}
