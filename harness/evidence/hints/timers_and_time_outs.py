"""The hints of docs/reading-failures.md#timers-and-time-outs, by their keys."""

TEXTS = {
    "timer-order": (
        "First comes the earlier deadline; of two that are equal, the timer that was set first. "
        "No parent in the heap is later than its children at 2i + 1 and 2i + 2: compare both, and "
        "move the earlier one up."
    ),
    "timer-removal": (
        "The last timer fills the gap, and may be too late there or too early: move it down, or "
        "up. Whenever a timer is put anywhere, its index says where."
    ),
    "timer-cancelled": (
        "A timer that was cancelled is not called, not even when it is due already and the calls "
        "of this turn have begun; and what has been called, and does not recur, is not set any "
        "more."
    ),
    "timer-early": (
        "A timer may be late, but it is never called before its deadline. Compare times in one "
        "unit; a part of a millisecond that is left has to be waited for, too."
    ),
    "timer-cost": (
        "To set, cancel or call a timer takes about log2(n) steps. Look for what goes through all "
        "of them: each knows its index, so nobody has to search, and one path of the heap is "
        "enough."
    ),
    "timer-rounds": (
        "A round begins where the last one ended, at its deadline: counted from the call, every "
        "round would be a little late. Only if the next one is over already does it begin now."
    ),
    "timer-due-first": (
        "Take all that are due out of the heap, then call them one by one. A call may set, cancel "
        "or free any timer: so say where a timer is before you call it, do not touch it "
        "afterwards, and let timer_cancel() take one that is due out of the row."
    ),
    "timer-start": (
        "A timer was last started at its deadline less its delay. A reset sets both anew, the "
        "delay for the rounds to come as well, and the heap has to hear of it."
    ),
    "timer-timeout": (
        "A wait ends when something is ready or the first timer is due, and then timers_run() "
        "looks. Its time limit is in milliseconds, rounded up, INT_MAX at most: -1 is for no "
        "timer, and 0 only for one that is due."
    ),
    "timer-clock": "The time of day can be set, back and forward. CLOCK_MONOTONIC only goes on.",
    "alarm-lost": (
        "A reply for later did not come, though its time is over. Are the timers run after every "
        "wait? And is what a timer has written sent at once, not with the next request?"
    ),
    "alarm-seq": (
        "A seq names an AFTER or EVERY of its own connection, as long as replies of it are to "
        "come: so long a second one is a bad argument, then it is free again. CANCEL and RESET of "
        "a seq that is not in use get status 6."
    ),
    "alarm-cancel": (
        "CANCEL has two replies: the last one of what it cancels, with the cmd and seq of that "
        "and status 5, and its own, with status 0. After them nothing comes of it."
    ),
    "every-replies": (
        "EVERY has `count` replies, and in front of the string of each is its index, from 0 on. "
        "The first one comes after ms, like all the others."
    ),
    "every-in-a-burst": (
        "While there is no room for its reply an EVERY waits, with one that it owes. When that is "
        "sent the next one is due `ms` later: rounds that were missed are not made up for."
    ),
    "idle-timeout": (
        "Every byte that comes or goes gives the peer another idle-timeout, whether a frame is "
        "complete or not. Who has been silent for so long is closed, unless it only waits for its "
        "own alarms."
    ),
    "frame-timeout": (
        "The time of a frame begins with its first byte, and ends with its last. No byte between "
        "them starts it anew, every frame has its own, and it stands still while the server "
        "itself does not read. Replies that are owed are sent before the close."
    ),
}
