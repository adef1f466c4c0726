/*
 * Attacks of a submission on its grade, beside the right server that it hides behind.
 *
 * HOSTILE_ATTACK names the attack. An early one begins before the server listens; the others begin
 * when it has read its first frame. Every attack bounds itself, whether or not the grader stops it:
 * it takes a fixed amount, never keeps more than one processor busy, and each of its processes ends
 * after BOUND_SECONDS.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOUND_SECONDS 120
#define MIB           (1 << 20)
#define FILE_MIB      32
#define FILES         32 /* of FILE_MIB each: four times what a server may write */

static char block[MIB];

/* Forks a process that belongs to nobody: it has a session of its own, and its parent ends. */
static int detached(void)
{
    if (fork() != 0)
        return 0;
    setsid();
    if (fork() != 0)
        _exit(0);
    alarm(BOUND_SECONDS);
    return 1;
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

/* More processes than a server may have; each other one leaves the process group. */
static void forks(void)
{
    for (int child = 0; child < 2200; child++)
        if (fork() == 0) {
            alarm(BOUND_SECONDS);
            if (child % 2)
                setsid();
            sleep_for_ever();
        }
}

/* Each process forks and ends, so that it is gone before anybody has looked at all processes. */
static void breeds(void)
{
    for (int generation = 0; generation < 20000; generation++) {
        alarm(BOUND_SECONDS);
        setsid();
        usleep(1000);
        if (fork() != 0)
            _exit(0);
    }
    _exit(0);
}

/* Memory in 30 processes that belong to nobody, HOSTILE_MIB in each: one after the other. */
static void detaches(void)
{
    const char *wanted = getenv("HOSTILE_MIB");
    size_t size = (size_t)(wanted ? atoi(wanted) : 100) * MIB;
    int done[2];
    if (pipe(done) < 0)
        return;
    for (int child = 0; child < 30; child++) {
        char byte;
        if (detached()) {
            char *memory = aligned_alloc(2 * MIB, size);
            madvise(memory, size, MADV_HUGEPAGE); /* this is quicker */
            memset(memory, 1, size);
            if (write(done[1], "", 1) == 1)
                sleep_for_ever();
        } else if (read(done[0], &byte, 1) != 1)
            return;
    }
}

static void pour(int fd)
{
    for (int mib = 0; mib < FILE_MIB; mib++)
        if (write(fd, block, MIB) < 0)
            perror("write");
}

/* Files that each are below the limit for one; half of them without a name. */
static void fills_disk(void)
{
    for (int file = 0; file < FILES; file++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", file);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (file % 2)
            unlink(name);
        pour(fd);
    }
}

/* Memory that no process seems to have: in files that are in memory only, and not mapped. */
static void hides_memory(void)
{
    for (int file = 0; file < FILES; file++)
        pour(memfd_create("hidden", 0));
}

static void many_files(void)
{
    for (int number = 0; number < 15000; number++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", number);
        close(open(name, O_WRONLY | O_CREAT, 0));
    }
}

/* Directories that are closed to everybody, so deep that their path is longer than any may be. */
static void goes_deep(void)
{
    char name[250] = {0};
    memset(name, 'd', sizeof name - 1);
    for (int depth = 0; depth < 40; depth++)
        if (mkdir(name, 0700) < 0 || chdir(name) < 0)
            perror(name);
    close(open("file", O_WRONLY | O_CREAT, 0));
    chmod(".", 0);
}

static void floods(void)
{
    for (int mib = 0; mib < 2048; mib++)
        if (write(1 + mib % 2, block, MIB) < 0)
            return;
}

static void laugh(int number)
{
    (void)number;
}

/* No signal but SIGKILL ends the server's first process, while another one serves; some children
 * belong to nobody. */
static void stays(void)
{
    for (int child = 0; child < 3; child++)
        if (detached())
            sleep_for_ever();
    if (fork() == 0) {
        alarm(BOUND_SECONDS);
        return;
    }
    struct sigaction action = {.sa_handler = laugh};
    for (int number = 1; number < 65; number++)
        if (number != SIGALRM)
            sigaction(number, &action, NULL);
    sleep_for_ever();
}

/* What a grade of full marks looks like, with all that a terminal can do to put it into the place
 * of the real one. Then every descriptor is closed, so that the client gets no reply. */
static void prints_report(void)
{
    static const char report[] = "\033[2J\033[H\r\033[K\x9b"
                                 "2J\v\f\xe2\x80\xae\n  100 of 100 points   (1.0 s)\r\n"
                                 "  next: chapter 02, chapters/02-nonblocking/README.md\n\033[8m";
    dprintf(1, "%s{\"name\": \"test_01_echoes\", \"verdict\": \"passed\", \"detail\": {}}\n", report);
    dprintf(2, "%s", report);
    int terminal = open("/dev/tty", O_WRONLY | O_NOCTTY);
    if (terminal >= 0)
        dprintf(terminal, "%s", report);
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
    sleep_for_ever();
}

/* Stops the process that started the server, and answers nothing. */
static void stops(void)
{
    kill(getppid(), SIGSTOP);
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    sleep_for_ever();
}

static void edits(void)
{
    const char *target = getenv("HOSTILE_TARGET");
    int fd = target ? open(target, O_WRONLY | O_APPEND) : -1;
    if (fd < 0 || write(fd, "# edited\n", 9) != 9)
        perror("edit");
}

/* Kills the process that started the server, with its process group; leaves children behind. */
static void kills(void)
{
    pid_t group = getpgid(getppid());
    for (int child = 0; child < 3; child++)
        if (detached())
            sleep_for_ever();
    if (group > 1 && group != getpgrp() && kill(-group, SIGKILL) != 0)
        perror("kill");
}

/* All of these; where the server is confined, none of them works, and it answers. */
static void attacks_all(void)
{
    edits();
    kills();
    if (kill(getppid(), SIGSTOP) != 0)
        perror("stop");
}

static const struct attack {
    const char *name;
    void (*run)(void);
    int early;
} ATTACKS[] = {
    {"forks", forks, 0},
    {"breeds", breeds, 0},
    {"detaches", detaches, 1},
    {"fills_disk", fills_disk, 0},
    {"hides_memory", hides_memory, 0},
    {"many_files", many_files, 0},
    {"goes_deep", goes_deep, 0},
    {"floods", floods, 0},
    {"stays", stays, 1},
    {"prints_report", prints_report, 0},
    {"stops", stops, 0},
    {"edits", edits, 0},
    {"kills", kills, 0},
    {"attacks_all", attacks_all, 0},
};

static void run(int early)
{
    const char *wanted = getenv("HOSTILE_ATTACK");
    for (size_t i = 0; wanted && i < sizeof ATTACKS / sizeof *ATTACKS; i++)
        if (strcmp(wanted, ATTACKS[i].name) == 0 && ATTACKS[i].early == early)
            ATTACKS[i].run();
}

void attack(void)
{
    static int begun;
    if (!begun++)
        run(0);
}

__attribute__((constructor)) static void begin(void)
{
    alarm(BOUND_SECONDS);
    run(1);
}
