"""The hints of docs/reading-failures.md#memory-and-descriptors, by their keys."""

TEXTS = {
    "memory-fault": (
        "The server used memory that it does not own, or that was never initialised. The first "
        "frame shows the line. For a block that was freed too early, two more traces follow."
    ),
    "memory-leak": (
        "This block was allocated and not freed when the server ended. Find the path, of a "
        "connection or of the server, on which its free() is missing."
    ),
    "open-descriptor": (
        "This descriptor was still open when the server ended. The frame shows where it was "
        "opened. Find the path on which it is not closed."
    ),
    "descriptor-leak": (
        "Connections have ended, and their descriptors are still open. Close each accepted "
        "descriptor exactly once, on every path: EOF, error, a frame too long."
    ),
    "reset-unnoticed": (
        "A client has reset its connection while the server waited for nothing from it, and the "
        "connection is still there. Keep a descriptor registered while its interest is empty: "
        "epoll and poll report an error even then. What a connection waits for says what to watch, "
        "not whether to watch it."
    ),
    "memory-grows": (
        "Memory may grow only with the bytes that have arrived and are still needed. Allocate "
        "nothing for an announced length, do not read while the client takes no replies, and keep "
        "nothing for an idle client."
    ),
    "alarms-cost-more": (
        "The limit of a connection's alarms is one of memory. Count all that an alarm costs: its "
        "struct and its string, a node of the table that finds it, its places in the timers, and "
        "what malloc() adds to each block."
    ),
    "log-grows": (
        "A lasting state is logged in every iteration of the loop. Such a log fills the disk and "
        "hides the other lines. Remember whether the state is known already, and log only its "
        "beginning."
    ),
}
