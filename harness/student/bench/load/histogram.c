#include "histogram.h"

#include <math.h>
#include <stddef.h>

enum { STEP_BITS = 6 }; /* 64 steps */

/* Values below 64 have a bucket each; above, the 6 bits after the first one choose it. */
static size_t bucket_of(uint64_t ns)
{
    if (ns < HISTOGRAM_STEPS)
        return ns;
    unsigned power = 63u - (unsigned)__builtin_clzll(ns);
    unsigned shift = power - STEP_BITS;
    size_t bucket = (size_t)(shift + 1) * HISTOGRAM_STEPS + ((ns >> shift) & (HISTOGRAM_STEPS - 1));
    size_t last = HISTOGRAM_POWERS * HISTOGRAM_STEPS - 1;
    return bucket < last ? bucket : last;
}

/* The largest value of a bucket. */
static uint64_t value_of(size_t bucket)
{
    if (bucket < HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = (unsigned)(bucket / HISTOGRAM_STEPS) - 1;
    uint64_t step = bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS;
    return ((step + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, uint64_t ns, uint64_t times)
{
    h->counts[bucket_of(ns)] += times;
    h->total += times;
    if (ns > h->largest)
        h->largest = ns;
}

uint64_t histogram_quantile(const struct histogram *h, double fraction)
{
    uint64_t wanted = (uint64_t)ceil(fraction * (double)h->total);
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < HISTOGRAM_POWERS * HISTOGRAM_STEPS; bucket++) {
        seen += h->counts[bucket];
        if (seen >= wanted && seen > 0)
            return value_of(bucket) < h->largest ? value_of(bucket) : h->largest;
    }
    return h->largest;
}
