/*
 * Accepts a connection, reads a byte of it, and then makes a great many calls, in the way that its
 * argument names. For test_shim.py.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS  20000
#define COUNT   50
#define BYTES   100000
#define LONGEST 1000

/* One connection to itself; a byte is there to be read. */
static int accept_one(int *client)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, size);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &size);
    *client = socket(AF_INET, SOCK_STREAM, 0);
    connect(*client, (struct sockaddr *)&address, size);
    (void)!write(*client, "x", 1);
    return accept(listener, NULL, NULL);
}

/* A round of many calls: each descriptor that is ready is an entry of its own. */
static void spin_with_many(int client)
{
    struct pollfd waits[COUNT];
    for (int i = 0; i < COUNT; i++)
        waits[i] = (struct pollfd){.fd = dup(client), .events = POLLOUT};
    for (int round = 0; round < ROUNDS; round++)
        poll(waits, COUNT, -1);
}

/* Calls that are not alike, and get nothing. */
static void fail(int client)
{
    static char room[LONGEST];
    unsigned chance = 1;
    fcntl(client, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < BYTES; i++) {
        chance = chance * 1664525u + 1013904223u;
        (void)!read(client, room, 1 + chance % LONGEST);
    }
}

static void read_byte_by_byte(void)
{
    char byte;
    int zeros = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < BYTES; i++)
        (void)!read(zeros, &byte, 1);
}

int main(int count, char **words)
{
    int client;
    int connection = accept_one(&client);
    char byte;
    (void)!read(connection, &byte, 1);
    if (count == 2 && strcmp(words[1], "many") == 0)
        spin_with_many(client);
    if (count == 2 && strcmp(words[1], "failures") == 0)
        fail(client);
    if (count == 2 && strcmp(words[1], "bytes") == 0)
        read_byte_by_byte();
    close(connection);
}
