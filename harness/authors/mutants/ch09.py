"""Wrong servers of chapter 09: loops in threads, tasks that are queued into them, broadcasts."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import MESSAGES, RESOURCES, START, THREADS, Mutant

mutant = partial(Mutant, "09")

MUTANTS = (
    # The line of a loop
    mutant(
        "never-woken",
        THREADS,
        "A task is queued, but the loop is not woken for it.",
        "test_09_queued_task_wakes_the_loop",
        "task-wake",
        {
            "loop.c": """
-    if (first)
-        events_wake(loop->events);
+    (void)first;
"""
        },
    ),
    mutant(
        "woken-by-the-second",
        THREADS,
        "The loop is woken only if there was a task in the queue already.",
        "test_09_queued_task_wakes_the_loop",
        "task-wake",
        {
            "loop.c": """
-    if (first)
+    if (!first)
         events_wake(loop->events);
"""
        },
    ),
    mutant(
        "woken-too-early",
        THREADS,
        "The loop is woken first, and then the task is queued.",
        "test_09_queued_task_wakes_the_loop",
        "task-wake",
        {
            "loop.c": """
     pthread_mutex_lock(&loop->lock);
     bool first = STAILQ_EMPTY(&loop->tasks);
-    STAILQ_INSERT_TAIL(&loop->tasks, task, others);
     pthread_mutex_unlock(&loop->lock);
@@
         events_wake(loop->events);
+    pthread_mutex_lock(&loop->lock);
+    STAILQ_INSERT_TAIL(&loop->tasks, task, others);
+    pthread_mutex_unlock(&loop->lock);
 }
"""
        },
    ),
    mutant(
        "own-tasks-asleep",
        THREADS,
        "The loop's own thread does not wake the loop for tasks that it queues itself.",
        "test_09_queued_task_wakes_the_loop",
        "task-wake",
        {
            "loop.c": """
 void queue_in_loop(struct loop *loop, struct task *task)
 {
     pthread_mutex_lock(&loop->lock);
-    bool first = STAILQ_EMPTY(&loop->tasks);
+    bool first = STAILQ_EMPTY(&loop->tasks) && (own_loop != NULL && own_loop != loop);
"""
        },
    ),
    mutant(
        "a-wake-up-for-each",
        THREADS,
        "The loop is woken for each task again, with a system call.",
        "test_09_one_wake_for_many",
        "one-wake",
        {
            "loop.c": """
-    if (first)
-        events_wake(loop->events);
+    (void)first;
+    events_wake(loop->events);
"""
        },
    ),
    mutant(
        "one-task-an-iteration",
        THREADS,
        "One task is removed and run, and the others wait for the next iteration.",
        "test_09_all_tasks_are_run",
        "tasks-run",
        {
            "loop.c": """
-    STAILQ_CONCAT(&mine, &loop->tasks);
+    struct task *one = STAILQ_FIRST(&loop->tasks);
+    if (one != NULL) {
+        STAILQ_REMOVE_HEAD(&loop->tasks, others);
+        STAILQ_INSERT_TAIL(&mine, one, others);
+    }
     pthread_mutex_unlock(&loop->lock);
"""
        },
    ),
    mutant(
        "last-come-first-run",
        THREADS,
        "Tasks are put at the head of the queue.",
        "test_09_all_tasks_are_run",
        "tasks-run",
        {
            "loop.c": """
-    STAILQ_INSERT_TAIL(&loop->tasks, task, others);
+    STAILQ_INSERT_HEAD(&loop->tasks, task, others);
"""
        },
    ),
    mutant(
        "queue-not-emptied",
        THREADS,
        "The queue is not emptied: its tasks are run again in the next iteration.",
        "test_09_all_tasks_are_run",
        "tasks-run",
        {
            "loop.c": """
-    STAILQ_CONCAT(&mine, &loop->tasks);
+    mine = loop->tasks;
"""
        },
    ),
    mutant(
        "run-under-the-lock",
        THREADS,
        "The lock is held while the tasks are run.",
        "test_09_tasks_are_run_without_the_lock",
        "task-lock",
        {
            "loop.c": """
     STAILQ_CONCAT(&mine, &loop->tasks);
-    pthread_mutex_unlock(&loop->lock);
@@
         task->run(task);
     }
+    pthread_mutex_unlock(&loop->lock);
     return any;
"""
        },
    ),
    mutant(
        "until-the-queue-is-empty",
        THREADS,
        "Tasks are run until none is left, also those that the tasks have queued meanwhile.",
        "test_09_tasks_are_run_without_the_lock",
        "task-lock",
        {
            "loop.c": """
-    loop_run_tasks(loop);
+    while (loop_run_tasks(loop))
+        continue;
"""
        },
    ),
    mutant(
        "task-used-after-its-run",
        THREADS,
        "A task is taken out of the queue after it was run, which may have freed it.",
        "test_09_tasks_are_run_without_the_lock",
        "task-lock",
        {
            "loop.c": """
-        STAILQ_REMOVE_HEAD(&mine, others); /* before it runs: it may free itself */
         task->run(task);
+        STAILQ_REMOVE_HEAD(&mine, others);
"""
        },
    ),
    mutant(
        "queued-without-the-lock",
        THREADS,
        "A task is queued without the lock.",
        "test_09_tasks_of_many_threads",
        "data-race",
        {
            "loop.c": """
-    pthread_mutex_lock(&loop->lock);
     bool first = STAILQ_EMPTY(&loop->tasks);
     STAILQ_INSERT_TAIL(&loop->tasks, task, others);
-    pthread_mutex_unlock(&loop->lock);
"""
        },
    ),
    mutant(
        "taken-without-the-lock",
        THREADS,
        "The queue is taken out without the lock, because only its own thread does that.",
        "test_09_tasks_of_many_threads",
        "data-race",
        {
            "loop.c": """
-    pthread_mutex_lock(&loop->lock);
     STAILQ_CONCAT(&mine, &loop->tasks);
-    pthread_mutex_unlock(&loop->lock);
"""
        },
    ),
    mutant(
        "emptied-too-late",
        THREADS,
        "The queue is emptied after its tasks have been run, with all that were queued meanwhile.",
        "test_09_tasks_are_run_without_the_lock",
        "task-lock",
        {
            "loop.c": """
-    STAILQ_CONCAT(&mine, &loop->tasks);
+    mine = loop->tasks;
@@
     bool any = !STAILQ_EMPTY(&mine);
     struct task *task;
@@
         task->run(task);
     }
+    pthread_mutex_lock(&loop->lock);
+    STAILQ_INIT(&loop->tasks);
+    pthread_mutex_unlock(&loop->lock);
     return any;
"""
        },
    ),
    mutant(
        "always-queued",
        THREADS,
        "run_in_loop() queues the task in any case.",
        "test_09_own_thread_runs_at_once",
        "task-thread",
        {
            "loop.c": """
-    if (own_loop == loop)
-        task->run(task);
-    else
-        queue_in_loop(loop, task);
+    queue_in_loop(loop, task);
"""
        },
    ),
    mutant(
        "always-at-once",
        THREADS,
        "run_in_loop() runs the task in any case.",
        "test_09_own_thread_runs_at_once",
        "task-thread",
        {
            "loop.c": """
-    if (own_loop == loop)
-        task->run(task);
-    else
-        queue_in_loop(loop, task);
+    (void)loop;
+    task->run(task);
"""
        },
    ),
    mutant(
        "any-loop-will-do",
        THREADS,
        "run_in_loop() runs the task in the thread of any loop.",
        "test_09_own_thread_runs_at_once",
        "task-thread",
        {
            "loop.c": """
-    if (own_loop == loop)
+    if (own_loop != NULL)
"""
        },
    ),
    mutant(
        "one-own-loop-for-all",
        THREADS,
        "The loop of the running thread is stored in a variable that all threads share.",
        "test_09_own_thread_runs_at_once",
        "task-thread",
        {
            "loop.c": """
-static _Thread_local struct loop *own_loop;
+static struct loop *own_loop;
"""
        },
    ),
    # The loop that gets a connection
    mutant(
        "all-to-the-first",
        THREADS,
        "Every connection goes to the first loop.",
        "test_09_every_loop_gets_its_share",
        "loop-share",
        {
            "acceptor.c": """
-    a->next = (a->next + 1) % a->all->count;
"""
        },
    ),
    mutant(
        "last-loop-left-out",
        THREADS,
        "The last loop never gets a connection.",
        "test_09_every_loop_gets_its_share",
        "loop-share",
        {
            "acceptor.c": """
-    a->next = (a->next + 1) % a->all->count;
+    a->next = a->next + 2 < a->all->count ? a->next + 1 : 0;
"""
        },
    ),
    mutant(
        "loops-by-chance",
        THREADS,
        "The loop is chosen at random: some get more connections and some fewer.",
        "test_09_every_loop_gets_its_share",
        "loop-share",
        {
            "acceptor.c": """
-    a->next = (a->next + 1) % a->all->count;
+    a->next = rand() % a->all->count;
"""
        },
    ),
    mutant(
        "who-is-always-0",
        THREADS,
        "WHO returns 0 for every loop: the index of a loop is never set.",
        "test_09_every_loop_gets_its_share",
        "loop-share",
        {
            "rpc.c": """
-    writer_i32(&call->reply, call->conn->service->loop.index);
+    writer_i32(&call->reply, 0);
"""
        },
    ),
    mutant(
        "one-thread-unless-told",
        START,
        "Without --threads there is one loop, however many CPUs the machine has.",
        "test_09_every_loop_gets_its_share",
        "loop-share",
        {
            "options.c": """
-        .threads = processors(),
+        .threads = processors() > 0,
"""
        },
    ),
    mutant(
        "threads-for-show",
        THREADS,
        "The first loop serves all clients, and WHO makes up a number.",
        "test_09_each_loop_has_its_thread",
        "loop-share",
        {
            "acceptor.c": """
-    struct service *service = &a->all->each[a->next];
-    a->next = (a->next + 1) % a->all->count;
+    struct service *service = &a->all->each[0];
""",
            "rpc.c": """
-    writer_i32(&call->reply, call->conn->service->loop.index);
+    writer_i32(&call->reply, call->conn->fd % call->conn->service->all->count);
""",
        },
    ),
    mutant(
        "threads-by-atoi",
        START,
        "The number of threads is whatever atoi() returns.",
        "test_09_refuses_wrong_threads",
        "bad-start",
        {
            "options.c": """
-    long value;
-    if (!parse_number(text, MAX_THREADS, &value) || value == 0)
-        return false;
-    *threads = (int)value;
-    return true;
+    *threads = atoi(text);
+    return *threads > 0 && *threads <= MAX_THREADS;
"""
        },
    ),
    mutant(
        "no-thread-is-enough",
        START,
        "--threads 0 is accepted.",
        "test_09_refuses_wrong_threads",
        "bad-start",
        {
            "options.c": """
-    if (!parse_number(text, MAX_THREADS, &value) || value == 0)
+    if (!parse_number(text, MAX_THREADS, &value))
         return false;
-    *threads = (int)value;
+    *threads = value > 0 ? (int)value : 1;
"""
        },
    ),
    mutant(
        "who-with-anything",
        MESSAGES,
        "Bytes after a WHO are ignored.",
        "test_09_refuses_wrong_threads",
        "wrong-status",
        {
            "rpc.c": """
 static int who(struct call *call)
 {
-    if (!reader_at_end(&call->request))
-        return RPC_MALFORMED;
"""
        },
    ),
    mutant(
        "acceptor-not-woken",
        THREADS,
        "A connection of another loop has ended, but the accepting loop is not woken.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "service.c": """
-    if (service->limits.max_conns > 0)
+    if (service->limits.max_conns > 0 && service->loop.index == 0)
         events_wake(service->all->each[0].loop.events);
"""
        },
    ),
    # Counts
    mutant(
        "counts-of-one-loop",
        THREADS,
        "STATS returns the counts of this client's loop only.",
        "test_09_stats_of_all_loops",
        "stats-of-all",
        {
            "rpc.c": """
-    struct counts sum = services_sum(call->conn->service->all);
+    struct counts sum = {0};
+    stats_sum(&call->conn->service->stats, &sum);
"""
        },
    ),
    mutant(
        "last-loop-not-counted",
        THREADS,
        "The sum ends before the last loop.",
        "test_09_stats_of_all_loops",
        "stats-of-all",
        {
            "service.c": """
-    for (int i = 0; i < all->count; i++)
+    for (int i = 0; i < all->count - (all->count > 1); i++)
         stats_sum(&all->each[i].stats, &sum);
"""
        },
    ),
    mutant(
        "never-counted-down",
        THREADS,
        "Closed connections still count as open.",
        "test_09_stats_of_all_loops",
        "stats-of-all",
        {
            "service.c": """
-    stats_add(&service->stats, (struct counts){.connections = -1});
"""
        },
    ),
    # Broadcasts
    mutant(
        "own-loop-only",
        THREADS,
        "A BROADCAST goes to the connections of the sender's loop.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "broadcast.c": """
-    b->at = (b->at + 1) % b->all->count;
     if (b->at == b->home)
"""
        },
    ),
    mutant(
        "last-loop-not-visited",
        THREADS,
        "A BROADCAST ends before the last loop.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "broadcast.c": """
     b->at = (b->at + 1) % b->all->count;
+    if ((b->at + 1) % b->all->count == b->home)
+        b->at = b->home;
     if (b->at == b->home)
"""
        },
    ),
    mutant(
        "not-to-the-sender",
        THREADS,
        "All clients get the message except the sender.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "conn.c": """
-    if (c->state != CONN_OPEN)
+    if (c->state != CONN_OPEN || c->broadcast != NULL)
         return false;
     flow_begin_turn(c);
"""
        },
    ),
    mutant(
        "counts-the-last-loop",
        THREADS,
        "The reply has the number of connections of the last loop only.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "broadcast.c": """
-    b->reached += push_to_all(&b->all->each[b->at], (struct bytes){b->text, b->size});
+    b->reached = push_to_all(&b->all->each[b->at], (struct bytes){b->text, b->size});
"""
        },
    ),
    mutant(
        "broadcast-unanswered",
        THREADS,
        "All clients get the message, but the sender gets no reply.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "broadcast.c": """
         b->from->broadcast = NULL;
-        conn_broadcast_done(b->from, b->seq, b->reached);
"""
        },
    ),
    mutant(
        "pushed-as-a-reply",
        MESSAGES,
        "A push has seq 0, like the reply to a request.",
        "test_09_broadcast_reaches_all",
        "broadcast-reach",
        {
            "rpc.c": """
-    begin(&push, out, RPC_BROADCAST, -1, RPC_OK);
+    begin(&push, out, RPC_BROADCAST, 0, RPC_OK);
"""
        },
    ),
    mutant(
        "broadcast-of-anything",
        MESSAGES,
        "Bytes after the string of a BROADCAST are ignored.",
        "test_09_broadcast_malformed",
        "beyond-the-message",
        {
            "rpc.c": """
 static int broadcast(struct call *call)
 {
     struct bytes text;
-    if (!reader_string(&call->request, &text) || !reader_at_end(&call->request))
+    if (!reader_string(&call->request, &text))
"""
        },
    ),
    mutant(
        "push-too-long",
        MESSAGES,
        "A text is broadcast that does not fit into a frame with the fields before it.",
        "test_09_broadcast_malformed",
        "beyond-the-message",
        {
            "rpc.c": """
-    if (text.size > FRAME_MAX_BYTES - ECHO_REPLY_BYTES)
-        return RPC_BAD_ARGUMENT;
     return broadcast_start(call->conn, call->seq, text) ? LATER : NO_MEMORY;
"""
        },
    ),
    mutant(
        "next-request-at-once",
        THREADS,
        "While a BROADCAST is in progress the sender's next request is answered.",
        "test_09_broadcasts_in_order",
        "broadcast-order",
        {
            "answer.c": """
-    while (c->state == CONN_OPEN && c->broadcast == NULL && flow_room(c) > 0 &&
-           quota_left(c->quota) > 0) {
+    while (c->state == CONN_OPEN && flow_room(c) > 0 && quota_left(c->quota) > 0) {
"""
        },
    ),
    mutant(
        "closed-on-its-way",
        THREADS,
        "A client that half-closes is closed before its BROADCAST is answered.",
        "test_09_senders_that_are_gone",
        "sender-is-gone",
        {
            "conn.c": """
-    bool sent = buffer_len(&c->out) == 0 && !alarms_pending(c->alarms) && c->broadcast == NULL;
+    bool sent = buffer_len(&c->out) == 0 && !alarms_pending(c->alarms);
""",
            "flow.c": """
-    bool may_reply = !c->suspended && c->broadcast == NULL;
+    bool may_reply = !c->suspended;
""",
        },
    ),
    mutant(
        "read-on-its-way",
        THREADS,
        "While a BROADCAST is in progress the sender is read; its EOF drops unanswered requests.",
        "test_09_senders_that_are_gone",
        "sender-is-gone",
        {
            "flow.c": """
-    bool may_reply = !c->suspended && c->broadcast == NULL;
+    bool may_reply = !c->suspended;
"""
        },
    ),
    mutant(
        "sender-not-forgotten",
        THREADS,
        "A broadcast keeps the pointer to a sender that is freed.",
        "test_09_memory",
        "memory-fault",
        {
            "broadcast.c": """
-    if (from->broadcast != NULL)
-        from->broadcast->from = NULL;
     from->broadcast = NULL;
"""
        },
    ),
    mutant(
        "freed-when-queued",
        THREADS,
        "A broadcast is freed by the loop that has passed it on.",
        "test_09_memory",
        "memory-fault",
        {
            "broadcast.c": """
     queue_in_loop(&b->all->each[b->at].loop, &b->task);
+    free(b);
 }
@@
         conn_broadcast_done(b->from, b->seq, b->reached);
     }
-    free(b);
"""
        },
    ),
    mutant(
        "used-when-queued",
        THREADS,
        "A broadcast is queued, and then changed.",
        "test_09_no_data_races",
        "data-race",
        {
            "broadcast.c": """
-    b->at = (b->at + 1) % b->all->count;
-    if (b->at == b->home)
+    int next = (b->at + 1) % b->all->count;
+    if (next == b->home)
         b->task.run = answer;
@@
-    queue_in_loop(&b->all->each[b->at].loop, &b->task);
+    queue_in_loop(&b->all->each[next].loop, &b->task);
+    b->at = next;
"""
        },
    ),
    mutant(
        "push-without-bound",
        RESOURCES,
        "Messages pile up for a client that never reads.",
        "test_09_broadcast_to_one_that_never_reads",
        "push-bound",
        {
            "conn.c": """
-    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES + c->service->limits.high_water) {
-        conn_close(c, "does not take what is broadcast");
-        settle(c);
-        return false;
-    }
"""
        },
    ),
    mutant(
        "push-limit-is-a-frame",
        RESOURCES,
        "The limit of pushed bytes leaves the high-water mark out.",
        "test_09_broadcast_to_one_that_never_reads",
        "push-too-early",
        {
            "conn.c": """
-    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES + c->service->limits.high_water) {
+    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES) {
"""
        },
    ),
    mutant(
        "push-limit-below-a-frame",
        RESOURCES,
        "The limit of pushed bytes subtracts the high-water mark instead of adding it.",
        "test_09_broadcast_to_one_that_never_reads",
        "push-too-early",
        {
            "conn.c": """
-    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES + c->service->limits.high_water) {
+    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES - c->service->limits.high_water) {
"""
        },
    ),
    mutant(
        "push-left-out",
        RESOURCES,
        "A client that never reads gets no more pushes, but keeps the earlier ones in memory.",
        "test_09_broadcast_to_one_that_never_reads",
        "push-bound",
        {
            "conn.c": """
     if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES + c->service->limits.high_water) {
-        conn_close(c, "does not take what is broadcast");
-        settle(c);
         return false;
"""
        },
    ),
    # What threads share
    mutant(
        "timers-of-the-first",
        THREADS,
        "The timers of every connection are those of the first loop.",
        "test_09_no_data_races",
        "data-race",
        {
            "conn.c": """
-    struct timers *timers = c->service->loop.timers;
+    struct timers *timers = c->service->all->each[0].loop.timers;
"""
        },
    ),
    mutant(
        "opened-by-the-acceptor",
        THREADS,
        "The thread that accepts opens the connection in the loop of another.",
        "test_09_no_data_races",
        "data-race",
        {
            "acceptor.c": """
-    run_in_loop(&service->loop, &arrival->task);
+    arrive(&arrival->task);
"""
        },
    ),
    mutant(
        "counted-without-a-lock",
        THREADS,
        "Each loop counts without a lock: the counts are its own.",
        "test_09_no_data_races",
        "data-race",
        {
            "service.c": """
-    pthread_mutex_lock(&stats->lock);
     add(&stats->counts, &more);
-    pthread_mutex_unlock(&stats->lock);
"""
        },
    ),
    mutant(
        "summed-without-a-lock",
        THREADS,
        "The counts of all loops are read without their locks, because nothing is changed.",
        "test_09_no_data_races",
        "data-race",
        {
            "service.c": """
-    pthread_mutex_lock(&stats->lock);
     add(sum, &stats->counts);
-    pthread_mutex_unlock(&stats->lock);
"""
        },
    ),
    mutant(
        "spare-buffer-shared",
        THREADS,
        "All threads share one spare block.",
        "test_09_no_data_races",
        "data-race",
        {
            "buffer.c": """
-static _Thread_local struct block *spare; /* owned; NULL: there is none */
+static struct block *spare; /* owned; NULL: there is none */
"""
        },
    ),
    mutant(
        "pushed-from-outside",
        THREADS,
        "The sender's thread pushes the message to the connections of all loops.",
        "test_09_no_data_races",
        "data-race",
        {
            "broadcast.c": """
-    b->reached += push_to_all(&b->all->each[b->at], (struct bytes){b->text, b->size});
-    b->at = (b->at + 1) % b->all->count;
-    if (b->at == b->home)
-        b->task.run = answer;
+    for (int i = 0; i < b->all->count; i++)
+        b->reached += push_to_all(&b->all->each[i], (struct bytes){b->text, b->size});
+    b->task.run = answer;
"""
        },
    ),
    # The end
    mutant(
        "workers-not-told",
        THREADS,
        "The threads are waited for, but were not told to stop.",
        "test_09_stops_under_load",
        "thread-left",
        {
            "server.c": """
-        queue_in_loop(workers[i].loop, &workers[i].stop);
+        (void)stop;
"""
        },
    ),
    mutant(
        "told-and-not-woken",
        THREADS,
        "The threads are told to stop, but not woken.",
        "test_09_stops_under_load",
        "thread-left",
        {
            "server.c": """
-        queue_in_loop(workers[i].loop, &workers[i].stop);
+    {
+        pthread_mutex_lock(&workers[i].loop->lock);
+        STAILQ_INSERT_TAIL(&workers[i].loop->tasks, &workers[i].stop, others);
+        pthread_mutex_unlock(&workers[i].loop->lock);
+    }
"""
        },
    ),
    mutant(
        "workers-not-awaited",
        THREADS,
        "The threads are told to stop, but not waited for.",
        "test_09_no_data_races",
        "data-race",
        {
            "server.c": """
-        pthread_join(workers[i].thread, NULL);
+        pthread_detach(workers[i].thread);
"""
        },
    ),
    mutant(
        "last-tasks-forgotten",
        RESOURCES,
        "Tasks that are in a queue at the end are neither run nor freed.",
        "test_09_memory",
        "memory-leak",
        {
            "service.c": """
-            any = loop_run_tasks(&all->each[i].loop) || any;
+            any = false;
"""
        },
    ),
    mutant(
        "spare-of-each-kept",
        RESOURCES,
        "A thread ends, but its own spare buffer is not freed.",
        "test_09_memory",
        "memory-leak",
        {
            "server.c": """
-    spare_free();
     return NULL;
"""
        },
    ),
)
