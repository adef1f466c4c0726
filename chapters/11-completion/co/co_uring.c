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

/* TODO 6: Write uring_accept() and uring_connect(): calls, on the stack of the coroutine, that
 * are waited for. And uring_wait(), which hears of a reset while nothing is read or written.
 * Graded by test_11_accepts_and_connects and test_11_hears_of_a_reset.
 * Wait with a poll operation until a client is there. Then begin up to ACCEPT_BATCH calls
 * together, and end each of them at once: it has accepted a client, or is cancelled. One that
 * has failed must not lose the clients of the others. co_wake() does not end the wait in
 * uring_connect().
 * No function returns before end_call(): the kernel may still use the stack.
 * A receive that is in flight finds a reset. If there is none, `reset` does: a poll operation
 * that requests no event, and that is not on the stack, since it stays in flight when
 * uring_wait() returns. */
int uring_accept(struct co_socket *s, int *fds, int most)
{
    (void)most;
    co_sleep(10);
    fds[0] = net_accept(s->watch.fd);
    return fds[0] >= 0 ? 1 : fds[0];
}

enum io_result uring_connect(struct co_socket *s, const struct sockaddr_in *address)
{
    int fd = s->watch.fd;
    co_yield_now();
    bool connected = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
    return connected ? IO_OK : IO_ERROR;
}

static void on_reset(struct operation *op, int result, unsigned flags)
{
    (void)op, (void)result, (void)flags;
}

enum io_result uring_wait(struct co_socket *s, int timeout_ms)
{
    (void)s;
    enum co_result how = co_park(timeout_ms);
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return how == CO_LATE ? IO_LATE : IO_AGAIN;
}

/* Whether a read need not wait. */
static bool has_input(const struct co_socket *s)
{
    return buffer_len(&s->arrived) > 0 || s->eof || s->error != 0;
}

/* TODO 3: Receive into lent buffers, again and again, and wait for input. Graded by
 * test_11_reads_from_lent_buffers.
 * Copy what has arrived, and give the buffer back at once. The operation ends when no buffer is
 * free; nothing is lost, and it can begin again. Cancel it once LARGE_BYTES have arrived that no
 * coroutine wants to read. When it has ended, wake the coroutine that is `idle`: see TODO 6.
 * A completion is the end of the input, an error, bytes, or nothing (see is_nothing()).
 * has_input() says when the wait is over. */
static void on_received(struct operation *op, int result, unsigned flags)
{
    (void)op, (void)result, (void)flags;
}

static enum io_result wait_for_input(struct co_socket *s, int timeout_ms)
{
    (void)has_input(s);
    enum co_result how = co_park(timeout_ms);
    if (how == CO_CANCELLED)
        return IO_CANCELLED;
    return how == CO_LATE ? IO_LATE : IO_AGAIN;
}

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

/* TODO 4: Send from the head of a buffer with one operation at a time, and pass on how it has
 * ended. Graded by test_11_sends_every_byte_once.
 * The bytes belong to the kernel until the completion: pin them. A send may complete with a part
 * of them only.
 * If a coroutine waits in uring_write(), its completion wakes it. Otherwise it calls `sent`, if
 * that is not NULL. */
static void on_send(struct operation *op, int result, unsigned flags)
{
    (void)op, (void)result, (void)flags;
}

void uring_send(struct co_socket *s, struct buffer *out, size_t most)
{
    (void)s, (void)out, (void)most;
}

enum io_result uring_write(struct co_socket *s, struct buffer *out, size_t most)
{
    uring_send(s, out, most);
    return co_park(-1) == CO_CANCELLED ? IO_CANCELLED : IO_AGAIN;
}

void uring_init(struct co_socket *s, struct ring *ring)
{
    s->ring = ring;
    s->receive = (struct operation){.completed = on_received, .context = s};
    s->reset = (struct operation){.completed = on_reset, .context = s};
    s->send = (struct operation){.completed = on_send, .context = s};
}

/* TODO 7: Cancel what is in flight and the coroutines that wait, and wait until all of it has
 * completed. Graded by test_11_nothing_is_freed_in_flight.
 * Only a coroutine can wait. It may have been cancelled itself: co_hold() waits nevertheless. */
void uring_forget(struct co_socket *s)
{
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
    co_cancel(s->idle);
    shutdown(s->watch.fd, SHUT_RDWR);
    if (co_self() == NULL)
        return;
    s->read.waiting = co_self();
    s->write.waiting = co_self();
    while (s->receive.in_flight || s->send.in_flight)
        co_hold();
    buffer_free(&s->arrived);
}
