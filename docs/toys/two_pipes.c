/* poll() on two pipes: what it reports, how often, and what it reports unasked. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static struct pollfd polls[2];

static void look(const char *what)
{
    int count = poll(polls, 2, 0); /* a timeout of 0: it looks and does not sleep */
    printf("%-22s poll() = %d", what, count);
    for (int i = 0; i < 2; i++)
        if (polls[i].revents != 0)
            printf("  %c:%s%s", 'A' + i, polls[i].revents & POLLIN ? " POLLIN" : "",
                   polls[i].revents & POLLHUP ? " POLLHUP" : "");
    printf("\n");
}

int main(void)
{
    int a[2], b[2]; /* [0] is the end to read from, [1] the end to write to */
    char bytes[5];
    if (pipe(a) < 0 || pipe(b) < 0)
        return 1;
    polls[0] = (struct pollfd){.fd = a[0], .events = POLLIN};
    polls[1] = (struct pollfd){.fd = b[0], .events = POLLIN};
    look("both are empty");
    if (write(b[1], "hello", 5) != 5)
        return 1;
    look("5 bytes are in B");
    if (read(b[0], bytes, 3) != 3)
        return 1;
    look("3 of them are read");
    close(a[1]);
    look("A's writer is closed");
    if (read(b[0], bytes, 2) != 2)
        return 1;
    look("all of B is read");
    return 0;
}
