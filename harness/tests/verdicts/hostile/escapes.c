/*
 * Tries: to get out of its grade: to other machines and programs, solutions and other submissions,
 * the results, the grader, and memory that outlives it. It says on stderr what it has reached, and
 * is a right server otherwise.
 * Bounded by: a single attempt at each; an alarm. No packet is sent to another machine.
 */
#include "hostile.h"
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/un.h>

static void told(const char *what, int reached)
{
    fprintf(stderr, "%s %s\n", reached ? "reached" : "refused", what);
}

/* The number in this variable; -1 without it, and then nothing is tried. */
static int given(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

/* UDP connects by finding a route, and sends nothing. */
static int connects(int type, const char *to, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, to, &address.sin_addr);
    int fd = socket(AF_INET, type, 0);
    int connected = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return connected;
}

/* Whether a program listens on the Unix socket of this name, and can be reached. */
static int connects_local(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv(name);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path ? path : "");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int connected = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return connected;
}

static int opens(const char *name, int flags)
{
    const char *path = getenv(name);
    int fd = path ? open(path, flags, 0600) : -1;
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int main(void)
{
    bounded();
    int fd = listener();
    told("listener", connects(SOCK_STREAM, "127.0.0.1", given("HOSTILE_PORT")));
    told("network", connects(SOCK_DGRAM, "192.0.2.1", 9));
    told("socket", connects_local("HOSTILE_SOCKET"));
    told("solution", opens("HOSTILE_SOLUTION", O_RDONLY));
    told("neighbour", opens("HOSTILE_NEIGHBOUR", O_RDONLY));
    told("secret", opens("HOSTILE_SECRET", O_RDONLY));
    told("result", opens("HOSTILE_RESULT", O_WRONLY | O_CREAT));
    told("sources", opens("HOSTILE_SOURCE", O_WRONLY | O_CREAT));
    told("grader", kill(getppid(), SIGKILL) == 0);
    told("victim", given("HOSTILE_VICTIM") > 1 && kill(given("HOSTILE_VICTIM"), SIGKILL) == 0);
    told("memory", shmget(given("HOSTILE_KEY"), 4096, IPC_CREAT | 0600) >= 0);
    announce(fd);
    serve(fd, NULL);
}
