"""The hints of docs/reading-failures.md#the-event-manager, by their keys."""

TEXTS = {
    "watch-lost": (
        "A descriptor was ready, and not its callback was called. When the table grows, what is "
        "in it stays and what is new is all zero; it moves then, so a pointer into it is of no "
        "use behind a callback."
    ),
    "added-twice": (
        "There is one watch for each event of a descriptor. To add a second one fails with "
        "EEXIST, and when the backend refuses, events_add() fails as it did: ask first, then tell "
        "the backend, and write the watch down last."
    ),
    "called-after-del": (
        "A watch that was taken away has to be gone, from the table and from the backend. What "
        "was reported for this turn may be older: look into the table right before each call."
    ),
    "cancelled-once": (
        "To cancel is to keep a copy of the watch, to take it away, and then to call it, once, "
        "with its event and EVENT_CANCELLED: the callback may add a new one, or free its context."
    ),
    "beyond-the-table": (
        "The table ends at the highest descriptor that was ever watched. Check that a descriptor "
        "has an entry before you read it; events_interest() does that."
    ),
    "cancelled-both": (
        "Both events of a descriptor are to be cancelled, each if it is still watched when its "
        "turn comes: the first callback may have taken the second watch away."
    ),
    "wake-up": (
        "A wake-up makes wake_fd readable, whoever calls and whether the loop sleeps already or "
        "not. It never waits, any number of them are one, and on_wake() makes it unreadable "
        "again."
    ),
    "again-next-turn": (
        "A watch that is to be called again comes in the next turn: once, without a sleep before "
        "it, after everybody else had the chance, and only if it is still watched then."
    ),
    "errors-wake-both": (
        "EPOLLERR and EPOLLHUP come unasked, and instead of what was asked for. They are "
        "readiness in both directions: the call that is made then finds out what has happened."
    ),
    "hangup-untold": (
        "That the peer sends no more is told once, perhaps together with its last bytes: "
        "EPOLLRDHUP, if you ask for it. It is EVENT_READ and EVENT_HANGUP, and then the input has "
        "to be read to its very end."
    ),
    "urgent-untold": (
        "A read stops in front of urgent data, as a short read does when nothing is left. EPOLLPRI "
        "tells the difference, if you ask for it; then read once more."
    ),
    "told-once": (
        "Edge-triggered readiness is told once. Go on until EAGAIN or a short read(), or ask for "
        "another call; and tell the kernel of every change of interest, with all the events that "
        "are watched: then it looks anew."
    ),
    "beyond-select": (
        "select() has no room for descriptors over 1,023. events_add() returns false for them, and "
        "a connection that cannot be watched is closed: it would never be served."
    ),
}
