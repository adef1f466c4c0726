/* What a wake-up costs, and when it is made. It is a write(), and that is replaced here.
 * links: loop.c events.c timers.c log.c co.c? stack.c? */
#include <sys/syscall.h>
#include <unistd.h>

#include "watched_loop.h"

#define WAKE "task-wake"
#define ONCE "one-wake"

enum { MANY = 1000, A_FEW = 10, LOOKS = 10, PAUSE_MS = 20 };

static struct loop loop;
static struct job jobs[MANY];
static atomic_int writes;
static atomic_bool delayed; /* a write() ends when the loop has had its turn */

/* Replaces that of the C library, and goes on to the kernel. */
ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t written = syscall(SYS_write, fd, data, size);
    atomic_fetch_add(&writes, 1);
    int before = atomic_load(&watched_loop_waits);
    for (int i = 0;
         i < LOOKS && atomic_load(&delayed) && atomic_load(&watched_loop_waits) == before; i++)
        check_pause(PAUSE_MS);
    return written;
}

static void *queue_all(void *unused)
{
    for (int i = 0; i < MANY; i++)
        queue_in_loop(&loop, &jobs[i].task);
    return NULL;
}

/* Another thread queues tasks while the loop does something else. */
static void one_for_many(void)
{
    pthread_t thread;
    watched_loop_begin(&loop, 0);
    watched_loop_idle_turn(&loop);
    for (int i = 0; i < MANY; i++)
        jobs[i] = watched_loop_job(i, NULL);
    check_step("calls queue_in_loop() %d times in another thread", MANY);
    check_thread(&thread, queue_all, NULL);
    pthread_join(thread, NULL);
    int made = atomic_load(&writes);
    CHECK(made <= A_FEW, ONCE, "%d tasks, queued before the next iteration, caused %d wake-ups",
          MANY, made);
    watched_loop_turn(&loop, WAKE);
    struct job last = watched_loop_job(MANY, NULL);
    watched_loop_wake(&loop, &last, WAKE, "the loop slept on, although a task had been queued");
    watched_loop_end(&loop);
}

/* Waking the loop first, and queueing the task after that, is too late. */
static void after_the_task(void)
{
    watched_loop_begin(&loop, 0);
    jobs[0] = watched_loop_job(0, NULL);
    atomic_store(&delayed, true);
    check_step("calls queue_in_loop() in another thread; its wake-up takes effect at once");
    watched_loop_wake(&loop, &jobs[0], WAKE,
                      "the loop was woken, found no task, and was asleep when the task came");
    watched_loop_end(&loop);
}

const struct check checks[] = {
    {"one_for_many", one_for_many},
    {"after_the_task", after_the_task},
    {0},
};
