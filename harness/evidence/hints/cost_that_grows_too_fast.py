"""The hints of docs/reading-failures.md#cost-that-grows-too-fast, by their keys."""

TEXTS = {
    "consume-moves": (
        "The more bytes are in the buffer, the more each frame costs, or each write: dropping "
        "bytes at the front moves all the others. Move an index instead."
    ),
    "write-per-frame": (
        "Every reply had a write call of its own. Answer all the frames that one read brought, "
        "into one buffer, and send that."
    ),
    "quadratic": (
        "Twice the work costs much more than twice the time. Look for what is done for every "
        "frame and grows with the bytes or frames that are held: a memmove, a search, a realloc."
    ),
    "line-search": (
        "The more bytes are in the buffer, the more each line costs. The search for an LF stops "
        "at the first one, and never looks at what belongs to the lines behind it."
    ),
    "line-seen-twice": (
        "A line that comes byte by byte is searched from its beginning each time, and so its cost "
        "grows with the square of its length. Search from bytes + *seen, leave in *seen how far "
        "you have come in vain, and 0 behind a complete line."
    ),
    "pays-for-the-idle": (
        "Requests cost more when idle clients are connected. The kernel keeps the list, and "
        "epoll_wait() returns only who has news: nothing may be done for every connection there "
        "is."
    ),
    "reads-everybody": (
        "poll() has told which clients are ready. A read() of any other one only finds EAGAIN, and "
        "costs a call for each of them, each time round the loop."
    ),
    "writes-to-everybody": (
        "poll() has told which clients have room for more. A write() to any other one only finds "
        "EAGAIN, and costs a call for each of them, each time round the loop."
    ),
    "reads-in-vain": (
        "A read() that returned less than it was asked for has taken all there was. Another one "
        "only finds EAGAIN, and costs as much as the first."
    ),
}
