#include "limits.h"

#include <stdlib.h>

struct limits *limits_new(struct timers *timers, int32_t idle_ms, int32_t frame_ms,
                          timers_callback *on_idle, timers_callback *on_frame, void *context)
{
    struct limits *l = malloc(sizeof *l);
    if (l == NULL)
        return NULL;
    *l = (struct limits){
        .timers = timers,
        .idle_ms = idle_ms,
        .frame_ms = frame_ms,
        .idle = {.call = on_idle, .context = context},
        .frame = {.call = on_frame, .context = context},
    };
    return l;
}

void limits_free(struct limits *l)
{
    if (l == NULL)
        return;
    timer_cancel(l->timers, &l->idle);
    timer_cancel(l->timers, &l->frame);
    free(l);
}

void limits_traffic(struct limits *l)
{
    if (l == NULL || l->idle_ms == 0)
        return;
    // BEGIN idle
    timer_set(l->timers, &l->idle, l->idle_ms, false);
    // END idle
}

void limits_frame(struct limits *l, bool waits, bool passed)
{
    if (l == NULL || l->frame_ms == 0)
        return;
    // BEGIN frame
    /* From its first byte: further bytes of the same frame start nothing anew, or else a peer could
     * take for ever by sending one now and then. */
    if (passed || !waits)
        timer_cancel(l->timers, &l->frame);
    if (waits && !timer_is_set(&l->frame))
        timer_set(l->timers, &l->frame, l->frame_ms, false);
    // END frame
}
