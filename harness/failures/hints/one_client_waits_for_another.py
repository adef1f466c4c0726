"""The hints of docs/reading-failures.md#one-client-waits-for-another, by their keys."""

TEXTS = {
    "server-stopped-accepting": (
        "A client left, and the next one is not served. Whatever a client does may end only its "
        "own connection: return to accept(), also after an error."
    ),
    "not-accepted": (
        "The server has not accepted this client: it waits in the backlog. The line `server` "
        "says what the server does instead. Call accept() for every client that waits, and again "
        "when a client has left."
    ),
    "blocked-by-another": (
        "Another client sends nothing, or reads nothing, and this one waits for it. Every call "
        "for a client has to return at once: set O_NONBLOCK, and on EAGAIN go on to the next "
        "client."
    ),
    "blocked-in-close": (
        "Every client waits for a close(). SO_LINGER with a time makes close() wait until the peer "
        "has taken everything, also with O_NONBLOCK. Do not set it: the kernel sends what it has "
        "taken, also after a close() that returns at once."
    ),
    "never-watched": (
        "The server is not blocked: it sleeps in poll(), select() or epoll_wait(). So the "
        "descriptor of this client is not among those that it watches, or not for what the client "
        "has done."
    ),
    "table-too-small": (
        "Some clients are served and others never. Does a table of clients have a fixed size, or "
        "does the loop stop before its end?"
    ),
    "starved": (
        "One client that always has something to send got all the attention. Each iteration of "
        "the loop has to give every ready client a bounded share."
    ),
}
