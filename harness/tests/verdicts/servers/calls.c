/*
 * Makes each of the calls that the shim counts once, then once more in a child. For test_shim.py.
 * Bytes through descriptors 0 to 2 must not be counted. Exit status 0: every call did what it
 * was to do, so the shim has passed on arguments and results.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itself.h"

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            perror(#condition);                                                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int out, in; /* two ends of a connection */

static void send_all_ways(int file) /* 8 outputs of 2 bytes each */
{
    char data[] = "xy";
    struct iovec part = {data, 2};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    off_t start = 0;
    off64_t start64 = 0;
    NEED(write(out, data, 2) == 2);
    NEED(writev(out, &part, 1) == 2);
    NEED(send(out, data, 2, 0) == 2);
    NEED(sendto(out, data, 2, 0, NULL, 0) == 2);
    NEED(sendmsg(out, &message, 0) == 2);
    NEED(sendmmsg(out, &messages, 1, 0) == 1);
    NEED(sendfile(out, file, &start, 2) == 2);
    NEED(sendfile64(out, file, &start64, 2) == 2);
}

/* 6 inputs. `size` is not known to the compiler, so that fortified variants are called. */
static void receive_all_ways(size_t size)
{
    char data[4] = "";
    struct iovec part = {data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    NEED(read(in, data, size) == 2 && memcmp(data, "xy", 2) == 0);
    NEED(readv(in, &part, 1) == 2);
    NEED(recv(in, data, size, 0) == 2);
    NEED(recvfrom(in, data, size, 0, NULL, NULL) == 2);
    NEED(recvmsg(in, &message, 0) == 2);
    NEED(recvmmsg(in, &messages, 1, 0, NULL) == 1);
}

static void wait_all_ways(nfds_t count) /* 6 waits, each of which finds that `in` is readable */
{
    struct pollfd poll_for[2] = {{.fd = in, .events = POLLIN}};
    struct timespec second = {.tv_sec = 1};
    struct timeval second_too = {.tv_sec = 1};
    struct epoll_event event = {.events = EPOLLIN};
    fd_set readable;
    NEED(poll(poll_for, count, 1000) == 1);
    NEED(ppoll(poll_for, count, &second, NULL) == 1);
    FD_ZERO(&readable);
    FD_SET(in, &readable);
    NEED(select(in + 1, &readable, NULL, NULL, &second_too) == 1);
    NEED(pselect(in + 1, &readable, NULL, NULL, &second, NULL) == 1);
    int ep = epoll_create1(0);
    NEED(epoll_ctl(ep, EPOLL_CTL_ADD, in, &event) == 0);
    NEED(epoll_wait(ep, &event, 1, 1000) == 1);
    NEED(epoll_pwait(ep, &event, 1, 1000, NULL) == 1);
    close(ep);
}

static void make_every_call(int file, size_t two)
{
    int listener = listening();
    out = connected_to(listener);
    in = accept(listener, NULL, NULL);
    int other = connected_to(listener);
    int other_in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    NEED(in >= 0 && other_in >= 0);
    send_all_ways(file);
    wait_all_ways(two / 2);
    receive_all_ways(two);
    NEED(write(STDERR_FILENO, "", 0) == 0);
    NEED(read(STDIN_FILENO, &file, 0) == 0);
    close(other);
    close(other_in);
    close(out);
    close(in);
    close(listener);
}

int main(int argc, char **argv)
{
    FILE *file = tmpfile();
    size_t two = 1 + (size_t)argc; /* 2 */
    (void)argv;
    NEED(file && fputs("xy", file) >= 0 && fflush(file) == 0);
    make_every_call(fileno(file), two);
    pid_t child = fork();
    if (child == 0) {
        make_every_call(fileno(file), two);
        _exit(0);
    }
    int status;
    NEED(waitpid(child, &status, 0) == child);
    return status != 0;
}
