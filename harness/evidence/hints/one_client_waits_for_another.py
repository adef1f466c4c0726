"""The hints of docs/reading-failures.md#one-client-waits-for-another, by their keys."""

TEXTS = {
    "server-stopped-accepting": (
        "A client left, and the next one is not served. Whatever a client does ends its own "
        "connection: go back to accept(), also after an error."
    ),
    "blocked-by-another": (
        "Another client has nothing to say, or takes nothing, and this one waits for it. Every "
        "call for a client has to return at once: O_NONBLOCK, and on EAGAIN on to the next "
        "client."
    ),
    "never-watched": (
        "The server is not blocked: it sleeps in poll(), select() or epoll_wait(). So the "
        "descriptor of this client is not among those that it waits for or looks at, or not for "
        "what the client has done."
    ),
    "table-too-small": (
        "Some clients are served and others never. Is there a table of clients with a fixed size, "
        "or does the loop stop before its end?"
    ),
    "starved": (
        "A client that always has something to say got all the attention. One turn of the loop "
        "gives every client that is ready a bounded share."
    ),
}
