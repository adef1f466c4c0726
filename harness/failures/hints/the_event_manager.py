"""The hints of docs/reading-failures.md#the-event-manager, by their keys."""

TEXTS = {
    "watch-lost": (
        "events_add() has to accept any descriptor, and a ready one gets its callback. When the "
        "table grows, the old entries have to stay and the new ones have to be all zero. Growing "
        "may move the table, so a pointer into it is invalid after a callback."
    ),
    "added-twice": (
        "There is one watch for each event of a descriptor: adding a second one fails with "
        "EEXIST. If the backend refuses, events_add() fails with the same errno. Check first, "
        "then call the backend, and store the watch last."
    ),
    "called-after-del": (
        "A deleted watch has to be gone from the table and from the backend. An event of this "
        "iteration may have been reported before that. So look into the table right before each "
        "call."
    ),
    "cancelled-once": (
        "To cancel a watch, copy it, delete it, and then call it once, with its event and "
        "EVENT_CANCELLED. The callback may add a new watch, or free its context."
    ),
    "beyond-the-table": (
        "The table ends at the highest descriptor that was ever watched. Check that a descriptor "
        "has an entry before you read it: events_interest() does that."
    ),
    "cancelled-both": (
        "Cancel both events of a descriptor, whatever the first call returned: `||` would stop "
        "there. Check before the second one whether it is still watched, since the first callback "
        "may have deleted the second watch."
    ),
    "cancelled-at-the-end": (
        "events_free() has to cancel every watch that is left, each once: it calls "
        "events_cancel_all() for each descriptor of the table. The callbacks free what the "
        "watches belong to, such as connections."
    ),
    "wake-up": (
        "A wake-up makes wake_fd readable, whichever thread calls, and whether or not the loop "
        "sleeps already. It never waits, and several wake-ups count as one. on_wake() makes "
        "wake_fd unreadable again; an eventfd takes and gives exactly 8 bytes."
    ),
    "again-next-iteration": (
        "A watch that requested another call is called in the next iteration: once, without a "
        "sleep before it, after all the others, and only if it is still watched then. Requests "
        "for reading and for writing add up."
    ),
    "errors-wake-both": (
        "An error or a hang-up is reported without a request, and sometimes instead of the "
        "requested events. It is readiness in both directions: call both watches of the "
        "descriptor. The next read() or write() then finds out what has happened."
    ),
    "hangup-untold": (
        "A FIN is reported once, perhaps together with the last bytes: as EPOLLRDHUP, if you "
        "request it. Report it as EVENT_READ and EVENT_HANGUP. After that a short read() is not "
        "the end: read until it returns 0."
    ),
    "urgent-untold": (
        "A read stops before urgent data, which looks like a short read that left nothing. "
        "EPOLLPRI tells the difference, if you request it: then read once more."
    ),
    "told-once": (
        "Edge-triggered readiness is reported once. Continue until EAGAIN or a short read(), or "
        "request another call. Tell the kernel of every change of interest, with all the watched "
        "events, so that it checks again."
    ),
    "beyond-select": (
        "select() has no place for descriptors above 1,023. events_add() returns false for them. "
        "Close a connection that cannot be watched, because it would never be served."
    ),
}
