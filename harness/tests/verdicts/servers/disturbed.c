/*
 * Makes one kind of call over and over while a schedule disturbs it. For test_shim.py, which has
 * written the schedule before.
 *
 *     disturbed FUNCTION TIMES [blocking | dup | dup2 | dup3 | fcntl | empty]
 *
 * Connects to itself; the accepted end, connection 0, makes the calls: for 4 bytes each, where the
 * other end has sent "abcdefghijkl", or nothing with "empty". The other words let the calls block,
 * or move the descriptor to another number. Prints a line for every result: what was read, the
 * number that was returned, or the name of the error; at last what arrived at the other end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ASK = 4 };

static int listener, near, far, epoll_fd; /* the accepted end, and the other */
static volatile size_t ask = ASK;         /* unknown to the compiler: read() may be __read_chk() */
static char data[ASK + 1];

static int connect_to_itself(void)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        connect(fd, (struct sockaddr *)&address, size) < 0)
        exit(9);
    return fd;
}

static long allocate(void)
{
    void *volatile block = malloc(ask);
    free(block);
    return block != NULL ? 0 : -1;
}

static long accept_one(int with_flags)
{
    connect_to_itself();
    int fd = with_flags ? accept4(listener, NULL, NULL, SOCK_CLOEXEC)
                        : accept(listener, NULL, NULL);
    return fd < 0 ? -1 : 0;
}

static long call(const char *name)
{
    struct iovec parts[2] = {{data, 1}, {data + 1, ASK - 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct pollfd wait = {.fd = near, .events = POLLIN};
    struct epoll_event event;
    struct timespec moment = {.tv_nsec = 10000000};
    struct timeval moment_too = {.tv_usec = 10000};
    fd_set in;
    FD_ZERO(&in);
    FD_SET(near, &in);
#define CALL(function, expression)                                                                 \
    if (strcmp(name, function) == 0)                                                               \
        return (expression);
    CALL("poll", poll(&wait, 1, 10))
    CALL("ppoll", ppoll(&wait, 1, &moment, NULL))
    CALL("select", select(near + 1, &in, NULL, NULL, &moment_too))
    CALL("pselect", pselect(near + 1, &in, NULL, NULL, &moment, NULL))
    CALL("epoll_wait", epoll_wait(epoll_fd, &event, 1, 10))
    CALL("epoll_pwait", epoll_pwait(epoll_fd, &event, 1, 10, NULL))
    CALL("accept", accept_one(0))
    CALL("accept4", accept_one(1))
    CALL("close", close(near))
    CALL("malloc", allocate())
    memset(data, 0, ASK);
    CALL("read", read(near, data, ask))
    CALL("recv", recv(near, data, ask, 0))
    CALL("recvfrom", recvfrom(near, data, ask, 0, NULL, NULL))
    CALL("readv", readv(near, parts, 2))
    CALL("recvmsg", recvmsg(near, &message, 0))
    CALL("peek", recv(near, data, ask, MSG_PEEK))
    memcpy(data, "wxyz", ASK);
    CALL("write", write(near, data, ask))
    CALL("send", send(near, data, ask, MSG_NOSIGNAL))
    CALL("sendto", sendto(near, data, ask, MSG_NOSIGNAL, NULL, 0))
    CALL("writev", writev(near, parts, 2))
    CALL("sendmsg", sendmsg(near, &message, MSG_NOSIGNAL))
    exit(8);
}

static void move(const char *how)
{
    int to = strcmp(how, "dup") == 0    ? dup(near)
             : strcmp(how, "dup2") == 0 ? dup2(near, 100)
             : strcmp(how, "dup3") == 0 ? dup3(near, 100, O_CLOEXEC)
                                        : fcntl(near, F_DUPFD_CLOEXEC, 100);
    close(near);
    near = to;
}

int main(int count, char **words)
{
    static char room[BUFSIZ]; /* so that stdio allocates none */
    const char *how = count == 4 ? words[3] : "";
    setvbuf(stdout, room, _IOFBF, sizeof room);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    listen(listener, 16);
    far = connect_to_itself();
    near = accept(listener, NULL, NULL);
    epoll_fd = epoll_create1(0);
    if (*how == 'd' || *how == 'f')
        move(how);
    if (strcmp(how, "blocking") != 0)
        fcntl(near, F_SETFL, O_NONBLOCK);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, near, &(struct epoll_event){.events = EPOLLIN});
    if (strcmp(how, "empty") != 0) {
        send(far, "abcdefghijkl", 12, 0);
        recv(near, data, 1, MSG_PEEK | (*how == 'b' ? 0 : MSG_WAITALL));
    }
    for (int i = 0; i < atoi(words[2]); i++) {
        long result = call(words[1]);
        if (result < 0)
            printf("%s ", strerrorname_np(errno));
        else if (*words[1] == 'r' || strcmp(words[1], "peek") == 0)
            printf("%.*s ", (int)result, data);
        else
            printf("%ld ", result);
    }
    char arrived[64];
    ssize_t size = recv(far, arrived, sizeof arrived, MSG_DONTWAIT);
    printf("%.*s\n", size > 0 ? (int)size : 0, arrived);
    return 0;
}
