"""Wrong servers of chapter 02: one slow client must not stop everyone."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import (
    CALLS,
    FRAMING,
    GROWTH,
    LOOP,
    NUMBERS,
    OPTIONS,
    RESOURCES,
    STATE,
    WRITES,
    Mutant,
    socket_option,
)

mutant = partial(Mutant, "02")

MUTANTS = (
    # A buffer that grows
    mutant(
        "doubles-once",
        GROWTH,
        "The buffer doubles only once: a frame can need more than that.",
        "test_02_frame_of_every_size",
        "crashed",
        {
            "buffer.c": """
-    size_t cap = 2 * b->cap;
-    if (cap < b->len + room)
-        cap = b->len + room;
+    size_t cap = b->cap == 0 ? 64 : 2 * b->cap;
"""
        },
    ),
    mutant(
        "grows-without-copying",
        GROWTH,
        "A larger buffer is allocated, but the bytes of the old one are not copied.",
        "test_02_frame_of_every_size",
        "silence",
        {
            "buffer.c": """
-    uint8_t *data = realloc(b->data, cap);
+    uint8_t *data = calloc(1, cap);
     if (data == NULL)
         return false;
+    free(b->data);
"""
        },
    ),
    mutant(
        "capacity-not-kept",
        GROWTH,
        "The buffer grows and its capacity is not stored: 0 - len is a very large number.",
        "test_02_frame_of_every_size",
        "crashed",
        {
            "buffer.c": """
     b->data = data;
-    b->cap = cap;
"""
        },
    ),
    mutant(
        "sixteen-bit-buffer",
        NUMBERS,
        "The length of the buffer is a uint16_t.",
        "test_02_frame_of_every_size",
        "silence",
        {
            "buffer.h": """
     uint8_t *data;
-    size_t len;
+    uint16_t len;
"""
        },
    ),
    mutant(
        "fixed-buffer",
        GROWTH,
        "A connection has a buffer of 64 KiB, which does not grow.",
        "test_02_frame_of_every_size",
        "large-frame-refused",
        {
            "buffer.c": """
     if (b->cap - b->len >= room)
         return true;
+    if (b->len + room > (64u << 10))
+        return false;
"""
        },
    ),
    mutant(
        "buffer-forgets-header",
        NUMBERS,
        "The buffer may hold the largest body, but not the 4 bytes of its header.",
        "test_02_largest_frame_twice",
        "large-frame-refused",
        {
            "buffer.c": """
+#include "frame.h"
+
 bool buffer_reserve(struct buffer *b, size_t room)
 {
@@
-    if (b->cap - b->len >= room)
+    if (b->len + room > FRAME_MAX_BYTES)
+        return false;
+    if (b->cap - b->len >= room)
"""
        },
    ),
    mutant(
        "buffer-not-cleared",
        STATE,
        "After a reply the frame stays in the buffer, before the next one.",
        "test_01_many_frames_on_one_connection",
        "one-frame-only",
        {
            "conn.c": """
         if (c->sent == c->frame.len) {
-            buffer_clear(&c->frame);
             c->state = CONN_READING;
"""
        },
    ),
    mutant(
        "reads-past-the-frame",
        FRAMING,
        "It reads as much as fits, and takes bytes after a frame for a part of it.",
        "test_01_frames_in_one_segment",
        "silence",
        {
            "conn.c": """
-    size_t size = 0;
-    missing_bytes(c, &size);
-    if (size > READ_BYTES_MAX)
-        size = READ_BYTES_MAX;
+    size_t size = READ_BYTES_MAX;
"""
        },
    ),
    # Short writes
    mutant(
        "remainder-dropped",
        WRITES,
        "After one write the reply is assumed to be sent.",
        "test_02_short_write_is_resumed",
        "short-write",
        {
            "conn.c": """
         c->sent += moved;
-        if (c->sent == c->frame.len) {
-            buffer_clear(&c->frame);
-            c->state = CONN_READING;
-        }
+        buffer_clear(&c->frame);
+        c->state = CONN_READING;
"""
        },
    ),
    mutant(
        "sent-is-the-last-write",
        WRITES,
        "`sent` is set to the result of the last write, which should be added.",
        "test_02_short_write_is_resumed",
        "remainder-from-elsewhere",
        {
            "conn.c": """
-        c->sent += moved;
+        c->sent = moved;
"""
        },
    ),
    mutant(
        "size-t-below-zero",
        NUMBERS,
        "The result of send() is stored in a size_t and compared with 0: it is never below.",
        "test_02_short_write_is_resumed",
        "remainder-from-elsewhere",
        {
            "io.c": """
-    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
+    size_t n = (size_t)send(fd, data, size, MSG_NOSIGNAL);
"""
        },
    ),
    mutant(
        "remainder-from-the-start",
        WRITES,
        "A write begins at the start of the reply, however much of it is sent.",
        "test_02_short_write_is_resumed",
        "remainder-from-elsewhere",
        {
            "conn.c": """
-    switch (io_write(c->fd, c->frame.data + c->sent, c->frame.len - c->sent, &moved)) {
+    switch (io_write(c->fd, c->frame.data, c->frame.len - c->sent, &moved)) {
"""
        },
    ),
    mutant(
        "eagain-ends-writing",
        CALLS,
        "EAGAIN from send() is taken for an error, as if the client were gone.",
        "test_02_short_write_is_resumed",
        "call-disturbed",
        {
            "io.c": """
     ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
     if (n < 0)
-        return failure();
+        return IO_ERROR;
"""
        },
    ),
    mutant(
        "sent-not-reset",
        STATE,
        "`sent` is not reset to 0 for the next reply.",
        "test_02_frame_after_a_short_write",
        "remainder-from-elsewhere",
        {
            "conn.c": """
         c->state = CONN_WRITING;
-        c->sent = 0;
"""
        },
    ),
    mutant(
        "stays-in-writing",
        STATE,
        "After a reply that took several writes the state stays as it was.",
        "test_02_frame_after_a_short_write",
        "one-frame-only",
        {
            "conn.c": """
         c->sent += moved;
-        if (c->sent == c->frame.len) {
+        if (moved == c->frame.len) {
"""
        },
    ),
    # Nobody waits
    mutant(
        "unbraced-if",
        LOOP,
        "An `if` without braces returns before the socket is made nonblocking.",
        "test_02_idle_client_stops_nobody",
        "blocked-by-another",
        {
            "net.c": """
     int flags = fcntl(fd, F_GETFL);
-    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
+    if (flags < 0)
+        log_line("fd %d: no flags", fd);
+        return true;
+    return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
"""
        },
    ),
    mutant(
        "flags-with-and",
        LOOP,
        "O_NONBLOCK is combined with the flags by `&` instead of `|`.",
        "test_02_client_between_frames_stops_nobody",
        "blocked-by-another",
        {
            "net.c": """
-    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
+    return flags >= 0 && fcntl(fd, F_SETFL, flags & O_NONBLOCK) == 0;
"""
        },
    ),
    mutant(
        "setfd-for-setfl",
        LOOP,
        "F_SETFD instead of F_SETFL: the call succeeds and the socket still blocks.",
        "test_02_idle_client_stops_nobody",
        "blocked-by-another",
        {
            "net.c": """
-    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
+    return flags >= 0 && fcntl(fd, F_SETFD, flags | O_NONBLOCK) == 0;
"""
        },
    ),
    mutant(
        "listener-blocks",
        LOOP,
        "The listening socket is blocking: the sweep waits in accept() for the next client.",
        "test_02_idle_client_stops_nobody",
        "blocked-by-another",
        {
            "net.c": """
-    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
+    int fd = socket(AF_INET, SOCK_STREAM, 0);
"""
        },
    ),
    mutant(
        "one-client-at-a-time",
        LOOP,
        "A client is accepted only when the one before has left.",
        "test_02_client_between_frames_stops_nobody",
        "never-watched",
        {
            "server.c": """
-        while ((fd = net_accept(s.listen_fd)) >= 0) {
+        if (s.count == 0 && (fd = net_accept(s.listen_fd)) >= 0) {
"""
        },
    ),
    mutant(
        "sweep-ends-at-the-idle",
        LOOP,
        "The sweep ends at the first client that has sent nothing.",
        "test_02_client_between_frames_stops_nobody",
        "never-watched",
        {
            "server.c": """
-        if (conn_step(s->conns[i]))
-            moved = true;
+        if (!conn_step(s->conns[i]))
+            return moved;
+        moved = true;
"""
        },
    ),
    mutant(
        "eagain-is-the-end",
        CALLS,
        "EAGAIN from read() is taken for EOF.",
        "test_02_client_between_frames_stops_nobody",
        "closed-early",
        {
            "io.c": """
     ssize_t n = read(fd, data, size);
     if (n < 0)
-        return failure();
+        return IO_EOF;
"""
        },
    ),
    mutant(
        "writes-until-all-is-sent",
        LOOP,
        "A reply is written in a loop that repeats at EAGAIN until all of it is sent.",
        "test_02_stalled_reader_stops_nobody",
        "blocked-by-another",
        {
            "conn.c": """
     case CONN_WRITING:
-        return write_some(c);
+        while (c->state == CONN_WRITING)
+            write_some(c);
+        return true;
"""
        },
    ),
    mutant(
        "reads-until-complete",
        LOOP,
        "A frame is read in a loop that repeats at EAGAIN until it is complete.",
        "test_02_stalled_clients_beside_live_ones",
        "blocked-by-another",
        {
            "conn.c": """
     case CONN_READING:
-        return read_some(c);
+        do {
+            if (!read_some(c) && c->frame.len == 0)
+                return false;
+        } while (c->state == CONN_READING);
+        return true;
"""
        },
    ),
    mutant(
        "waits-inside-a-frame",
        LOOP,
        "Once a frame has begun, read() is called again at EAGAIN, until some of it comes.",
        "test_02_stalled_sender_stops_nobody",
        "blocked-by-another",
        {
            "conn.c": """
-    switch (io_read(c->fd, buffer_tail(&c->frame), size, &moved)) {
+    enum io_result result;
+    do {
+        result = io_read(c->fd, buffer_tail(&c->frame), size, &moved);
+    } while (result == IO_AGAIN && c->frame.len > 0);
+    switch (result) {
"""
        },
    ),
    mutant(
        "one-sent-for-all",
        STATE,
        "`sent` is a static variable: all connections share it.",
        "test_02_stalled_reader_stops_nobody",
        "offset-of-the-remainder",
        {
            "conn.c": """
+static size_t sent; /* bytes of the reply that the kernel has taken */
+
 struct conn *conn_new(int fd)
 {
@@
         c->state = CONN_WRITING;
-        c->sent = 0;
+        sent = 0;
@@
-    switch (io_write(c->fd, c->frame.data + c->sent, c->frame.len - c->sent, &moved)) {
+    switch (io_write(c->fd, c->frame.data + sent, c->frame.len - sent, &moved)) {
@@
-        c->sent += moved;
-        if (c->sent == c->frame.len) {
+        sent += moved;
+        if (sent == c->frame.len) {
"""
        },
    ),
    mutant(
        "restarts-at-eagain",
        WRITES,
        "When the kernel takes no more, the reply is sent from its beginning again.",
        "test_02_two_large_frames_at_once",
        "offset-of-the-remainder",
        {
            "conn.c": """
         return true;
     case IO_AGAIN:
+        c->sent = 0;
         return false;
     case IO_EOF:
     case IO_ERROR:
         conn_close(c, strerror(errno));
"""
        },
    ),
    mutant(
        "one-buffer-for-all",
        STATE,
        "All connections share one buffer: bytes of two clients get into one frame.",
        "test_02_stalled_reader_stops_nobody",
        "state-shared",
        {
            "conn.h": """
-    struct buffer frame; /* header and body */
+    struct buffer *shared; /* header and body */
@@
+#define frame shared[0]
+
 /* Makes a connection for a socket just accepted, and owns that socket from then on. NULL: no
""",
            "conn.c": """
     c->state = CONN_READING;
+    static struct buffer one;
+    c->shared = &one;
     return c;
""",
        },
    ),
    # Many clients
    mutant(
        "table-of-32",
        GROWTH,
        "The table has 32 places; when it is full no client is accepted.",
        "test_02_fifty_clients_byte_by_byte",
        "table-too-small",
        {
            "server.c": """
-        while ((fd = net_accept(s.listen_fd)) >= 0) {
+        while (s.count < 32 && (fd = net_accept(s.listen_fd)) >= 0) {
"""
        },
    ),
    mutant(
        "turned-away-at-32",
        GROWTH,
        "The table has 32 places; clients that come when it is full are closed.",
        "test_02_fifty_clients_byte_by_byte",
        "table-too-small",
        {
            "server.c": """
-    struct conn *c = grow(s) ? conn_new(fd) : NULL;
+    struct conn *c = s->count < 32 && grow(s) ? conn_new(fd) : NULL;
"""
        },
    ),
    mutant(
        "stored-when-it-grows",
        GROWTH,
        "A new client is put into the table only when the table has grown for it.",
        "test_02_idle_client_stops_nobody",
        "crashed",
        {
            "server.c": """
     if (s->count < s->cap)
         return true;
-    size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
+    size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
@@
-    s->conns[s->count++] = c;
+    if (s->count == 0 || s->count == s->cap / 2)
+        s->conns[s->count] = c;
+    s->count++;
"""
        },
    ),
    mutant(
        "table-one-too-short",
        GROWTH,
        "The table grows only after a client has been written after its end.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
-    if (s->count < s->cap)
+    if (s->count <= s->cap && s->cap > 0)
"""
        },
    ),
    mutant(
        "ten-steps-each-sweep",
        LOOP,
        "A sweep runs a step for the first ten connections only.",
        "test_02_fifty_clients_byte_by_byte",
        "table-too-small",
        {
            "server.c": """
-    while (i < s->count) {
+    while (i < s->count && i < 10) {
"""
        },
    ),
    mutant(
        "served-until-it-is-quiet",
        LOOP,
        "A client is served, frame after frame, until it sends nothing more.",
        "test_02_flood_starves_nobody",
        "starved",
        {
            "server.c": """
-        if (conn_step(s->conns[i]))
+        while (conn_step(s->conns[i]))
             moved = true;
"""
        },
    ),
    mutant(
        "never-removed",
        RESOURCES,
        "A closed connection stays in the table, and its socket open.",
        "test_02_thousand_connections_leave_nothing_behind",
        "descriptor-leak",
        {
            "server.c": """
-        if (s->conns[i]->state == CONN_CLOSED)
-            remove_client(s, i); /* now another connection is at i */
-        else
-            i++;
+        i++;
"""
        },
    ),
    mutant(
        "free-without-close",
        RESOURCES,
        "A connection is freed, but its socket is not closed.",
        "test_02_thousand_connections_leave_nothing_behind",
        "descriptor-leak",
        {
            "conn.c": """
-    close(c->fd);
     buffer_free(&c->frame);
"""
        },
    ),
    mutant(
        "index-after-the-last",
        RESOURCES,
        "The place of a closed connection is filled from one place after the last.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
-    s->conns[i] = s->conns[--s->count];
+    s->conns[i] = s->conns[s->count--];
"""
        },
    ),
    mutant(
        "buffer-not-freed",
        RESOURCES,
        "A connection is freed without its buffer.",
        "test_02_memory",
        "memory-leak",
        {
            "conn.c": """
-    buffer_free(&c->frame);
     free(c);
"""
        },
    ),
    mutant(
        "clients-kept-at-the-end",
        RESOURCES,
        "When the server stops, the open connections are not closed.",
        "test_02_memory",
        "open-descriptor",
        {
            "server.c": """
-    while (s->count > 0) {
-        conn_close(s->conns[s->count - 1], "server stops");
-        remove_client(s, s->count - 1);
-    }
     free(s->conns);
"""
        },
    ),
    mutant(
        "looks-at-the-freed",
        STATE,
        "A freed connection is read, to find out whether it was closed.",
        "test_02_memory",
        "memory-fault",
        {
            "server.c": """
-        if (conn_step(s->conns[i]))
+        struct conn *c = s->conns[i];
+        if (conn_step(c))
             moved = true;
-        if (s->conns[i]->state == CONN_CLOSED)
+        if (c->state == CONN_CLOSED)
             remove_client(s, i); /* now another connection is at i */
-        else
+        if (c->state != CONN_CLOSED)
             i++;
"""
        },
    ),
    mutant(
        "malloc-for-calloc",
        STATE,
        "A connection is made with malloc(), so fields that are not set have old values.",
        "test_02_descriptor_used_again_has_a_clean_state",
        "crashed",
        {
            "conn.c": """
-    struct conn *c = calloc(1, sizeof *c);
+    struct conn *c = malloc(sizeof *c);
     if (c == NULL)
@@
-    buffer_free(&c->frame);
+    free(c->frame.data);
     free(c);
"""
        },
    ),
    mutant(
        "state-by-descriptor",
        STATE,
        "State is kept by descriptor number and not reset when the number is used again.",
        "test_02_descriptor_used_again_has_a_clean_state",
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
         return NULL;
@@
     close(c->fd);
-    buffer_free(&c->frame);
-    free(c);
 }
"""
        },
    ),
    mutant(
        "bad-client-ends-it",
        CALLS,
        "An error of read() on one connection ends the server.",
        "test_02_descriptor_used_again_has_a_clean_state",
        "ended-early",
        {
            "conn.c": """
         conn_close(c, c->frame.len == 0 ? "end of input" : "end of input inside a frame");
         return true;
     case IO_ERROR:
-        conn_close(c, strerror(errno));
-        return true;
+        die("read");
"""
        },
    ),
    mutant(
        "no-thought-of-sigpipe",
        CALLS,
        "It writes without MSG_NOSIGNAL, and SIGPIPE has its default action.",
        "test_01_peer_is_gone_before_its_reply",
        "sigpipe",
        {
            "io.c": """
-    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
+    ssize_t n = write(fd, data, size);
"""
        },
    ),
    mutant(
        "sweep-without-a-pause",
        LOOP,
        "The sweep repeats without a sleep.",
        "test_02_sleeps_when_nothing_moves",
        "busy-sweep",
        {
            "server.c": """
-        if (!moved)
-            poll(NULL, 0, PAUSE_MS);
"""
        },
    ),
    mutant(
        "eagain-is-progress",
        CALLS,
        "A read() that returned EAGAIN counts as progress, so it never sleeps.",
        "test_02_sleeps_when_nothing_moves",
        "busy-sweep",
        {
            "conn.c": """
         buffer_fill(&c->frame, moved);
         check_frame(c);
         return true;
     case IO_AGAIN:
-        return false;
+        return true;
"""
        },
    ),
    # With the fault library
    mutant(
        "interrupted-and-closed",
        CALLS,
        "EINTR closes the connection, once more than 100 bytes have moved.",
        "test_01_random_cuts_of_long_streams",
        "call-disturbed",
        {
            "io.c": """
+static size_t total;
+
 enum io_result io_read(int fd, void *data, size_t size, size_t *moved)
 {
     ssize_t n = read(fd, data, size);
+    if (n < 0 && errno == EINTR && total > 100)
+        return IO_ERROR;
     if (n < 0)
         return failure();
     *moved = (size_t)n;
+    total += *moved;
"""
        },
    ),
    mutant(
        "sent-in-sixteen-bits",
        NUMBERS,
        "How much of a reply was sent is kept in an unsigned short.",
        "test_01_random_cuts_of_long_streams",
        "long-stream-lost",
        {
            "conn.h": """
-    size_t sent;         /* bytes of `frame` that the kernel has taken */
+    unsigned short sent;         /* bytes of `frame` that the kernel has taken */
"""
        },
    ),
    mutant(
        "no-memory-ends-it",
        RESOURCES,
        "The server ends when there is no memory for one more client.",
        "test_02_single_faults",
        "out-of-memory",
        {
            "server.c": """
-    if (c == NULL) {
-        log_line("fd %d: closed: out of memory", fd);
-        close(fd);
-        return;
-    }
+    if (c == NULL)
+        die("client");
"""
        },
    ),
    mutant(
        "calloc-not-checked",
        GROWTH,
        "The result of calloc() is not checked.",
        "test_02_single_faults",
        "out-of-memory",
        {
            "conn.c": """
-    if (c == NULL)
-        return NULL;
     c->fd = fd;
"""
        },
    ),
    mutant(
        "closes-until-it-works",
        CALLS,
        "close() is repeated until it returns 0, also after EINTR.",
        "test_02_single_faults",
        "close-interrupted",
        {
            "conn.c": """
-    close(c->fd);
+    while (close(c->fd) < 0)
+        continue;
"""
        },
    ),
    mutant(
        "emfile-taken-for-more",
        CALLS,
        "accept() is repeated until no client waits, also when no descriptor is free.",
        "test_02_out_of_descriptors_serves_on",
        "accept-failed",
        {
            "server.c": """
-        while ((fd = net_accept(s.listen_fd)) >= 0) {
-            add_client(&s, fd);
+        while ((fd = net_accept(s.listen_fd)) != NET_NONE) {
+            if (fd >= 0)
+                add_client(&s, fd);
"""
        },
    ),
    mutant(
        "reset-ends-the-server",
        CALLS,
        "An error of read() ends the server instead of the connection.",
        "test_02_single_faults",
        "reset-ends-one",
        {
            "conn.c": """
     case IO_ERROR:
-        conn_close(c, strerror(errno));
+        die("read");
         return true;
     }
     return false;
 }

 /* Writes once. Bytes that the kernel does not take now wait for the next step. True: something has
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
    mutant(
        "lingers-in-close",
        OPTIONS,
        "SO_LINGER with a time of 5 s: close() waits for the client, and all others wait with it.",
        "test_02_closing_stops_nobody",
        "blocked-in-close",
        socket_option("SOL_SOCKET", "SO_LINGER", "struct linger", "1, 5"),
    ),
)
