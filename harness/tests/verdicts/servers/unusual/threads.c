/*
 * Unusual: a thread for every connection, and calls that block. threads PORT
 *
 * Right, since a thread that waits delays no other and costs no CPU time, and since a kernel thread
 * is what any number of clients can have. With no descriptor left the main thread waits a moment
 * before it accepts again. To stop, it shuts all sockets down, which ends the calls on them.
 */
#include "echo.h"

#include <poll.h>
#include <pthread.h>

enum { STACK_BYTES = 64 << 10 };

/* Guards the table of connections and what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nobody_left = PTHREAD_COND_INITIALIZER;
static int serving;
static bool anyone_ended;
static pthread_t last_to_end; /* joined by the next one to end, or by main() */

static void *serve(void *argument)
{
    struct conn *c = argument;
    while (conn_turn(c))
        continue;
    pthread_mutex_lock(&lock);
    conn_close(c);
    pthread_t before = last_to_end;
    bool to_join = anyone_ended;
    last_to_end = pthread_self();
    anyone_ended = true;
    if (--serving == 0)
        pthread_cond_signal(&nobody_left);
    pthread_mutex_unlock(&lock);
    if (to_join)
        pthread_join(before, NULL);
    return NULL;
}

static void start_serving(int fd, const pthread_attr_t *attributes)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    struct conn *c = conn_open(fd);
    if (c && pthread_create(&thread, attributes, serve, c) == 0)
        serving++;
    else if (c)
        conn_close(c);
    pthread_mutex_unlock(&lock);
}

static void stop_serving(void)
{
    pthread_mutex_lock(&lock);
    for (int fd = 0; fd < conns_end; fd++)
        if (conns[fd])
            shutdown(fd, SHUT_RDWR);
    while (serving > 0)
        pthread_cond_wait(&nobody_left, &lock);
    pthread_mutex_unlock(&lock);
    if (anyone_ended)
        pthread_join(last_to_end, NULL);
}

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]), fd;
    struct pollfd polls[] = {{.fd = signals, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (;;) {
        if (poll(polls, 2, -1) < 0)
            continue;
        if (polls[0].revents && told_to_stop(signals))
            break;
        while ((fd = accept_next(listener, 0)) >= 0)
            start_serving(fd, &attributes);
        if (fd == NO_ROOM)
            poll(polls, 1, PAUSE_MS);
    }
    stop_serving();
    pthread_attr_destroy(&attributes);
    close_all();
    close(listener);
    close(signals);
    return 0;
}
