/*
 * Tries: to read each file that paths.h names, by its path and by that from /proc/self/root, and to
 * look into all other processes. It says on stderr what it has reached, files by their numbers, and
 * is a right server otherwise.
 * Bounded by: a single attempt at each; an alarm.
 */
#include "hostile.h"
#include <dirent.h>
#include <sys/ptrace.h>

static const char *const PATHS[] = {
#include "paths.h"
};

/* Whether so many bytes of it could be read. */
static int reads(const char *path, ssize_t least)
{
    char byte;
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    int got = fd >= 0 && read(fd, &byte, 1) >= least;
    if (fd >= 0)
        close(fd);
    return got;
}

static void read_all(const char *how, const char *below)
{
    char path[8192];
    fprintf(stderr, "%s", how);
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        snprintf(path, sizeof path, "%s%s", below, PATHS[i]);
        if (reads(path, 0))
            fprintf(stderr, " %zu", i);
    }
    fprintf(stderr, "\n");
}

/* Its memory, its directories, and the files that it has opened. */
static void look_into(int process)
{
    const char *const files[] = {"environ", "maps", "auxv", "cwd/Makefile", "root/etc/passwd"};
    char path[512], target[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", process, files[i]);
        if (reads(path, 1))
            fprintf(stderr, " %s", path);
    }
    for (int fd = 0; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", process, fd);
        if (readlink(path, target, sizeof target) >= 0)
            fprintf(stderr, " %d/fd", process);
    }
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    int memory = open(path, O_RDONLY);
    if (memory >= 0 || ptrace(PTRACE_SEIZE, process, NULL, NULL) == 0)
        fprintf(stderr, " %s", path);
    close(memory);
}

static void look_into_others(void)
{
    DIR *processes = opendir("/proc");
    fprintf(stderr, "processes");
    for (struct dirent *one; processes && (one = readdir(processes));)
        if (atoi(one->d_name) > 0 && atoi(one->d_name) != getpid())
            look_into(atoi(one->d_name));
    fprintf(stderr, "\n");
}

int main(void)
{
    bounded();
    int fd = listener();
    read_all("read", "");
    read_all("root", "/proc/self/root");
    look_into_others();
    announce(fd);
    serve(fd, NULL);
}
