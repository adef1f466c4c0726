/* How often which latency was seen, from 1 ns to an hour, each known to 1 part in 64.
 *
 * Log-linear, as in HdrHistogram (Gil Tene): 64 buckets of the same width for every power of two,
 * so that adding is a shift and a count, and the percentiles of a million values cost no memory. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_STEPS = 64, HISTOGRAM_POWERS = 42 };

struct histogram {
    uint64_t counts[HISTOGRAM_POWERS * HISTOGRAM_STEPS];
    uint64_t total;
    uint64_t largest; /* exactly */
};

/* Counts `times` latencies of `ns`. */
void histogram_add(struct histogram *h, uint64_t ns, uint64_t times);

/* The latency in ns that the part `fraction` (0 to 1) of all did not exceed; 0 without any. */
uint64_t histogram_quantile(const struct histogram *h, double fraction);

#endif
