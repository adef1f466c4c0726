/* Replies for later: what AFTER and EVERY have asked for on one connection, found by their seq. */
#ifndef ALARMS_H
#define ALARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "reader.h"
#include "timers.h"

/* What the alarms of a connection may hold together: as much as the largest frame. */
#define ALARMS_MAX_BYTES (32u << 20)

struct alarm {
    struct timer timer;
    struct alarms *alarms; /* which own it */
    int32_t cmd;           /* and seq: of the request */
    int32_t seq;
    int32_t ms;    /* between two replies */
    int32_t left;  /* how many replies are still to come */
    int32_t index; /* of the next one */
    bool is_owed;
    TAILQ_ENTRY(alarm) owed; /* its place in the line of those that are */
    size_t size;
    uint8_t text[];
};

/* An alarm has rung. It is called until alarms_remove. */
typedef void alarms_callback(struct alarm *alarm, void *context);

struct alarms {
    struct timers *timers; /* borrowed */
    alarms_callback *ring;
    void *context;
    void *by_seq;                       /* a tree, see tsearch(3) */
    size_t bytes;                       /* that all of them take */
    TAILQ_HEAD(alarm_line, alarm) owed; /* have rung while there was no room for a reply */
};

/* The connection's alarms, and whom they call. NULL: no memory. */
struct alarms *alarms_new(struct timers *timers, alarms_callback *ring, void *context);

/* Frees all of them; none rings any more. NULL is no alarms. */
void alarms_free(struct alarms *a);

/* Rings `count` times, the first time in `ms` milliseconds, and `ms` apart. The text is copied.
 * NULL: no memory, or too many bytes; there must be no alarm of that seq. */
struct alarm *alarms_add(struct alarms *a, int32_t cmd, int32_t seq, int32_t ms, int32_t count,
                         struct bytes text);

/* The alarm of that seq, or NULL. */
struct alarm *alarms_find(const struct alarms *a, int32_t seq);

/* Whether there is any. NULL is no alarms. */
bool alarms_pending(const struct alarms *a);

/* It rings no more, and is freed. */
void alarms_remove(struct alarm *alarm);

/* Makes `ms` the time that it waits; see timer_reset. False: no memory to ring. */
bool alarms_reset(struct alarm *alarm, int32_t ms, bool from_now);

/* One of its replies has been made. After the last one it is removed. False: no memory to ring for
 * the next one. */
bool alarms_answered(struct alarm *alarm);

/* There is no room for its reply now: it is owed, and does not ring meanwhile. */
void alarms_suspend(struct alarm *alarm);

/* The one that has been owed longest, or NULL; NULL is no alarms. It is owed until answered. */
struct alarm *alarms_owed(const struct alarms *a);

#endif
