"""Chapter 09, loops by themselves: tasks that threads queue into them, and who runs them when."""

from __future__ import annotations

from harness.claims.marker import claim

THREADS = "thread"  # the sanitizer that sees two threads at the same memory
ADDRESSES = "address,undefined"

# What a general hint means in a claim, see marker.claim.
ASLEEP = {"in-the-module": "task-wake"}
RUN = {"in-the-module": "tasks-run"}
LOCK = dict.fromkeys(("in-the-module", "lock-held", "module-crashed", "memory-fault"), "task-lock")
BUDGET = {"in-the-module": "task-budget"}
OWN = {"in-the-module": "task-thread"}
PUSHES = {"in-the-module": "push-budget"}
ORDER = dict.fromkeys(("in-the-module", "module-crashed", "memory-fault"), "stop-in-order")


# 09.1 queue


@claim("09.1", module=True, hints=ASLEEP)
def test_09_queued_task_wakes_the_loop(program):
    """A task that another thread queues ends the sleep of the loop, which then runs it."""
    program("09_orders", "one_task")


@claim("09.1", module=True)
def test_09_no_order_loses_a_wake_up(program):
    """Two threads queue tasks; in each order of their calls and the loop's, every task is run."""
    program("09_orders", "many_tasks")


@claim("09.1", module=True)
def test_09_one_wake_for_many(program):
    """A thousand tasks queued before the loop's next iteration cost a few wake-ups at most."""
    program("09_orders", "one_task")  # one that is never woken costs none
    program("09_loop", "one_wake_for_many")


@claim("09.1", guard=True, module=True)
def test_09_tasks_wait_in_line(program):
    """Tasks wait in the order in which a thread queues them, also if four queue at the same
    time."""
    program("09_loop", "in_their_order")
    program("09_loop", "queued_by_many", sanitize=THREADS)


@claim("09.1", module=True, hints=OWN)
def test_09_own_thread_runs_at_once(program):
    """run_in_loop() runs a task at once in the loop's own thread; other threads queue it."""
    program("09_loop", "own_thread")


# 09.2 run_tasks


@claim("09.2", module=True, hints=RUN)
def test_09_all_tasks_are_run(program):
    """A thousand tasks run in one iteration, each once."""
    program("09_loop", "all_are_run")


@claim("09.2", module=True, hints=LOCK)
def test_09_tasks_are_run_without_the_lock(program):
    """While a task runs, it may queue another; a task may also free itself."""
    program("09_loop", "outside_the_lock", sanitize=ADDRESSES)


@claim("09.2", module=True, hints=RUN)
def test_09_tasks_of_many_threads(program):
    """Four threads queue while the loop runs tasks: each task runs once, without a data race."""
    program("09_loop", "run_meanwhile", sanitize=THREADS)


@claim("09.2", module=True, hints=BUDGET)
def test_09_tasks_within_the_budget(program):
    """Tasks run until the budget is used up; the others are the first of the next iteration."""
    program("09_loop", "within_the_budget")


# 09.3 hand_over


@claim("09.3", guard=True, chapters="09", module=True)
def test_09_arrivals_that_fail(program):
    """A connection counts once it is accepted. If it cannot be opened in its loop, or there is no
    memory for it, it is closed and no longer counted."""
    program("09_server", "arrivals_are_counted", "refused_arrivals")


# 09.4 count


@claim("09.4", module=True)
def test_09_counts_of_many_threads(program):
    """Four threads count at the same time and a fifth sums up: nothing is lost, without a data
    race."""
    program("09_loop", "counts_of_many", sanitize=THREADS)


# 09.5 broadcast


@claim("09.5", chapters="09", module=True, hints=PUSHES)
def test_09_pushes_within_the_budget(program):
    """The pushes of one iteration have a budget, whichever broadcasts they belong to."""
    program("09_server", "pushes_within_the_budget")


@claim("09.5", chapters="09", module=True)
def test_09_broadcasts_are_queued(program):
    """broadcast_start() queues the broadcast, also in the sender's own loop: nothing is pushed
    before it returns. Without memory it returns false."""
    program("09_server", "broadcast_is_queued")


# 09.6 push


@claim("09.6", chapters="09", module=True)
def test_09_push_frees_nothing(program):
    """A push that would hold too much, or has no memory, appends nothing and closes the connection;
    the next turn of the connection frees it."""
    program("09_server", "push_that_closes", sanitize=ADDRESSES)
    program("09_server", "push_without_memory")


# 09.7 stop


@claim("09.7", chapters="09", module=True)
def test_09_threads_end_together(program):
    """All threads are told to stop before one of them is waited for, and no other is."""
    program("09_server", "stops_together")


@claim("09.7", chapters="09", module=True, hints=ORDER)
def test_09_clients_on_their_way_are_closed(program):
    """A server that stops also closes the clients that it has accepted, and whose loop has not got
    them yet. It runs tasks until none is left."""
    program("09_server", "on_their_way", sanitize=ADDRESSES)
