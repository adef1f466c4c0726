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
    /* TODO 10: Give the peer LINGER_MS while it is the one we wait for. Graded by
     * test_08_never_reading_client_is_closed_in_the_end.
     * A timer that is set already goes on: only progress begins a new one. */
    (void)waits;
    return true;
}

void closing_progress(struct closing *closing)
{
    if (closing != NULL)
        timer_cancel(closing->timers, &closing->timer); /* whoever still waits sets it anew */
}
