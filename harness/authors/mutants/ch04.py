"""Wrong servers of chapter 04: many frames in flight, bounded memory."""

from __future__ import annotations

from functools import partial

from harness.authors.mutants.mutant import (
    CALLS,
    FRAMING,
    GROWTH,
    LOOP,
    OPTIONS,
    PRESSURE,
    RESOURCES,
    STATE,
    WRITES,
    Mutant,
    socket_option,
)

mutant = partial(Mutant, "04")

MUTANTS = (
    mutant(
        "remainder-keeps-block",
        RESOURCES,
        "A block that holds a few bytes is kept whole, though 32 MiB of it are unused.",
        "test_04_memory_is_given_back",
        "memory-grows",
        {
            "buffer.c": """
-    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
+    } else if (len <= SMALL_BYTES && len == b->block->cap / 4) {
"""
        },
    ),
    mutant(
        "pointer-lost-by-realloc",
        RESOURCES,
        "The result of realloc() overwrites the only pointer to the old block.",
        "test_04_memory_that_is_refused_loses_none",
        "out-of-memory",
        {
            "buffer.c": """
-    block = realloc(b->block, sizeof *block + cap);
-    if (block == NULL)
-        return false;
-    block->cap = cap;
-    b->block = block;
+    b->block = realloc(b->block, sizeof *block + cap);
+    if (b->block == NULL)
+        return false;
+    b->block->cap = cap;
"""
        },
    ),
    # Consuming, and growing
    mutant(
        "erases-from-the-front",
        GROWTH,
        "Frames are answered one by one, and each moves all the bytes after it to the front.",
        "test_04_burst_costs_no_more_than_small_batches",
        "consume-moves",
        {
            "conn.c": """
-        answer(c, size);
+        for (size_t first; size > 0 && c->state == CONN_OPEN; size -= first) {
+            first = frame_run(buffer_head(&c->in), buffer_len(&c->in), 1, &too_long);
+            answer(c, first);
+        }
         flush(c);
""",
            "buffer.c": """
-    if (size > 0) /* else there may be no block */
-        b->block->start += size;
+    if (size == 0)
+        return;
+    b->block->start += size;
+    slide(b);
""",
        },
    ),
    mutant(
        "moves-what-is-not-sent",
        GROWTH,
        "After every partial write(), the remaining output is moved to the front.",
        "test_04_reply_taken_in_small_parts",
        "consume-moves",
        {
            "buffer.c": """
-    if (size > 0) /* else there may be no block */
-        b->block->start += size;
+    if (size == 0)
+        return;
+    b->block->start += size;
+    slide(b);
"""
        },
    ),
    mutant(
        "dropped-when-empty-only",
        GROWTH,
        "Consumed bytes are dropped only when the buffer is empty, which may never happen.",
        "test_04_long_stream_costs_no_memory",
        "memory-grows",
        {
            "buffer.c": """
-    if (block->start >= buffer_len(b))
-        slide(b);
-    if (block->cap - block->end >= room)
-        return true;
     size_t cap = 2 * block->cap;
@@
-    if (buffer_len(to) > 0 || size < left) {
+    if (left <= buffer_len(from)) {
@@
         b->block = NULL;
-    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
-        struct block *block = new_block(len);
-        if (block != NULL)
-            move_to(b, block);
     }
"""
        },
    ),
    mutant(
        "newest-in-front",
        GROWTH,
        "The length of each frame is put at the front of a list, and all the others move.",
        "test_04_cost_grows_with_the_frames",
        "quadratic",
        {
            "conn.h": """
     const char *reason; /* why it is draining */
+    uint8_t *lengths;  /* of all its frames, the newest first */
+    size_t frames, room;
""",
            "conn.c": """
-static void log_frames(const struct conn *c, size_t size)
+static void log_frames(struct conn *c, size_t size)
@@
         log_frame(c->fd, length);
+        if (c->frames == c->room) {
+            c->room = 2 * c->room + 64;
+            c->lengths = realloc(c->lengths, c->room * sizeof *c->lengths);
+        }
+        memmove(c->lengths + 1, c->lengths, c->frames++ * sizeof *c->lengths);
+        c->lengths[0] = (uint8_t)length;
@@
-    if (log_is_verbose())
-        log_frames(c, size);
+    log_frames(c, size);
@@
     buffer_free(&c->out);
+    free(c->lengths);
""",
        },
    ),
    mutant(
        "space-from-the-length",
        GROWTH,
        "The new capacity is computed from the bytes held, without the consumed bytes before them.",
        "test_01_random_cuts_of_long_streams",
        "crashed",
        {
            "buffer.c": """
-    size_t cap = 2 * block->cap;
-    if (cap < block->end + room)
-        cap = block->end + room;
+    size_t cap = buffer_len(b) + room;
"""
        },
    ),
    mutant(
        "asserts-a-free-byte",
        GROWTH,
        "An assert claims that a buffer is never quite full: a read that fills it ends the server.",
        "test_04_hundred_thousand_frames",
        "crashed",
        {
            "buffer.c": """
+#include <assert.h>
 #include <stdlib.h>
@@
     b->block->end += size;
+    assert(b->block->end < b->block->cap);
"""
        },
    ),
    # The parse loop
    mutant(
        "if-for-while",
        PRESSURE,
        "`if` instead of `while` round the parser: one frame is answered for each read().",
        "test_04_hundred_thousand_frames",
        "replies-missing",
        {
            "conn.c": """
         answer(c, size);
         flush(c);
+        return;
""",
            "frame.c": """
         end += FRAME_HEADER_BYTES + (size_t)length;
+        break;
""",
        },
    ),
    mutant(
        "write-for-each-frame",
        PRESSURE,
        "Every reply has its own write call.",
        "test_04_replies_are_batched",
        "write-per-frame",
        {
            "frame.c": """
         end += FRAME_HEADER_BYTES + (size_t)length;
+        break;
"""
        },
    ),
    mutant(
        "output-overwritten",
        STATE,
        "New replies overwrite old ones that have not been sent yet.",
        "test_04_reading_goes_on_when_the_peer_reads",
        "wrong-body",
        {
            "conn.c": """
         buffer_fill(&c->in, moved);
+        buffer_consume(&c->out, buffer_len(&c->out));
"""
        },
    ),
    mutant(
        "forgets-what-waits",
        FRAMING,
        "The blocks are swapped although the output still holds replies: these are dropped.",
        "test_04_reading_goes_on_when_the_peer_reads",
        "wrong-body",
        {
            "buffer.c": """
-    if (buffer_len(to) > 0 || size < left) {
+    if (size >= left)
+        buffer_consume(to, buffer_len(to));
+    if (size < left) {
"""
        },
    ),
    mutant(
        "remainder-left-out",
        FRAMING,
        "The beginning of a frame that a read leaves over is thrown away.",
        "test_01_frame_cut_at_every_byte",
        "one-read-one-message",
        {
            "conn.c": """
     advance(c);
+    if (room(c) > 0)
+        buffer_free(&c->in);
     settle(c);
 }

 void conn_write(struct conn *c)
"""
        },
    ),
    mutant(
        "reads-until-eagain",
        LOOP,
        "A client is read until EAGAIN and gets every reply by itself: a greedy one never ends.",
        "test_04_polite_client_beside_a_fire_hose",
        "starved",
        {
            "conn.c": """
     case IO_OK:
         buffer_fill(&c->in, moved);
-        break;
+        advance(c);
+        conn_read(c);
+        return;
""",
            "frame.c": """
         end += FRAME_HEADER_BYTES + (size_t)length;
+        break;
""",
        },
    ),
    mutant(
        "high-water-for-all",
        PRESSURE,
        "The high-water mark counts the output of all clients: one that does not read stops the others.",
        "test_04_others_are_served_promptly",
        "starved",
        {
            "conn.c": """
+static size_t held; /* bytes that wait to be sent, of all connections */
+
 struct conn *conn_new(int fd)
@@
-    size_t waiting = buffer_len(&c->out);
+    (void)c;
+    size_t waiting = held;
@@
     if (!buffer_move(&c->out, &c->in, size))
         conn_close(c, "out of memory");
+    held += size;
@@
-        else
-            buffer_consume(&c->out, moved);
+        else {
+            buffer_consume(&c->out, moved);
+            held -= moved;
+        }
@@
     buffer_free(&c->in);
+    held -= buffer_len(&c->out);
     buffer_free(&c->out);
"""
        },
    ),
    # Back-pressure
    mutant(
        "no-high-water",
        PRESSURE,
        "The output has no limit: it keeps reading while the client does not read.",
        "test_04_client_that_never_reads_costs_little_memory",
        "memory-grows",
        {
            "conn.c": """
-    return waiting < HIGH_WATER_BYTES ? HIGH_WATER_BYTES - waiting : 0;
+    return waiting < FRAME_MAX_BYTES ? FRAME_MAX_BYTES - waiting : 0;
"""
        },
    ),
    mutant(
        "stops-answering-only",
        PRESSURE,
        "At the high-water mark it stops answering but keeps reading: the input grows instead.",
        "test_04_client_that_never_reads_costs_little_memory",
        "memory-grows",
        {
            "conn.c": """
-    if (c->state == CONN_OPEN && room(c) > 0)
+    if (c->state == CONN_OPEN)
"""
        },
    ),
    mutant(
        "no-parse-after-drain",
        PRESSURE,
        "After a blocked write has drained, the frames in the buffer are not parsed.",
        "test_04_small_frames_after_a_large_one",
        "stuck-after-pause",
        {
            "conn.c": """
     flush(c);
-    advance(c);
     settle(c);
"""
        },
    ),
    mutant(
        "stops-once-too-often",
        PRESSURE,
        "It stops at the high-water mark, sends all of it at once, and waits for an event.",
        "test_04_small_frames_after_a_large_one",
        "stuck-after-pause",
        {
            "conn.c": """
         answer(c, size);
         flush(c);
+        return;
"""
        },
    ),
    mutant(
        "paused-for-ever",
        PRESSURE,
        "The flag that suspends reading is set when the output is full and never cleared.",
        "test_04_reading_goes_on_when_the_peer_reads",
        "stuck-after-pause",
        {
            "conn.h": """
     const char *reason; /* why it is draining */
+    bool paused;
""",
            "conn.c": """
-    if (c->state == CONN_OPEN && room(c) > 0)
+    if (c->state == CONN_OPEN && !c->paused)
@@
         flush(c);
+        if (room(c) == 0)
+            c->paused = true;
     }
""",
        },
    ),
    mutant(
        "pollin-while-paused",
        LOOP,
        "POLLIN stays in the events while reading is suspended.",
        "test_04_waiting_for_a_reader_uses_no_cpu",
        "spins-writing",
        {
            "server.c": """
-        if (interest & CONN_WANT_READ)
-            entry->events |= POLLIN;
+        entry->events |= POLLIN;
"""
        },
    ),
    mutant(
        "pollin-while-draining",
        LOOP,
        "POLLIN stays in the events after EOF, until all owed replies are sent.",
        "test_04_draining_uses_no_cpu",
        "spins-half-closed",
        {
            "conn.c": """
-    if (c->state == CONN_OPEN && room(c) > 0)
+    if (c->state != CONN_CLOSED && room(c) > 0)
"""
        },
    ),
    mutant(
        "pollout-forgotten",
        WRITES,
        "It writes at once, but does not request POLLOUT for the remainder.",
        "test_02_short_write_is_resumed",
        "short-write",
        {
            "conn.c": """
-    if (c->state != CONN_CLOSED && buffer_len(&c->out) > 0)
-        interest |= CONN_WANT_WRITE;
"""
        },
    ),
    mutant(
        "spins-in-flush",
        WRITES,
        "Sending is repeated at EAGAIN until the output is empty.",
        "test_02_stalled_reader_stops_nobody",
        "blocked-by-another",
        {
            "conn.c": """
         if (result == IO_AGAIN)
-            return;
+            continue;
"""
        },
    ),
    # Flush before close
    mutant(
        "closes-at-eof",
        CALLS,
        "At EOF the connection is closed, whatever it still owes.",
        "test_04_half_close_with_10000_replies_owed",
        "replies-lost-at-eof",
        {
            "conn.c": """
-        drain(c, buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
+        conn_close(c, "end of input");
"""
        },
    ),
    mutant(
        "one-try-at-eof",
        CALLS,
        "At EOF it sends what the kernel takes, and closes.",
        "test_04_half_close_with_a_late_reader",
        "replies-lost-at-eof",
        {
            "conn.c": """
-    if (c->state == CONN_DRAINING && buffer_len(&c->out) == 0)
+    if (c->state == CONN_DRAINING)
"""
        },
    ),
    mutant(
        "drains-and-stays",
        RESOURCES,
        "After all owed replies are sent the connection is not closed.",
        "test_04_half_close_with_10000_replies_owed",
        "not-closed",
        {
            "conn.c": """
     flush(c);
     advance(c);
-    settle(c);
+    buffer_trim(&c->out);
"""
        },
    ),
    mutant(
        "writes-only-when-open",
        WRITES,
        "After EOF a connection is no longer written to.",
        "test_04_half_close_with_a_late_reader",
        "replies-lost-at-eof",
        {
            "conn.c": """
-    if (c->state != CONN_CLOSED && buffer_len(&c->out) > 0)
+    if (c->state == CONN_OPEN && buffer_len(&c->out) > 0)
"""
        },
    ),
    mutant(
        "eof-passed-over",
        CALLS,
        "A read() that returns 0 is taken for nothing to read: the socket stays readable.",
        "test_01_input_ends_inside_a_frame",
        "not-closed",
        {
            "conn.c": """
-        drain(c, buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
         break;
     case IO_ERROR:
"""
        },
    ),
    mutant(
        "too-long-closes-at-once",
        PRESSURE,
        "A frame that is too long closes the connection before the replies owed have been sent.",
        "test_04_replies_before_a_frame_that_is_too_long",
        "replies-lost-at-eof",
        {
            "conn.c": """
-        if (size == 0 && too_long)
-            drain(c, "frame too long");
+        if (too_long)
+            conn_close(c, "frame too long");
"""
        },
    ),
    # Memory
    mutant(
        "never-trimmed",
        RESOURCES,
        "Buffers keep the size that the largest frame gave them.",
        "test_04_memory_is_given_back",
        "memory-grows",
        {
            "conn.c": """
-    buffer_trim(&c->in);
-    buffer_trim(&c->out);
"""
        },
    ),
    mutant(
        "trims-when-writable",
        RESOURCES,
        "Memory is given back when the socket becomes writable again, but not after a read.",
        "test_04_memory_is_given_back",
        "memory-grows",
        {
            "conn.c": """
-    buffer_trim(&c->in);
-    buffer_trim(&c->out);
@@
     flush(c);
     advance(c);
     settle(c);
+    buffer_trim(&c->in);
+    buffer_trim(&c->out);
"""
        },
    ),
    mutant(
        "space-for-the-length",
        RESOURCES,
        "Up to 1 MiB of memory is taken and cleared as soon as a header announces it.",
        "test_04_declared_length_costs_no_memory",
        "memory-grows",
        {
            "conn.c": """
             drain(c, "frame too long");
+        size_t held = buffer_len(&c->in);
+        uint32_t length;
+        if (size == 0 && held >= FRAME_HEADER_BYTES) {
+            frame_length(buffer_head(&c->in), &length);
+            size_t rest = FRAME_HEADER_BYTES + length - held;
+            rest = rest < (1u << 20) ? rest : 1u << 20;
+            struct block *block = c->in.block;
+            if (block->cap - block->end < rest && buffer_reserve(&c->in, rest))
+                memset(buffer_tail(&c->in), 0, rest);
+        }
""",
            "buffer.c": """
         b->block = NULL;
-    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
-        struct block *block = new_block(len);
-        if (block != NULL)
-            move_to(b, block);
     }
""",
        },
    ),
    mutant(
        "output-not-freed",
        RESOURCES,
        "The output of a connection that ends with unsent replies is not freed.",
        "test_04_memory",
        "memory-leak",
        {
            "conn.c": """
-    buffer_free(&c->out);
     free(c);
"""
        },
    ),
    mutant(
        "freed-in-the-iteration",
        STATE,
        "A connection that read() has closed is freed at once, and then written to.",
        "test_04_memory",
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
        "grows-by-a-copy",
        GROWTH,
        "The buffer grows by a fixed amount, into a new block with everything copied.",
        "test_04_cost_grows_with_the_bytes",
        "quadratic",
        {
            "buffer.c": """
-    struct block *block = spare_take(cap);
-    if (block != NULL) {
-        move_to(b, block);
-        return true;
-    }
-    if (b->block == NULL) {
-        b->block = new_block(cap);
-        return b->block != NULL;
-    }
-    block = realloc(b->block, sizeof *block + cap);
+    struct block *block = new_block(cap);
     if (block == NULL)
         return false;
-    block->cap = cap;
-    b->block = block;
+    move_to(b, block);
     return true;
 }
@@
-    size_t cap = 2 * block->cap;
-    if (cap < block->end + room)
-        cap = block->end + room;
-    return grow(b, cap);
+    return grow(b, block->end + 2 * room);
"""
        },
    ),
    mutant(
        "asks-for-the-length",
        RESOURCES,
        "Memory for the whole frame is allocated as soon as its header has arrived.",
        "test_04_declared_length_costs_no_memory",
        "memory-grows",
        {
            "conn.c": """
             drain(c, "frame too long");
+        uint32_t length;
+        if (size == 0 && buffer_len(&c->in) >= FRAME_HEADER_BYTES) {
+            frame_length(buffer_head(&c->in), &length);
+            buffer_reserve(&c->in, length);
+        }
""",
            "buffer.c": """
-    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
-        struct block *block = new_block(len);
-        if (block != NULL)
-            move_to(b, block);
""",
        },
    ),
    # Socket options, and flags of send()
    mutant(
        "corked",
        OPTIONS,
        "TCP_CORK is set, and never cleared: each reply waits 200 ms for more.",
        "test_01_replies_leave_at_once",
        "reply-held-back",
        socket_option("IPPROTO_TCP", "TCP_CORK", "int", "1"),
    ),
    mutant(
        "more-always-follows",
        OPTIONS,
        "Every send() says MSG_MORE: each reply waits 200 ms for more.",
        "test_03_first_frames",
        "reply-held-back",
        {
            "io.c": """
-    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
+    ssize_t n = send(fd, data, size, MSG_NOSIGNAL | MSG_MORE);
"""
        },
    ),
    mutant(
        "gives-up-the-peer",
        OPTIONS,
        "TCP_USER_TIMEOUT is set: a client that does not read for 5 s is dropped.",
        "test_01_slow_clients_are_kept",
        "given-up",
        socket_option("IPPROTO_TCP", "TCP_USER_TIMEOUT", "unsigned", "5000"),
    ),
)
