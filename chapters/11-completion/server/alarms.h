/* Replies for later: what AFTER and EVERY have requested on one connection, found by seq. */
#ifndef ALARMS_H
#define ALARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "events/timers.h"
#include "wire/reader.h"

/* How much memory the alarms of a connection may cost, with all that belongs to them: as much as
 * the largest frame. */
#define ALARMS_MAX_BYTES (32u << 20)

struct alarm {
    struct timer timer;
    struct alarms *alarms; /* its owner */
    int32_t cmd;           /* cmd and seq of the request */
    int32_t seq;
    int32_t ms;    /* between two replies */
    int32_t left;  /* how many replies are still to come */
    int32_t index; /* of the next reply */
    bool is_owed;
    TAILQ_ENTRY(alarm) owed; /* its place in the queue of owed alarms */
    size_t size;
    uint8_t text[];
};

/* An alarm has rung. It is called until alarms_remove. */
typedef void alarms_callback(struct alarm *alarm, void *context);

struct alarms {
    struct timers *timers; /* borrowed */
    alarms_callback *ring;
    void *context;
    void *by_seq;                        /* a tree, see tsearch(3) */
    size_t bytes;                        /* what all alarms cost together */
    TAILQ_HEAD(alarm_queue, alarm) owed; /* have rung when there was no space for a reply */
    SLIST_ENTRY(alarms) unwanted;        /* after alarms_free */
};

/* The alarms of a connection, and the callback for all of them. NULL: no memory. */
struct alarms *alarms_new(struct timers *timers, alarms_callback *ring, void *context);

/* None of them rings any more. They are freed in the next iterations, some in each, because they
 * may be many. NULL means no alarms. */
void alarms_free(struct alarms *a);

/* Frees at once what alarms_free() has left in this thread. To be called before the thread, or its
 * timers, end. */
void alarms_free_now(void);

/* Says whether an alarm with a text of this size may be added. */
bool alarms_fit(const struct alarms *a, size_t text_bytes);

/* Rings `count` times, the first time in `ms` milliseconds, and `ms` apart. The text is copied. The
 * seq must not be in use. NULL: no memory. */
struct alarm *alarms_add(struct alarms *a, int32_t cmd, int32_t seq, int32_t ms, int32_t count,
                         struct bytes text);

/* The alarm of that seq, or NULL. */
struct alarm *alarms_find(const struct alarms *a, int32_t seq);

/* Says whether there is an alarm. NULL means no alarms. */
bool alarms_pending(const struct alarms *a);

/* The alarm rings no more and is freed. */
void alarms_remove(struct alarm *alarm);

/* Changes the time that an alarm waits to `ms`; see timer_reset. One that is owed is owed no more:
 * it rings when that time is over. False: no memory to ring. */
bool alarms_reset(struct alarm *alarm, int32_t ms, bool from_now);

/* One of the replies has been made. After the last one the alarm is removed. False: no memory to
 * ring for the next one. */
bool alarms_answered(struct alarm *alarm);

/* There is no space for the reply now: it is owed, and the alarm does not ring meanwhile. */
void alarms_suspend(struct alarm *alarm);

/* The alarm that has been owed longest, or NULL. It is owed until alarms_answered. */
struct alarm *alarms_owed(const struct alarms *a);

#endif
