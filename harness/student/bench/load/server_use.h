/* What the server uses, asked of the kernel. */
#ifndef SERVER_USE_H
#define SERVER_USE_H

#include <sys/types.h>

/* CPU seconds of a process so far, all its threads; 0 if there is none. */
double server_cpu_seconds(pid_t pid);

/* Resident bytes of a process; 0 if there is none. */
long server_resident_bytes(pid_t pid);

#endif
