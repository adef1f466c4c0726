/*
 * clocked WAY MS...: for each byte of input, waits once for each of these times, in the way that
 * has this name: for the first one here, for the others in a process and a thread in turn. Prints
 * how long each wait took, in ns, and whether it ended as it should (0). For test_clock.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *way;

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct timespec of_ns(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static int on_timerfd(struct timespec limit)
{
    uint64_t times;
    struct pollfd timer = {.fd = timerfd_create(CLOCK_MONOTONIC, 0), .events = POLLIN};
    timerfd_settime(timer.fd, 0, &(struct itimerspec){.it_value = limit}, NULL);
    return poll(&timer, 1, -1) != 1 || read(timer.fd, &times, sizeof times) < 0 || times != 1;
}

static void ring(int number)
{
    (void)number;
}

static int on_alarm(int ms)
{
    struct itimerval value = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    signal(SIGALRM, ring);
    setitimer(ITIMER_REAL, &value, NULL);
    return pause() == 0;
}

static int wait_for(int ms)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct epoll_event event;
    int64_t ns = ms * 1000000ll;
    struct timespec limit = of_ns(ns), until = of_ns(now(CLOCK_MONOTONIC) + ns);
    struct timespec of_day = of_ns(now(CLOCK_REALTIME) + ns);
#define WAY(name, wrong)                                                                           \
    if (strcmp(way, name) == 0)                                                                    \
        return (wrong);
    WAY("poll", poll(NULL, 0, ms))
    WAY("ppoll", ppoll(NULL, 0, &limit, NULL))
    WAY("select", select(0, NULL, NULL, NULL, &(struct timeval){ms / 1000, ms % 1000 * 1000}))
    WAY("pselect", pselect(0, NULL, NULL, NULL, &limit, NULL))
    WAY("epoll_wait", epoll_wait(epoll_create1(0), &event, 1, ms))
    WAY("epoll_pwait2", epoll_pwait2(epoll_create1(0), &event, 1, &limit, NULL))
    WAY("nanosleep", nanosleep(&limit, NULL))
    WAY("usleep", usleep((useconds_t)ms * 1000))
    WAY("until", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &of_day, NULL))
    WAY("timerfd", on_timerfd(limit))
    WAY("alarm", on_alarm(ms))
    pthread_mutex_lock(&mutex);
    WAY("timedwait", pthread_cond_timedwait(&condition, &mutex, &of_day) != ETIMEDOUT)
    return pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}

static void *wait_once(void *ms)
{
    int64_t began = now(CLOCK_MONOTONIC);
    int wrong = wait_for(atoi(ms));
    dprintf(1, "%lld %d\n", (long long)(now(CLOCK_MONOTONIC) - began), wrong);
    return NULL;
}

int main(int count, char **words)
{
    char byte;
    pthread_t thread;
    way = words[1];
    dprintf(1, "ready\n");
    while (read(0, &byte, 1) == 1) {
        for (int i = 3; i < count; i++) {
            if (i % 2 == 0)
                pthread_create(&thread, NULL, wait_once, words[i]);
            else if (fork() == 0)
                return wait_once(words[i]) != NULL;
        }
        wait_once(words[2]);
    }
    return 0;
}
