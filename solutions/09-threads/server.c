#include "server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "acceptor.h"
#include "buffer.h"

/* What a thread does: the turns of its loop. */
static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    while (!events_stopping(loop->events))
        loop_turn(loop);
    buffer_free_spare();
    return NULL;
}

/* Ends the threads of loops 1 to `count` - 1. What is left in the loops is for whoever comes then. */
static void join(struct services *all, pthread_t *threads, int count)
{
    // BEGIN join
    /* First all are told, then all are waited for: they come to their ends at the same time. */
    for (int i = 1; i < count; i++)
        events_stop(all->each[i].loop.events);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    // END join
}

/* Returns how many loops run, with the first one, whose thread is this. */
static int start(struct services *all, pthread_t *threads)
{
    int count = 1;
    int error = 0;
    while (count < all->count && error == 0) {
        error = pthread_create(&threads[count], NULL, run_loop, &all->each[count].loop);
        if (error == 0)
            count++;
    }
    errno = error;
    return count;
}

bool server_run(int listen_fd, struct services *all)
{
    pthread_t *threads = calloc((size_t)all->count, sizeof *threads);
    if (threads == NULL)
        return false;
    int count = start(all, threads);
    int error = errno;
    if (count == all->count) {
        struct acceptor acceptor;
        struct loop *first = &all->each[0].loop;
        acceptor_open(&acceptor, listen_fd, all);
        while (!events_stopping(first->events)) {
            loop_turn(first);
            acceptor_look(&acceptor);
        }
        acceptor_close(&acceptor);
    }
    join(all, threads, count);
    free(threads);
    errno = error;
    return count == all->count;
}
