/* The server of the first chapter, in short, with a thread for each client. */

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX_BYTES (32u << 20)

static bool read_full(int fd, uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t count = read(fd, data, size);
        if (count <= 0)
            return false;
        data += count;
        size -= (size_t)count;
    }
    return true;
}

static bool serve_frame(int fd)
{
    uint8_t header[4];
    if (!read_full(fd, header, sizeof header))
        return false;
    uint32_t length = header[0] | header[1] << 8 | header[2] << 16 | (uint32_t)header[3] << 24;
    uint8_t *body = length <= FRAME_MAX_BYTES ? malloc((size_t)length + 1) : NULL;
    bool served = body != NULL && read_full(fd, body, length) &&
                  send(fd, header, sizeof header, MSG_NOSIGNAL) == sizeof header &&
                  send(fd, body, length, MSG_NOSIGNAL) == (ssize_t)length;
    free(body);
    return served;
}

static void *serve(void *argument)
{
    int fd = (int)(intptr_t)argument;
    while (serve_frame(fd))
        continue;
    close(fd);
    return NULL;
}

int main(void)
{
    int listen_fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listen_fd, (struct sockaddr *)&address, size) < 0 ||
        listen(listen_fd, SOMAXCONN) < 0 ||
        getsockname(listen_fd, (struct sockaddr *)&address, &size) < 0)
        return 1;
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int fd = accept(listen_fd, NULL, NULL);
        pthread_t id;
        if (fd < 0 || pthread_create(&id, NULL, serve, (void *)(intptr_t)fd) != 0)
            return 1;
        pthread_detach(id);
    }
}
