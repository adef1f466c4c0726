/*
 * clocked WAY MS...: for each byte of input, waits once for each of these times, in the way that
 * has this name: for the first one here, for the others in a process and a thread in turn. Prints
 * how long each wait took on the monotonic clock and the time of day, in ns, and whether it ended
 * as it should (0). For test_clock.py.
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
static volatile sig_atomic_t rang;

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

static int on_condition(clockid_t clock, struct timespec end)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    int found = clock == CLOCK_REALTIME
                    ? pthread_cond_timedwait(&condition, &mutex, &end)
                    : pthread_cond_clockwait(&condition, &mutex, clock, &end);
    return found != ETIMEDOUT;
}

/* Expires ten times; the last five are read at once. */
static int on_timerfd(struct timespec tenth)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), wrong = 0;
    struct itimerspec value = {tenth, tenth};
    uint64_t times;
    timerfd_settime(fd, 0, &value, NULL);
    for (int i = 0; i < 5; i++)
        wrong |= poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) != 1 ||
                 read(fd, &times, sizeof times) != sizeof times || times != 1;
    struct timespec half = of_ns((tenth.tv_sec * 1000000000 + tenth.tv_nsec) * 5);
    nanosleep(&half, NULL);
    wrong |= read(fd, &times, sizeof times) != sizeof times || times != 5;
    close(fd);
    return wrong;
}

static void ring(int number)
{
    (void)number;
    rang++;
}

/* An alarm interrupts a sleep that would last twice as long. */
static int on_alarm(int ms)
{
    struct timespec twice = of_ns(2000000ll * ms);
    struct itimerval value = {.it_value = {ms / 1000, ms % 1000 * 1000}};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = ring}, NULL);
    rang = 0;
    setitimer(ITIMER_REAL, &value, NULL);
    return nanosleep(&twice, &twice) == 0 || errno != EINTR || rang != 1;
}

static int wait_for(int ms)
{
    int64_t ns = ms * 1000000ll;
    struct timespec limit = of_ns(ns);
    struct epoll_event event;
#define WAY(name, expression)                                                                      \
    if (strcmp(way, name) == 0)                                                                    \
        return (expression);
    WAY("poll", poll(NULL, 0, ms))
    WAY("ppoll", ppoll(NULL, 0, &limit, NULL))
    WAY("select", select(0, NULL, NULL, NULL, &(struct timeval){ms / 1000, ms % 1000 * 1000}))
    WAY("pselect", pselect(0, NULL, NULL, NULL, &limit, NULL))
    WAY("epoll_wait", epoll_wait(epoll_create1(0), &event, 1, ms))
    WAY("epoll_pwait2", epoll_pwait2(epoll_create1(0), &event, 1, &limit, NULL))
    WAY("nanosleep", nanosleep(&limit, NULL))
    WAY("usleep", usleep((useconds_t)ms * 1000))
    WAY("timerfd", on_timerfd(of_ns(ns / 10)))
    WAY("alarm", on_alarm(ms))
    limit = of_ns(now(CLOCK_MONOTONIC) + ns);
    WAY("clockwait", on_condition(CLOCK_MONOTONIC, limit))
    limit = of_ns(now(CLOCK_REALTIME) + ns);
    WAY("timedwait", on_condition(CLOCK_REALTIME, limit))
    WAY("until", clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &limit, NULL))
    return -1;
}

static void *wait_once(void *ms)
{
    int64_t began = now(CLOCK_MONOTONIC), day = now(CLOCK_REALTIME);
    int wrong = wait_for(atoi(ms));
    dprintf(1, "%lld %lld %d\n", (long long)(now(CLOCK_MONOTONIC) - began),
            (long long)(now(CLOCK_REALTIME) - day), wrong);
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
        while (wait(NULL) > 0)
            continue;
    }
    return 0;
}
