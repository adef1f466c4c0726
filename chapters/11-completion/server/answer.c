#include "server/answer.h"

#include "base/log.h"
#include "server/flow.h"
#include "server/rpc.h"
#include "wire/frame.h"

/* Logs each frame in the first `size` bytes of the input. */
static void log_frames(const struct conn *c, size_t size)
{
    const uint8_t *bytes = buffer_head(&c->in);
    size_t seen = 0;
    struct frame frame;
    for (size_t at = 0; at < size; at += frame.size) {
        frame_parse(&c->worker->config->framing, bytes + at, size - at, &seen, &frame);
        log_frame(c->socket.watch.fd, (unsigned)frame.body_size);
    }
}

/* The replies are in the input already, one after the other: all of them move at once. */
struct run answer_run(struct conn *c)
{
    struct run run = frame_run(&c->worker->config->framing, buffer_head(&c->in), buffer_len(&c->in),
                               flow_room(c), quota_left(c->quota), &c->seen);
    if (run.bytes == 0)
        return run;
    if (log_is_verbose())
        log_frames(c, run.bytes);
    quota_take(c->quota, run.frames);
    if (!buffer_move(&c->out, &c->in, run.bytes))
        conn_close(c, "out of memory");
    return run;
}

struct run answer_messages(struct conn *c)
{
    struct worker *worker = c->worker;
    struct run run = {0};
    while (run.frames < TURN_MESSAGES && c->broadcast == NULL && flow_room(c) > 0 &&
           quota_left(c->quota) > 0) {
        struct frame frame;
        enum frame_result result = frame_parse(&worker->config->framing, buffer_head(&c->in),
                                               buffer_len(&c->in), &c->seen, &frame);
        run.bad = result == FRAME_BAD;
        if (result != FRAME_OK)
            break;
        log_frame(c->socket.watch.fd, (unsigned)frame.body_size);
        stats_add(&worker->stats, (struct counts){.received = 1});
        quota_take(c->quota, 1);
        if (!rpc_answer(c, frame.body, frame.body_size)) {
            conn_close(c, "out of memory");
            break;
        }
        buffer_consume(&c->in, frame.size);
        run.bytes += frame.size;
        run.frames++;
    }
    return run;
}

void answer_alarm(struct conn *c, struct alarm *alarm)
{
    if (!rpc_ring(&c->worker->stats, alarm, &c->out) || !alarms_answered(alarm))
        conn_close(c, "out of memory");
}

void answer_owed(struct conn *c)
{
    struct alarm *alarm;
    int count = 0;
    while (c->end != CONN_BROKEN && count++ < TURN_MESSAGES && flow_room(c) > 0 &&
           (alarm = alarms_owed(c->alarms)) != NULL)
        answer_alarm(c, alarm);
}
