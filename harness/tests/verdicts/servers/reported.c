/*
 * Accepts four connections, on which come a byte of urgent data, a half-close, a half-close in both
 * directions, and a reset. It waits for each, and for each client before, in the way that its
 * argument names. Where that is not select() or pselect(), it also waits without any interest for
 * the third; and with poll() and ppoll(), for a descriptor that is closed. For test_shim.py.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "itself.h"

static const char *way;
static unsigned interest = POLLIN | POLLRDHUP | POLLPRI; /* epoll names them alike */

static int wait_with_poll(int fd)
{
    struct pollfd wait = {.fd = fd, .events = (short)interest};
    return strcmp(way, "poll") == 0 ? poll(&wait, 1, -1) : ppoll(&wait, 1, NULL, NULL);
}

static int wait_with_select(int fd)
{
    fd_set in, urgent;
    FD_ZERO(&in);
    FD_ZERO(&urgent);
    FD_SET(fd, &in);
    FD_SET(fd, &urgent);
    if (strcmp(way, "select") == 0)
        return select(fd + 1, &in, NULL, &urgent, NULL);
    return pselect(fd + 1, &in, NULL, &urgent, NULL, NULL);
}

static int wait_with_epoll(int fd)
{
    struct epoll_event event = {.events = interest, .data.fd = fd};
    int epfd = epoll_create1(0);
    epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event);
    if (strcmp(way, "epoll_wait") == 0)
        return epoll_wait(epfd, &event, 1, -1);
    return epoll_pwait(epfd, &event, 1, -1, NULL);
}

static void wait_for(int fd)
{
    int ready;
    if (strstr(way, "epoll") != NULL)
        ready = wait_with_epoll(fd);
    else
        ready = strstr(way, "poll") != NULL ? wait_with_poll(fd) : wait_with_select(fd);
    if (ready < 1)
        exit(1);
}

static int accept_one(int listener, int *client)
{
    *client = connected_to(listener);
    wait_for(listener);
    return accept(listener, NULL, NULL);
}

int main(int count, char **words)
{
    char byte;
    int client, listener = listening();
    struct linger reset = {.l_onoff = 1};
    way = count == 2 ? words[1] : "";

    int connection = accept_one(listener, &client);
    send(client, "!", 1, MSG_OOB);
    wait_for(connection);

    connection = accept_one(listener, &client);
    shutdown(client, SHUT_WR);
    wait_for(connection);

    connection = accept_one(listener, &client);
    shutdown(client, SHUT_WR);
    shutdown(connection, SHUT_WR);
    if (read(connection, &byte, 1) != 0)
        return 3;
    wait_for(connection);
    unsigned usual = interest;
    interest = 0;
    if (strstr(way, "select") == NULL)
        wait_for(connection);
    interest = usual;

    connection = accept_one(listener, &client);
    setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(client);
    wait_for(connection);

    close(connection);
    if (strcmp(way, "poll") == 0 || strcmp(way, "ppoll") == 0)
        wait_for(connection);
}
