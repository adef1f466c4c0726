/* What a loop has done: counted by its own thread, read by any. */
#ifndef STATS_H
#define STATS_H

#include <stdatomic.h>
#include <stdint.h>

struct stats {
    atomic_llong connections; /* open now, or on their way to the loop */
    atomic_llong received;    /* frames that were complete */
    atomic_llong sent;        /* replies that were made */
};

/* Only for counts that no other thread changes: then this is an ordinary addition, and not one that
 * has to keep other processors away from the memory. */
static inline void stats_count(atomic_llong *count)
{
    long long before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + 1, memory_order_relaxed);
}

#endif
