"""The hints of docs/reading-failures.md#loops-in-threads, by their keys."""

TEXTS = {
    "task-wake": (
        "A task was queued, and the loop slept or did not run it. queue_in_loop() first appends "
        "the task to the queue and then wakes the loop, whichever thread calls it, the loop's own "
        "too."
    ),
    "one-wake": (
        "Every task had a wake-up of its own, which is a system call. As long as there are tasks "
        "in the line the loop has been woken for them: only who puts the first one there wakes "
        "it."
    ),
    "tasks-run": (
        "A turn runs all the tasks that are in the line when it comes to them: take the whole "
        "line out while the lock is held, and run it from its front, each task once. What two "
        "threads queue at a time must not be lost either."
    ),
    "task-lock": (
        "Tasks are run when the lock is released, from a line of your own. A task may queue "
        "another, which waits for the next turn; others may queue meanwhile; and it may free "
        "itself: take it out of the line before you run it."
    ),
    "task-thread": (
        "run_in_loop() asks whose thread this is. If it is that of this very loop, it runs the "
        "task before it returns; from any other thread, of another loop too, the task is queued."
    ),
    "data-race": (
        "Two threads touched the same memory, and nothing said who comes first. What a loop "
        "serves only its own thread may touch; what is shared needs its lock around every use, "
        "reading too; and what was queued is not yours any more."
    ),
    "thread-left": (
        "The server ended while threads of it still ran. Every thread that was started is told to "
        "stop, which its loop has to be woken for, and then waited for with pthread_join()."
    ),
    "loop-share": (
        "Connections go to the loops in turn, each loop gets as many as the next, and a "
        "connection is served by the thread of its loop alone: that watches it, reads it and "
        "answers it."
    ),
    "stats-of-all": (
        "STATS is about the whole server, whichever loop is asked: add up what all loops have "
        "counted. A connection that is over counts no more."
    ),
    "broadcast-reach": (
        "A BROADCAST visits every loop once, and there every connection, that of the sender too. "
        "The reply says how many they were, and comes when all loops were visited."
    ),
    "broadcast-order": (
        "What one client broadcasts everybody gets in the order in which it was sent, and its own "
        "replies come in the order of its requests: the next request waits until the broadcast is "
        "answered."
    ),
    "sender-is-gone": (
        "The sender may be gone before its message has been everywhere. The message goes on its "
        "way all the same; only the reply has nobody to go to, and what was freed is not touched."
    ),
    "push-bound": (
        "Who does not take what is broadcast is closed, before that has cost more memory than a "
        "frame of the maximum and what waits at high water. Nobody else waits for it, and it is "
        "not counted any more."
    ),
    "push-too-early": (
        "A client that does not read is closed when more than 32 MiB and the high-water mark would "
        "wait for it in the server. The mark is the one of --high-water, and not its default."
    ),
}
