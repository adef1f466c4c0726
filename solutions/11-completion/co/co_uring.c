#include "co/co_uring.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/tools.h"
#include "net/lent.h"
#include "net/net.h"

/* From so many bytes on, a partial frame is a large one: its remainder is received into the memory
 * of the reader. And from so many on that nobody has read, receiving into lent buffers ends. */
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

/* How many clients are accepted together: calls for those that are not there cost little. */
enum { ACCEPT_BATCH = 16 };

// BEGIN calls
/* Waits until a client may be there. */
static bool wait_for_clients(struct co_socket *s)
{
    struct call call;
    io_uring_prep_poll_add(begin_call(s->ring, &call), s->watch.fd, POLLIN);
    s->read.waiting = co_self();
    co_park(-1);
    end_call(s->ring, &call);
    s->read.waiting = NULL;
    return call.result >= 0;
}

int uring_accept(struct co_socket *s, int *fds, int most)
{
    struct call calls[ACCEPT_BATCH];
    int tries = most < ACCEPT_BATCH ? most : ACCEPT_BATCH, count = 0, error = 0;
    if (!s->read.ready && !wait_for_clients(s))
        return NET_NONE;
    for (int i = 0; i < tries; i++)
        io_uring_prep_accept(begin_call(s->ring, &calls[i]), s->watch.fd, NULL, NULL, 0);
    s->read.ready = true; /* there may be more, unless one of them was in vain */
    for (int i = 0; i < tries; i++) {
        end_call(s->ring, &calls[i]); /* at once: it is tried once, and then does not wait */
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
    if (count > 0 || error == 0)
        return count > 0 ? count : NET_NONE;
    errno = error;
    return NET_FULL;
}

enum io_result uring_connect(struct co_socket *s, const struct sockaddr_in *address)
{
    struct call call;
    enum co_result how;
    io_uring_prep_connect(begin_call(s->ring, &call), s->watch.fd, (const struct sockaddr *)address,
                          sizeof *address);
    s->write.waiting = co_self();
    do
        how = co_park(-1);
    while (how == CO_WOKEN && call.op.in_flight);
    end_call(s->ring, &call);
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
    co_wake(s->idle);
}

/* A receive that is in flight finds a reset. Without one a poll does, which requests no event. It
 * is multishot: the first thing that it says may be that the client has sent FIN. */
enum io_result uring_wait(struct co_socket *s, int timeout_ms)
{
    if (!s->receive.in_flight && !s->reset.in_flight)
        io_uring_prep_poll_multishot(ring_begin(s->ring, &s->reset), s->watch.fd, 0);
    enum co_result how = CO_WOKEN;
    if (!s->broken && s->error == 0) {
        s->idle = co_self();
        how = co_park(timeout_ms);
        s->idle = NULL;
    }
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    if (s->broken || s->error != 0)
        return failed(s->error != 0 ? s->error : net_error(s->watch.fd));
    return how == CO_LATE ? IO_LATE : IO_AGAIN;
}
// END calls

/* Whether a read need not wait. */
static bool has_input(const struct co_socket *s)
{
    return buffer_len(&s->arrived) > 0 || s->eof || s->error != 0;
}

// BEGIN receive
/* Input has arrived in a lent buffer, or will not come any more. */
static void on_received(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    if (result == 0)
        s->eof = true;
    else if (result < 0 && !is_nothing(result))
        s->error = -result;
    if (lent_has(flags)) {
        struct lent *lent = ring_lent(s->ring);
        if (result > 0 && !buffer_append(&s->arrived, lent_bytes(lent, flags), (size_t)result))
            s->error = ENOMEM;
        lent_return(lent, flags);
    }
    if (buffer_len(&s->arrived) >= LARGE_BYTES)
        ring_cancel(s->ring, op);
    co_wake(s->read.waiting);
    if (!op->in_flight) /* from now on it says nothing of a reset */
        co_wake(s->idle);
}

/* Receives whenever something arrives, until this is cancelled or no buffer is free. */
static void receive(struct co_socket *s)
{
    struct io_uring_sqe *entry = ring_begin(s->ring, &s->receive);
    io_uring_prep_recv_multishot(entry, s->watch.fd, NULL, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = LENT_GROUP;
}

/* Waits for input in lent buffers. IO_OK: there is something to read now. */
static enum io_result wait_for_input(struct co_socket *s, int timeout_ms)
{
    while (!has_input(s)) {
        if (!s->receive.in_flight)
            receive(s);
        s->read.waiting = co_self();
        enum co_result how = co_park(timeout_ms);
        s->read.waiting = NULL;
        if (how == CO_CANCELLED)
            return IO_CANCELLED;
        if (how == CO_LATE)
            return has_input(s) ? IO_OK : IO_LATE;
        if (s->receive.in_flight && !has_input(s))
            return IO_AGAIN;
    }
    return IO_OK;
}
// END receive

/* Ends the receiving into lent buffers. More input may arrive before it has ended. */
static void stop_receiving(struct co_socket *s)
{
    ring_cancel(s->ring, &s->receive);
    s->read.waiting = co_self();
    while (s->receive.in_flight)
        co_hold();
    s->read.waiting = NULL;
}

/* Receives into the memory of the reader, which belongs to the kernel meanwhile. `flags`: 0, or
 * MSG_DONTWAIT for IO_AGAIN if nothing is there. */
static enum io_result read_large(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                                 int timeout_ms, int flags)
{
    struct call call;
    if (!buffer_reserve(in, room))
        return failed(ENOMEM);
    io_uring_prep_recv(begin_call(s->ring, &call), s->watch.fd, buffer_tail(in), room, flags);
    s->read.waiting = co_self();
    enum co_result how = co_park(timeout_ms);
    end_call(s->ring, &call);
    s->read.waiting = NULL;
    if (call.result == 0) {
        s->eof = true;
        return IO_EOF;
    }
    if (call.result > 0) {
        *moved = (size_t)call.result;
        VALGRIND_MAKE_MEM_DEFINED(buffer_tail(in), *moved);
        buffer_fill(in, *moved);
        return IO_OK;
    }
    if (!is_nothing(call.result))
        return failed(-call.result);
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return how == CO_LATE ? IO_LATE : IO_AGAIN;
}

enum io_result uring_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                          int timeout_ms)
{
    *moved = 0;
    bool large = buffer_len(in) >= LARGE_BYTES;
    if (large || s->sends_much)
        stop_receiving(s);
    if ((large || s->sends_much) && !has_input(s)) {
        int flags = large ? 0 : MSG_DONTWAIT;
        enum io_result result = read_large(s, in, room, moved, timeout_ms, flags);
        if (result == IO_AGAIN) /* nothing was there, or co_wake(): the caller looks around */
            s->sends_much = false;
        return result;
    }
    enum io_result result = wait_for_input(s, timeout_ms);
    if (result != IO_OK)
        return result;
    if (buffer_len(&s->arrived) >= LARGE_BYTES)
        s->sends_much = true;
    size_t size = buffer_len(&s->arrived) < room ? buffer_len(&s->arrived) : room;
    if (size == 0)
        return s->error != 0 ? failed(s->error) : IO_EOF;
    if (!buffer_move(in, &s->arrived, size))
        return failed(ENOMEM);
    buffer_trim(&s->arrived);
    *moved = size;
    return IO_OK;
}

// BEGIN send
/* How the last send has ended. */
static enum io_result how_sent(const struct co_socket *s)
{
    if (s->send_result >= 0)
        return IO_OK;
    return is_nothing(s->send_result) ? IO_AGAIN : failed(-s->send_result);
}

/* A send has completed, perhaps with less than all. */
static void on_send(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    (void)flags;
    buffer_unpin(s->out);
    if (result > 0)
        buffer_consume(s->out, (size_t)result);
    s->send_result = result;
    if (s->write.waiting != NULL)
        co_wake(s->write.waiting);
    else if (s->sent != NULL)
        s->sent(s->context, how_sent(s));
}

void uring_send(struct co_socket *s, struct buffer *out, size_t most)
{
    if (s->send.in_flight)
        return;
    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
    s->out = out;
    buffer_pin(out);
    io_uring_prep_send(ring_begin(s->ring, &s->send), s->watch.fd, buffer_head(out), size,
                       MSG_NOSIGNAL);
}

enum io_result uring_write(struct co_socket *s, struct buffer *out, size_t most)
{
    uring_send(s, out, most);
    s->write.waiting = co_self();
    enum co_result how = co_park(-1);
    s->write.waiting = NULL;
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return s->send.in_flight ? IO_AGAIN : how_sent(s);
}
// END send

void uring_init(struct co_socket *s, struct ring *ring)
{
    s->ring = ring;
    s->receive = (struct operation){.completed = on_received, .context = s};
    s->reset = (struct operation){.completed = on_reset, .context = s};
    s->send = (struct operation){.completed = on_send, .context = s};
}

// BEGIN forget
void uring_forget(struct co_socket *s)
{
    ring_cancel(s->ring, &s->receive);
    ring_cancel(s->ring, &s->send);
    ring_cancel(s->ring, &s->reset);
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
    co_cancel(s->idle);
    if (co_self() == NULL)
        return;
    s->read.waiting = co_self();
    s->write.waiting = co_self();
    s->idle = co_self();
    while (s->receive.in_flight || s->send.in_flight || s->reset.in_flight)
        co_hold();
    buffer_free(&s->arrived);
}
// END forget
