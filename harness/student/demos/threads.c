/* "count": two threads count, in three ways. Prints a line for each: the result, and how long it
 * took. "serve": the server of the first chapter, in short, with a thread for each client. */

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMES 10000000

static volatile long shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *count_shared(void *argument)
{
    for (int i = 0; i < TIMES; i++)
        shared++;
    return argument;
}

static void *count_locked(void *argument)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

static void *count_own(void *argument)
{
    volatile long own = 0; /* on the stack of this thread */
    for (int i = 0; i < TIMES; i++)
        own++;
    pthread_mutex_lock(&lock);
    shared += own;
    pthread_mutex_unlock(&lock);
    return argument;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run(const char *told, void *(*count)(void *))
{
    pthread_t threads[2];
    shared = 0;
    double start = now();
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, count, NULL) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%s\t%ld\t%.2f\n", told, shared, now() - start);
    return 0;
}

static void *serve_client(void *argument)
{
    int fd = (int)(intptr_t)argument;
    uint8_t frame[1024]; /* as much as a demo sends */
    ssize_t count;
    while ((count = recv(fd, frame, 4, MSG_WAITALL)) == 4 &&
           (count = recv(fd, frame + 4, frame[0], MSG_WAITALL)) == frame[0])
        send(fd, frame, 4 + (size_t)count, MSG_NOSIGNAL);
    close(fd);
    return NULL;
}

static int serve(void)
{
    int listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_t id;
    if (bind(listen_fd, (struct sockaddr *)&address, size) < 0 ||
        listen(listen_fd, SOMAXCONN) < 0 ||
        getsockname(listen_fd, (struct sockaddr *)&address, &size) < 0)
        return 1;
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept(listen_fd, NULL, NULL);
        if (fd < 0 || pthread_create(&id, NULL, serve_client, (void *)(intptr_t)fd) != 0)
            return 1;
        pthread_detach(id);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        return serve();
    return run("one counter for both", count_shared) ||
           run("the same, and a mutex", count_locked) || run("one for each", count_own);
}
