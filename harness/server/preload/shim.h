/*
 * A library that is loaded into a server (LD_PRELOAD). It counts and records the server's system
 * calls, and makes them fail, or move fewer bytes, as a schedule says.
 *
 * The environment variable EVENT_LOOP_SHIM names a file of the layout below, made by the harness,
 * which reads and writes it while the server runs. Every process of the server maps the same file.
 * Without the variable, or when the file is not as expected, the library changes nothing.
 *
 *   calls.c    calls that move bytes, accept or close, and those for io_uring
 *   waits.c    calls that wait, where each thread waits, and until when on the server's clock
 *   clock.c    the clock that the server reads: the harness can move it; sleeps and timers
 *   turn.c     one call from its beginning to its end: counted, scheduled, recorded
 *   record.c   the record of all calls; what a wait was for, where a trace is wanted
 *   sockets.c  which descriptor is which connection; readiness
 *   shared.c   the file, and the handlers of signals: SIGUSR1, and those of a crash
 *   alloc.c    a library of its own: malloc() and its relatives, which fail when told to
 *
 * How it works: the dynamic linker finds our write() before the C library's. Calls that the C
 * library makes by itself (the write() inside of printf) do not come by here, and a statically
 * linked server does not load it. Nor do rarer functions, such as sendfile(): a claim that needs
 * them is then not judged, see require_calls() in shared.py.
 */
#ifndef SHIM_H
#define SHIM_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The layout of the file, up to THE END. shared.py reads it from here: write numbers, enumerations,
 * and structures of integers, arrays and other structures. */
#define MAGIC          0x4d494853 /* "SHIM" */
#define PLANS_MAX      64
#define STEPS_MAX      64
#define PORTS          65536
#define RECORD_ENTRIES 16384 /* then the oldest are overwritten */
#define LONGEST_ROUND  256   /* entries, of what is counted when it repeats: see record.c */
#define WAITERS        512   /* threads; what more of them wait for is not told */

/* What a call does, as far as a schedule is concerned. */
enum group { OUTPUT = 1, INPUT = 2, WAIT = 4, ACCEPT = 8, CLOSE = 16, ALLOCATION = 32 };

/* Every function that is looked after: X(name, group). The record names them by their place. */
#define EACH_CALL(X)                                                                               \
    X(write, OUTPUT)                                                                               \
    X(writev, OUTPUT)                                                                              \
    X(send, OUTPUT)                                                                                \
    X(sendto, OUTPUT)                                                                              \
    X(sendmsg, OUTPUT)                                                                             \
    X(read, INPUT)                                                                                 \
    X(readv, INPUT)                                                                                \
    X(recv, INPUT)                                                                                 \
    X(recvfrom, INPUT)                                                                             \
    X(recvmsg, INPUT)                                                                              \
    X(poll, WAIT)                                                                                  \
    X(ppoll, WAIT)                                                                                 \
    X(select, WAIT)                                                                                \
    X(pselect, WAIT)                                                                               \
    X(epoll_wait, WAIT)                                                                            \
    X(epoll_pwait, WAIT)                                                                           \
    X(accept, ACCEPT)                                                                              \
    X(accept4, ACCEPT)                                                                             \
    X(close, CLOSE)                                                                                \
    X(malloc, ALLOCATION)                                                                          \
    X(epoll_ctl, 0)                                                                                \
    X(clock_gettime, 0)                                                                            \
    X(clock_nanosleep, 0)                                                                          \
    X(timerfd_settime, 0)                                                                          \
    X(setitimer, 0)                                                                                \
    X(alarm, 0)                                                                                    \
    X(timer_create, 0)                                                                             \
    X(io_uring_enter, 0)

/* One step of a plan. Both 0: the call goes through as it is. */
struct step {
    int32_t error;  /* the errno the call fails with; SPURIOUS; or 0 */
    uint32_t limit; /* the next bytes: no call moves more than what is left of them; or 0 */
};

/* In place of an errno: the wait before has reported what is not there, see BUGS in select(2). A call
 * fails with EAGAIN; one that may wait does so until the schedule is another. */
#define SPURIOUS (-1)
#define ANY      (-1) /* connection */

/* What happens to some of the calls, one step after the other. Only calls that could get something
 * done count: not the read() of a non-blocking socket that has nothing to read. The server writes
 * what is _Atomic, the harness the rest. */
struct plan {
    uint32_t groups;    /* of enum group; 0: the plan is not in use */
    int32_t connection; /* as numbered by accept(), from 0; ANY */
    uint32_t skip;      /* so many calls go through first */
    uint32_t steps;     /* in use */
    uint64_t cycles;    /* not 0: after the last step comes the first one again */
    uint64_t at_least;  /* bytes: calls that ask for fewer do not count */
    struct step step[STEPS_MAX];
    _Atomic uint64_t calls; /* so many have counted */
    _Atomic uint64_t fired; /* so many have been changed */
    _Atomic uint32_t at;    /* the step that comes next; one that cycles counts on */
    _Atomic uint32_t moved; /* bytes of its limit that have been moved */
    _Atomic int32_t hit;    /* port of the peer of the last call that has been changed, or 0 */
};

/* Where a process has crashed: the first that has, of all that map the file. Addresses of code are
 * those of the file `program`, as addr2line(1) wants them; it knows no lines of those outside. The
 * frames follow `signal`, one by one. */
#define FRAMES_MAX  16
#define PROGRAM_MAX 512
#define NO_ADDRESS  0xffffffffffffffff
struct crash {
    _Atomic uint32_t pid;       /* 0: no process has crashed */
    _Atomic int32_t signal;     /* 0: what comes next is not written yet */
    uint64_t address;           /* that was used, of SIGSEGV and SIGBUS; NO_ADDRESS: not known */
    uint64_t pc, sp;            /* registers: program counter and stack pointer */
    uint64_t frame[FRAMES_MAX]; /* the innermost comes first; an unused one is 0 */
    char program[PROGRAM_MAX];  /* path of the file that was executed */
};

/* The clock that the server reads. The harness writes all but `reads`. A clock that FLOWS goes on
 * with the machine's; then its two times are what has to be added to CLOCK_MONOTONIC. One that
 * STANDS is moved by the harness. The time of day may be moved alone. */
enum mode { MACHINE, FLOWS, STANDS };

struct clock {
    _Atomic uint32_t mode;
    _Atomic uint32_t generation; /* raised by 2 at each move; odd while it is written */
    _Atomic int64_t monotonic_ns;
    _Atomic int64_t realtime_ns;
    _Atomic uint64_t reads; /* so often the server has read it */
};

/* A thread that has waited. It writes all of it. */
struct waiter {
    _Atomic uint32_t pid;   /* 0: nobody's */
    _Atomic uint32_t tid;   /* 0: not written yet */
    _Atomic uint32_t call;  /* enum call, of its last wait */
    _Atomic int32_t fd;     /* that this was for; -1: none */
    _Atomic int64_t due_ns; /* on the monotonic clock of the server: when the wait ends; NO_DUE */
    _Atomic uint32_t waits; /* now: 1 or 0 */
    _Atomic uint32_t count; /* of its waits so far */
    _Atomic uint32_t seen;  /* generation of the clock when it has looked at it last */
};

#define NO_DUE 0x7fffffffffffffff

/* One call, after it has returned. */
struct entry {
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t took_ns;
    int64_t size; /* bytes that were asked for; of a wait: descriptors; of accept(): peer's port */
    int64_t result; /* what was returned */
    int32_t fd;     /* -1: none */
    int32_t connection;
    int32_t error; /* errno, when the result is -1 */
    uint16_t call; /* enum call */
    uint16_t flags;
    uint32_t thread;        /* gettid() */
    _Atomic uint32_t stamp; /* number of the entry, from 1; 0 while it is written */
};

/* WATCHED: not a call of its own, but what the wait behind it was for: `fd` was waited for with the
 * interest in `size`, and was ready as `result` says. Both are of enum watched.
 * REPEATED: the `size` entries of this thread before it came again and again: `result` more
 * entries, the last of them `took_ns` after `start_ns`. It grows for as long as they do. */
enum flag { FAULT = 1, CLOSED_TWICE = 2, WATCHED = 4, REPEATED = 8 };

/* END: the peer sends no more. CLOSED: the descriptor is not open. */
enum watched { IN = 1, OUT = 2, ERROR = 4, HANGUP = 8, END = 16, URGENT = 32, CLOSED = 64 };

/* What the library is to do. */
enum duty { CALLS_COUNT = 1, CRASHES_NOTE = 2 };

struct shared {
    uint32_t magic;
    uint32_t duties;          /* of enum duty */
    _Atomic uint64_t outputs; /* calls so far; transfers of stdin, stdout and stderr do not count */
    _Atomic uint64_t inputs;
    _Atomic uint64_t waits;
    _Atomic uint64_t accepts;
    _Atomic uint32_t connections;          /* accepted so far */
    _Atomic uint32_t connection_of[PORTS]; /* its number + 1, by the port of the peer */
    _Atomic uint32_t recorded;             /* entries so far */
    _Atomic uint32_t generation;           /* odd while the harness writes the plans */
    uint32_t plans;                        /* in use: the first so many */
    uint32_t detail;                /* not 0: what is watched is recorded, too, and under_way */
    _Atomic uint32_t pauses;        /* by SIGSTOP and SIGCONT, which the server is not to know */
    _Atomic uint32_t signals;       /* that the harness has sent beside these */
    _Atomic uint32_t rings;         /* calls for io_uring so far */
    _Atomic uint32_t kernel_timers; /* set so far: they go by the clock of the machine */
    _Atomic uint32_t under_way;     /* the last call that began and has not returned: its enum call,
                                       and 1; or 0 */
    _Atomic int32_t under_way_fd;   /* and what it has in an entry */
    _Atomic int64_t under_way_size;
    _Atomic uint64_t under_way_since;
    struct crash crash;
    struct clock clock;
    struct waiter waiter[WAITERS];
    struct plan plan[PLANS_MAX];
    struct entry entry[RECORD_ENTRIES];
};
/* THE END */

enum call {
#define CALL_ID(name, does) CALL_##name,
    EACH_CALL(CALL_ID)
#undef CALL_ID
        CALLS
};

extern struct shared *shared; /* NULL: the library does nothing */

/* The C library's function. */
void *real_function(enum call call);

/* Returns true if the function has been found already: then real_function() does not look it up. */
bool is_known(enum call call);

#define REAL(name) ((__typeof__(name) *)real_function(CALL_##name))

/* waits.c. A wait with a limit, or none, where `set` is NULL or as for ppoll():
 *
 *     wait_begin(&wait, call, fd, limit, set);
 *     do
 *         result = a call that waits for `wait.limit` with the signals of `wait.set`;
 *     while (wait_again(&wait, result says that nothing has come));
 *     wait_end(&wait);
 */
struct wait {
    const struct timespec *limit;
    const sigset_t *set;
    int64_t due_ns;    /* on the monotonic clock that the server reads, or NO_DUE */
    bool noted;        /* in the table of waiters */
    bool sliced;       /* the clock is ours: `limit` is that of a slice, and `set` the one below */
    uint64_t began_ns; /* on the machine's clock */
    struct timespec slice;
    sigset_t mask, before;
};

void waits_start(void);
void wait_begin(struct wait *wait, enum call call, int fd, const struct timespec *limit,
                const sigset_t *set);
bool wait_again(struct wait *wait, bool nothing);
int64_t wait_left(const struct wait *wait); /* ns */
void wait_end(struct wait *wait);           /* keeps errno */

/* clock.c. clock_is_ours() returns true if the harness provides this clock; clock_now() returns its
 * time for the server, clock_machine() that of the machine, in ns. */
bool clock_is_ours(clockid_t id);
int64_t clock_now(clockid_t id);
int64_t clock_machine(clockid_t id);
struct timespec clock_timespec(int64_t ns);

/* A limit in ns, at most NO_DUE - 1; NO_LIMIT for NULL. 0 if it is invalid, so that the real call is
 * made, and says so. */
int64_t limit_of(const struct timespec *limit);

#define NO_LIMIT (-1)

/* turn.c: one call. turn_begin() comes first; then either turn.error is set and turn_fail() makes
 * the result, or the call is made, for turn.size bytes, and turn_end() takes its result. */
struct turn {
    enum call call;
    enum group group;
    int fd;
    int connection;
    int flags;          /* of recv() and send() */
    size_t asked;       /* bytes */
    size_t size;        /* bytes that it may move: asked, or fewer */
    int error;          /* errno, or 0 */
    bool closed_before; /* of a close(): the connection was closed already */
    struct plan *plan;  /* whose step limits it, or NULL */
    uint32_t generation;
    uint32_t pauses, signals; /* so far */
    uint64_t start_ns;
};

struct turn turn_begin(enum call call, int fd, size_t size, int flags);
ssize_t turn_fail(struct turn *turn);
ssize_t turn_end(struct turn *turn, ssize_t result);

/* Returns true if only a pause has interrupted a wait of epoll, which is then made again. No other
 * scheduled call is interrupted like this: signal(7), "Interruption of system calls and library
 * functions by stop signals". */
bool turn_was_paused(struct turn *turn);

/* record.c. Puts an entry into the record; it says all but took_ns, thread and stamp. `moves`: the
 * call has moved bytes, accepted or closed. */
void record_start(void);
void record_entry(struct entry entry, bool moves);
uint64_t record_now(void); /* ns, CLOCK_MONOTONIC */

/* The same for what a wait is for, before it is made; and after it, what is ready. Each does nothing
 * unless a trace is wanted. */
struct pollfd;
struct epoll_event;
void watched_poll(enum call call, const struct pollfd *fds, size_t count);
void watched_poll_ready(enum call call, const struct pollfd *fds, size_t count);
void watched_epoll(int fd, const struct epoll_event *event);
void watched_epoll_ready(const struct turn *turn, const struct epoll_event *events, int count);

/* A new connection: nothing is known of what its descriptor was watched for. */
void watched_forget(int fd);

#define FDS_MAX 65536 /* descriptors above are not looked after */

/* sockets.c. Connections are numbered as they are accepted, by all processes together. */
enum { NO_CONNECTION = -1 };

void sockets_start(void);
int sockets_accepted(int fd); /* returns the new connection's number */
int sockets_connection(int fd);

/* The same, also for a copy of the descriptor, which dup() or another process has made: the port of
 * the peer tells. */
int sockets_identified(int fd);

/* The port of the peer, in host order; 0 when that is no internet address. */
uint16_t sockets_peer(int fd);

/* To be called before close(). True: it was a connection and has been closed before. */
bool sockets_closing(int fd);

/* May this call wait? MSG_DONTWAIT in `flags` says no. */
bool sockets_blocking(int fd, int flags);

/* Is there something to read or accept, or space to write? */
bool sockets_ready(int fd, enum group group);

/* Edge-triggered epoll reports a change once. After a call that was kept from using up what there
 * is, the change has to be reported again, as it would be by a kernel that had less to give. */
void sockets_watched(int epfd, int operation, int fd, const struct epoll_event *event);
void sockets_rearm(int fd);

/* The next descriptor, from `from` on, that epfd watches with this `data`; or -1. */
int sockets_meant(int epfd, uint64_t data, int from);

#endif
