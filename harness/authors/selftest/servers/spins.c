/*
 * Accepts a connection on a socket of its own, then spins: poll() says that there is input, and a
 * read() of another descriptor finds none. For test_shim.py.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 100000

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&address, size);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr *)&address, &size);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    connect(client, (struct sockaddr *)&address, size);
    int connection = accept(listener, NULL, NULL);
    fcntl(client, F_SETFL, O_NONBLOCK);
    (void)!write(client, "x", 1);
    struct pollfd waits = {.fd = connection, .events = POLLIN};
    char byte;
    for (int round = 0; round < ROUNDS; round++) {
        poll(&waits, 1, -1);
        (void)!read(client, &byte, 1);
    }
    (void)!read(connection, &byte, 1);
}
