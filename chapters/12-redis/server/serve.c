#include "server/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/net.h"
#include "server/answer.h"
#include "server/app.h"
#include "server/conn.h"
#include "server/flow.h"

/* How long a peer may take none of the output that is left for it. And how long we wait for its FIN
 * once it has taken everything. */
enum { LINGER_MS = 5000 };

/* Whether the client has to act next. Otherwise a timer or a broadcast will, so the connection is
 * not idle. */
static bool peer_is_next(const struct conn *c)
{
    bool ours = alarms_pending(c->alarms) || quota_left(c->quota) == 0 || c->broadcast != NULL;
    return !ours || buffer_len(&c->out) > 0;
}

/* A wait has ended with its time: closes the connection if a time-out is over. */
static void run_late(struct conn *c)
{
    if (timeouts_frame_over(&c->timeouts))
        conn_end(c, CONN_GIVEN_UP, "frame not complete in time");
    else if (peer_is_next(c) && timeouts_idle_over(&c->timeouts))
        conn_end(c, CONN_BROKEN, "idle");
}

/* Waits for input and reads it. */
static void receive(struct conn *c)
{
    size_t moved;
    size_t space = flow_space(c), size = space < BUDGET_BYTES ? space : BUDGET_BYTES;
    if (size < space && !buffer_reserve(&c->in, space)) {
        conn_end(c, CONN_BROKEN, "out of memory");
        return;
    }
    int left = c->worker->ending ? 0 : timeouts_left(&c->timeouts, peer_is_next(c));
    switch (co_read(&c->socket, &c->in, size, &moved, left)) {
    case IO_OK:
        timeouts_traffic(&c->timeouts);
        break;
    case IO_EOF:
        c->ended = true;
        conn_end(c, CONN_DRAINS,
                 buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
        break;
    case IO_ERROR:
        conn_end(c, CONN_BROKEN, strerror(errno));
        break;
    case IO_LATE:
        run_late(c);
        if (c->worker->ending) /* nothing has come: it owes nothing more than it sends now */
            conn_end(c, CONN_DRAINS, "server ends");
        break;
    case IO_AGAIN:
    case IO_CANCELLED: /* the reason is in c->end */
        break;
    }
}

/* Waits while no input may be read: for free space in the output, for the next interval of the
 * quota or for the reply to a broadcast. */
static void wait_to_go_on(struct conn *c)
{
    enum io_result result = co_wait(&c->socket, timeouts_left(&c->timeouts, peer_is_next(c)));
    if (result == IO_LATE)
        run_late(c);
    if (result == IO_ERROR)
        conn_end(c, CONN_BROKEN, strerror(errno));
}

/* Answers complete frames, as many as flow control allows. */
static struct run answer(struct conn *c)
{
    if (buffer_len(&c->in) == 0)
        return (struct run){0};
    return c->worker->config->app->answer(c);
}

/* One round: answers the frames that have arrived, sends, and waits for what comes next. */
static void serve_frames(struct conn *c)
{
    struct run run = answer(c);
    buffer_trim(&c->in);
    conn_send(c);
    if (run.frames == 0 && run.bad)
        conn_end(c, CONN_GIVEN_UP, "frame too long");
    bool waits = buffer_len(&c->in) > 0 && flow_wants_input(c);
    timeouts_frame(&c->timeouts, waits, run.frames > 0);
    if (c->end != CONN_GOES_ON)
        return;
    if (run.frames > 0 && (buffer_len(&c->in) > 0 || run.frames == TURN_MESSAGES))
        co_yield_now(); /* there may be more frames, but let the others run first */
    else if (flow_wants_input(c))
        receive(c);
    else
        wait_to_go_on(c);
}

/* How long the peer may take nothing of what is on its way to it. */
struct patience {
    int64_t end_us; /* see clock.h */
    int unsent;     /* how much was on its way when this time began */
};

/* Gives the peer LINGER_MS from now. Returns whether it has taken something since the last time,
 * and has not taken everything. */
static bool renew(struct patience *p, const struct conn *c)
{
    int before = p->unsent;
    p->unsent = net_unsent(c->socket.watch.fd);
    p->end_us = clock_us() + LINGER_MS * 1000;
    return p->unsent > 0 && p->unsent < before;
}

static bool owes(const struct conn *c)
{
    return buffer_len(&c->out) > 0 || alarms_pending(c->alarms) || c->broadcast != NULL;
}

/* Waits until the client has been sent everything that it is owed. Its time begins again when the
 * kernel has taken output, but not with each wake-up: the client's own alarms wake us, too. The
 * socket becomes writable only when a good part of its send buffer is free. So a slow client may
 * have taken bytes although nothing was written: that is progress, too. */
static void drain(struct conn *c)
{
    struct patience patience = {0};
    renew(&patience, c);
    while (c->end != CONN_BROKEN && owes(c)) {
        bool peer_acts = buffer_len(&c->out) > 0;
        unsigned moves = c->timeouts.moves;
        int left = peer_acts ? clock_ms_until(patience.end_us) : -1;
        enum io_result result = co_wait(&c->socket, left);
        if (result == IO_ERROR)
            conn_end(c, CONN_BROKEN, strerror(errno));
        if (!peer_acts || c->timeouts.moves != moves)
            renew(&patience, c);
        else if ((result == IO_LATE || left == 0) && !renew(&patience, c))
            conn_end(c, CONN_BROKEN, "takes nothing of what it is owed");
    }
}

/* Everything has been sent, and the peer may still be sending. close() with unread input would send
 * RST, and that destroys replies that are on their way. So we send FIN, and discard input until the
 * peer sends FIN. */
static void linger(struct conn *c)
{
    struct patience patience = {0};
    renew(&patience, c);
    int left = LINGER_MS;
    enum io_result result = shutdown(c->socket.watch.fd, SHUT_WR) == 0 ? IO_OK : IO_ERROR;
    while (result != IO_EOF && result != IO_ERROR && result != IO_CANCELLED && left > 0) {
        size_t moved;
        result = co_read(&c->socket, &c->in, BUDGET_BYTES, &moved, left);
        buffer_free(&c->in);
        left = clock_ms_until(patience.end_us);
        if (left == 0 && renew(&patience, c)) /* it still takes what is on its way */
            left = LINGER_MS;
    }
}

void serve(void *argument)
{
    struct conn *c = argument;
    while (c->end == CONN_GOES_ON)
        serve_frames(c);
    buffer_free(&c->in);
    if (c->end == CONN_GIVEN_UP)
        conn_forget_later(c);
    drain(c);
    if (c->end != CONN_BROKEN && !c->ended)
        linger(c);
    log_line("fd %d: closed: %s", c->socket.watch.fd, c->reason);
    conn_end(c, CONN_BROKEN, c->reason);
    c->serving = NULL;
    co_cancel(c->sending);
    conn_leave(c);
}
