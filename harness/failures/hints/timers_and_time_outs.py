"""The hints of docs/reading-failures.md#timers-and-time-outs, by their keys."""

TEXTS = {
    "timer-order": (
        "The earlier deadline comes first. Of two equal ones, the timer that was set first comes "
        "first. No parent in the heap may be later than its children at 2i + 1 and 2i + 2: "
        "compare both, and move the earlier one up."
    ),
    "alarms-owed": (
        "Alarms that ring while the output is full wait in a list, and are answered from its head "
        "when there is space. As long as one of them waits, an alarm that rings is put at the end "
        "of the list, even if there is space for its reply."
    ),
    "timer-removal": (
        "The last timer fills the gap, and may be too late or too early there: move it down, or "
        "up. Whenever you put a timer anywhere, update its index."
    ),
    "timer-cancelled": (
        "A cancelled timer is not called, even if it is due already and the calls of this "
        "iteration have begun. A timer that was called and does not recur is no longer set."
    ),
    "timer-early": (
        "A timer may be late, but it is never called before its deadline. Compare times in one "
        "unit. Wait for a remaining part of a millisecond, too."
    ),
    "timer-late": (
        "A wait ends when the first timer is due: its time limit is what is left until then, "
        "rounded up to the next millisecond and no further. Is it counted again before each wait, "
        "from the current time? Does a new first timer shorten it, and is each round counted from "
        "the end of the one before?"
    ),
    "timer-due-now": (
        "A timer is due as soon as the clock has reached its deadline: deadline <= now."
    ),
    "timer-cost": (
        "To set, cancel or call a timer takes about log2(n) steps. Look for code that goes "
        "through all timers. Each timer knows its index, so no search is needed, and one path of "
        "the heap is enough."
    ),
    "timer-memory": (
        "The heap of timers.c gets space for one timer more in small blocks, and gives a block "
        "back when nothing is in it. With one array that doubles, a single timer would wait until "
        "megabytes are allocated, and the memory would stay for ever."
    ),
    "timer-rounds": (
        "A round begins at the deadline of the round before it. If you count from the call, every "
        "round is a little late. Count from now only if the next deadline has passed already."
    ),
    "timer-due-first": (
        "Take all due timers out of the heap, then call them one by one. A callback may set, "
        "cancel or free any timer, so update a timer's place before its call and do not touch it "
        "afterwards. timer_cancel() has to take a due timer out of the list of those still to be "
        "called."
    ),
    "timers-at-once": (
        "timers_run() calls TIMERS_AT_ONCE timers at most, the first ones, so that descriptors "
        "that are ready do not wait for all of them. The others stay in the heap, where "
        "timers_timeout() finds that one is due."
    ),
    "timer-start": (
        "A timer was last started at its deadline minus its delay. A reset changes both, and the "
        "new delay also holds for later rounds. After that the timer may have to move in the "
        "heap."
    ),
    "owed-alarm-start": (
        "RESET with from_now 0 counts from when the alarm was last due, also when its reply is "
        "owed and its timer is not set meanwhile. If that time is over, the alarm is due at once."
    ),
    "idle-timer-moved": (
        "Bytes move far more often than a client is idle, so a read or a send only notes the time. "
        "When the idle timer is due, it looks at that time, and is set for what is left of it."
    ),
    "timer-timeout": (
        "A wait ends when a descriptor is ready or the first timer is due, and then timers_run() "
        "checks the timers. Its time limit is in milliseconds, rounded up, and at most INT_MAX. "
        "-1 means no timer is set, and 0 means one is due."
    ),
    "timer-clock": (
        "The time of day can be set, forward and back. CLOCK_MONOTONIC only goes forward."
    ),
    "time-in-32-bits": (
        "A machine may run for months. An int32_t of milliseconds overflows after 24.8 days, and a "
        "uint32_t begins at 0 again after 49.7. Convert tv_sec to int64_t before you multiply it, "
        "and use int64_t for every time, deadline and difference."
    ),
    "alarm-lost": (
        "A delayed reply did not come, though its time is over. Are the timers run after every "
        "wait? Is what a timer has written sent at once, or only with the next request?"
    ),
    "alarm-of-another": (
        "The reply of another alarm came. Either the timers are not in the order of their "
        "deadlines, or the alarm that is due first was not answered: an EVERY sets its timer again "
        "after each reply."
    ),
    "alarms-not-resumed": (
        "While the output is full, alarms that ring wait for free space. Answer them when replies "
        "have been sent, since no other event comes for them. If an EVERY has only one reply, its "
        "timer was not set again."
    ),
    "alarm-seq": (
        "A seq names an AFTER or EVERY of its own connection, as long as it still has replies to "
        "send. Until then a second one with this seq is a bad argument; afterwards the seq is "
        "free again. CANCEL and RESET of a seq that is not in use get status 6."
    ),
    "alarm-cancel": (
        "CANCEL causes two replies: the last one of the cancelled alarm, with its cmd, its seq "
        "and status 5, and the reply to CANCEL, with status 0. After that the cancelled alarm "
        "sends nothing."
    ),
    "every-replies": (
        "EVERY has `count` replies, and each has its index, from 0 on, before the string. The "
        "first one comes after ms, like all the others."
    ),
    "every-in-a-burst": (
        "While there is no free space for its reply, an EVERY waits and owes one reply. When that "
        "is sent, the next one is due `ms` later. Missed rounds are not made up for."
    ),
    "idle-timeout": (
        "Every byte in either direction starts the idle timeout again, whether a frame is "
        "complete or not. Close a client that was silent for that long, unless it only waits for "
        "its own alarms."
    ),
    "idle-late": (
        "The idle timeout is counted from the last byte. When its timer is due and bytes have "
        "moved since it was set, only the rest of the time is left to wait. Is that in the right "
        "unit?"
    ),
    "frame-timeout": (
        "The time of a frame begins with its first byte and ends with its last; no byte between "
        "them starts it again. Every frame has a time of its own, which stands still while the "
        "server itself does not read. Send the replies that are owed before you close."
    ),
    "time-outs-together": (
        "Both timers of a connection may be due in one iteration. The callback of the first closes "
        "it, and it is freed later, in its turn: until then the other callback must leave it as it "
        "is. A connection that drains again has no timer any more, and stays for ever."
    ),
}
