/*
 * Waits in the way that its first argument names, for as many milliseconds as the second one says,
 * each time that it reads a byte. Prints how long that took on each of two clocks, in nanoseconds:
 * the monotonic one and the time of day; and what the wait returned. For test_clock.py.
 *
 * More arguments: each is for a thread of its own, or with "fork" as the first, for a process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static struct timespec of_ns(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

static struct timespec of_ms(int ms)
{
    return of_ns((int64_t)ms * 1000000);
}

static struct timespec in_ms(clockid_t clock, int ms)
{
    return of_ns(now(clock) + (int64_t)ms * 1000000);
}

static int by_poll(int ms)
{
    return poll(NULL, 0, ms);
}

static int by_ppoll(int ms)
{
    struct timespec limit = of_ms(ms);
    return ppoll(NULL, 0, &limit, NULL);
}

/* A set that is empty after the wait, and a limit of which nothing is left. */
static int by_select(int ms)
{
    int fd = eventfd(0, 0);
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    fd_set in;
    FD_ZERO(&in);
    FD_SET(fd, &in);
    int ready = select(fd + 1, &in, NULL, NULL, &limit);
    close(fd);
    return ready + FD_ISSET(fd, &in) + limit.tv_sec != 0 || limit.tv_usec != 0;
}

static int by_pselect(int ms)
{
    struct timespec limit = of_ms(ms);
    return pselect(0, NULL, NULL, NULL, &limit, NULL);
}

static int by_epoll_wait(int ms)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, ms);
}

static int by_epoll_pwait(int ms)
{
    struct epoll_event event;
    return epoll_pwait(epoll_create1(0), &event, 1, ms, NULL);
}

static int by_epoll_pwait2(int ms)
{
    struct epoll_event event;
    struct timespec limit = of_ms(ms);
    return epoll_pwait2(epoll_create1(0), &event, 1, &limit, NULL);
}

static int by_nanosleep(int ms)
{
    struct timespec limit = of_ms(ms);
    return nanosleep(&limit, NULL);
}

static int by_clock_nanosleep(int ms)
{
    struct timespec limit = of_ms(ms);
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &limit, NULL);
}

static int by_clock_nanosleep_until(int ms)
{
    struct timespec end = in_ms(CLOCK_REALTIME, ms);
    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL);
}

static int by_usleep(int ms)
{
    return usleep((useconds_t)ms * 1000);
}

static int by_sleep(int ms)
{
    return (int)sleep((unsigned)ms / 1000);
}

static int by_condition(pthread_condattr_t *kind, clockid_t clock, int ms)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    struct timespec end = in_ms(clock, ms);
    pthread_cond_init(&condition, kind);
    pthread_mutex_lock(&mutex);
    return pthread_cond_timedwait(&condition, &mutex, &end) - ETIMEDOUT;
}

static int by_cond_timedwait(int ms)
{
    return by_condition(NULL, CLOCK_REALTIME, ms);
}

static int by_cond_monotonic(int ms)
{
    pthread_condattr_t kind;
    pthread_condattr_init(&kind);
    pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    return by_condition(&kind, CLOCK_MONOTONIC, ms);
}

static int by_cond_clockwait(int ms)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end = in_ms(CLOCK_MONOTONIC, ms);
    pthread_mutex_lock(&mutex);
    return pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &end) - ETIMEDOUT;
}

static int timer_of(int ms, int again_ms)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec value = {.it_value = of_ms(ms), .it_interval = of_ms(again_ms)};
    timerfd_settime(fd, 0, &value, NULL);
    return fd;
}

static int times_of(int timer)
{
    uint64_t times = 0;
    return read(timer, &times, sizeof times) == sizeof times ? (int)times : -1;
}

static int by_timerfd(int ms)
{
    struct pollfd timer = {.fd = timer_of(ms, 0), .events = POLLIN};
    int result = poll(&timer, 1, -1) != 1 || times_of(timer.fd) != 1;
    close(timer.fd);
    return result;
}

static int by_timerfd_read(int ms)
{
    int timer = timer_of(ms, 0);
    int result = times_of(timer) != 1;
    close(timer);
    return result;
}

/* Ten times a tenth of it, and what is read of the last five at once. */
static int by_timerfd_interval(int ms)
{
    int timer = timer_of(ms / 10, ms / 10), result = 0;
    for (int i = 0; i < 5; i++)
        result |= times_of(timer) != 1;
    by_nanosleep(ms / 2);
    result |= times_of(timer) != 5;
    close(timer);
    return result;
}

static volatile sig_atomic_t rang;

static void ring(int number)
{
    (void)number;
    rang++;
}

static void handle_alarm(void)
{
    struct sigaction action = {.sa_handler = ring};
    sigaction(SIGALRM, &action, NULL);
    rang = 0;
}

static int by_setitimer(int ms)
{
    struct itimerval value = {.it_value = {ms / 1000, ms % 1000 * 1000}}, left;
    handle_alarm();
    setitimer(ITIMER_REAL, &value, NULL);
    pause();
    getitimer(ITIMER_REAL, &left);
    return rang != 1 || left.it_value.tv_sec != 0;
}

static int by_alarm(int ms)
{
    handle_alarm();
    alarm((unsigned)ms / 1000);
    pause();
    return rang != 1;
}

/* Of a sleep for twice as long an alarm leaves the half. */
static int by_interrupted_sleep(int ms)
{
    struct timespec limit = of_ms(2 * ms), left = {0};
    handle_alarm();
    alarm((unsigned)ms / 1000);
    int result = nanosleep(&limit, &left) == 0 || errno != EINTR;
    return result || left.tv_sec * SECOND + left.tv_nsec != (int64_t)ms * 1000000;
}

static int by_interrupted_poll(int ms)
{
    handle_alarm();
    alarm((unsigned)ms / 1000);
    return poll(NULL, 0, 2 * ms) == 0 || errno != EINTR;
}

#define WAY(name)                                                                                  \
    {                                                                                              \
#name, by_##name                                                                           \
    }
static const struct {
    const char *name;
    int (*wait)(int ms);
} WAYS[] = {
    WAY(poll),
    WAY(ppoll),
    WAY(select),
    WAY(pselect),
    WAY(epoll_wait),
    WAY(epoll_pwait),
    WAY(epoll_pwait2),
    WAY(nanosleep),
    WAY(clock_nanosleep),
    WAY(clock_nanosleep_until),
    WAY(usleep),
    WAY(sleep),
    WAY(cond_timedwait),
    WAY(cond_monotonic),
    WAY(cond_clockwait),
    WAY(timerfd),
    WAY(timerfd_read),
    WAY(timerfd_interval),
    WAY(setitimer),
    WAY(alarm),
    WAY(interrupted_sleep),
    WAY(interrupted_poll),
};

static void wait_once(const char *way, int ms)
{
    int64_t began = now(CLOCK_MONOTONIC), day = now(CLOCK_REALTIME);
    int result = -1;
    for (size_t i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++)
        if (strcmp(WAYS[i].name, way) == 0)
            result = WAYS[i].wait(ms);
    dprintf(1, "%lld %lld %d\n", (long long)(now(CLOCK_MONOTONIC) - began),
            (long long)(now(CLOCK_REALTIME) - day), result);
}

static void wait_again(const char *way, int ms)
{
    char byte;
    while (read(0, &byte, 1) == 1)
        wait_once(way, ms);
}

static const char *way_of_all;

static void *in_thread(void *ms)
{
    wait_once(way_of_all, atoi(ms));
    return NULL;
}

int main(int argc, char **argv)
{
    bool forks = strcmp(argv[1], "fork") == 0;
    char **arguments = argv + 1 + forks;
    dprintf(1, "ready\n");
    if (argv + argc == arguments + 2) {
        wait_again(arguments[0], atoi(arguments[1]));
        return 0;
    }
    char byte;
    if (read(0, &byte, 1) != 1)
        return 1;
    way_of_all = arguments[0];
    pthread_t thread;
    for (char **ms = arguments + 1; *ms != NULL; ms++) {
        if (forks && fork() == 0) {
            in_thread(*ms);
            return 0;
        }
        if (!forks)
            pthread_create(&thread, NULL, in_thread, *ms);
    }
    if (read(0, &byte, 1) == 0 && forks)
        while (wait(NULL) > 0)
            continue;
    return 0;
}
