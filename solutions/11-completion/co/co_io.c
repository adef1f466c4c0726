#include "co/co_io.h"

#include <errno.h>
#include <sys/socket.h>

#include "co/co_backend.h"
#include "net/net.h"

static struct co_direction *direction_of(struct co_socket *s, unsigned event)
{
    return event == EVENT_READ ? &s->read : &s->write;
}

/* Makes the watch wait for `interest`. False: errno has the reason. */
static bool set_interest(struct co_socket *s, unsigned interest)
{
    if (s->watch.added)
        return events_set(s->readiness.events, &s->watch, interest);
    return events_add(s->readiness.events, &s->watch, interest);
}

/* Notes that a direction is ready, and wakes its coroutine. The interest stays for the next
 * wait, which usually comes soon. If no coroutine waits, it ends: poll and select would report the
 * same again and again. */
static void make_ready(struct co_socket *s, unsigned event)
{
    struct co_direction *d = direction_of(s, event);
    d->ready = true;
    if (d->waiting != NULL)
        co_wake(d->waiting);
    else
        set_interest(s, s->watch.interest & ~event);
}

static void on_event(struct events *events, struct watch *watch, unsigned what)
{
    struct co_socket *s = watch->context;
    (void)events;
    if (what & EVENT_HANGUP)
        s->readiness.hangup = true;
    if (what & EVENT_READ)
        make_ready(s, EVENT_READ);
    if (what & EVENT_WRITE)
        make_ready(s, EVENT_WRITE);
    if (what & EVENT_ERROR) {
        s->broken = true;
        co_wake(s->idle);
    }
}

static void ready_init(struct co_socket *s, struct events *events)
{
    s->readiness.events = events;
    s->watch.call = on_event;
    s->watch.context = s;
}

bool co_is_broken(const struct co_socket *s)
{
    return s->broken;
}

static void ready_forget(struct co_socket *s)
{
    events_del(s->readiness.events, &s->watch);
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
    co_cancel(s->idle);
}

static void ready_send(struct co_socket *s, struct buffer *out, size_t most)
{
    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
    size_t moved = 0;
    enum io_result result = io_write(s->watch.fd, buffer_head(out), size, &moved);
    buffer_consume(out, moved);
    if (s->sent != NULL)
        s->sent(s->context, result);
}

/* Lets the others run first if this direction was used in this iteration already. */
static void take_turn(struct co_direction *d)
{
    if (d->turn == co_turn())
        co_yield_now();
    d->turn = co_turn();
}

// BEGIN wait_for
/* Waits until a direction may be ready, which is IO_OK. Never returns IO_EOF. */
static enum io_result wait_for(struct co_socket *s, unsigned event, int timeout_ms)
{
    struct co_direction *d = direction_of(s, event);
    if (d->ready)
        return IO_OK;
    if (!set_interest(s, s->watch.interest | event))
        return IO_ERROR;
    d->waiting = co_self();
    enum co_result result = co_park(timeout_ms);
    d->waiting = NULL;
    if (result == CO_CANCELLED)
        return IO_CANCELLED;
    if (d->ready)
        return IO_OK;
    return result == CO_LATE ? IO_LATE : IO_AGAIN;
}

/* With no interest at all the socket is still watched: a reset is reported even then. */
static enum io_result ready_wait(struct co_socket *s, int timeout_ms)
{
    if (!s->watch.added && !set_interest(s, 0))
        return IO_ERROR;
    enum co_result result = CO_WOKEN;
    if (!s->broken) {
        s->idle = co_self();
        result = co_park(timeout_ms);
        s->idle = NULL;
    }
    if (result == CO_CANCELLED)
        return IO_CANCELLED;
    if (s->broken) {
        errno = net_error(s->watch.fd);
        return IO_ERROR;
    }
    return result == CO_LATE ? IO_LATE : IO_AGAIN;
}
// END wait_for

// BEGIN read_write
static enum io_result ready_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                                 int timeout_ms)
{
    enum io_result result = wait_for(s, EVENT_READ, timeout_ms);
    if (result != IO_OK)
        return result;
    if (!buffer_reserve(in, room)) {
        errno = ENOMEM;
        return IO_ERROR;
    }
    *moved = 0;
    result = io_read(s->watch.fd, buffer_tail(in), room, moved);
    buffer_fill(in, *moved);
    /* A short read took everything: an event will report more. But EOF is not reported again if it
     * was reported together with the last bytes. */
    s->read.ready = result == IO_OK && (*moved == room || s->readiness.hangup);
    return result;
}

static enum io_result ready_write(struct co_socket *s, struct buffer *out, size_t most)
{
    enum io_result result = wait_for(s, EVENT_WRITE, -1);
    if (result != IO_OK)
        return result;
    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
    size_t moved = 0;
    result = io_write(s->watch.fd, buffer_head(out), size, &moved);
    buffer_consume(out, moved);
    s->write.ready = result != IO_AGAIN;
    return result;
}
// END read_write

// BEGIN accept_connect
static int ready_accept(struct co_socket *s, int *fds, int most)
{
    enum io_result result = wait_for(s, EVENT_READ, -1);
    if (result != IO_OK)
        return result == IO_ERROR ? NET_FULL : NET_NONE;
    int count = 0, fd = NET_NONE;
    while (count < most && (fd = net_accept(s->watch.fd)) >= 0)
        fds[count++] = fd;
    s->read.ready = fd != NET_NONE; /* otherwise more clients may be waiting */
    return count > 0 ? count : fd;
}

static enum io_result ready_connect(struct co_socket *s, const struct sockaddr_in *address)
{
    if (connect(s->watch.fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return IO_OK;
    if (errno != EINPROGRESS)
        return IO_ERROR;
    s->write.ready = false; /* until connect() is over, whether it has succeeded or not */
    enum io_result result = IO_AGAIN;
    while (result == IO_AGAIN)
        result = wait_for(s, EVENT_WRITE, -1);
    if (result != IO_OK)
        return result;
    errno = net_error(s->watch.fd);
    return errno == 0 ? IO_OK : IO_ERROR;
}
// END accept_connect

static const struct co_backend co_ready = {
    .init = ready_init,
    .forget = ready_forget,
    .send = ready_send,
    .read = ready_read,
    .write = ready_write,
    .wait = ready_wait,
    .accept = ready_accept,
    .connect = ready_connect,
};

void co_socket_init(struct co_socket *s, int fd, struct events *events)
{
    *s = (struct co_socket){.watch.fd = fd};
    s->backend = events_ring(events) != NULL ? &co_uring : &co_ready;
    s->read.ready = true; /* unknown, so the first call tries */
    s->write.ready = true;
    s->backend->init(s, events);
}

void co_forget(struct co_socket *s)
{
    s->backend->forget(s);
}

void co_send(struct co_socket *s, struct buffer *out, size_t most)
{
    s->backend->send(s, out, most);
}

enum io_result co_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                       int timeout_ms)
{
    take_turn(&s->read);
    return s->backend->read(s, in, room, moved, timeout_ms);
}

enum io_result co_write(struct co_socket *s, struct buffer *out, size_t most)
{
    take_turn(&s->write);
    return s->backend->write(s, out, most);
}

enum io_result co_wait(struct co_socket *s, int timeout_ms)
{
    return s->backend->wait(s, timeout_ms);
}

int co_accept(struct co_socket *s, int *fds, int most)
{
    return s->backend->accept(s, fds, most);
}

enum io_result co_connect(struct co_socket *s, const struct sockaddr_in *address)
{
    return s->backend->connect(s, address);
}
