"""The hints of docs/reading-failures.md#completions, by their keys."""

TEXTS = {
    "ring-operation": (
        "ring_begin() takes the next free entry, sets its user data to the operation, and makes no "
        "system call; ring_turn() makes one. Then, for each completion, mark it as seen and update "
        "in_flight from IORING_CQE_F_MORE. Call the callback last: it may free the operation, or "
        "begin it again."
    ),
    "ring-full": (
        "If io_uring_get_sqe() returns NULL, the ring has no free entry. io_uring_submit() hands "
        "over the entries, and then there is space. More completions than the ring holds come in "
        "a later iteration."
    ),
    "ring-refused": (
        "The kernel may refuse to take operations, for a moment or for ever. Look at the result of "
        "each call that hands some over: check_taken() pauses if it has failed. Without a working "
        "ring the server has to end with status 1."
    ),
    "ring-cancel": (
        "A request to cancel is an operation of its own, which names the user data of the other "
        "one. Make it once, and only while that one is in flight, which does not end before it has "
        "completed. The completion of the request belongs to no operation; if it is an error and "
        "that one is still in flight, make the request again."
    ),
    "lent-buffer": (
        "io_uring_buf_ring_add() writes the entry of a buffer, with its number, at the tail. "
        "io_uring_buf_ring_advance() by one shows it to the kernel. The number in a completion is "
        "its flags, shifted right by IORING_CQE_BUFFER_SHIFT."
    ),
    "ring-receive": (
        "One receiving operation for each socket completes again and again: copy its bytes, give "
        "the buffer back, and wake the reader. -ENOBUFS ends the operation and not the input: "
        "begin it again in the next wait. Bytes come before EOF and before an error."
    ),
    "ring-send": (
        "One send for each socket is in flight at a time, and its bytes are pinned until it has "
        "completed. It may complete with a part of them: remove only those that were sent. Then "
        "wake the coroutine that waits in uring_write(), or else call `sent`."
    ),
    "ring-pinned": (
        "A pinned block cannot slide. If it is pinned whenever output is appended, it doubles each "
        "time its end is reached, however few bytes are held. So buffer_unpin() slides: call it in "
        "each completion, before the next send begins."
    ),
    "ring-calls": (
        "Wait with a poll operation, then try several accept operations once, and collect the "
        "results of all: -ECANCELED means that there was no client, -EMFILE means NET_FULL if none "
        "was accepted. Only completion or co_cancel() ends a connect."
    ),
    "ring-accepts-one": (
        "Each iteration accepts few clients, so those that wait in the backlog take one after the "
        "other. Begin several accept operations, and cancel all of them before you wait for the "
        "first one: then one call hands over all. co_accept() returns as many as they accept."
    ),
    "ring-deaf": (
        "While nothing is received, no completion says that the connection was reset. Begin a "
        "multishot poll operation that requests no event: POLLERR in a result is the reset, and "
        "nothing else is. Note it, and wake the coroutine that is `idle`."
    ),
    "ring-forget": (
        "Cancel the operations in flight, and the coroutines that wait; do not shut down the "
        "socket. Then the coroutine that forgets the socket waits with co_hold() until no "
        "operation is in flight. Free what has arrived last."
    ),
    "ring-in-flight": (
        "An operation was in flight, and its memory was freed, moved or changed, or the stack that "
        "it is on was left. Until the last completion this memory belongs to the kernel. "
        "Cancelling does not end that: wait for the completion, as end_call() does."
    ),
    "ring-peer-gone": (
        "If a peer resets its connection, the operations in flight on that socket end with an "
        "error. Each completion has to wake the coroutine that waits, so that it can close the "
        "connection. The operations of all other sockets go on."
    ),
    "ring-lost": (
        "The bytes of a client were lost or reordered while many clients sent at once. Each "
        "completion has the number of its own buffer, which is returned once its bytes are copied. "
        "If no buffer or no entry is free, nothing is lost: begin the operation again, or submit."
    ),
    "ring-idle": (
        "A client that waits for input should own no buffer for it. Receive into lent buffers, and "
        "free what has arrived once it has been read."
    ),
    "not-by-the-ring": (
        "With the ring, the server makes no call that reads, writes, accepts or waits for "
        "readiness. Use an operation for each of these. Open the loops with backend_uring unless "
        "`--io epoll` was given."
    ),
    "ring-calls-too-many": (
        "Operations need no call of their own: they collect in the ring. One call in each "
        "iteration of the loop hands over all of them, and afterwards every completion is taken "
        "out. So many clients share each call."
    ),
    "ring-missing": (
        "If the kernel refuses io_uring, the loops cannot be opened with backend_uring. With "
        "`--io uring` print the reason on stderr and exit with status 1. Without this option log "
        "a line and open them with the other backend."
    ),
    "ring-stop": (
        "When the server ends, operations are in flight. Cancel them and run the loop until they "
        "have completed. Only then free the memory that they use, and exit with status 0."
    ),
}
