"""Wrong servers of chapter 11: operations, their completions, and the memory they use meanwhile."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import (
    CALLS,
    COMPLETION,
    COROUTINES,
    GROWTH,
    LOOP,
    NUMBERS,
    OPTIONS,
    PRESSURE,
    RESOURCES,
    START,
    STATE,
    TIMERS,
    WRITES,
    Mutant,
    socket_option,
)

mutant = partial(Mutant, "11")

MUTANTS = (
    # Operations
    mutant(
        "user-data-lost",
        COMPLETION,
        "An entry does not get its operation as user data.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-    io_uring_sqe_set_data(entry, op);
"""
        },
    ),
    mutant(
        "not-marked-in-flight",
        COMPLETION,
        "An operation that was begun does not count as in flight.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-    op->in_flight = true;
     op->cancelled = false;
"""
        },
    ),
    mutant(
        "more-is-ignored",
        COMPLETION,
        "An operation counts as over after its first completion.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        op->in_flight = flags & IORING_CQE_F_MORE;
+        op->in_flight = false;
"""
        },
    ),
    mutant(
        "never-over",
        COMPLETION,
        "An operation stays in flight after its last completion.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        op->in_flight = flags & IORING_CQE_F_MORE;
"""
        },
    ),
    mutant(
        "used-after-its-callback",
        COMPLETION,
        "in_flight is set after the callback, which may have freed the operation.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        op->in_flight = flags & IORING_CQE_F_MORE;
         op->completed(op, result, flags); /* the last use of op: it may be gone now */
+        op->in_flight = flags & IORING_CQE_F_MORE;
"""
        },
    ),
    mutant(
        "not-seen",
        COMPLETION,
        "A completion is not marked as seen, so it comes again.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        io_uring_cqe_seen(&r->rings, completion);
"""
        },
    ),
    mutant(
        "submits-each",
        LOOP,
        "Each operation is handed over by a call of its own.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-    struct io_uring_sqe *entry = next_entry(r);
-    io_uring_sqe_set_data(entry, op);
+    io_uring_submit(&r->rings);
+    struct io_uring_sqe *entry = next_entry(r);
+    io_uring_sqe_set_data(entry, op);
"""
        },
    ),
    mutant(
        "never-waits",
        LOOP,
        "Without a time limit there is no wait, so the loop spins.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        return io_uring_submit_and_wait(&r->rings, 1);
+        return io_uring_submit_and_wait(&r->rings, 0);
"""
        },
    ),
    mutant(
        "waits-for-two",
        LOOP,
        "The wait is for two completions, although one may be the only one.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        return io_uring_submit_and_wait(&r->rings, 1);
+        return io_uring_submit_and_wait(&r->rings, 2);
"""
        },
    ),
    mutant(
        "zero-does-no-work",
        LOOP,
        "Without a wait the operations are handed over, and the kernel does nothing for them.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        return io_uring_submit_and_get_events(&r->rings);
+        return io_uring_submit(&r->rings);
"""
        },
    ),
    mutant(
        "whole-seconds",
        TIMERS,
        "The time limit of the wait is cut to whole seconds.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        .tv_nsec = timeout_ms % 1000 * 1000000LL,
"""
        },
    ),
    mutant(
        "microseconds",
        TIMERS,
        "The time limit is computed in microseconds, but it has nanoseconds.",
        "test_11_operations_complete",
        "ring-operation",
        {
            "ring.c": """
-        .tv_nsec = timeout_ms % 1000 * 1000000LL,
+        .tv_nsec = timeout_ms % 1000 * 1000LL,
"""
        },
    ),
    mutant(
        "one-completion-a-call",
        GROWTH,
        "Each iteration takes one completion out of the ring.",
        "test_11_few_ring_calls",
        "ring-calls-too-many",
        {
            "ring.c": """
-    unsigned count = io_uring_cq_ready(&r->rings);
+    unsigned count = 1;
"""
        },
    ),
    mutant(
        "full-ring-ignored",
        COMPLETION,
        "When the ring is full, the entry is NULL, and is used.",
        "test_11_rings_are_full",
        "ring-full",
        {
            "ring.c": """
-    struct io_uring_sqe *entry;
-    while ((entry = io_uring_get_sqe(&r->rings)) == NULL)
-        io_uring_submit(&r->rings);
-    return entry;
+    return io_uring_get_sqe(&r->rings);
"""
        },
    ),
    mutant(
        "full-ring-drops",
        COMPLETION,
        "When the ring is full, an operation is written to where nobody reads it.",
        "test_11_rings_for_two",
        "ring-lost",
        {
            "ring.c": """
-    struct io_uring_sqe *entry;
-    while ((entry = io_uring_get_sqe(&r->rings)) == NULL)
-        io_uring_submit(&r->rings);
-    return entry;
+    static struct io_uring_sqe nowhere;
+    struct io_uring_sqe *entry = io_uring_get_sqe(&r->rings);
+    return entry != NULL ? entry : &nowhere;
"""
        },
    ),
    # Lent buffers
    mutant(
        "number-is-zero",
        COMPLETION,
        "Every completion is taken to be about buffer 0.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-    return flags >> IORING_CQE_BUFFER_SHIFT;
+    (void)flags;
+    return 0;
"""
        },
    ),
    mutant(
        "number-not-shifted",
        NUMBERS,
        "The flags are masked, and the number is in their other half.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-    return flags >> IORING_CQE_BUFFER_SHIFT;
+    return flags & (LENT_COUNT - 1);
"""
        },
    ),
    mutant(
        "not-shown-to-the-kernel",
        COMPLETION,
        "A buffer is put into the ring, and the tail is not moved.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-    io_uring_buf_ring_advance(lent->free, 1); /* now the kernel may take it */
"""
        },
    ),
    mutant(
        "shown-twice",
        COMPLETION,
        "For each buffer the tail moves by two.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-    io_uring_buf_ring_advance(lent->free, 1); /* now the kernel may take it */
+    io_uring_buf_ring_advance(lent->free, 2);
"""
        },
    ),
    mutant(
        "mask-is-the-count",
        NUMBERS,
        "The number of buffers is passed where their mask is expected.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-                          io_uring_buf_ring_mask(LENT_COUNT), 0);
+                          LENT_COUNT, 0);
"""
        },
    ),
    mutant(
        "always-the-same-place",
        COMPLETION,
        "The buffer that is given back is always buffer 0.",
        "test_11_buffers_are_lent",
        "lent-buffer",
        {
            "lent.c": """
-    io_uring_buf_ring_add(lent->free, buffer_at(lent, number), LENT_BYTES, (unsigned short)number,
+    io_uring_buf_ring_add(lent->free, buffer_at(lent, 0), LENT_BYTES, (unsigned short)number,
"""
        },
    ),
    # Receiving
    mutant(
        "reader-not-woken",
        COMPLETION,
        "Input has arrived, and the coroutine that waits for it is not woken.",
        "test_11_reads_from_lent_buffers",
        "ring-receive",
        {
            "co_uring.c": """
-    co_wake(s->read.waiting);
 }
 
 /* Receives whenever something arrives, until this is cancelled or no buffer is free. */
"""
        },
    ),
    mutant(
        "returned-before-copied",
        COMPLETION,
        "A buffer is given back first, and its bytes are copied then.",
        "test_11_no_buffer_is_free",
        "ring-receive",
        {
            "co_uring.c": """
         struct lent *lent = ring_lent(s->ring);
+        lent_return(lent, flags);
         if (result > 0 && !buffer_append(&s->arrived, lent_bytes(lent, flags), (size_t)result))
             s->error = ENOMEM;
-        lent_return(lent, flags);
"""
        },
    ),
    mutant(
        "buffer-kept",
        RESOURCES,
        "A lent buffer is not given back.",
        "test_11_more_input_than_buffers",
        "ring-lost",
        {
            "co_uring.c": """
-        lent_return(lent, flags);
"""
        },
    ),
    mutant(
        "no-buffer-is-eof",
        CALLS,
        "-ENOBUFS is taken for the end of the input.",
        "test_11_rings_for_two",
        "ring-lost",
        {
            "co_uring.c": """
-    if (result == 0)
+    if (result == 0 || result == -ENOBUFS)
"""
        },
    ),
    mutant(
        "no-buffer-is-an-error",
        CALLS,
        "-ENOBUFS breaks the connection.",
        "test_11_no_buffer_is_free",
        "ring-receive",
        {
            "co_uring.c": """
-    else if (result < 0 && !is_nothing(result))
+    else if (result < 0 && result != -EINTR && result != -EAGAIN && result != -ECANCELED)
"""
        },
    ),
    mutant(
        "not-begun-again",
        COMPLETION,
        "Receiving that has ended for want of a buffer is not begun again.",
        "test_11_no_buffer_is_free",
        "ring-receive",
        {
            "co_uring.c": """
+    if (!s->receive.in_flight && !has_input(s))
+        receive(s);
     while (!has_input(s)) {
-        if (!s->receive.in_flight)
-            receive(s);
         s->read.waiting = co_self();
"""
        },
    ),
    mutant(
        "receives-twice",
        COMPLETION,
        "Each wait begins to receive, although that is in flight already.",
        "test_11_input_comes_before_its_end",
        "ring-receive",
        {
            "co_uring.c": """
-        if (!s->receive.in_flight)
-            receive(s);
+        receive(s);
         s->read.waiting = co_self();
"""
        },
    ),
    mutant(
        "eof-drops-bytes",
        COMPLETION,
        "At EOF the bytes that nobody has read yet are dropped.",
        "test_11_input_comes_before_its_end",
        "ring-receive",
        {
            "co_uring.c": """
-    if (result == 0)
+    if (result == 0) {
         s->eof = true;
-    else if (result < 0 && !is_nothing(result))
+        buffer_free(&s->arrived);
+    } else if (result < 0 && !is_nothing(result))
"""
        },
    ),
    mutant(
        "cancelled-is-an-error",
        CALLS,
        "Every negative result of a receiving operation is an error.",
        "test_11_input_comes_before_its_end",
        "ring-receive",
        {
            "co_uring.c": """
-    else if (result < 0 && !is_nothing(result))
+    else if (result < 0)
"""
        },
    ),
    mutant(
        "errors-are-nothing",
        CALLS,
        "An error of the receiving operation is ignored.",
        "test_11_input_comes_before_its_end",
        "ring-receive",
        {
            "co_uring.c": """
-    else if (result < 0 && !is_nothing(result))
-        s->error = -result;
"""
        },
    ),
    mutant(
        "error-wakes-nobody",
        COMPLETION,
        "After an error the coroutine that waits is not woken.",
        "test_11_peers_leave_in_flight",
        "ring-peer-gone",
        {
            "co_uring.c": """
-    else if (result < 0 && !is_nothing(result))
+    else if (result < 0 && !is_nothing(result)) {
         s->error = -result;
+        return;
+    }
"""
        },
    ),
    mutant(
        "read-is-never-late",
        TIMERS,
        "A read waits without its time limit.",
        "test_11_how_a_read_ends",
        "ring-receive",
        {
            "co_uring.c": """
         s->read.waiting = co_self();
-        enum co_result how = co_park(timeout_ms);
+        enum co_result how = co_park(-1);
+        (void)timeout_ms;
         s->read.waiting = NULL;
"""
        },
    ),
    mutant(
        "late-read-waits-on",
        TIMERS,
        "When the time is over, the wait begins once more.",
        "test_11_how_a_read_ends",
        "ring-receive",
        {
            "co_uring.c": """
-        if (how == CO_LATE)
-            return has_input(s) ? IO_OK : IO_LATE;
         if (s->receive.in_flight && !has_input(s))
"""
        },
    ),
    mutant(
        "cancelled-read-waits-on",
        COROUTINES,
        "A read that was cancelled tries again.",
        "test_11_how_a_read_ends",
        "ring-receive",
        {
            "co_uring.c": """
-        if (how == CO_CANCELLED)
-            return IO_CANCELLED;
         if (how == CO_LATE)
"""
        },
    ),
    mutant(
        "input-without-a-limit",
        PRESSURE,
        "While no coroutine reads, receiving goes on.",
        "test_11_nobody_reads",
        "ring-receive",
        {
            "co_uring.c": """
-    if (buffer_len(&s->arrived) >= LARGE_BYTES)
-        ring_cancel(s->ring, op);
     co_wake(s->read.waiting);
"""
        },
    ),
    mutant(
        "clears-its-stack",
        RESOURCES,
        "Each coroutine that waits for input has cleared a buffer of 32 KiB on its stack.",
        "test_11_idle_clients_own_no_buffer",
        "ring-idle",
        {
            "co_uring.c": """
+    volatile uint8_t bytes[32 << 10];
+    for (size_t i = 0; i < sizeof bytes; i++)
+        bytes[i] = 0;
     while (!has_input(s)) {
"""
        },
    ),
    # Sending
    mutant(
        "short-send-is-all",
        WRITES,
        "A send that has completed counts as complete, even if it was short.",
        "test_11_sends_are_short",
        "ring-send",
        {
            "co_uring.c": """
-        buffer_consume(s->out, (size_t)result);
+        buffer_consume(s->out, buffer_len(s->out));
"""
        },
    ),
    mutant(
        "resumed-with-frames-left",
        PRESSURE,
        "A send completes in time to resume reading, although complete frames are left.",
        "test_11_sends_are_short",
        "ring-send",
        {
            "conn.c": """
-    if (!c->suspended)
-        flow_look(c);
+    flow_look(c);
     if (c->sending != NULL || c->end == CONN_BROKEN || buffer_len(&c->out) == 0)
"""
        },
    ),
    mutant(
        "not-pinned",
        COMPLETION,
        "The bytes of a send are not pinned, so they move when the buffer grows.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    buffer_pin(out);
     io_uring_prep_send(ring_begin(s->ring, &s->send), s->fd, buffer_head(out), size, MSG_NOSIGNAL);
"""
        },
    ),
    mutant(
        "unpinned-at-once",
        COMPLETION,
        "The bytes are unpinned when the send has begun, and not when it has completed.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    buffer_unpin(s->out);
     if (result > 0)
@@
     buffer_pin(out);
     io_uring_prep_send(ring_begin(s->ring, &s->send), s->fd, buffer_head(out), size, MSG_NOSIGNAL);
+    buffer_unpin(out);
"""
        },
    ),
    mutant(
        "never-slides-if-pinned",
        RESOURCES,
        "A buffer that is pinned again at once never slides, and doubles again and again.",
        "test_11_steady_reader",
        "ring-pinned",
        {
            "buffer.c": """
-    if (b->block->start >= buffer_len(b))
-        slide(b);
 }
"""
        },
    ),
    mutant(
        "two-sends-in-flight",
        COMPLETION,
        "A second send begins while the first one is in flight.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    if (s->send.in_flight)
-        return;
     size_t size = buffer_len(out) < most ? buffer_len(out) : most;
     s->out = out;
"""
        },
    ),
    mutant(
        "sent-at-once",
        WRITES,
        "Bytes are removed from the buffer when their send begins.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    if (result > 0)
-        buffer_consume(s->out, (size_t)result);
@@
     io_uring_prep_send(ring_begin(s->ring, &s->send), s->fd, buffer_head(out), size, MSG_NOSIGNAL);
+    buffer_consume(out, size);
"""
        },
    ),
    mutant(
        "sent-is-not-called",
        COMPLETION,
        "A send that nobody waits for ends, and `sent` is not called.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    else if (s->sent != NULL)
-        s->sent(s->context, how_sent(s));
"""
        },
    ),
    mutant(
        "woken-and-called",
        COMPLETION,
        "A coroutine waits in uring_write(), and `sent` is called as well.",
        "test_11_bytes_stay_while_they_are_sent",
        "ring-send",
        {
            "co_uring.c": """
-    else if (s->sent != NULL)
+    if (s->sent != NULL)
"""
        },
    ),
    mutant(
        "sends-all-of-it",
        PRESSURE,
        "A send takes all of the buffer, and not as much as the caller allows.",
        "test_11_sends_every_byte_once",
        "ring-send",
        {
            "co_uring.c": """
-    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
+    size_t size = buffer_len(out);
+    (void)most;
     s->out = out;
"""
        },
    ),
    mutant(
        "cancelled-write-waits-on",
        COROUTINES,
        "A write that was cancelled returns as if it was woken.",
        "test_11_sends_every_byte_once",
        "ring-send",
        {
            "co_uring.c": """
-    if (how == CO_CANCELLED)
-        return IO_CANCELLED;
     return s->send.in_flight ? IO_AGAIN : how_sent(s);
"""
        },
    ),
    mutant(
        "send-error-is-again",
        CALLS,
        "A send that has failed is tried again.",
        "test_11_how_a_send_ends",
        "ring-send",
        {
            "co_uring.c": """
-    return is_nothing(s->send_result) ? IO_AGAIN : failed(-s->send_result);
+    return IO_AGAIN;
"""
        },
    ),
    mutant(
        "cancelled-send-fails",
        CALLS,
        "A send that was cancelled or interrupted counts as an error.",
        "test_11_how_a_send_ends",
        "ring-send",
        {
            "co_uring.c": """
-    return is_nothing(s->send_result) ? IO_AGAIN : failed(-s->send_result);
+    return failed(-s->send_result);
"""
        },
    ),
    mutant(
        "early-wake-is-the-end",
        STATE,
        "A wait that ended early returns the result of the send before.",
        "test_11_how_a_send_ends",
        "ring-send",
        {
            "co_uring.c": """
-    return s->send.in_flight ? IO_AGAIN : how_sent(s);
+    return how_sent(s);
"""
        },
    ),
    # Cancelling
    mutant(
        "cancelled-is-over",
        COMPLETION,
        "An operation counts as over as soon as it is cancelled.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
     op->cancelled = true;
+    op->in_flight = false;
"""
        },
    ),
    mutant(
        "cancels-twice",
        COMPLETION,
        "The kernel is asked again for an operation that is being cancelled.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
-    if (!op->in_flight || op->cancelled)
+    if (!op->in_flight)
"""
        },
    ),
    mutant(
        "cancels-nothing",
        COMPLETION,
        "The kernel is asked to cancel an operation that is not in flight.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
-    if (!op->in_flight || op->cancelled)
+    if (op->cancelled)
"""
        },
    ),
    mutant(
        "cancels-all",
        COMPLETION,
        "The request cancels every operation of the ring.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
-    io_uring_prep_cancel(entry, op, 0);
+    io_uring_prep_cancel(entry, op, IORING_ASYNC_CANCEL_ANY);
"""
        },
    ),
    mutant(
        "request-is-the-operation",
        COMPLETION,
        "The completion of the request is taken for one of the operation.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
     io_uring_prep_cancel(entry, op, 0);
-    io_uring_sqe_set_data(entry, NULL);
+    io_uring_sqe_set_data(entry, op);
"""
        },
    ),
    mutant(
        "user-data-is-stale",
        STATE,
        "A request has the user data that was in its entry before.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
-    io_uring_sqe_set_data(entry, NULL);
"""
        },
    ),
    mutant(
        "cancelled-for-good",
        STATE,
        "An operation that was cancelled once cannot be cancelled again.",
        "test_11_cancelled_operations_complete",
        "ring-cancel",
        {
            "ring.c": """
     op->in_flight = true;
-    op->cancelled = false;
"""
        },
    ),
    # Calls
    mutant(
        "poll-left-in-flight",
        COMPLETION,
        "uring_accept() returns while its poll operation may be in flight.",
        "test_11_calls_leave_nothing_in_flight",
        "ring-in-flight",
        {
            "co_uring.c": """
         co_park(-1);
-        end_call(s->ring, &call);
         s->read.waiting = NULL;
"""
        },
    ),
    mutant(
        "connect-left-in-flight",
        COMPLETION,
        "A connect that is cancelled returns before it has completed.",
        "test_11_calls_leave_nothing_in_flight",
        "ring-in-flight",
        {
            "co_uring.c": """
     while (how == CO_WOKEN && call.op.in_flight);
-    end_call(s->ring, &call);
     s->write.waiting = NULL;
"""
        },
    ),
    mutant(
        "emfile-is-nobody",
        CALLS,
        "Without a free descriptor uring_accept() says that there is no client.",
        "test_11_calls_leave_nothing_in_flight",
        "ring-calls",
        {
            "co_uring.c": """
-    return is_nothing(call.result) ? NET_NONE : NET_FULL;
+    return NET_NONE;
"""
        },
    ),
    mutant(
        "aborted-is-emfile",
        CALLS,
        "A client that has gone counts as a lack of descriptors.",
        "test_11_calls_leave_nothing_in_flight",
        "ring-calls",
        {
            "co_uring.c": """
-    } while (call.result == -ECONNABORTED || call.result == -EINTR);
+    } while (call.result == -EINTR);
"""
        },
    ),
    mutant(
        "connect-ends-when-woken",
        COROUTINES,
        "co_wake() ends a connect that has not been answered.",
        "test_11_calls_leave_nothing_in_flight",
        "ring-calls",
        {
            "co_uring.c": """
-    do
-        how = co_park(-1);
-    while (how == CO_WOKEN && call.op.in_flight);
+    how = co_park(-1);
"""
        },
    ),
    mutant(
        "reason-not-in-errno",
        CALLS,
        "The reason why a connect has failed does not get into errno.",
        "test_11_accepts_and_connects",
        "ring-calls",
        {
            "co_uring.c": """
-    return how == CO_CANCELLED ? IO_CANCELLED : failed(-call.result);
+    return how == CO_CANCELLED ? IO_CANCELLED : IO_ERROR;
"""
        },
    ),
    mutant(
        "always-ready",
        LOOP,
        "The listening socket counts as ready for ever, so accept never waits.",
        "test_11_accepts_and_connects",
        "ring-calls",
        {
            "co_uring.c": """
-    s->read.ready = !is_nothing(call.result); /* there may be more */
+    s->read.ready = true;
"""
        },
    ),
    # Forgetting a socket
    mutant(
        "freed-in-flight",
        COMPLETION,
        "A socket is forgotten without a wait for what was cancelled.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    while (s->receive.in_flight || s->send.in_flight)
-        co_hold();
     buffer_free(&s->arrived);
"""
        },
    ),
    mutant(
        "waits-for-one-only",
        COMPLETION,
        "Only the receiving operation is awaited, and a send is in flight as well.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    while (s->receive.in_flight || s->send.in_flight)
+    while (s->receive.in_flight)
         co_hold();
     buffer_free(&s->arrived);
"""
        },
    ),
    mutant(
        "waits-for-the-send-only",
        COMPLETION,
        "Only a send is awaited, and the receiving operation is in flight as well.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    while (s->receive.in_flight || s->send.in_flight)
+    while (s->send.in_flight)
         co_hold();
     buffer_free(&s->arrived);
"""
        },
    ),
    mutant(
        "receive-not-cancelled",
        COMPLETION,
        "The receiving operation is awaited, but not cancelled.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    ring_cancel(s->ring, &s->receive);
     ring_cancel(s->ring, &s->send);
     co_cancel(s->read.waiting);
"""
        },
    ),
    mutant(
        "send-not-cancelled",
        COMPLETION,
        "A send is awaited, but not cancelled: the peer may never read.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
     ring_cancel(s->ring, &s->receive);
-    ring_cancel(s->ring, &s->send);
     co_cancel(s->read.waiting);
"""
        },
    ),
    mutant(
        "parks-when-cancelled",
        COROUTINES,
        "A coroutine that was cancelled cannot park, so it spins.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
     while (s->receive.in_flight || s->send.in_flight)
-        co_hold();
+        co_park(-1);
     buffer_free(&s->arrived);
"""
        },
    ),
    mutant(
        "ends-by-shutdown",
        COMPLETION,
        "The socket is shut down, so that its operations end by themselves.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    ring_cancel(s->ring, &s->receive);
-    ring_cancel(s->ring, &s->send);
     co_cancel(s->read.waiting);
     co_cancel(s->write.waiting);
+    shutdown(s->fd, SHUT_RDWR);
     if (co_self() == NULL)
"""
        },
    ),
    mutant(
        "waits-go-on",
        COROUTINES,
        "A socket is forgotten, and the coroutine that reads from it is not cancelled.",
        "test_11_nothing_is_freed_in_flight",
        "ring-forget",
        {
            "co_uring.c": """
-    co_cancel(s->read.waiting);
     co_cancel(s->write.waiting);
     if (co_self() == NULL)
"""
        },
    ),
    mutant(
        "arrived-not-freed",
        RESOURCES,
        "Input that nobody has read is not freed with its connection.",
        "test_11_stops_with_operations_in_flight",
        "ring-stop",
        {
            "co_uring.c": """
         co_hold();
-    buffer_free(&s->arrived);
"""
        },
    ),
    mutant(
        "stops-with-no-list",
        RESOURCES,
        "At a stop the loop ends when no connection is listed, although some of them still wait.",
        "test_11_stops_with_operations_in_flight",
        "ring-stop",
        {
            "conn.c": """
-    while (co_any(service->loop.scheduler))
+    while (!LIST_EMPTY(&service->conns))
         if (!co_run(service->loop.scheduler))
"""
        },
    ),
    # All together
    mutant(
        "epoll-by-default",
        START,
        "The ring is used only with --io uring.",
        "test_11_uses_the_ring_by_default",
        "not-by-the-ring",
        {
            "main.c": """
-    if (options->moves != MOVES_EPOLL) {
+    if (options->moves == MOVES_URING) {
"""
        },
    ),
    mutant(
        "accepts-by-call",
        LOOP,
        "Clients are accepted by accept(), again and again after a short sleep.",
        "test_11_uses_the_ring_by_default",
        "not-by-the-ring",
        {
            "co_uring.c": """
     struct call call;
-    if (!s->read.ready) {
+    int fd = net_accept(s->fd);
+    if (fd != NET_NONE)
+        return fd;
+    if (!s->read.ready) {
"""
        },
    ),
    mutant(
        "sends-by-call",
        LOOP,
        "What a client may take at once is sent by a call.",
        "test_11_uses_the_ring_by_default",
        "not-by-the-ring",
        {
            "co_io.c": """
     if (s->ring != NULL) {
-        uring_send(s, out, most);
+        size_t sent = 0;
+        if (!s->send.in_flight && io_write(s->fd, buffer_head(out), buffer_len(out), &sent) == IO_OK)
+            buffer_consume(out, sent);
+        if (buffer_len(out) > 0)
+            uring_send(s, out, most);
         return;
     }
     size_t size = buffer_len(out) < most ? buffer_len(out) : most;
     size_t moved = 0;
     enum io_result result = io_write(s->fd, buffer_head(out), size, &moved);
"""
        },
    ),
    mutant(
        "always-falls-back",
        START,
        "With --io uring and no ring the server uses epoll.",
        "test_11_without_io_uring",
        "ring-missing",
        {
            "main.c": """
-        if (options->moves == MOVES_URING)
-            die("no io_uring here");
"""
        },
    ),
    mutant(
        "never-falls-back",
        START,
        "Without a ring the server ends, even if it was not asked for.",
        "test_11_without_io_uring",
        "ring-missing",
        {
            "main.c": """
-        if (options->moves == MOVES_URING)
-            die("no io_uring here");
-        log_line("no io_uring here: %s; uses %s", strerror(errno), options->backend->name);
+        die("no io_uring here");
"""
        },
    ),
    mutant(
        "falls-back-in-silence",
        START,
        "Without a ring the server uses epoll, and does not say so.",
        "test_11_without_io_uring",
        "ring-missing",
        {
            "main.c": """
-        log_line("no io_uring here: %s; uses %s", strerror(errno), options->backend->name);
"""
        },
    ),
    mutant(
        "any-way-will-do",
        START,
        "A wrong word after --io is accepted.",
        "test_11_without_io_uring",
        "bad-start",
        {
            "options.c": """
-    return *moves == MOVES_URING || strcmp(text, "epoll") == 0;
+    return true;
"""
        },
    ),
    mutant(
        "places-for-4096",
        RESOURCES,
        "The server has places for descriptors below 4,096.",
        "test_11_five_thousand_at_once",
        "table-too-small",
        {
            "conn.c": """
 bool conn_open(int fd, struct service *service)
 {
+    if (fd >= 4096)
+        return false;
"""
        },
    ),
    # Socket options, and flags of send()
    mutant(
        "lingers-in-close",
        OPTIONS,
        "SO_LINGER with a time of 5 s: a close() of one loop waits for the client.",
        "test_02_closing_stops_nobody",
        "blocked-in-close",
        socket_option("SOL_SOCKET", "SO_LINGER", "struct linger", "1, 5"),
    ),
)
