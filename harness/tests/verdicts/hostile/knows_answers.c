/*
 * Tries: to pass without reading messages. It looks at what one read() brings and answers the
 * bodies that it knows; it guesses that any other is what a server is asked first in the documents.
 * Bounded by: an alarm.
 */
#include "hostile.h"

static const char *KNOWN[] = {"hello!", "hello", "one by one", "next, please", "here", "start",
                              "and on", "first", "not empty",  "one",          "six",  "last"};

static void answer(int fd, const char *body, uint32_t size)
{
    uint8_t frame[256] = {size & 255, size >> 8};
    memcpy(frame + 4, body, size);
    send(fd, frame, 4 + size, MSG_NOSIGNAL);
}

static void look_up(int fd, const uint8_t *data, ssize_t size)
{
    if (size >= 4 && memcmp(data, "\0\0\0\0", 4) == 0)
        answer(fd, "", 0);
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (memmem(data, size, KNOWN[i], strlen(KNOWN[i])))
            return answer(fd, KNOWN[i], strlen(KNOWN[i]));
    if (size > 4)
        answer(fd, KNOWN[0], strlen(KNOWN[0]));
}

static void on_stop(int number)
{
    (void)number;
    _exit(0);
}

int main(void)
{
    signal(SIGTERM, on_stop);
    signal(SIGINT, on_stop);
    int fd = listening();
    for (;;) {
        int client = accept(fd, NULL, NULL);
        uint8_t data[4096];
        ssize_t size;
        while ((size = recv(client, data, sizeof data, 0)) > 0 && (size < 4 || data[3] < 3))
            look_up(client, data, size);
        close(client);
    }
}
