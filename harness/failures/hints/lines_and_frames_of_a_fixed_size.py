"""The hints of docs/reading-failures.md#lines-and-frames-of-a-fixed-size, by their keys."""

TEXTS = {
    "fixed-size": (
        "A frame has exactly N bytes. It is complete as soon as N bytes are there, and the bytes "
        "after them belong to the next frame."
    ),
    "line-in-pieces": (
        "A line may come in any pieces, and is complete when its LF has arrived. *seen says how "
        "many of its bytes were searched, counted from where the line begins. Without an LF that "
        "is all bytes that have arrived; after a complete line it is 0."
    ),
    "line-terminator": (
        "A line ends at LF, and is sent back with the terminator it came with, LF or CR LF. Every "
        "other byte belongs to the body: also 0, and a CR that is not right before the LF."
    ),
    "line-limit": (
        "A body has 65,536 bytes at most, and its terminator does not count. Until the LF "
        "arrives, a CR at the end may still belong to the terminator. A body that is too long "
        "already has to end the connection without waiting for the LF."
    ),
}
