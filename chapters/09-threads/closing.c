#include "closing.h"

#include <stdlib.h>

struct closing *closing_new(struct timers *timers, timers_callback *on_end, void *context)
{
    struct closing *closing = malloc(sizeof *closing);
    if (closing == NULL)
        return NULL;
    *closing = (struct closing){.timers = timers, .timer = {.call = on_end, .context = context}};
    return closing;
}

void closing_free(struct closing *closing)
{
    if (closing == NULL)
        return;
    timer_cancel(closing->timers, &closing->timer);
    free(closing);
}

bool closing_wait(struct closing *closing, bool waits)
{
    if (closing == NULL)
        return true;
    if (!waits) {
        timer_cancel(closing->timers, &closing->timer);
        return true;
    }
    return timer_is_set(&closing->timer) ||
           timer_set(closing->timers, &closing->timer, LINGER_MS, false);
}

void closing_progress(struct closing *closing)
{
    if (closing != NULL)
        timer_cancel(closing->timers, &closing->timer); /* whoever still waits sets it anew */
}
