/* Counts that many threads add to, and that another one sums up meanwhile.
 * links: stats.c */
#include "server/stats.h"

#include "check.h"

#define SUM "stats-of-all"

enum { THREADS = 4, A_THREAD = 5000, LOOKS = 1000 };

static struct stats stats;

static void expect(struct counts came, int64_t connections, int64_t received, int64_t sent)
{
    CHECK(came.connections == connections && came.received == received && came.sent == sent, SUM,
          "the sum is %d, %d and %d; due are %d, %d and %d", (int)came.connections,
          (int)came.received, (int)came.sent, (int)connections, (int)received, (int)sent);
}

static void one_thread(void)
{
    stats_init(&stats);
    check_step("calls stats_add() with 2, 3 and 4, with 0, 0 and 0, and with -1, 1 and 1");
    stats_add(&stats, (struct counts){2, 3, 4});
    stats_add(&stats, (struct counts){0, 0, 0});
    stats_add(&stats, (struct counts){-1, 1, 1});
    check_step("calls stats_sum() with a sum of 10, 20 and 30");
    struct counts sum = {10, 20, 30};
    stats_sum(&stats, &sum);
    expect(sum, 11, 24, 35);
    check_step("calls stats_sum() again, with a sum of 0, 0 and 0");
    sum = (struct counts){0, 0, 0};
    stats_sum(&stats, &sum);
    expect(sum, 1, 4, 5);
    stats_destroy(&stats);
}

static void *count(void *unused)
{
    for (int i = 0; i < A_THREAD; i++)
        stats_add(&stats, (struct counts){1, 2, 3});
    return NULL;
}

/* A sum that is made meanwhile may be from several moments, so only the last one is judged. The
 * thread sanitizer judges the others. */
static void many_threads(void)
{
    pthread_t threads[THREADS];
    struct counts sum;
    stats_init(&stats);
    check_step("calls stats_add() with 1, 2 and 3, %d times in each of %d threads", A_THREAD,
               THREADS);
    for (int i = 0; i < THREADS; i++)
        check_thread(&threads[i], count, NULL);
    check_step("calls stats_sum() meanwhile");
    for (int i = 0; i < LOOKS; i++) {
        sum = (struct counts){0, 0, 0};
        stats_sum(&stats, &sum);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_step("calls stats_sum() when these threads have ended");
    sum = (struct counts){0, 0, 0};
    stats_sum(&stats, &sum);
    int64_t all = (int64_t)THREADS * A_THREAD;
    expect(sum, all, 2 * all, 3 * all);
    stats_destroy(&stats);
}

const struct check checks[] = {
    {"one_thread", one_thread},
    {"many_threads", many_threads},
    {0},
};
