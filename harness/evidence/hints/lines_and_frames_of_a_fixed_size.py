"""The hints of docs/reading-failures.md#lines-and-frames-of-a-fixed-size, by their keys."""

TEXTS = {
    "fixed-size": (
        "A frame has N bytes, no more and no less. It is complete as soon as N are there, and "
        "what is behind them belongs to the next one."
    ),
    "line-in-pieces": (
        "A line may come in any pieces, and is complete when its LF is there, not before. *seen "
        "says how far it was searched, counted from where it begins: all that is there, as long "
        "as there is no LF; and 0 again when the line is complete."
    ),
    "line-terminator": (
        "A line ends at LF, and goes back with the LF, or CR LF, that it came with. Every other "
        "byte belongs to the body: 0, and a CR that does not stand right before the LF."
    ),
    "line-limit": (
        "A body has 65,536 bytes at most, and its terminator does not count. While there is no "
        "LF, a CR at the end may still become a part of it; but a body that is too long already "
        "has to end the connection, LF or not."
    ),
}
