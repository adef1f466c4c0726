"""The hints of docs/reading-failures.md#coroutines, by their keys."""

TEXTS = {
    "co-switch": (
        "A coroutine starts at its function, on its own stack, and later resumes where it "
        "stopped, with all its variables. Set the running coroutine before the switch: "
        "context_switch() saves the current context and loads the other one. After it returns, no "
        "coroutine is running."
    ),
    "stack-guard": (
        "Use mprotect() with PROT_NONE on the lowest page of a stack, the end towards which it "
        "grows. A coroutine that overflows its stack then gets SIGSEGV, and the handler finds the "
        "address in the guard page. Every page above it has to be usable."
    ),
    "sent-signal-lost": (
        "The handler returns, and an instruction that has failed fails again. A signal that was "
        "sent does not come again: si_code is 0 or less then, and the handler has to raise() it "
        "with the default action."
    ),
    "stack-kept": (
        "Coroutines have finished, and their stacks are still mapped. munmap() has to take the "
        "whole range that mmap() returned, including the guard page."
    ),
    "co-run": (
        "One call of co_run() runs every coroutine that is ready when the call begins, in order, "
        "each once. Take the whole queue out first. Coroutines that become ready meanwhile go "
        "into the next queue."
    ),
    "co-wake": (
        "Only a parked coroutine can be woken. A ready one is in the queue already, and a running "
        "one is not waiting. Appending either of them again breaks the queue."
    ),
    "co-park": (
        "co_park() sets a timer if there is a time limit, marks the coroutine as parked, lets the "
        "others run, and cancels the timer when it returns. A timer that is left would end a "
        "later wait. The result has to say what ended this wait, not an earlier one."
    ),
    "co-sleep": (
        "A wake-up does not end a sleep: park again for the remaining time. Only the deadline or "
        "a cancellation ends it. A clock in whole milliseconds rounds down, so add one to the "
        "deadline, and check whether it has passed already when the coroutine resumes."
    ),
    "co-cancel": (
        "A cancelled coroutine has to finish, however often it tries to wait again, so remember "
        "the cancellation. The wait that is in progress has to end at once, which takes a "
        "wake-up."
    ),
    "co-readiness": (
        "If the direction is not ready, make sure that the socket is watched, register the "
        "coroutine as the waiting one, and park. Afterwards clear that registration, whatever "
        "ended the wait. Return IO_OK for readiness, IO_LATE for a timeout, IO_CANCELLED for a "
        "cancellation and IO_AGAIN for any other wake-up."
    ),
    "co-read": (
        "First wait, then make free space, then read, once per iteration. More may be left after "
        "a full read(). Nothing is left after a short one, unless EOF was reported, which happens "
        "only once; and a read() that returned nothing may add nothing to the buffer."
    ),
    "co-write": (
        "Wait until the socket is writable, send what the kernel takes, and remove that from the "
        "buffer. When the kernel has taken nothing (IO_AGAIN), the socket is no longer writable. "
        "It becomes writable again as soon as the peer has read."
    ),
    "co-wait": (
        "co_wait() waits for nothing to read or to write: register the coroutine as `idle`, park, "
        "and clear `idle` afterwards. Return IO_AGAIN for a wake-up, IO_LATE for a timeout and "
        "IO_CANCELLED for a cancellation. co_forget() cancels this wait, too."
    ),
    "co-deaf": (
        "A coroutine that neither reads nor writes hears of a reset, but not of input or EOF. Keep "
        "the socket watched with no interest: errors are reported even then. Note the error, wake "
        "the coroutine that is `idle`, and return IO_ERROR with the reason."
    ),
    "co-accept": (
        "Wait until the listening socket is ready, then accept up to `most` clients: the socket "
        "stays ready until accept() finds none. Without a free descriptor a client is still "
        "waiting, and those accepted before are returned. A wait that ended early returns NET_NONE."
    ),
    "co-connect": (
        "EINPROGRESS is not a failure, but every other errno is. Park until the socket is "
        "writable, again after any other wake-up, and until a cancellation at most. Only then "
        "does getsockopt() with SO_ERROR say whether the connection is made."
    ),
    "co-send": (
        "A coroutine of its own sends what could not be sent at once, as the peer reads. After "
        "each send, check the water marks, answer the alarms that are due, and wake the coroutine "
        "that serves the connection. That one may be waiting for this free space."
    ),
    "co-serve": (
        "Before it waits, a coroutine decides what it waits for. If frames are left over, it only "
        "lets the others run; if it may read, it waits for input. Otherwise it does not read, and "
        "the code that ends the reason (a water mark, an interval, a reply) has to wake it."
    ),
    "co-memory": (
        "A waiting coroutine should own little memory: a few pages of its stack. Keep large "
        "arrays off a stack that waits, and keep no buffer for bytes that have not arrived. Do "
        "not touch the memory of a stack before it is used."
    ),
    "co-stop": (
        "When the server ends, cancel every coroutine and run it until it has finished, in the "
        "thread of its loop. A wait of a cancelled coroutine ends at once, however often it is "
        "tried."
    ),
}
