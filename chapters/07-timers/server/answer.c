#include "server/answer.h"

#include "base/log.h"
#include "wire/frame.h"

/* Logs each frame in the first `size` bytes of the input. */
static void log_frames(const struct conn *c, size_t size)
{
    const uint8_t *bytes = buffer_head(&c->in);
    size_t seen = 0;
    struct frame frame;
    for (size_t at = 0; at < size; at += frame.size) {
        frame_parse(&c->server->config->framing, bytes + at, size - at, &seen, &frame);
        log_frame(c->watch.fd, (unsigned)frame.body_size);
    }
}

/* The replies are in the input already, one after the other: all of them move at once. */
size_t answer_run(struct conn *c, bool *bad)
{
    size_t size = frame_run(&c->server->config->framing, buffer_head(&c->in), buffer_len(&c->in),
                            conn_room(c), &c->seen, bad);
    if (size == 0)
        return 0;
    if (log_is_verbose())
        log_frames(c, size);
    if (!buffer_move(&c->out, &c->in, size))
        conn_close(c, "out of memory");
    return size;
}

size_t answer_messages(struct conn *c, bool *bad)
{
    struct server *server = c->server;
    enum frame_result result = FRAME_OK;
    size_t size = 0;
    while (c->state == CONN_OPEN && conn_room(c) > 0) {
        struct frame frame;
        result = frame_parse(&server->config->framing, buffer_head(&c->in), buffer_len(&c->in),
                             &c->seen, &frame);
        if (result != FRAME_OK)
            break;
        log_frame(c->watch.fd, (unsigned)frame.body_size);
        server->stats.received++;
        if (!rpc_answer(&server->stats, c->alarms, frame.body, frame.body_size, &c->out))
            conn_close(c, "out of memory");
        buffer_consume(&c->in, frame.size);
        size += frame.size;
    }
    *bad = result == FRAME_BAD;
    return size;
}
