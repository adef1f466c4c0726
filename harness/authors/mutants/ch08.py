"""Wrong servers of chapter 08: flow control, accepting, closing."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import (
    CALLS,
    GROWTH,
    LOOP,
    OPTIONS,
    PRESSURE,
    RESOURCES,
    START,
    STATE,
    TIMERS,
    Mutant,
    socket_option,
)

mutant = partial(Mutant, "08")

MUTANTS = (
    # An iteration of the loop
    mutant(
        "no-budget",
        LOOP,
        "One iteration answers everything that was read from a connection.",
        "test_08_fire_hoses_do_not_keep_the_loop",
        "iteration-too-long",
        {
            "flow.c": """
-    return room < c->budget ? room : c->budget;
+    return room;
"""
        },
    ),
    mutant(
        "budget-of-64-mib",
        LOOP,
        "The budget of an iteration is 64 MiB.",
        "test_08_fire_hoses_do_not_keep_the_loop",
        "iteration-too-long",
        {
            "flow.h": """
-#define BUDGET_BYTES (256u << 10)
+#define BUDGET_BYTES (64u << 20)
"""
        },
    ),
    mutant(
        "messages-cost-nothing",
        LOOP,
        "Only sent bytes use up the budget, however many messages they are.",
        "test_08_fire_hoses_do_not_keep_the_loop",
        "iteration-too-long",
        {
            "answer.c": """
-        flow_spend(c, MESSAGE_COST);
"""
        },
    ),
    mutant(
        "accepts-all",
        LOOP,
        "One iteration accepts every client that waits.",
        "test_08_many_connects_do_not_hold_the_loop",
        "accepts-all",
        {
            "acceptor.c": """
-        left--;
"""
        },
    ),
    mutant(
        "not-called-for-more",
        LOOP,
        "Clients that one iteration has not accepted wait until another one connects.",
        "test_08_many_connects_do_not_hold_the_loop",
        "accepts-all",
        {
            "acceptor.c": """
-    if (left == 0) /* more clients may wait, and no event will report them again */
-        events_again(a->service->events, a->listen_fd, EVENT_READ);
"""
        },
    ),
    mutant(
        "not-called-again",
        LOOP,
        "Work that is left when the budget is used up waits for the next event.",
        "test_08_nothing_stalls_after_the_budget",
        "budget-used-up",
        {
            "flow.c": """
-    if (c->budget == 0)
-        events_again(c->service->events, c->fd, EVENT_READ | EVENT_WRITE);
+    (void)c;
"""
        },
    ),
    mutant(
        "called-again-to-read",
        LOOP,
        "The next iteration resumes only reading, not sending.",
        "test_08_nothing_stalls_after_the_budget",
        "budget-used-up",
        {
            "flow.c": """
-        events_again(c->service->events, c->fd, EVENT_READ | EVENT_WRITE);
+        events_again(c->service->events, c->fd, EVENT_READ);
"""
        },
    ),
    mutant(
        "called-again-to-write",
        LOOP,
        "The next iteration resumes only sending, not the frames that were read.",
        "test_08_nothing_stalls_after_the_budget",
        "budget-used-up",
        {
            "flow.c": """
-        events_again(c->service->events, c->fd, EVENT_READ | EVENT_WRITE);
+        events_again(c->service->events, c->fd, EVENT_WRITE);
"""
        },
    ),
    mutant(
        "budget-for-life",
        LOOP,
        "A connection has one budget for all its iterations.",
        "test_08_nothing_stalls_after_the_budget",
        "budget-used-up",
        {
            "conn.c": """
     struct conn *c = context;
-    flow_begin_turn(c);
     if (what & EVENT_HANGUP)
"""
        },
    ),
    # High and low water
    mutant(
        "one-mark",
        PRESSURE,
        "Reading resumes as soon as the output is below high-water.",
        "test_08_reads_again_at_low_water",
        "water-marks",
        {
            "flow.c": """
-    else if (waiting <= c->service->limits.low_water)
+    else
"""
        },
    ),
    mutant(
        "down-to-nothing",
        PRESSURE,
        "Reading resumes only when all the output is sent.",
        "test_08_reads_again_at_low_water",
        "water-marks",
        {
            "flow.c": """
-    else if (waiting <= c->service->limits.low_water)
+    else if (waiting == 0)
"""
        },
    ),
    mutant(
        "suspended-for-good",
        PRESSURE,
        "Once the output was at high-water, the client is never read again.",
        "test_08_reads_again_at_low_water",
        "water-marks",
        {
            "flow.c": """
-    else if (waiting <= c->service->limits.low_water)
-        c->suspended = false;
"""
        },
    ),
    mutant(
        "half-of-high-water",
        PRESSURE,
        "Low-water is always half of high-water, whatever the option says.",
        "test_08_any_marks_will_do",
        "water-marks",
        {
            "flow.c": """
-    else if (waiting <= c->service->limits.low_water)
+    else if (waiting < c->service->limits.high_water / 2)
"""
        },
    ),
    mutant(
        "below-low-water",
        PRESSURE,
        "Output exactly at low-water does not resume reading.",
        "test_08_any_marks_will_do",
        "water-marks",
        {
            "flow.c": """
-    else if (waiting <= c->service->limits.low_water)
+    else if (waiting < c->service->limits.low_water)
"""
        },
    ),
    mutant(
        "slides-when-empty",
        GROWTH,
        "A buffer uses the space of consumed bytes again only once it holds none.",
        "test_08_steady_reader",
        "memory-grows",
        {
            "buffer.c": """
-    if (block->start >= buffer_len(b))
+    if (buffer_len(b) == 0)
         slide(b);
"""
        },
    ),
    mutant(
        "above-high-water",
        PRESSURE,
        "Output exactly at high-water does not suspend reading.",
        "test_08_hundred_that_never_read",
        "water-marks",
        {
            "flow.c": """
-    if (waiting >= c->service->limits.high_water)
+    if (waiting > c->service->limits.high_water)
         c->suspended = true;
"""
        },
    ),
    mutant(
        "looks-after-sending",
        PRESSURE,
        "The marks are checked after sending, but not after output was added.",
        "test_08_hundred_that_never_read",
        "water-marks",
        {
            "conn.c": """
-    flow_look(c);
     while (c->state != CONN_CLOSED && buffer_len(&c->out) > 0) {
"""
        },
    ),
    mutant(
        "high-water-not-kept",
        PRESSURE,
        "The value of --high-water is checked and not stored.",
        "test_08_hundred_that_never_read",
        "water-marks",
        {
            "options.c": """
-        return parse_size(text, 1, &options->limits.high_water);
+        return parse_size(text, 1, &(size_t){0});
"""
        },
    ),
    mutant(
        "suspended-and-read",
        PRESSURE,
        "A suspended client is read all the same, and its frames wait.",
        "test_08_hundred_that_never_read",
        "water-marks",
        {
            "flow.c": """
-    return c->state == CONN_OPEN && !c->suspended && quota_left(c->quota) > 0;
+    return c->state == CONN_OPEN && quota_left(c->quota) > 0;
"""
        },
    ),
    mutant(
        "marks-in-any-order",
        START,
        "Low-water may be above high-water.",
        "test_08_refuses_wrong_options",
        "bad-start",
        {
            "options.c": """
-    return optind == argc && limits->low_water <= limits->high_water;
+    return optind == argc;
"""
        },
    ),
    mutant(
        "quota-of-none",
        START,
        "A quota of 0 frames is accepted.",
        "test_08_refuses_wrong_options",
        "bad-start",
        {
            "options.c": """
-    return parse_size(frames, 1, &limits->quota_frames) &&
+    return parse_size(frames, 0, &limits->quota_frames) &&
"""
        },
    ),
    mutant(
        "interval-of-0-ms",
        START,
        "An interval of 0 ms is accepted.",
        "test_08_refuses_wrong_options",
        "bad-start",
        {
            "options.c": """
-           parse_ms(text + digits + 1, &limits->quota_interval_ms) && limits->quota_interval_ms > 0;
+           parse_ms(text + digits + 1, &limits->quota_interval_ms);
"""
        },
    ),
    mutant(
        "max-conns-of-0",
        START,
        "It starts with --max-conns 0.",
        "test_08_refuses_wrong_options",
        "bad-start",
        {
            "options.c": """
-    if (!parse_number(text, INT32_MAX, &value) || value == 0)
+    if (!parse_number(text, INT32_MAX, &value))
"""
        },
    ),
    # The quota
    mutant(
        "not-counted",
        PRESSURE,
        "Frames are not counted.",
        "test_08_quota_is_kept",
        "quota-kept",
        {
            "limits.c": """
-        q->left -= frames;
+        q->left -= 0 * frames;
"""
        },
    ),
    mutant(
        "a-run-is-a-frame",
        PRESSURE,
        "All the frames that are answered together count as one.",
        "test_08_quota_is_kept",
        "quota-kept",
        {
            "answer.c": """
-    quota_take(c->quota, run.frames);
+    quota_take(c->quota, 1);
"""
        },
    ),
    mutant(
        "half-an-interval",
        TIMERS,
        "An interval lasts half as long as it should.",
        "test_08_quota_is_kept",
        "quota-kept",
        {
            "limits.c": """
-    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, false))
+    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms / 2, false))
"""
        },
    ),
    mutant(
        "two-intervals",
        TIMERS,
        "An interval lasts twice as long as it should.",
        "test_08_quota_is_kept",
        "quota-renewed",
        {
            "limits.c": """
-    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, false))
+    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, 2 * q->interval_ms, false))
"""
        },
    ),
    mutant(
        "over-quota-dropped",
        PRESSURE,
        "Frames over the quota are thrown away.",
        "test_08_quota_is_kept",
        "quota-kept",
        {
            "conn.c": """
     bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && flow_wants_input(c);
+    if (quota_left(c->quota) == 0)
+        buffer_consume(&c->in, buffer_len(&c->in));
"""
        },
    ),
    mutant(
        "quota-adds-up",
        PRESSURE,
        "Unused quota is added to the next one.",
        "test_08_unused_quota_is_gone",
        "quota-kept",
        {
            "limits.c": """
-    q->left = q->frames;
+    q->left += q->frames;
"""
        },
    ),
    mutant(
        "one-quota-for-all",
        STATE,
        "All connections share one quota.",
        "test_08_quota_is_of_a_connection",
        "quota-kept",
        {
            "limits.c": """
 #include <stdlib.h>
 
+static size_t used;
+
@@
-    return q != NULL ? q->left : SIZE_MAX;
+    return q != NULL ? q->frames - used : SIZE_MAX;
@@
-        q->left -= frames;
+        used += frames;
@@
-    q->left = q->frames;
+    used = 0;
"""
        },
    ),
    mutant(
        "one-frame-more",
        PRESSURE,
        "The first quota of a connection is larger by one.",
        "test_08_quota_is_of_a_connection",
        "quota-kept",
        {
            "limits.c": """
-        .left = frames,
+        .left = frames + 1,
"""
        },
    ),
    mutant(
        "over-quota-closed",
        PRESSURE,
        "A client that sends more than its quota is closed.",
        "test_08_quota_in_pieces",
        "quota-kept",
        {
            "conn.c": """
     bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && flow_wants_input(c);
+    if (quota_left(c->quota) == 0 && buffer_len(&c->in) > 0)
+        conn_close(c, "over quota");
"""
        },
    ),
    mutant(
        "messages-not-counted",
        PRESSURE,
        "The quota counts echoed frames alone, not messages.",
        "test_08_quota_in_pieces",
        "quota-kept",
        {
            "answer.c": """
-        quota_take(c->quota, 1);
"""
        },
    ),
    mutant(
        "renewed-and-forgotten",
        PRESSURE,
        "A new interval does not answer the frames that were read before.",
        "test_08_waiting_frames_are_answered",
        "quota-renewed",
        {
            "conn.c": """
     quota_renew(c->quota);
-    advance(c);
"""
        },
    ),
    mutant(
        "never-renewed",
        TIMERS,
        "The interval ends, but the quota stays used up.",
        "test_08_waiting_frames_are_answered",
        "quota-renewed",
        {
            "conn.c": """
-    quota_renew(c->quota);
"""
        },
    ),
    mutant(
        "asked-for-and-not-read",
        PRESSURE,
        "Input is requested over the quota, too, but not read: no other event reports it.",
        "test_08_waiting_frames_are_answered",
        "quota-renewed",
        {
            "flow.c": """
-    return c->state == CONN_OPEN && !c->suspended && quota_left(c->quota) > 0;
+    return c->state == CONN_OPEN && !c->suspended;
""",
            "conn.c": """
-        if (flow_wants_input(c) && c->budget > 0 && read_once(c))
+        if (flow_wants_input(c) && quota_left(c->quota) > 0 && c->budget > 0 && read_once(c))
""",
        },
    ),
    mutant(
        "each-frame-prolongs-it",
        TIMERS,
        "Every frame starts the interval again.",
        "test_08_interval_begins_with_a_frame",
        "quota-renewed",
        {
            "limits.c": """
-    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, false))
+    if (timer_set(q->timers, &q->ends, q->interval_ms, false))
"""
        },
    ),
    mutant(
        "read-over-quota",
        PRESSURE,
        "A client over its quota is read all the same, and its frames wait in memory.",
        "test_08_over_quota_is_not_read",
        "quota-unread",
        {
            "flow.c": """
-    return c->state == CONN_OPEN && !c->suspended && quota_left(c->quota) > 0;
+    return c->state == CONN_OPEN && !c->suspended;
"""
        },
    ),
    mutant(
        "looks-while-it-waits",
        LOOP,
        "While a client is over its quota the loop checks it every millisecond.",
        "test_08_over_quota_is_not_read",
        "quota-unread",
        {
            "server.c": """
-        events_turn(service->events, timers_timeout(service->timers));
+        int timeout = timers_timeout(service->timers);
+        bool looks = service->limits.quota_frames > 0 && timeout >= 0;
+        events_turn(service->events, looks ? 1 : timeout);
"""
        },
    ),
    mutant(
        "eof-over-quota",
        CALLS,
        "EOF is read over the quota, and the frames before it are lost.",
        "test_08_half_close_over_quota",
        "quota-renewed",
        {
            "flow.c": """
-    return c->state == CONN_OPEN && !c->suspended && quota_left(c->quota) > 0;
+    return c->state == CONN_OPEN && !c->suspended && (c->ending || quota_left(c->quota) > 0);
"""
        },
    ),
    mutant(
        "intervals-without-end",
        TIMERS,
        "One interval follows another, even if the client sends nothing.",
        "test_08_unused_quota_sets_no_timer",
        "quota-unread",
        {
            "limits.c": """
-    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, false))
+    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, true))
"""
        },
    ),
    mutant(
        "held-as-idle",
        TIMERS,
        "A client that waits for its next interval is closed as idle.",
        "test_08_over_quota_is_not_idle",
        "quota-timeouts",
        {
            "conn.c": """
-    bool ours = alarms_pending(c->alarms) || quota_left(c->quota) == 0;
+    bool ours = alarms_pending(c->alarms);
"""
        },
    ),
    mutant(
        "timed-while-held",
        TIMERS,
        "The time of a frame runs while the quota keeps it from being read.",
        "test_08_over_quota_is_not_idle",
        "quota-timeouts",
        {
            "conn.c": """
-    bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && flow_wants_input(c);
+    bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && !c->suspended;
"""
        },
    ),
    mutant(
        "sleeps-it-out",
        LOOP,
        "When a quota is used up the server sleeps until the interval is over.",
        "test_08_over_quota_delays_nobody_else",
        "quota-held",
        {
            "limits.c": """
 #include <stdlib.h>
+#include <unistd.h>
@@
-        q->left -= frames;
+        q->left -= frames;
+    if (q->left == 0) {
+        usleep(1000 * (useconds_t)q->interval_ms);
+        q->left = q->frames;
+    }
"""
        },
    ),
    # Clients that cannot be accepted
    mutant(
        "any-number",
        RESOURCES,
        "--max-conns is ignored.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "acceptor.c": """
-    return max == 0 || a->service->stats.connections < max;
+    return max == 0 || a->service->stats.connections >= 0;
"""
        },
    ),
    mutant(
        "one-connection-more",
        RESOURCES,
        "One connection more than --max-conns is accepted.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "acceptor.c": """
-    return max == 0 || a->service->stats.connections < max;
+    return max == 0 || a->service->stats.connections <= max;
"""
        },
    ),
    mutant(
        "all-that-ever-came",
        RESOURCES,
        "Closed connections count, too.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "acceptor.c": """
 static events_callback on_listener;
+static int64_t accepted;
@@
-    return max == 0 || a->service->stats.connections < max;
+    return max == 0 || accepted < max;
@@
         a->failures = 0;
+        accepted++;
         if (!conn_open(fd, a->service)) {
"""
        },
    ),
    mutant(
        "nobody-looks",
        LOOP,
        "When a connection has ended, the waiting clients are not accepted.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "acceptor.c": """
-    if (!a->watched && !timer_is_set(&a->retry))
+    if (a->watched && !timer_is_set(&a->retry))
"""
        },
    ),
    mutant(
        "accepted-and-closed",
        RESOURCES,
        "Clients over --max-conns are accepted and closed.",
        "test_08_max_conns_wait_in_the_backlog",
        "max-conns",
        {
            "acceptor.c": """
-    while (left > 0 && has_room(a) && (fd = net_accept(a->listen_fd)) >= 0) {
+    while ((fd = net_accept(a->listen_fd)) >= 0) {
         left--;
         a->failures = 0;
-        if (!conn_open(fd, a->service)) {
+        if (!has_room(a) || !conn_open(fd, a->service)) {
"""
        },
    ),
    mutant(
        "watched-when-full",
        LOOP,
        "The listening socket is watched, although no client may be accepted.",
        "test_08_max_conns_cost_no_cpu",
        "max-conns",
        {
            "acceptor.c": """
-    watch(a, has_room(a));
+    watch(a, true);
@@
-    if (!a->watched && !timer_is_set(&a->retry))
+    if (!timer_is_set(&a->retry))
"""
        },
    ),
    mutant(
        "never-turned-away",
        RESOURCES,
        "Without a descriptor clients wait for ever.",
        "test_08_turned_away_in_the_end",
        "turned-away",
        {
            "acceptor.c": """
-    if (a->failures * ACCEPT_PAUSE_MS > REFUSE_MS && a->reserve_fd >= 0) {
+    if (a->failures < 0 && a->reserve_fd >= 0) {
"""
        },
    ),
    mutant(
        "turned-away-at-once",
        RESOURCES,
        "Without a descriptor clients are turned away at once.",
        "test_08_turned_away_in_the_end",
        "turned-away",
        {
            "acceptor.c": """
-    if (a->failures * ACCEPT_PAUSE_MS > REFUSE_MS && a->reserve_fd >= 0) {
+    if (a->reserve_fd >= 0) {
"""
        },
    ),
    mutant(
        "one-turned-away",
        RESOURCES,
        "Only one client is turned away, and the others still wait.",
        "test_08_turned_away_in_the_end",
        "turned-away",
        {
            "acceptor.c": """
-    while ((fd = net_accept(a->listen_fd)) >= 0) {
+    if ((fd = net_accept(a->listen_fd)) >= 0) {
"""
        },
    ),
    mutant(
        "no-next-try",
        TIMERS,
        "Without a descriptor the next try waits for another event.",
        "test_08_turned_away_in_the_end",
        "turned-away",
        {
            "acceptor.c": """
-    watch(a, !timer_set(a->service->timers, &a->retry, ACCEPT_PAUSE_MS, false));
+    watch(a, false);
"""
        },
    ),
    mutant(
        "turned-away-once",
        RESOURCES,
        "Clients are turned away once; the reserve is opened again only when a client can be accepted.",
        "test_08_turned_away_in_the_end",
        "reserve",
        {
            "acceptor.c": """
     a->reserve_fd = -1;
-    reserve(a);
"""
        },
    ),
    mutant(
        "one-reserve-for-ever",
        RESOURCES,
        "The reserve is closed once, and never opened again.",
        "test_08_descriptors_come_back",
        "reserve",
        {
            "acceptor.c": """
     a->reserve_fd = -1;
-    reserve(a);
@@
-    reserve(a);
     watch(a, has_room(a));
@@
     a->retry = (struct timer){.call = on_retry, .context = a};
+    reserve(a);
     accept_clients(a);
"""
        },
    ),
    mutant(
        "turned-away-and-kept",
        RESOURCES,
        "The descriptors of clients that are turned away are not closed.",
        "test_08_turned_away_in_the_end",
        "turned-away",
        {
            "acceptor.c": """
         log_line("fd %d: closed: no descriptor to spare", fd);
-        close(fd);
"""
        },
    ),
    mutant(
        "a-reserve-each-time",
        RESOURCES,
        "Each accepted client opens another reserve.",
        "test_03_nothing_left_after_2000_connections",
        "descriptor-leak",
        {
            "acceptor.c": """
-    if (a->reserve_fd < 0)
-        a->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
+    a->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
"""
        },
    ),
    # The end of a connection
    mutant(
        "closed-when-sent",
        CALLS,
        "When everything is sent the connection is closed, with input still unread.",
        "test_08_replies_arrive_whatever_follows",
        "lost-at-close",
        {
            "conn.c": """
-    if (c->ended || shutdown(c->fd, SHUT_WR) < 0)
-        conn_close(c, c->closing->reason);
-    else
-        c->state = CONN_LINGERING;
+    conn_close(c, c->closing->reason);
"""
        },
    ),
    mutant(
        "thrown-away-once",
        CALLS,
        "Input after the last frame is read once, and then the connection is closed.",
        "test_08_replies_arrive_whatever_follows",
        "lost-at-close",
        {
            "conn.c": """
             timeouts_traffic(c->timeouts);
-        }
+        } else {
+            conn_close(c, c->closing->reason);
+        }
"""
        },
    ),
    mutant(
        "no-shutdown",
        CALLS,
        "The client gets no FIN when everything is sent.",
        "test_08_endless_sender_is_closed_in_the_end",
        "lost-at-close",
        {
            "conn.c": """
-    if (c->ended || shutdown(c->fd, SHUT_WR) < 0)
+    if (c->ended)
"""
        },
    ),
    mutant(
        "junk-is-progress",
        TIMERS,
        "Every discarded byte gives the sender another 5 s.",
        "test_08_endless_sender_is_closed_in_the_end",
        "linger",
        {
            "conn.c": """
             timeouts_traffic(c->timeouts);
-        }
+        } else {
+            timer_cancel(c->service->timers, &c->closing->timer);
+        }
"""
        },
    ),
    mutant(
        "closed-before-sent",
        CALLS,
        "At EOF the connection is closed, though replies are owed.",
        "test_04_half_close_with_a_late_reader",
        "replies-lost-at-eof",
        {
            "conn.c": """
-    bool finishes = c->state == CONN_DRAINING && sent;
+    bool finishes = c->state == CONN_DRAINING && (sent || c->ended);
"""
        },
    ),
    mutant(
        "waits-for-ever",
        TIMERS,
        "A peer that does not read its owed replies is waited for without end.",
        "test_08_never_reading_client_is_closed_in_the_end",
        "linger",
        {
            "conn.c": """
-        if (!timer_set(c->service->timers, &closing->timer, LINGER_MS, false))
-            conn_close(c, "out of memory");
"""
        },
    ),
    mutant(
        "lingers-for-ever",
        TIMERS,
        "When everything is sent, a peer that never closes is waited for without end.",
        "test_08_never_reading_client_is_closed_in_the_end",
        "linger",
        {
            "conn.c": """
-    if (c->state != CONN_LINGERING && buffer_len(&c->out) == 0) {
+    if (buffer_len(&c->out) == 0) {
"""
        },
    ),
    mutant(
        "gives-up-soon",
        TIMERS,
        "A peer with owed replies has only half a second.",
        "test_08_slow_reader_gets_everything",
        "linger",
        {
            "conn.h": """
-enum { LINGER_MS = 5000 };
+enum { LINGER_MS = 500 };
"""
        },
    ),
    mutant(
        "progress-not-told",
        TIMERS,
        "A peer has 5 s in all, however much it reads meanwhile.",
        "test_08_slow_reader_gets_everything",
        "linger",
        {
            "conn.c": """
-        if (c->closing != NULL) /* progress: wait_for_peer() sets it again, with the whole time */
-            timer_cancel(c->service->timers, &c->closing->timer);
@@
-    bool progress = c->closing->unsent > 0 && c->closing->unsent < before;
+    bool progress = c->closing->unsent < 0 && c->closing->unsent < before;
"""
        },
    ),
    mutant(
        "alarms-in-5-seconds",
        TIMERS,
        "A connection that only waits for its alarms, after a half-close, is closed after 5 s.",
        "test_08_slow_reader_gets_everything",
        "linger",
        {
            "conn.c": """
-    if (c->state != CONN_LINGERING && buffer_len(&c->out) == 0) {
-        timer_cancel(c->service->timers, &closing->timer);
-    } else if (!timer_is_set(&closing->timer)) {
+    if (!timer_is_set(&closing->timer)) {
"""
        },
    ),
    mutant(
        "too-little-for-an-event",
        TIMERS,
        "A peer that reads too little in 5 s to cause an event counts as one that reads nothing.",
        "test_08_slow_reader_gets_everything",
        "linger",
        {
            "conn.c": """
-    bool progress = c->closing->unsent > 0 && c->closing->unsent < before;
+    bool progress = c->closing->unsent < 0 && c->closing->unsent < before;
"""
        },
    ),
    mutant(
        "quota-left-in-the-heap",
        RESOURCES,
        "A connection that is freed leaves the timer of its quota set.",
        "test_08_memory",
        "memory-fault",
        {
            "limits.c": """
-    timer_cancel(q->timers, &q->ends);
     free(q);
"""
        },
    ),
    mutant(
        "closing-not-freed",
        RESOURCES,
        "The memory that a connection uses for closing is not freed.",
        "test_08_memory",
        "memory-leak",
        {
            "conn.c": """
     quota_free(c->quota);
     if (c->closing != NULL)
         timer_cancel(c->service->timers, &c->closing->timer);
-    free(c->closing);
"""
        },
    ),
    mutant(
        "reserve-left-open",
        RESOURCES,
        "The reserve is still open when the server ends.",
        "test_08_memory",
        "open-descriptor",
        {
            "acceptor.c": """
-    if (a->reserve_fd >= 0)
-        close(a->reserve_fd);
"""
        },
    ),
    # Socket options, and flags of send()
    mutant(
        "lingers-for-0-s",
        OPTIONS,
        "SO_LINGER with a time of 0: close() throws away what is not sent, and resets.",
        "test_01_replies_outlive_the_close",
        "reset-by-close",
        socket_option("SOL_SOCKET", "SO_LINGER", "struct linger", "1, 0"),
    ),
)
