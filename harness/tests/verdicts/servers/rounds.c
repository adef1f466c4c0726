/*
 * Accepts a connection from itself, on which a byte is there to be read. Makes a great many calls
 * after it was read, or before, in the way that its argument names. For test_shim.py.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "itself.h"

#define ROUNDS  20000
#define COUNT   50
#define BYTES   100000
#define LONGEST 1000

/* poll() says that there is input, and a read() of another descriptor finds none. */
static void spin(int connection, int client)
{
    struct pollfd waits = {.fd = connection, .events = POLLIN};
    char byte;
    fcntl(client, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < BYTES; i++) {
        poll(&waits, 1, -1);
        (void)!read(client, &byte, 1);
    }
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
    const char *way = count == 2 ? words[1] : "";
    int listener = listening(), client = connected_to(listener);
    char byte;
    (void)!write(client, "x", 1);
    int connection = accept(listener, NULL, NULL);
    if (strcmp(way, "spin") == 0)
        spin(connection, client);
    (void)!read(connection, &byte, 1);
    if (strcmp(way, "many") == 0)
        spin_with_many(client);
    if (strcmp(way, "failures") == 0)
        fail(client);
    if (strcmp(way, "bytes") == 0)
        read_byte_by_byte();
    close(connection);
}
