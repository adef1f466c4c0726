#include "co_io.h"

#include <errno.h>

#include "net.h"

static struct co_direction *direction_of(struct co_socket *s, unsigned event)
{
    return event == EVENT_READ ? &s->read : &s->write;
}

/* There are news. The watch stays for the next wait, which comes soon, as a rule; but where nobody
 * has waited for this one it goes: some backends would tell the same again and again. */
static void on_event(struct events *events, int fd, unsigned what, void *context)
{
    struct co_socket *s = context;
    unsigned event = what & (EVENT_READ | EVENT_WRITE);
    struct co_direction *d = direction_of(s, event);
    d->news = true;
    if (what & EVENT_HANGUP)
        s->hangup = true;
    if (what & EVENT_CANCELLED)
        co_cancel(d->waiting);
    else if (d->waiting != NULL)
        co_wake(d->waiting);
    else
        events_del(events, fd, event);
}

void co_socket_init(struct co_socket *s, int fd, struct events *events)
{
    *s = (struct co_socket){.fd = fd, .events = events};
    s->read.news = true;
    s->write.news = true;
}

void co_forget(struct co_socket *s)
{
    events_del(s->events, s->fd, EVENT_READ);
    events_del(s->events, s->fd, EVENT_WRITE);
    co_cancel(s->read.waiting);
    co_cancel(s->write.waiting);
}

/* Has the others go first, if this direction has been used in this turn already. */
static void take_turn(struct co_direction *d)
{
    if (d->turn == co_turn())
        co_yield_now();
    d->turn = co_turn();
}

/* Waits for news. IO_OK: there are some. */
static enum io_result wait_for(struct co_socket *s, unsigned event, int timeout_ms)
{
    struct co_direction *d = direction_of(s, event);
    if (d->news)
        return IO_OK;
    /* TODO 7: Wait until there are news of this direction of the socket. Graded by
     * test_10_waits_for_news.
     * See that it is watched; be the one who waits; park; and say how that has ended. on_event()
     * does the rest. */
    (void)timeout_ms;
    co_yield_now();
    bool watched = events_interest(s->events, s->fd) & event;
    if (watched || events_add(s->events, s->fd, event, on_event, s))
        d->news = true;
    return IO_OK;
}

enum io_result co_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                       int timeout_ms)
{
    take_turn(&s->read);
    /* TODO 8: Wait for news, then read. Graded by test_10_waiting_owns_no_buffer.
     * Room in the buffer is needed when there is something to put into it. And say afterwards
     * whether there may be more: read() has told you, or events have. */
    *moved = 0;
    if (!buffer_reserve(in, room)) {
        errno = ENOMEM;
        return IO_ERROR;
    }
    enum io_result result = wait_for(s, EVENT_READ, timeout_ms);
    if (result != IO_OK)
        return result;
    result = io_read(s->fd, buffer_tail(in), room, moved);
    buffer_fill(in, *moved);
    s->read.news = result == IO_OK;
    return result;
}

enum io_result co_write(struct co_socket *s, struct buffer *out, size_t most)
{
    take_turn(&s->write);
    /* TODO 9: Wait until the kernel may take something, then send. Graded by
     * test_10_waits_until_the_peer_reads. */
    size_t size = buffer_len(out) < most ? buffer_len(out) : most;
    size_t moved = 0;
    enum io_result result = io_write(s->fd, buffer_head(out), size, &moved);
    buffer_consume(out, moved);
    return result;
}

int co_accept(struct co_socket *s)
{
    /* TODO 10: Wait for a client, then accept it. Graded by test_10_waits_for_clients. */
    co_yield_now();
    return net_accept(s->fd);
}
