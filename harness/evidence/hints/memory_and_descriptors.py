"""The hints of docs/reading-failures.md#memory-and-descriptors, by their keys."""

TEXTS = {
    "memory-fault": (
        "The server used memory that is not its own, or that was never given a value. The first "
        "frame is the line that did it; a block that was freed too early names two more."
    ),
    "memory-leak": (
        "This block was allocated and not freed when the server ended. Find the way out, of a "
        "connection or of the server, on which its free() is missing."
    ),
    "open-descriptor": (
        "This descriptor was still open when the server ended. The frame shows where it was "
        "opened; find the way out on which it is not closed."
    ),
    "descriptor-leak": (
        "Connections are over and their descriptors still open. Each one accepted has to be "
        "closed exactly once, on every way out: end of input, error, a frame too long."
    ),
    "memory-grows": (
        "Memory has to follow the bytes that arrive and are still needed: no allocation from an "
        "announced length, no reading while replies are not taken, nothing kept for an idle "
        "client."
    ),
    "log-grows": (
        "A state that lasts is logged in every turn of the loop. Such a log fills the disk and "
        "hides the other lines. Remember whether the state is known already, and log its begin."
    ),
}
