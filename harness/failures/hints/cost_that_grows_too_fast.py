"""The hints of docs/reading-failures.md#cost-that-grows-too-fast, by their keys."""

TEXTS = {
    "consume-moves": (
        "The more bytes the buffer holds, the more each frame or each write costs: removing bytes "
        "at the front moves all the others. Move an index instead."
    ),
    "write-per-frame": (
        "Every reply had its own write call. Answer all the frames that one read has brought, "
        "collect the replies in one buffer, and send that."
    ),
    "write-per-alarm": (
        "Every reply of an alarm had its own write call. A callback only appends the reply and "
        "asks for a turn of its connection with events_again(). The turn sends what all of them "
        "have appended."
    ),
    "quadratic": (
        "Twice the work takes much more than twice the steps. Look for work per frame that grows "
        "with the bytes or frames held: a memmove(), a search, a realloc()."
    ),
    "line-search": (
        "The more bytes the buffer holds, the more each line costs. The search for an LF has to "
        "stop at the first one, and must not look at the lines after it."
    ),
    "line-seen-twice": (
        "A line that arrives byte by byte is searched from its beginning each time, so its cost "
        "grows with the square of its length. Search from bytes + *seen. Store in *seen how far "
        "you have searched without finding an LF, and 0 after a complete line."
    ),
    "pays-for-the-idle": (
        "Requests cost more when idle clients are connected. The kernel keeps the interest list, "
        "and epoll_wait() returns only the ready descriptors. So do no work for every open "
        "connection."
    ),
    "reads-every-client": (
        "poll() has reported which clients are ready. A read() of any other one only returns "
        "EAGAIN, and costs a system call for each of them in each iteration."
    ),
    "writes-to-every-client": (
        "poll() has reported which clients are writable. A write() to any other one only returns "
        "EAGAIN, and costs a system call for each of them in each iteration."
    ),
    "reads-in-vain": (
        "A read() that returned less than requested has emptied the socket. Another one only "
        "returns EAGAIN, and costs as much as the first."
    ),
}
