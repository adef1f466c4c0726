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

/* TODO 6: Write uring_accept() and uring_connect(): calls, on the stack of the coroutine, that
 * are waited for. And uring_wait(), which hears of a reset while nothing is read or written.
 * Graded by test_11_accepts_and_connects and test_11_hears_of_a_reset.
 * Wait with a poll operation until a client is there. Then begin `accepts` calls, and cancel all
 * of them before you wait. Try twice as many next time, until one is in vain. One that has
 * failed must not lose the clients of the others. co_wake() does not end the wait in
 * uring_connect().
 * No function returns before end_call(): the kernel may still use the stack.
 * A receive that is in flight finds a reset. If there is none, `reset` does: a poll operation
 * that requests no event, and that is not on the stack, since it stays in flight when
 * uring_wait() returns. */
static int uring_accept(struct co_socket *s, int *fds, int most)
{
    (void)most;
    co_sleep(10);
    fds[0] = net_accept(s->watch.fd);
    return fds[0] >= 0 ? 1 : fds[0];
}

static enum io_result uring_connect(struct co_socket *s, const struct sockaddr_in *address)
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

static enum io_result uring_wait(struct co_socket *s, int timeout_ms)
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
    return buffer_len(&s->uring.arrived) > 0 || s->uring.eof || s->uring.error != 0;
}

static void input_failed(struct co_socket *s, int error)
{
    s->uring.error = error;
    s->broken = true;
}

/* TODO 3: Receive into lent buffers, again and again, and wait for input. Graded by
 * test_11_reads_from_lent_buffers.
 * Copy what has arrived, and give the buffer back at once. The operation ends when no buffer is
 * free; nothing is lost, and it can begin again. Cancel it once LARGE_BYTES have arrived that no
 * coroutine wants to read. wake() the coroutine that reads; and once it has ended, the `idle`
 * one: see TODO 6.
 * A completion is the end of the input, an error (input_failed()), bytes, or nothing
 * (is_nothing()). has_input() says when the wait is over. */
static void on_received(struct operation *op, int result, unsigned flags)
{
    struct co_socket *s = op->context;
    (void)result, (void)flags;
    input_failed(s, ENOSYS);
    wake(s, s->read.waiting);
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

/* TODO 4: Send from the head of a buffer with one operation at a time, and pass on how it has
 * ended. Graded by test_11_sends_every_byte_once.
 * The bytes belong to the kernel until the completion: pin them. A send may complete with a part
 * of them only.
 * The completion calls wake(). If no coroutine waits in uring_write(), it also calls `sent`,
 * unless that is NULL. */
static void on_send(struct operation *op, int result, unsigned flags)
{
    (void)op, (void)result, (void)flags;
}

static void uring_send(struct co_socket *s, struct buffer *out, size_t most)
{
    (void)s, (void)out, (void)most;
}

static enum io_result uring_write(struct co_socket *s, struct buffer *out, size_t most)
{
    uring_send(s, out, most);
    return co_park(-1) == CO_CANCELLED ? IO_CANCELLED : IO_AGAIN;
}

/* TODO 7: Cancel what is in flight and the coroutines that wait, and wait until all of it has
 * completed. Graded by test_11_nothing_is_freed_in_flight.
 * Only a coroutine can wait. It may have been cancelled itself: co_hold() waits nevertheless. */
static void uring_forget(struct co_socket *s)
{
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
    co_cancel(s->idle);
    s->sent = NULL;
    shutdown(s->watch.fd, SHUT_RDWR);
    if (co_self() == NULL)
        return;
    s->uring.forgetting = co_self();
    while (s->uring.receive.in_flight || s->uring.send.in_flight)
        co_hold();
    buffer_free(&s->uring.arrived);
}

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
