/* How many bytes of replies may be added until the output is full. */
static size_t room(const struct conn *c)
{
    size_t used = buffer_len(&c->out);
    if (used > HIGH_WATER_BYTES)
        used = HIGH_WATER_BYTES;
    return HIGH_WATER_BYTES - used;
}

unsigned conn_interest(const struct conn *c)
{
    bool sends = buffer_len(&c->out) != 0;
    switch (c->state) {
    case CONN_CLOSED:
        return 0;
    case CONN_DRAINING:
        return sends ? CONN_WANT_WRITE : 0;
    default:
        return (room(c) ? CONN_WANT_READ : 0) | (sends ? CONN_WANT_WRITE : 0);
    }
}

/* Only an open connection starts to drain: the first reason is the one that is logged. */
static void drain(struct conn *c, const char *reason)
{
    if (c->state != CONN_OPEN)
        return;
    c->reason = reason;
    buffer_consume(&c->in, buffer_len(&c->in));
    buffer_trim(&c->in);
    c->state = CONN_DRAINING;
}

static void settle(struct conn *c)
{
    struct buffer *both[] = {&c->in, &c->out};
    for (int i = 0; i < 2; i++)
        buffer_trim(both[i]);
    bool done = !buffer_len(&c->out);
    if (done && c->state == CONN_DRAINING)
        conn_close(c, c->reason);
}

static void flush(struct conn *c)
{
    enum io_result last = IO_OK;
    do {
        size_t sent = 0, owed = buffer_len(&c->out);
        if (owed == 0 || c->state == CONN_CLOSED)
            return;
        last = io_write(c->fd, buffer_head(&c->out), owed, &sent);
        if (last == IO_OK)
            buffer_consume(&c->out, sent);
    } while (last == IO_OK);
    if (last == IO_ERROR)
        conn_close(c, strerror(errno));
}

/* Answers what fits into the output. False: nothing could be answered. */
static bool some_answered(struct conn *c)
{
    bool bad = false;
    size_t ready, have = buffer_len(&c->in);
    if (c->state != CONN_OPEN || have < FRAME_HEADER_BYTES)
        return false;
    ready = frame_run(buffer_head(&c->in), have, room(c), &bad);
    if (ready)
        answer(c, ready);
    else if (bad)
        drain(c, "frame too long");
    return ready != 0;
}

static void advance(struct conn *c)
{
    while (some_answered(c))
        flush(c);
}
