#include "server_use.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double server_cpu_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

long server_resident_bytes(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    long pages = 0; /* the second number: see proc(5) */
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}
