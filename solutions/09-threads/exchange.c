#include "exchange.h"

#include <errno.h>
#include <string.h>

#include "answer.h"
#include "flow.h"
#include "io.h"

/* Sends until everything is sent, the kernel takes no more, or the turn is over. What has been
 * answered in this turn is sent in it, even if that has used up the budget. */
void exchange_send(struct conn *c)
{
    bool goes_on = true;
    flow_look(c);
    while (goes_on && c->state != CONN_CLOSED && buffer_len(&c->out) > 0) {
        size_t size = buffer_len(&c->out) < TURN_BYTES ? buffer_len(&c->out) : TURN_BYTES;
        size_t moved;
        enum io_result result = io_write(c->fd, buffer_head(&c->out), size, &moved);
        if (result == IO_AGAIN)
            return;
        if (result != IO_OK) {
            conn_close(c, strerror(errno));
            return;
        }
        buffer_consume(&c->out, moved);
        flow_look(c);
        timeouts_traffic(c->timeouts);
        closing_progress(c->closing);
        flow_spend(c, moved);
        goes_on = c->budget > 0;
    }
}

/* Answers every complete frame and sends the answers together, without waiting to hear that the
 * socket is writable: it nearly always is. Stops at the high-water mark, where the quota is used
 * up, or when the turn is over; where sending makes room again it goes on, since nothing else will
 * tell about frames that are here already. */
void exchange_answer(struct conn *c)
{
    bool passed = false;
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool echo = c->service->app == APP_ECHO;
        struct run run = echo ? answer_run(c) : answer_messages(c);
        if (run.frames == 0 && run.bad)
            conn_give_up(c, "frame too long");
        if (run.frames == 0)
            break;
        passed = true;
        exchange_send(c);
    }
    bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && flow_wants_input(c);
    timeouts_frame(c->timeouts, waits, passed);
}

/* Sends the replies of alarms that rang when there was no space for them. */
void exchange_owed(struct conn *c)
{
    struct alarm *alarm;
    while (c->state != CONN_CLOSED && flow_room(c) > 0 &&
           (alarm = alarms_owed(c->alarms)) != NULL) {
        answer_alarm(c, alarm);
        exchange_send(c);
    }
}

/* Reads once: to answer it, or, where nothing is answered any more, to throw it away. True: there
 * may be more to read, and nobody will say so again. */
bool exchange_read(struct conn *c)
{
    if (!buffer_reserve(&c->in, TURN_BYTES)) {
        conn_close(c, "out of memory");
        return false;
    }
    size_t moved = 0;
    switch (io_read(c->fd, buffer_tail(&c->in), TURN_BYTES, &moved)) {
    case IO_OK:
        if (c->state == CONN_OPEN) {
            buffer_fill(&c->in, moved);
            timeouts_traffic(c->timeouts);
        }
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
        c->ended = true;
        if (c->state == CONN_OPEN)
            conn_drain(c, buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
        break;
    case IO_ERROR:
        conn_close(c, strerror(errno));
        break;
    }
    // BEGIN drained
    /* A short read has emptied the socket, and bytes that come later are reported. But EOF is not
     * reported again if it was reported with the last bytes. */
    return moved == TURN_BYTES || (c->ending && moved > 0);
    // END drained
}
