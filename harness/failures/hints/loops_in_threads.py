"""The hints of docs/reading-failures.md#loops-in-threads, by their keys."""

TEXTS = {
    "task-wake": (
        "A task was queued, and the loop slept or did not run it. queue_in_loop() first appends "
        "the task to the queue and then wakes the loop."
    ),
    "wake-lost": (
        "The steps show the calls in the order in which they were made. After its last "
        "look at the queue the loop slept, though a task came in between, and nobody woke it. "
        "Whether a wake-up is needed is decided under the lock that protects the queue, together "
        "with the change of the queue."
    ),
    "one-wake": (
        "Every task caused a wake-up of its own, which is a system call. While the queue is not "
        "empty, the loop has been woken already. So wake it only when the queue was empty before."
    ),
    "task-order": (
        "A queue is first in, first out: queue_in_loop() appends the task at its end, and the "
        "tasks are taken from its head."
    ),
    "tasks-run": (
        "An iteration runs all the tasks that are queued when it gets to them. Take the whole "
        "queue out while you hold the lock, and run the tasks in order, each once. Tasks that two "
        "threads queue at the same time must not be lost."
    ),
    "task-lock": (
        "Release the lock before you run tasks, and run them from a queue of your own. A task may "
        "queue another one, which waits for the next iteration, and other threads may queue too. "
        "A task may free itself, so take it out of the queue before you run it."
    ),
    "task-budget": (
        "The budget of the loop is whole again before the first task of an iteration runs, and no "
        "task begins when it is used up. The tasks that are left stay in the queue of the loop's "
        "own, in front of all that come later, and the loop does not sleep while there are any."
    ),
    "arrival-refused": (
        "If conn_open() fails, or there is no memory to hand a connection over, its descriptor is "
        "still yours: close it. If the connection was counted before, worker_left() counts it off "
        "again."
    ),
    "broadcast-not-begun": (
        "After true the sender waits for the reply to its broadcast. If there is no memory for "
        "one, broadcast_start() returns false, and its caller closes the connection."
    ),
    "push-missed": (
        "A client that misses a message does not notice it. So if rpc_push() returns false, there "
        "is no memory: close the connection, ask for its turn with events_again(), and return "
        "false."
    ),
    "broadcast-at-once": (
        "answer_messages() goes on with the sender when broadcast_start() returns, and a push may "
        "close it. So queue the task, also in the sender's own loop: it runs later."
    ),
    "push-frees": (
        "visit() walks over the list of connections. So a push frees none: conn_close() marks the "
        "connection, and events_again() asks for its turn, which frees it."
    ),
    "told-one-by-one": (
        "Tell every started thread to stop before you wait for the first one: then they end at the "
        "same time. The first worker has no thread of its own: there is nothing to join."
    ),
    "push-budget": (
        "A push costs its loop the bytes of the text and MESSAGE_COST. Tell that to loop_spend() "
        "for each of them: so other clients are served between broadcasts."
    ),
    "task-thread": (
        "run_in_loop() checks which thread calls it. In the thread of this loop it runs the task "
        "before it returns. In any other thread, also in that of another loop, it queues the "
        "task."
    ),
    "data-race": (
        "Two threads used the same memory, and nothing orders their accesses. Only the thread of "
        "a loop may touch what this loop serves, and shared memory needs its lock around every "
        "access, reads too. A queued object no longer belongs to the thread that queued it."
    ),
    "thread-left": (
        "The server ended without waiting for some of its threads. Tell every started thread to "
        "stop, wake its loop for that, and then wait for it with pthread_join()."
    ),
    "thread-not-told": (
        "The server waits for a thread that goes on. Call events_stop() for the loop of every "
        "started thread before the first pthread_join(): it tells the thread to stop, and wakes "
        "its loop."
    ),
    "loop-share": (
        "Give connections to the loops in turn, so that each loop gets the same number. Only the "
        "thread of its loop may watch, read and answer a connection."
    ),
    "stats-of-all": (
        "STATS describes the whole server, whichever loop is asked: add up the counts of all "
        "loops. A closed connection no longer counts as open."
    ),
    "lock-held": (
        "A lock is free again only when the thread that has locked it unlocks it, on every way out "
        "of the function. A thread that locks it once more, or calls a function that does, waits "
        "for itself."
    ),
    "broadcast-reach": (
        "A BROADCAST visits every loop once, and every connection there, also that of the sender. "
        "The reply says how many connections that were, and is sent when all loops were visited."
    ),
    "broadcast-order": (
        "All clients get the broadcasts of one client in the order in which it sent them. That "
        "client also gets its own replies in the order of its requests. So its next request waits "
        "until the broadcast is answered."
    ),
    "sender-is-gone": (
        "The sender may disconnect before its message has reached every connection. The message "
        "is delivered all the same. Only the reply is dropped, and memory that was freed must not "
        "be used."
    ),
    "push-bound": (
        "A client does not read the broadcasts it gets. Close it before its output takes more "
        "memory than a frame of the maximum and what may wait at high-water. No other client may "
        "wait for it, and it no longer counts."
    ),
    "push-not-closed": (
        "A message that does not fit is not dropped: it closes the connection. But conn_close() "
        "only marks the connection, and no event comes from a client that does nothing. "
        "events_again() asks for the turn that frees it."
    ),
    "push-too-early": (
        "Close a client that does not read only when more than 32 MiB and the high-water mark "
        "would wait for it in the server. The mark is the value of --high-water, not its default."
    ),
    "push-together": (
        "A push is appended to the output of its connection, and nothing more. events_again() asks "
        "for a turn of the connection, which sends all that has been pushed since in one call. "
        "Otherwise many senders keep the loop busy with calls."
    ),
    "reached-is-gone": (
        "The reply to a BROADCAST counts the connections that are still open after the push. One "
        "that the push has closed is not counted, and no connection whose end was reported before."
    ),
    "stop-in-order": (
        "End the threads at once, whatever is in their queues. Close the connections then: each of "
        "them may begin the next broadcast. At last run tasks until none is left, since each may "
        "queue the next one, and close the connections that they have opened."
    ),
    "connections-counted": (
        "A connection counts as open from hand_over() on: count it there, once, and no longer when "
        "it has ended, or could not be opened."
    ),
    "idle-by-loops": (
        "A connection belongs to one loop. Its memory must not grow with the number of loops: "
        "no table of a loop has a place for the connections of another."
    ),
}
