#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct shared *shared;

static const char *const NAMES[CALLS] = {
#define CALL_NAME(name, does) #name,
    EACH_CALL(CALL_NAME)
#undef CALL_NAME
};

static void *_Atomic functions[CALLS];

void *real_function(enum call call)
{
    void *found = functions[call];
    if (found == NULL)
        functions[call] = found = dlsym(RTLD_NEXT, NAMES[call]);
    return found;
}

int no_such_function(void)
{
    errno = ENOSYS;
    return -1;
}

bool is_known(enum call call)
{
    return functions[call] != NULL;
}

/* The harness sends SIGUSR1 to interrupt a call that waits (EINTR, or a transfer cut short). The
 * handler does nothing, and is installed without SA_RESTART. */
static void ignore_signal(int number)
{
    (void)number;
}

static struct shared *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat st;
    void *map = MAP_FAILED;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof(struct shared))
        map = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REAL(close)(fd);
    if (map == MAP_FAILED)
        return NULL;
    struct shared *found = map;
    if (found->magic == MAGIC && found->version == VERSION)
        return found;
    munmap(map, sizeof(struct shared));
    return NULL;
}

__attribute__((constructor)) static void shim_start(void)
{
    int saved = errno;
    /* Now, since dlsym() must not be called in a signal handler, and write() may be. liburing may
     * not be there: see rings.c. */
    for (enum call call = 0; call < CALLS; call++)
        if (call != CALL_io_uring_enter)
            real_function(call);
    const char *path = getenv("EVENT_LOOP_SHIM");
    struct shared *found = path != NULL ? map_file(path) : NULL;
    if (found != NULL && found->duties & CRASHES_NOTE)
        crash_start(&found->crash);
    if (found != NULL && found->duties & CALLS_COUNT) {
        shared = found;
        struct sigaction action = {.sa_handler = ignore_signal};
        sigaction(SIGUSR1, &action, NULL);
        record_start();
        waits_start();
        sockets_start();
        if (getenv("EVENT_LOOP_DEBUG") != NULL) /* gdb is not our ancestor: see ptrace(2), Yama */
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
    errno = saved;
}
