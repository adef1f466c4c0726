"""The hints of docs/reading-failures.md#the-event-manager, by their keys."""

TEXTS = {
    "watch-lost": (
        "events_add() accepts any descriptor, and a watch that is ready is called. events_set() "
        "tells the backend the whole interest, not the new event alone, and remembers it: only "
        "without a change there is nothing to tell."
    ),
    "watch-refused": (
        "If the backend refuses, events_add() and events_set() return false with its errno, and "
        "nothing has changed. So tell the backend first, and write the fields of the watch last."
    ),
    "deleted-twice": (
        "events_del() does nothing to a watch that is not added, and that has to be noted when it "
        "is taken away: `added`. Its descriptor may belong to another watch by then."
    ),
    "called-after-del": (
        "A deleted watch may be freed at once. Tell the backend, forget what was reported, and "
        "take the watch out of the queue that it waits in."
    ),
    "freed-in-a-callback": (
        "A callback may free any watch, its own too. So dispatch() uses none after the call, and "
        "keeps no pointer to the next one: it takes the first of the queue again. And no callback "
        "is called before the backend has made all of its reports."
    ),
    "told-the-same": (
        "events_set() is called in every turn, and a call of the backend costs a system call. "
        "Without a change of the interest there is nothing to tell."
    ),
    "epoll-operation": (
        "epoll_ctl() fails with EEXIST if the descriptor is in the list already (EPOLL_CTL_ADD), "
        "and with ENOENT if it is not there (EPOLL_CTL_MOD and EPOLL_CTL_DEL). Which operation "
        "does each of your three functions use?"
    ),
    "refusal-untold": (
        "epoll_ctl() can fail. Then the function of the backend returns false, and leaves errno as "
        "it is."
    ),
    "does-not-wait": (
        "The wait of the backend ends when something is ready, or when its time is over: it passes "
        "the timeout on. A wait that returns at once makes the loop use all of a processor."
    ),
    "deaf-to-errors": (
        "Interest 0 is not the same as not watched. The descriptor stays registered, without a "
        "bit, and an error is still reported: as EVENT_ERROR, with both directions."
    ),
    "one-call-an-iteration": (
        "The backend may report many watches. Each of them is put into the queue `due`, once, and "
        "its bits are collected in `ready`. dispatch() calls all of the queue, one after the "
        "other, and clears the bits before each call."
    ),
    "one-turn": (
        "Something is owed, and no further event will come. Note every bit that was reported, and "
        "keep it until a call returns EAGAIN. Then send, answer, read once, and answer again: each "
        "of these may make the next one possible."
    ),
    "wake-up": (
        "A wake-up makes the eventfd readable, whichever thread calls, and whether or not the loop "
        "sleeps already. It never waits, and several wake-ups count as one. on_wake() makes "
        "it unreadable again; an eventfd takes and gives exactly 8 bytes."
    ),
    "again-next-iteration": (
        "A watch that requested another call is called in the next iteration: once, without a "
        "sleep before it, and only if it is still watched then. That call tells what was reported, "
        "too. The two queues change places at the beginning of each iteration."
    ),
    "errors-wake-both": (
        "An error or a hang-up is reported without a request, and sometimes instead of the "
        "requested events. It is readiness in both directions: report EVENT_READ and EVENT_WRITE. "
        "The next read() or write() then finds out what has happened."
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
    "other-direction": (
        "Only one direction is ready, and the callback was told both. A report has a bit for each "
        "event: test it with `&`. `reported | EPOLLIN` is never 0."
    ),
    "beyond-select": (
        "select() has no place for descriptors above 1,023. events_add() returns false for them. "
        "Close a connection that cannot be watched, because it would never be served."
    ),
}
