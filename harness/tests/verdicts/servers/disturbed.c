/*
 * Makes one kind of call over and over while a schedule disturbs it. For test_shim.py, which has
 * written the schedule before.
 *
 *     disturbed FUNCTION TIMES [blocking | dup | dup2 | dup3 | fcntl]
 *
 * Connects to itself; the accepted end, connection 0, makes the calls: for 4 bytes each, where the
 * other end has sent "abcdefghijkl". The last word moves the descriptor to another number, or lets
 * the calls block. Prints a line for every result: what was read, the number
 * of bytes written, "ok", or the name of the error; at last what arrived at the other end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>

#include "itself.h"

enum { ASK = 4 };

static int listener, near, far;   /* the accepted end, and the other */
static volatile size_t ask = ASK; /* unknown to the compiler, for the fortified variants */
static char data[ASK];

static struct msghdr message(void)
{
    static struct iovec parts[2];
    parts[0] = (struct iovec){data, 1};
    parts[1] = (struct iovec){data + 1, ASK - 1};
    return (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
}

static long input(const char *name)
{
    struct msghdr parts = message();
    if (strcmp(name, "read") == 0)
        return read(near, data, ask);
    if (strcmp(name, "recv") == 0)
        return recv(near, data, ask, 0);
    if (strcmp(name, "recvfrom") == 0)
        return recvfrom(near, data, ask, 0, NULL, NULL);
    if (strcmp(name, "readv") == 0)
        return readv(near, parts.msg_iov, 2);
    if (strcmp(name, "recvmsg") == 0)
        return recvmsg(near, &parts, 0);
    if (strcmp(name, "peek") == 0)
        return recv(near, data, ask, MSG_PEEK);
    return -2;
}

static long output(const char *name)
{
    memcpy(data, "wxyz", ASK);
    struct msghdr parts = message();
    if (strcmp(name, "write") == 0)
        return write(near, data, ASK);
    if (strcmp(name, "send") == 0)
        return send(near, data, ASK, MSG_NOSIGNAL);
    if (strcmp(name, "sendto") == 0)
        return sendto(near, data, ASK, MSG_NOSIGNAL, NULL, 0);
    if (strcmp(name, "writev") == 0)
        return writev(near, parts.msg_iov, 2);
    if (strcmp(name, "sendmsg") == 0)
        return sendmsg(near, &parts, MSG_NOSIGNAL);
    return -2;
}

/* The number of descriptors that are ready; only the near end is watched, for input. */
static long waiting(const char *name)
{
    struct pollfd entry = {.fd = near, .events = POLLIN};
    if (strcmp(name, "poll") == 0)
        return poll(&entry, 1, 100);
    if (strcmp(name, "ppoll") == 0)
        return ppoll(&entry, 1, &(struct timespec){.tv_nsec = 100000000}, NULL);
    fd_set in;
    FD_ZERO(&in);
    FD_SET(near, &in);
    if (strcmp(name, "select") == 0)
        return select(near + 1, &in, NULL, NULL, &(struct timeval){.tv_usec = 100000});
    if (strcmp(name, "epoll_wait") == 0) {
        int epfd = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = near};
        epoll_ctl(epfd, EPOLL_CTL_ADD, near, &event);
        long ready = epoll_wait(epfd, &event, 1, 100);
        return ready == 1 && event.data.fd != near ? -3 : ready;
    }
    return -2;
}

static long other(const char *name)
{
    if (strcmp(name, "close") == 0)
        return close(near);
    if (strcmp(name, "malloc") == 0) {
        void *block = malloc(ask);
        long result = block != NULL ? 0 : -1;
        free(block);
        return result;
    }
    if (strcmp(name, "accept") != 0 && strcmp(name, "accept4") != 0)
        return -2;
    int peer = connected_to(listener);
    long fd = strcmp(name, "accept") == 0 ? accept(listener, NULL, NULL)
                                          : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)peer;
    return fd < 0 ? -1 : 0;
}

static void print_result(long result)
{
    if (result < 0)
        printf("%s\n", strerrorname_np(errno));
    else
        printf("%ld\n", result);
}

static int moved(int fd, const char *how)
{
    int to = strcmp(how, "dup") == 0    ? dup(fd)
             : strcmp(how, "dup2") == 0 ? dup2(fd, 100)
             : strcmp(how, "dup3") == 0 ? dup3(fd, 100, O_CLOEXEC)
                                        : fcntl(fd, F_DUPFD_CLOEXEC, 100);
    close(fd);
    return to;
}

int main(int argc, char **argv)
{
    listener = listening();
    far = connected_to(listener);
    near = accept(listener, NULL, NULL);
    bool blocking = argc == 4 && strcmp(argv[3], "blocking") == 0;
    if (argc == 4 && !blocking)
        near = moved(near, argv[3]);
    if (!blocking)
        fcntl(near, F_SETFL, O_NONBLOCK);
    if (send(far, "abcdefghijkl", 12, 0) != 12)
        return 3;
    poll(&(struct pollfd){.fd = near, .events = POLLIN}, 1, -1);
    long (*const kinds[])(const char *) = {input, output, waiting, other};
    for (int i = 0; i < atoi(argv[2]); i++) {
        long result = -2;
        for (size_t kind = 0; result == -2 && kind < 4; kind++) {
            result = kinds[kind](argv[1]);
            if (kind == 0 && result > 0) {
                printf("%.*s\n", (int)result, data);
                result = -4;
            }
        }
        if (result != -4)
            print_result(result);
    }
    char arrived[64];
    ssize_t size = recv(far, arrived, sizeof arrived, MSG_DONTWAIT);
    printf("%.*s\n", size > 0 ? (int)size : 0, arrived);
    return 0;
}
