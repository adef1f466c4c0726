"""The hints of docs/reading-failures.md#coroutines, by their keys."""

TEXTS = {
    "co-switch": (
        "A coroutine begins with its function, on its own stack, and goes on where it has "
        "stopped, with all its variables. Who runs is said before the switch; swapcontext() saves "
        "the first context and goes on with the second. When it comes back nobody runs."
    ),
    "stack-guard": (
        "The lowest page of a stack may not be touched: mprotect() it, PROT_NONE, at the end that "
        "the stack grows to. Then who has used all of it is ended by SIGSEGV, and the handler "
        "finds the address in the guard page. What is above it can be used to the last page."
    ),
    "stack-kept": (
        "Coroutines have ended, and their stacks are still mapped. munmap() takes the whole of "
        "what mmap() gave, the guard page too."
    ),
    "co-turn": (
        "A call of co_run() runs all who are ready when it begins, in that order, each once. Take "
        "the whole line out first: who gets ready meanwhile stands in the next one."
    ),
    "co-wake": (
        "Only who is parked can be woken. One that is ready stands in the line already, and one "
        "that runs is not waiting; to put either there once more ruins the line."
    ),
    "co-park": (
        "co_park() sets a timer if there is a time, says that it is parked, lets the others go "
        "on, and takes the timer away when it is back: one that is left would end another wait. "
        "The result says what has ended this wait, and not an earlier one."
    ),
    "co-sleep": (
        "A wake-up is not the end of a sleep: park again for what is left of the time. Only the "
        "end of the time, or being cancelled, ends the sleep. A clock in whole milliseconds is "
        "rounded down, so the end is one more, and it may be over when the coroutine runs again."
    ),
    "co-cancel": (
        "Who is cancelled is to come to its end, however often it still tries to wait: so that is "
        "remembered. The wait that is under way ends at once, which takes a wake-up."
    ),
    "co-news": (
        "With no news, see that the socket is watched, be the one who waits for it, and park. "
        "Afterwards nobody waits for it, whatever has ended the wait; news are IO_OK, a time that "
        "is over is IO_LATE, a wake-up by others IO_AGAIN, and the end IO_CANCELLED."
    ),
    "co-read": (
        "First wait, then make room, then read, once in a turn. A full read() may have left more; "
        "a short one has not, unless the end of the input was told, which comes only once. If "
        "nothing was read, nothing is added to the buffer."
    ),
    "co-write": (
        "Wait for news, send what the kernel takes, and take that out of the buffer. News are "
        "over when the kernel has taken nothing (IO_AGAIN); then there will be new ones as soon "
        "as the peer has read."
    ),
    "co-accept": (
        "Wait for news, then accept. Others may have come at the same time, so the news are over "
        "only when nobody was there; with no descriptor left somebody still is. A wait that has "
        "ended before its time is NET_NONE."
    ),
    "co-send": (
        "What could not be sent at once is sent by a coroutine of its own, as the peer reads. "
        "Whenever some of it is gone: the marks are looked at, alarms that are owed are answered, "
        "and the coroutine that serves is woken, since it may wait for just that."
    ),
    "co-serve": (
        "Before it waits a coroutine asks what for: where frames are left over, only for the "
        "others' turn; else for input, if it may be read. Otherwise it waits, without reading, "
        "for what stands against that, a mark, an interval, a reply, and who changes it wakes the "
        "coroutine."
    ),
    "co-memory": (
        "A coroutine that waits should own little: some pages of its stack. Nothing large belongs "
        "on a stack that waits, no buffer is kept for what has not come, and the memory of a "
        "stack is not touched before it is used."
    ),
    "co-stop": (
        "At the end every coroutine is cancelled, and run until it has ended: by the thread whose "
        "loop it belongs to. A wait that is cancelled is over, however often it is tried."
    ),
}
