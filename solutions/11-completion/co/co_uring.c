#include "co/co_backend.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/tools.h"
#include "net/lent.h"
#include "net/net.h"

/* From so many bytes on, a partial frame is a large one. And from so many on that nobody has read,
 * receiving into lent buffers ends: see uring_read(). */
#define LARGE_BYTES (64u << 10)

/* An operation that one coroutine begins, and waits for. It is on the stack of that coroutine. */
struct call {
    struct operation op;
    struct coroutine *caller;
    int result;
};

static void on_call(struct operation *op, int result, unsigned flags)
{
    struct call *call = op->context;
    (void)flags;
    call->result = result;
    co_wake(call->caller);
}

/* Begins a call. Returns the entry for it. */
static struct io_uring_sqe *begin_call(struct ring *ring, struct call *call)
{
    *call = (struct call){
        .op = {.completed = on_call, .context = call},
        .caller = co_self(),
    };
    return ring_begin(ring, &call->op);
}

/* Ends a call, if it has not ended by itself. Until it has completed, neither the stack nor the
 * memory that it uses may be used for anything else: so a coroutine cannot leave before. */
static void end_call(struct ring *ring, struct call *call)
{
    ring_cancel(ring, &call->op);
    while (call->op.in_flight)
        co_hold();
}

/* A completion has come: wakes the coroutine that waits for it, or the one that forgets the
 * socket. */
static void wake(const struct co_socket *s, struct coroutine *waiting)
{
    co_wake(s->uring.forgetting != NULL ? s->uring.forgetting : waiting);
}

/* Nothing has been moved, and nothing is wrong. */
static bool is_nothing(int result)
{
    return result == -ECANCELED || result == -ENOBUFS || result == -EINTR || result == -EAGAIN;
}

static enum io_result failed(int error)
{
    errno = error;
    return IO_ERROR;
}

/* How many clients are accepted together at most. */
enum { ACCEPT_BATCH = 64 };

// BEGIN calls
/* Waits until a client may be there. */
static bool wait_for_clients(struct co_socket *s)
{
    struct call call;
    io_uring_prep_poll_add(begin_call(s->uring.ring, &call), s->watch.fd, POLLIN);
    s->read.waiting = co_self();
    co_park(-1);
    end_call(s->uring.ring, &call);
    s->read.waiting = NULL;
    return call.result >= 0;
}

/* Nothing says how many clients wait. So the first try is for one, and the next for twice as many,
 * until one is in vain. */
static int uring_accept(struct co_socket *s, int *fds, int most)
{
    struct call calls[ACCEPT_BATCH];
    if (!s->read.ready) {
        if (!wait_for_clients(s))
            return NET_NONE;
        s->uring.accepts = 1;
    }
    int tries = most < s->uring.accepts ? most : s->uring.accepts, count = 0, error = 0;
    for (int i = 0; i < tries; i++) {
        io_uring_prep_accept(begin_call(s->uring.ring, &calls[i]), s->watch.fd, NULL, NULL, 0);
        ring_cancel(s->uring.ring, &calls[i].op); /* so it is tried once, and does not wait */
    }
    s->read.ready = true; /* there may be more, unless one of them was in vain */
    for (int i = 0; i < tries; i++) {
        end_call(s->uring.ring, &calls[i]);
        int result = calls[i].result;
        if (result >= 0) {
            net_welcome(result);
            fds[count++] = result;
        } else if (is_nothing(result)) {
            s->read.ready = false;
        } else if (result != -ECONNABORTED) {
            error = -result;
        }
    }
    s->uring.accepts = 2 * tries < ACCEPT_BATCH ? 2 * tries : ACCEPT_BATCH;
    if (count > 0 || error == 0)
        return count > 0 ? count : NET_NONE;
    errno = error;
    return NET_FULL;
}

static enum io_result uring_connect(struct co_socket *s, const struct sockaddr_in *address)
{
    struct call call;
    enum co_result how;
    io_uring_prep_connect(begin_call(s->uring.ring, &call), s->watch.fd,
                          (const struct sockaddr *)address, sizeof *address);
    s->write.waiting = co_self();
    do
        how = co_park(-1);
    while (how == CO_WOKEN && call.op.in_flight);
    end_call(s->uring.ring, &call);
    s->write.waiting = NULL;
    if (call.result == 0)
        return IO_OK;
    return how == CO_CANCELLED ? IO_CANCELLED : failed(-call.result);
}

static void on_reset(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    (void)flags;
    if (result > 0 && (result & POLLERR))
        s->broken = true;
    wake(s, s->idle);
}

/* A receive that is in flight finds a reset. Without one a poll does, which requests no event. It
 * is multishot: the first thing that it says may be that the client has sent FIN. */
static enum io_result uring_wait(struct co_socket *s, int timeout_ms)
{
    if (!s->uring.receive.in_flight && !s->uring.reset.in_flight)
        io_uring_prep_poll_multishot(ring_begin(s->uring.ring, &s->uring.reset), s->watch.fd, 0);
    enum co_result how = CO_WOKEN;
    if (!s->broken) {
        s->idle = co_self();
        how = co_park(timeout_ms);
        s->idle = NULL;
    }
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    if (s->broken)
        return failed(s->uring.error != 0 ? s->uring.error : net_error(s->watch.fd));
    return how == CO_LATE ? IO_LATE : IO_AGAIN;
}
// END calls

/* Whether a read need not wait. */
static bool has_input(const struct co_socket *s)
{
    return buffer_len(&s->uring.arrived) > 0 || s->uring.eof || s->uring.error != 0;
}

static void input_failed(struct co_socket *s, int error)
{
    s->uring.error = error;
    s->broken = true;
}

// BEGIN receive
/* Input has arrived in a lent buffer, or will not come any more. */
static void on_received(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    if (result == 0)
        s->uring.eof = true;
    else if (result < 0 && !is_nothing(result))
        input_failed(s, -result);
    if (lent_has(flags)) {
        struct lent *lent = ring_lent(s->uring.ring);
        if (result > 0 && s->uring.error == 0 && /* nothing follows bytes that are lost */
            !buffer_append(&s->uring.arrived, lent_bytes(lent, flags), (size_t)result))
            input_failed(s, ENOMEM);
        lent_return(lent, flags);
    }
    if (buffer_len(&s->uring.arrived) >= LARGE_BYTES)
        ring_cancel(s->uring.ring, op);
    wake(s, s->read.waiting);
    if (!op->in_flight) /* from now on it says nothing of a reset */
        wake(s, s->idle);
}

/* Receives once, or whenever something arrives, until this is cancelled or no buffer is free. */
static void receive(struct co_socket *s)
{
    struct io_uring_sqe *entry = ring_begin(s->uring.ring, &s->uring.receive);
    if (s->uring.mode == RECEIVE_ONE)
        io_uring_prep_recv(entry, s->watch.fd, NULL, 0, 0);
    else
        io_uring_prep_recv_multishot(entry, s->watch.fd, NULL, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = LENT_GROUP;
}

/* Waits for input in lent buffers. IO_OK: there is something to read now. */
static enum io_result wait_for_input(struct co_socket *s, int timeout_ms)
{
    while (!has_input(s)) {
        if (!s->uring.receive.in_flight)
            receive(s);
        s->read.waiting = co_self();
        enum co_result how = co_park(timeout_ms);
        s->read.waiting = NULL;
        if (how == CO_CANCELLED)
            return IO_CANCELLED;
        if (how == CO_LATE)
            return has_input(s) ? IO_OK : IO_LATE;
        if (s->uring.receive.in_flight && !has_input(s))
            return IO_AGAIN;
    }
    return IO_OK;
}
// END receive

/* Ends the receiving into lent buffers. More input may arrive before it has ended. */
static void stop_receiving(struct co_socket *s)
{
    ring_cancel(s->uring.ring, &s->uring.receive);
    s->read.waiting = co_self();
    while (s->uring.receive.in_flight)
        co_hold();
    s->read.waiting = NULL;
}

/* Receives into the memory of the reader, which belongs to the kernel meanwhile. */
static enum io_result receive_own(struct co_socket *s, struct buffer *in, size_t room,
                                  size_t *moved, int timeout_ms)
{
    struct call call;
    int flags = s->uring.mode == RECEIVE_MUCH ? MSG_DONTWAIT : 0;
    if (!buffer_reserve(in, room))
        return failed(ENOMEM);
    io_uring_prep_recv(begin_call(s->uring.ring, &call), s->watch.fd, buffer_tail(in), room, flags);
    s->read.waiting = co_self();
    enum co_result how = co_park(timeout_ms);
    end_call(s->uring.ring, &call);
    s->read.waiting = NULL;
    if (call.result > 0) {
        *moved = (size_t)call.result;
        VALGRIND_MAKE_MEM_DEFINED(buffer_tail(in), *moved);
        buffer_fill(in, *moved);
        return IO_OK;
    }
    s->uring.eof = call.result == 0;
    if (!is_nothing(call.result))
        return s->uring.eof ? IO_EOF : failed(-call.result);
    s->uring.mode = RECEIVE_ONE;
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return how == CO_LATE ? IO_LATE : IO_AGAIN; /* nothing is there; or co_wake() was called */
}

/* Reads what has arrived in lent buffers, or how the input has ended. */
static enum io_result take_arrived(struct co_socket *s, struct buffer *in, size_t room,
                                   size_t *moved)
{
    size_t size = buffer_len(&s->uring.arrived);
    if (size == 0)
        return s->uring.error != 0 ? failed(s->uring.error) : IO_EOF;
    if (size >= (s->uring.mode == RECEIVE_ONE ? LENT_BYTES : LARGE_BYTES))
        s->uring.mode = RECEIVE_MUCH;
    else if (s->uring.mode == RECEIVE_ONE)
        s->uring.mode = RECEIVE_LENT;
    *moved = size < room ? size : room;
    if (!buffer_move(in, &s->uring.arrived, *moved))
        return failed(ENOMEM);
    buffer_trim(&s->uring.arrived);
    return IO_OK;
}

/* From lent buffers each byte is copied once more. So if there is much input, it is received into
 * the memory of the reader:
 *
 *              a lent buffer is full         64 KiB of a frame are there
 *        ONE -----------------------> MUCH ------------------------------> LARGE
 *         |  <----------------------- ^  <--------------------------------
 *         |    nothing more is there  |        the frame is complete
 *         |                           |
 *         +---------> LENT -----------+
 *         it is not         64 KiB have arrived unread
 *
 * ONE and LENT receive into lent buffers: ONE a single time, LENT again and again, which takes
 * fewer operations. But the kernel may fill dozens of buffers before LENT is stopped. So LENT is
 * for clients that send little, and begins between two frames. ONE and LENT become LARGE when a
 * frame has grown in small pieces. MUCH never waits for input; the other modes do. */
static enum io_result uring_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                                 int timeout_ms)
{
    *moved = 0;
    if (buffer_len(in) >= LARGE_BYTES)
        s->uring.mode = RECEIVE_LARGE;
    else if (s->uring.mode == RECEIVE_LARGE)
        s->uring.mode = RECEIVE_MUCH;
    else if (s->uring.mode == RECEIVE_LENT && buffer_len(in) > 0 && !s->uring.receive.in_flight)
        s->uring.mode = RECEIVE_ONE;
    bool own = s->uring.mode == RECEIVE_MUCH || s->uring.mode == RECEIVE_LARGE;
    if (own)
        stop_receiving(s);
    if (own && !has_input(s))
        return receive_own(s, in, room, moved, timeout_ms);
    enum io_result result = wait_for_input(s, timeout_ms);
    return result == IO_OK ? take_arrived(s, in, room, moved) : result;
}

// BEGIN send
/* How the last send has ended. */
static enum io_result how_sent(const struct co_socket *s)
{
    if (s->uring.send_result >= 0)
        return IO_OK;
    return is_nothing(s->uring.send_result) ? IO_AGAIN : failed(-s->uring.send_result);
}

/* A send has completed, perhaps with less than all. */
static void on_send(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    (void)flags;
    buffer_unpin(s->uring.out);
    if (result > 0)
        buffer_consume(s->uring.out, (size_t)result);
    s->uring.send_result = result;
    wake(s, s->write.waiting);
    if (s->write.waiting == NULL && s->sent != NULL)
        s->sent(s->context, how_sent(s));
}

static void uring_send(struct co_socket *s, struct buffer *out, size_t most)
{
    if (s->uring.send.in_flight)
        return;
    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
    s->uring.out = out;
    buffer_pin(out);
    io_uring_prep_send(ring_begin(s->uring.ring, &s->uring.send), s->watch.fd, buffer_head(out),
                       size, MSG_NOSIGNAL);
}

static enum io_result uring_write(struct co_socket *s, struct buffer *out, size_t most)
{
    uring_send(s, out, most);
    s->write.waiting = co_self();
    enum co_result how = co_park(-1);
    s->write.waiting = NULL;
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return s->uring.send.in_flight ? IO_AGAIN : how_sent(s);
}
// END send

// BEGIN forget
static void uring_forget(struct co_socket *s)
{
    ring_cancel(s->uring.ring, &s->uring.receive);
    ring_cancel(s->uring.ring, &s->uring.send);
    ring_cancel(s->uring.ring, &s->uring.reset);
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
    co_cancel(s->idle);
    s->sent = NULL;
    if (co_self() == NULL)
        return;
    s->uring.forgetting = co_self();
    while (s->uring.receive.in_flight || s->uring.send.in_flight || s->uring.reset.in_flight)
        co_hold();
    buffer_free(&s->uring.arrived);
}
// END forget

static void uring_init(struct co_socket *s, struct events *events)
{
    s->uring = (struct by_completion){
        .ring = events_ring(events),
        .accepts = 1,
        .reset = {.completed = on_reset, .context = s},
        .receive = {.completed = on_received, .context = s},
        .send = {.completed = on_send, .context = s},
    };
}

const struct co_backend co_uring = {
    .init = uring_init,
    .forget = uring_forget,
    .send = uring_send,
    .read = uring_read,
    .write = uring_write,
    .wait = uring_wait,
    .accept = uring_accept,
    .connect = uring_connect,
};
