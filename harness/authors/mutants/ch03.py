"""Wrong servers of chapter 03: wait for readiness, do not ask for it."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import (
    CALLS,
    GROWTH,
    LOOP,
    OPTIONS,
    RESOURCES,
    START,
    STATE,
    WRITES,
    Mutant,
    socket_option,
)

mutant = partial(Mutant, "03")

MUTANTS = (
    # What one tries first
    mutant(
        "serves-the-first-only",
        LOOP,
        "Only the first ready client in the table is served.",
        "test_03_first_frames",
        "one-client-only",
        {
            "server.c": """
-    for (size_t i = 0; i < s->count; i++) {
-        short ready = s->polls[POLL_CONNS + i].revents;
+    for (size_t i = 0; i < s->count && i < 1; i++) {
+        short ready = s->polls[POLL_CONNS + i].revents;
"""
        },
    ),
    # Interest
    mutant(
        "always-wants-to-write",
        LOOP,
        "POLLOUT is requested all the time, and a socket is nearly always writable.",
        "test_03_idle_server_uses_no_cpu",
        "spins-idle",
        {
            "conn.c": """
     case CONN_READING:
-        return CONN_WANT_READ;
+        return CONN_WANT_READ | CONN_WANT_WRITE;
"""
        },
    ),
    mutant(
        "poll-does-not-wait",
        LOOP,
        "poll() is called with a time limit of 0.",
        "test_03_idle_server_uses_no_cpu",
        "spins-idle",
        {
            "server.c": """
-    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
+    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : 0;
"""
        },
    ),
    mutant(
        "looks-every-50-ms",
        LOOP,
        "poll() has a time limit of 50 ms, so that the server can check whether it should stop.",
        "test_03_idle_clients_use_no_cpu",
        "spins-idle",
        {
            "server.c": """
-    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
+    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : 50;
"""
        },
    ),
    mutant(
        "looks-every-2-ms",
        LOOP,
        "poll() has a time limit of 2 ms, like the sleep of the sweep.",
        "test_03_waits_only_for_what_it_needs",
        "spins-idle",
        {
            "server.c": """
-    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
+    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : 2;
"""
        },
    ),
    mutant(
        "asks-everyone-again",
        LOOP,
        "Before a connection is served, another poll() for it alone checks whether it is ready.",
        "test_03_waits_only_for_what_it_needs",
        "waits-too-often",
        {
            "server.c": """
-        short ready = s->polls[POLL_CONNS + i].revents;
+        struct pollfd *entry = &s->polls[POLL_CONNS + i];
+        poll(entry, 1, 0);
+        short ready = entry->revents;
"""
        },
    ),
    mutant(
        "does-not-wait-to-write",
        LOOP,
        "While any reply is unfinished poll() does not wait, to continue writing soon.",
        "test_03_peer_that_does_not_read_uses_no_cpu",
        "spins-writing",
        {
            "server.c": """
     int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
+    for (size_t i = 0; i < s->count; i++) {
+        if (s->conns[i]->state == CONN_WRITING)
+            timeout_ms = 0;
+    }
"""
        },
    ),
    mutant(
        "reads-while-writing",
        LOOP,
        "POLLIN stays in the events while a reply is sent, but nothing is read then.",
        "test_03_half_closed_peer_uses_no_cpu",
        "spins-half-closed",
        {
            "conn.c": """
     case CONN_WRITING:
-        return CONN_WANT_WRITE;
+        return CONN_WANT_READ | CONN_WANT_WRITE;
"""
        },
    ),
    mutant(
        "closes-at-pollrdhup",
        CALLS,
        "It requests POLLRDHUP and closes when it is reported: the owed reply is lost.",
        "test_03_half_closed_peer_uses_no_cpu",
        "replies-lost-at-eof",
        {
            "server.c": """
+#define _GNU_SOURCE
 #include "server.h"
@@
         *entry = (struct pollfd){.fd = s->conns[i]->fd};
+        entry->events = POLLRDHUP;
@@
         short ready = s->polls[POLL_CONNS + i].revents;
+        if (ready & POLLRDHUP)
+            conn_close(s->conns[i], "the client is gone");
"""
        },
    ),
    mutant(
        "mask-never-switched",
        LOOP,
        "The events stay POLLIN when there is a reply to send.",
        "test_03_replies_come_at_once",
        "silence",
        {
            "conn.c": """
     case CONN_WRITING:
-        return CONN_WANT_WRITE;
+        return CONN_WANT_READ;
"""
        },
    ),
    mutant(
        "one-place-skipped",
        STATE,
        "The last connection takes the place of a removed one, and is skipped itself.",
        "test_03_all_leave_in_one_iteration",
        "descriptor-leak",
        {
            "server.c": """
-    size_t kept = 0;
     for (size_t i = 0; i < s->count; i++) {
-        if (s->conns[i]->state == CONN_CLOSED)
+        if (s->conns[i]->state == CONN_CLOSED) {
             conn_free(s->conns[i]);
-        else
-            s->conns[kept++] = s->conns[i];
+            s->conns[i] = s->conns[--s->count];
+        }
     }
-    s->count = kept;
"""
        },
    ),
    mutant(
        "reads-from-every-client",
        LOOP,
        "In each iteration every connection is read, ready or not.",
        "test_03_reads_only_the_ready",
        "reads-every-client",
        {
            "server.c": """
-        if (ready & (POLLIN | POLLERR | POLLHUP))
-            conn_read(s->conns[i]);
+        conn_read(s->conns[i]);
"""
        },
    ),
    mutant(
        "writes-to-every-client",
        LOOP,
        "In each iteration it tries to send to every connection, ready or not.",
        "test_03_reads_only_the_ready",
        "writes-to-every-client",
        {
            "server.c": """
-        if (ready & (POLLOUT | POLLERR | POLLHUP))
-            conn_write(s->conns[i]);
+        conn_write(s->conns[i]);
"""
        },
    ),
    mutant(
        "sleeps-before-it-looks",
        LOOP,
        "The loop sleeps for 50 ms, to spare the CPU.",
        "test_03_replies_come_at_once",
        "late-reply",
        {
            "server.c": """
     int ready = poll(s->polls, entries, timeout_ms);
+    usleep(50 * 1000);
"""
        },
    ),
    mutant(
        "writes-by-the-clock",
        LOOP,
        "POLLOUT is never requested; replies are sent when a time limit of poll() is over.",
        "test_03_replies_come_at_once",
        "late-reply",
        {
            "server.c": """
-        if (interest & CONN_WANT_WRITE)
-            entry->events |= POLLOUT;
@@
-    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
+    int timeout_ms = 200;
@@
-    return ready > 0;
+    return ready >= 0;
@@
-        if (ready & (POLLIN | POLLERR | POLLHUP))
-            conn_read(s->conns[i]);
-        if (ready & (POLLOUT | POLLERR | POLLHUP))
-            conn_write(s->conns[i]);
+        conn_write(s->conns[i]);
+        if (ready & (POLLIN | POLLERR | POLLHUP))
+            conn_read(s->conns[i]);
"""
        },
    ),
    # The pollfd array
    mutant(
        "table-of-1024",
        GROWTH,
        "The table has 1,024 places, as many as select() allows; other clients are closed.",
        "test_03_more_than_a_thousand_connections",
        "table-too-small",
        {
            "server.c": """
-    if (s->count < s->cap || resize(s, 2 * s->cap))
+    if (s->count < 1024 && (s->count < s->cap || resize(s, 2 * s->cap)))
"""
        },
    ),
    mutant(
        "polls-not-resized",
        GROWTH,
        "The table of connections grows, and the pollfd array stays as it was.",
        "test_03_more_than_a_thousand_connections",
        "crashed",
        {
            "server.c": """
-    struct pollfd *polls = realloc(s->polls, (POLL_CONNS + cap) * sizeof *polls);
+    struct pollfd *polls = s->polls;
+    if (polls == NULL)
+        polls = malloc((POLL_CONNS + cap) * sizeof *polls);
"""
        },
    ),
    mutant(
        "polls-counted-in-bytes",
        GROWTH,
        "The size of the pollfd array is given in entries, but realloc() needs bytes.",
        "test_03_more_than_a_thousand_connections",
        "crashed",
        {
            "server.c": """
-    struct pollfd *polls = realloc(s->polls, (POLL_CONNS + cap) * sizeof *polls);
+    struct pollfd *polls = realloc(s->polls, POLL_CONNS + cap);
"""
        },
    ),
    mutant(
        "polls-two-too-short",
        GROWTH,
        "The pollfd array has no space for the two entries before the connections.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
-    struct pollfd *polls = realloc(s->polls, (POLL_CONNS + cap) * sizeof *polls);
+    struct pollfd *polls = realloc(s->polls, cap * sizeof *polls);
"""
        },
    ),
    mutant(
        "last-one-not-polled",
        LOOP,
        "poll() gets one entry too few: the newest client is not watched.",
        "test_03_idle_clients_use_no_cpu",
        "silence",
        {
            "server.c": """
-    return (nfds_t)(POLL_CONNS + s->count);
+    return (nfds_t)(POLL_LISTENER + s->count);
"""
        },
    ),
    # The wait
    mutant(
        "eintr-ends-the-loop",
        CALLS,
        "The loop ends when poll() fails, even if a signal has only interrupted it.",
        "test_03_storm_of_signals",
        "ended-by-a-signal",
        {
            "server.c": """
-    if (ready < 0 && errno != EINTR)
-        log_line("poll: %s", strerror(errno));
+    if (ready < 0)
+        die("poll");
"""
        },
    ),
    mutant(
        "eintr-ends-everyone",
        CALLS,
        "When poll() fails with EINTR all connections are closed.",
        "test_03_storm_of_signals",
        "ended-by-a-signal",
        {
            "server.c": """
-    if (ready < 0 && errno != EINTR)
-        log_line("poll: %s", strerror(errno));
+    for (size_t i = 0; ready < 0 && i < s->count; i++)
+        conn_close(s->conns[i], strerror(errno));
+    if (ready < 0)
+        return true;
"""
        },
    ),
    # Dispatch
    mutant(
        "one-event-an-iteration",
        LOOP,
        "After the first ready connection the loop returns to poll().",
        "test_03_flood_starves_nobody",
        "starved",
        {
            "server.c": """
         if (ready & (POLLOUT | POLLERR | POLLHUP))
             conn_write(s->conns[i]);
+        if (ready != 0)
+            break;
"""
        },
    ),
    mutant(
        "served-until-it-is-quiet",
        LOOP,
        "A client is served, frame after frame, until it sends nothing for 20 ms.",
        "test_03_flood_starves_nobody",
        "starved",
        {
            "server.c": """
-        if (ready & (POLLIN | POLLERR | POLLHUP))
-            conn_read(s->conns[i]);
-        if (ready & (POLLOUT | POLLERR | POLLHUP))
-            conn_write(s->conns[i]);
+        struct conn *c = s->conns[i];
+        struct pollfd one = {.fd = c->fd};
+        while (ready != 0 && c->state != CONN_CLOSED) {
+            conn_read(c);
+            conn_write(c);
+            one.events = c->state == CONN_READING ? POLLIN : POLLOUT;
+            ready = poll(&one, 1, 20) > 0;
+        }
"""
        },
    ),
    mutant(
        "accepts-when-it-is-quiet",
        LOOP,
        "New clients are accepted only in iterations in which no connection is ready.",
        "test_03_flood_starves_nobody",
        "starved",
        {
            "server.c": """
         if (wait_ready(&s, entries)) {
+            bool quiet = true;
+            for (size_t i = 0; i < s.count; i++)
+                quiet = quiet && s.polls[POLL_CONNS + i].revents == 0;
             dispatch(&s);
             remove_closed(&s);
+            if (!quiet)
+                continue;
         }
"""
        },
    ),
    mutant(
        "errno-assigned",
        CALLS,
        "`errno = EAGAIN` instead of `errno == EAGAIN`: no error is ever noticed.",
        "test_03_resets_are_noticed",
        "descriptor-leak",
        {
            "io.c": """
-    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_AGAIN : IO_ERROR;
+    return (errno = EAGAIN) || errno == EWOULDBLOCK || errno == EINTR ? IO_AGAIN : IO_ERROR;
"""
        },
    ),
    mutant(
        "pollerr-passed-over",
        CALLS,
        "A connection with POLLERR is ignored, since it is broken.",
        "test_03_resets_are_noticed",
        "descriptor-leak",
        {
            "server.c": """
         short ready = s->polls[POLL_CONNS + i].revents;
+        if (ready & POLLERR)
+            continue;
"""
        },
    ),
    mutant(
        "send-error-forgotten",
        WRITES,
        "An error of send() is logged, but the connection is kept.",
        "test_03_resets_are_noticed",
        "descriptor-leak",
        {
            "conn.c": """
     case IO_EOF:
     case IO_ERROR:
-        conn_close(c, strerror(errno));
+        log_line("fd %d: %s", c->fd, strerror(errno));
         break;
"""
        },
    ),
    # Closing
    mutant(
        "count-not-reduced",
        RESOURCES,
        "Closed connections are freed, but the number of used entries stays.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
-    s->count = kept;
+    (void)kept;
"""
        },
    ),
    mutant(
        "freed-in-the-iteration",
        STATE,
        "A connection that read() has closed is freed at once, and then written to.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
         short ready = s->polls[POLL_CONNS + i].revents;
+        struct conn *c = s->conns[i];
         if (ready & (POLLIN | POLLERR | POLLHUP))
-            conn_read(s->conns[i]);
+            conn_read(c);
+        if (c->state == CONN_CLOSED) {
+            conn_free(c);
+            s->conns[i] = s->conns[--s->count];
+        }
         if (ready & (POLLOUT | POLLERR | POLLHUP))
-            conn_write(s->conns[i]);
+            conn_write(c);
"""
        },
    ),
    mutant(
        "buffer-not-freed",
        RESOURCES,
        "A connection is freed without its buffer.",
        "test_03_nothing_left_after_2000_connections",
        "memory-grows",
        {
            "conn.c": """
-    buffer_free(&c->frame);
     free(c);
"""
        },
    ),
    mutant(
        "last-instead-of-closed",
        STATE,
        "For every closed connection the last one in the table is forgotten.",
        "test_03_every_second_client_leaves",
        "silence",
        {
            "server.c": """
     size_t kept = 0;
     for (size_t i = 0; i < s->count; i++) {
-        if (s->conns[i]->state == CONN_CLOSED)
+        if (s->conns[i]->state == CONN_CLOSED) {
             conn_free(s->conns[i]);
-        else
-            s->conns[kept++] = s->conns[i];
+            s->conns[i] = s->conns[s->count - 1];
+        } else {
+            kept++;
+        }
     }
"""
        },
    ),
    mutant(
        "closed-in-the-iteration",
        STATE,
        "A descriptor is closed at once, and again after the iteration, when it belongs to another client.",
        "test_03_leave_and_arrive_in_one_iteration",
        "closed-in-the-iteration",
        {
            "conn.c": """
     log_line("fd %d: closed: %s", c->fd, reason);
+    close(c->fd);
     c->state = CONN_CLOSED;
""",
            "server.c": """
             dispatch(&s);
-            remove_closed(&s);
         }
         if (s.full || s.polls[POLL_LISTENER].revents != 0)
             accept_clients(&s);
+        remove_closed(&s);
     }
""",
        },
    ),
    mutant(
        "state-by-descriptor",
        STATE,
        "State is kept by descriptor number and not reset when the number is used again.",
        "test_03_leave_and_arrive_in_one_iteration",
        "state-left-over",
        {
            "conn.c": """
 struct conn *conn_new(int fd)
 {
-    struct conn *c = calloc(1, sizeof *c);
+    static struct conn *by_fd[65536];
+    if (by_fd[fd] == NULL)
+        by_fd[fd] = calloc(1, sizeof(struct conn));
+    struct conn *c = by_fd[fd];
     if (c == NULL)
@@
     close(c->fd);
-    buffer_free(&c->frame);
-    free(c);
 }
"""
        },
    ),
    mutant(
        "kept-for-the-next",
        STATE,
        "Closed connections are kept for the next clients, with the bytes in their buffers.",
        "test_03_leave_and_arrive_in_one_iteration",
        "state-left-over",
        {
            "conn.c": """
+static struct conn *spares[64];
+static size_t spare_count;
+
 struct conn *conn_new(int fd)
 {
-    struct conn *c = calloc(1, sizeof *c);
+    struct conn *c = spare_count > 0 ? spares[--spare_count] : calloc(1, sizeof *c);
     if (c == NULL)
@@
     close(c->fd);
+    if (spare_count < 64) {
+        spares[spare_count++] = c;
+        return;
+    }
     buffer_free(&c->frame);
"""
        },
    ),
    mutant(
        "free-without-close",
        RESOURCES,
        "A connection is freed, but its socket is not closed.",
        "test_03_every_second_client_leaves",
        "descriptor-leak",
        {
            "conn.c": """
-    close(c->fd);
     buffer_free(&c->frame);
"""
        },
    ),
    # Out of descriptors
    mutant(
        "told-in-each-iteration",
        RESOURCES,
        "The log says in each iteration that no descriptor is left.",
        "test_03_out_of_descriptors_is_told_once",
        "log-grows",
        {
            "server.c": """
-    if (fd == NET_FULL && !s->full)
+    if (fd == NET_FULL)
"""
        },
    ),
    mutant(
        "emfile-spins",
        RESOURCES,
        "When accept() finds no descriptor the listening socket stays watched.",
        "test_03_out_of_descriptors_costs_no_cpu",
        "spins-full",
        {
            "server.c": """
+    s->polls[POLL_LISTENER].events = POLLIN;
     for (size_t i = 0; i < s->count; i++) {
         unsigned interest = conn_interest(s->conns[i]);
"""
        },
    ),
    mutant(
        "accepts-until-it-works",
        RESOURCES,
        "When accept() finds no descriptor it is repeated until it succeeds.",
        "test_03_out_of_descriptors_costs_no_cpu",
        "spins-full",
        {
            "net.c": """
-    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
+    } while (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
"""
        },
    ),
    mutant(
        "emfile-ends-the-server",
        RESOURCES,
        "An accept() that fails ends the server.",
        "test_03_out_of_descriptors_and_back",
        "ended-early",
        {
            "server.c": """
-    if (fd == NET_FULL && !s->full)
-        log_line("accept: %s; new clients wait", strerror(errno));
+    if (fd == NET_FULL)
+        die("accept");
"""
        },
    ),
    mutant(
        "never-accepts-again",
        RESOURCES,
        "After accept() has failed once the listening socket is never watched again.",
        "test_03_out_of_descriptors_and_back",
        "server-stopped-accepting",
        {
            "server.c": """
-        if (s.full || s.polls[POLL_LISTENER].revents != 0)
+        if (s.polls[POLL_LISTENER].revents != 0)
"""
        },
    ),
    # The end
    mutant(
        "only-sigterm",
        START,
        "There is a handler for SIGTERM but none for SIGINT.",
        "test_01_stops_when_told",
        "wrong-exit",
        {
            "stop.c": """
-    sigaction(SIGINT, &action, NULL);
"""
        },
    ),
    mutant(
        "stop-is-an-error",
        START,
        "A stop takes the same path as an error, with status 1.",
        "test_01_stops_when_told",
        "wrong-exit",
        {
            "main.c": """
-    return EXIT_SUCCESS;
+    return EXIT_FAILURE;
"""
        },
    ),
    mutant(
        "ends-when-nobody-waits",
        START,
        "Signals are blocked while clients are served, and the flag is checked in between.",
        "test_01_stops_when_told",
        "not-ended",
        {
            "server.c": """
-    while (!stop_requested()) {
+    while (!stop_requested() || s.count > 0) {
"""
        },
    ),
    # With the fault library
    mutant(
        "trusts-readiness",
        LOOP,
        "Connections stay blocking, because poll() has reported them as ready.",
        "test_03_readiness_that_was_none",
        "ready-for-nothing",
        {
            "net.c": """
-    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
+    return flags >= 0;
"""
        },
    ),
    mutant(
        "closed-and-closed-again",
        RESOURCES,
        "The descriptor is closed when the connection is, and again when it is freed.",
        "test_03_no_descriptor_is_closed_twice",
        "closed-twice",
        {
            "conn.c": """
     log_line("fd %d: closed: %s", c->fd, reason);
+    close(c->fd);
     c->state = CONN_CLOSED;
"""
        },
    ),
    # Socket options, and flags of send()
    mutant(
        "header-and-body-apart",
        OPTIONS,
        "Header and body are sent apart, without TCP_NODELAY: each reply is 40 ms late.",
        "test_01_replies_leave_at_once",
        "reply-held-back",
        {
            "net.c": """
-    /* A reply goes out in one write and should leave at once (see TCP_NODELAY in tcp(7)). */
-    int on = 1;
-    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
@@
-#include <netinet/tcp.h>
""",
            "conn.c": """
     size_t moved;
-    switch (io_write(c->fd, c->frame.data + c->sent, c->frame.len - c->sent, &moved)) {
+    size_t size = c->frame.len - c->sent;
+    if (c->sent < FRAME_HEADER_BYTES)
+        size = FRAME_HEADER_BYTES - c->sent;
+    switch (io_write(c->fd, c->frame.data + c->sent, size, &moved)) {
""",
        },
    ),
    mutant(
        "urgent-in-line",
        OPTIONS,
        "SO_OOBINLINE is set: urgent data comes in the stream, and is taken for a header.",
        "test_01_urgent_data_is_no_part_of_the_stream",
        "urgent-in-the-stream",
        socket_option("SOL_SOCKET", "SO_OOBINLINE", "int", "1"),
    ),
    mutant(
        "low-water-of-4",
        OPTIONS,
        "SO_RCVLOWAT is 4, as a header has 4 bytes: poll() does not report the last bytes of a body.",
        "test_03_first_frames",
        "low-water",
        socket_option("SOL_SOCKET", "SO_RCVLOWAT", "int", "4"),
    ),
)
