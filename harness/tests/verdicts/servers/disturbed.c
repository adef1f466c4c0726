/*
 * disturbed FUNCTION TIMES [blocking | dup | empty]: connects to itself, and makes this call over
 * and over on the accepted end, connection 0, for 4 bytes each, while a schedule disturbs it. The
 * other end has sent "abcdefghijkl", or nothing with "empty"; "blocking" lets the calls block,
 * "dup" moves the descriptor. Prints what was read, the number that was returned, or the error; at
 * last what arrived at the other end. For test_shim.py.
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

static int listener, near, far, epoll_fd; /* the accepted end, and the other */
static volatile size_t ask = 4;           /* unknown to the compiler: read() may be __read_chk() */
static char data[5];

static int connect_to_itself(void)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    getsockname(listener, (struct sockaddr *)&address, &size);
    return connect(fd, (struct sockaddr *)&address, size) < 0 ? -1 : fd;
}

static long call(const char *name)
{
    struct iovec parts[2] = {{data, 1}, {data + 1, 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    struct pollfd wait = {.fd = near, .events = POLLIN};
    struct epoll_event event;
    fd_set in;
    FD_ZERO(&in);
    FD_SET(near, &in);
#define CALL(function, expression)                                                                 \
    if (strcmp(name, function) == 0)                                                               \
        return (expression);
    CALL("poll", poll(&wait, 1, 10))
    CALL("ppoll", ppoll(&wait, 1, &(struct timespec){.tv_nsec = 10000000}, NULL))
    CALL("select", select(near + 1, &in, NULL, NULL, &(struct timeval){.tv_usec = 10000}))
    CALL("epoll_wait", epoll_wait(epoll_fd, &event, 1, 10))
    CALL("close", close(near))
    if (strncmp(name, "accept", 6) == 0)
        connect_to_itself();
    CALL("accept", accept(listener, NULL, NULL) < 0 ? -1 : 0)
    CALL("accept4", accept4(listener, NULL, NULL, SOCK_CLOEXEC) < 0 ? -1 : 0)
    memset(data, 0, 4);
    CALL("read", read(near, data, ask))
    CALL("recv", recv(near, data, ask, 0))
    CALL("recvfrom", recvfrom(near, data, ask, 0, NULL, NULL))
    CALL("readv", readv(near, parts, 2))
    CALL("recvmsg", recvmsg(near, &message, 0))
    CALL("recv+peek", recv(near, data, ask, MSG_PEEK))
    memcpy(data, "wxyz", 4);
    CALL("write", write(near, data, ask))
    CALL("send", send(near, data, ask, MSG_NOSIGNAL))
    CALL("sendto", sendto(near, data, ask, MSG_NOSIGNAL, NULL, 0))
    CALL("writev", writev(near, parts, 2))
    CALL("sendmsg", sendmsg(near, &message, MSG_NOSIGNAL))
    exit(8);
}

int main(int count, char **words)
{
    char arrived[64];
    const char *how = count == 4 ? words[3] : "";
    listener = socket(AF_INET, SOCK_STREAM, 0);
    listen(listener, 16);
    far = connect_to_itself();
    near = accept(listener, NULL, NULL);
    epoll_fd = epoll_create1(0);
    if (strcmp(how, "dup") == 0) {
        int first = near;
        near = fcntl(first, F_DUPFD_CLOEXEC, 100);
        close(first);
    }
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, near, &(struct epoll_event){.events = EPOLLIN});
    if (strcmp(how, "empty") != 0) {
        send(far, "abcdefghijkl", 12, 0);
        recv(near, data, 1, MSG_PEEK);
    }
    if (strcmp(how, "blocking") != 0)
        fcntl(near, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < atoi(words[2]); i++) {
        long result = call(words[1]);
        if (result < 0)
            printf("%s ", strerrorname_np(errno));
        else if (*words[1] == 'r')
            printf("%.*s ", (int)result, data);
        else
            printf("%ld ", result);
    }
    ssize_t size = recv(far, arrived, sizeof arrived, MSG_DONTWAIT);
    printf("%.*s\n", size > 0 ? (int)size : 0, arrived);
    return 0;
}
