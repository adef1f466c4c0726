#include "server/answer.h"

#include "base/log.h"
#include "server/broadcast.h"
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
static struct run answer_run(struct conn *c)
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

/* What an application does at a time when it has nothing to do. */

static bool start_nothing(struct worker *worker)
{
    (void)worker;
    return true;
}

static void stop_nothing(struct worker *worker)
{
    (void)worker;
}

static bool open_nothing(struct conn *c)
{
    (void)c;
    return true;
}

static void forget_nothing(struct conn *c)
{
    (void)c;
}

const struct app app_echo = {
    .name = "echo",
    .start = start_nothing,
    .stop = stop_nothing,
    .open = open_nothing,
    .forget = forget_nothing,
    .close = forget_nothing,
    .answer = answer_run,
};

static struct run answer_messages(struct conn *c)
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

/* Makes the reply of an alarm that has rung. */
static void answer_alarm(struct conn *c, struct alarm *alarm)
{
    if (!rpc_ring(&c->worker->stats, alarm, &c->out) || !alarms_answered(alarm))
        conn_close(c, "out of memory");
}

/* An alarm rings until its last reply is made, or its connection is freed. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    /* One that rings later does not come before those that are owed. */
    if (flow_room(c) > 0 && c->rung < TURN_MESSAGES && alarms_owed(c->alarms) == NULL) {
        answer_alarm(c, alarm);
        c->rung++;
    } else {
        alarms_suspend(alarm);
    }
    conn_send_later(c);
    co_wake(c->serving); /* how long it may wait has changed */
}

static bool open_alarms(struct conn *c)
{
    c->alarms = alarms_new(c->worker->loop.timers, on_alarm, c);
    return c->alarms != NULL;
}

static void close_alarms(struct conn *c)
{
    alarms_free(c->alarms);
    c->alarms = NULL;
}

static void forget_messages(struct conn *c)
{
    close_alarms(c);
    broadcast_forget(c);
}

const struct app app_rpc = {
    .name = "rpc",
    .start = start_nothing,
    .stop = stop_nothing,
    .open = open_alarms,
    .forget = forget_messages,
    .close = close_alarms,
    .answer = answer_messages,
};

void answer_owed(struct conn *c)
{
    struct alarm *alarm;
    int count = 0;
    while (c->end != CONN_BROKEN && count++ < TURN_MESSAGES && flow_room(c) > 0 &&
           (alarm = alarms_owed(c->alarms)) != NULL)
        answer_alarm(c, alarm);
}
