/*
 * What the hostile servers share: a right echo server to hide behind, bounds, and means.
 *
 * Every program here is bounded by itself, whether or not the grader stops it: bounded() ends the
 * process after BOUND_SECONDS, and has to be called again in a child (alarms are not inherited).
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BOUND_SECONDS 120

static inline void bounded(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(BOUND_SECONDS);
}

/* A socket that listens on any free port of this machine. */
static inline int listener(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    bind(fd, (struct sockaddr *)&address, sizeof address);
    listen(fd, 128);
    return fd;
}

static inline void announce(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &length);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
}

/* How every program here begins: bounded, and with a socket that it has announced. */
static inline int listening(void)
{
    bounded();
    int fd = listener();
    announce(fd);
    return fd;
}

/* A number that this process and all that come from it share. */
static inline int *shared_count(void)
{
    int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED)
        _exit(1);
    return count;
}

/* Writes so many bytes into a file; goes on where that is refused. */
static inline void pour(int fd, unsigned long long bytes)
{
    static char block[1 << 20];
    for (unsigned long long at = 0; at < bytes; at += sizeof block)
        if (write(fd, block, sizeof block) < 0)
            perror("write");
}

/* One frame comes back as it was sent. 0 when there is none any more. */
static inline int echo_frame(int fd)
{
    uint8_t head[4];
    if (recv(fd, head, 4, MSG_WAITALL) != 4)
        return 0;
    uint32_t size = head[0] | head[1] << 8 | head[2] << 16 | (uint32_t)head[3] << 24;
    uint8_t *body = malloc(size + 1);
    int ok = body && (size == 0 || recv(fd, body, size, MSG_WAITALL) == (ssize_t)size);
    if (ok) {
        send(fd, head, 4, MSG_NOSIGNAL | MSG_MORE);
        send(fd, body, size, MSG_NOSIGNAL);
    }
    free(body);
    return ok;
}

/* Serves one client after the other, for ever. `before` is called for each client, if given. */
static inline void serve(int fd, void (*before)(void))
{
    for (;;) {
        int client = accept(fd, NULL, NULL);
        if (client < 0)
            continue;
        if (before)
            before();
        while (echo_frame(client))
            ;
        close(client);
    }
}

#endif
