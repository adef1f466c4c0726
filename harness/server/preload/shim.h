/*
 * A library that is loaded into a server (LD_PRELOAD). It counts and records the server's system
 * calls, and makes them fail, or move fewer bytes, as a schedule says.
 *
 * The environment variable EVENT_LOOP_SHIM names a file of the layout below, made by the harness,
 * which reads and writes it while the server runs. Every process of the server maps the same file.
 * Without the variable, or when the file is not as expected, the library changes nothing.
 *
 *   calls.c      the functions that the server calls instead of the C library's
 *   turn.c       one call from its beginning to its end: counted, scheduled, recorded
 *   record.c     the record of all calls
 *   schedule.c   what the schedule has for a call
 *   sockets.c    which descriptor is which connection; readiness
 *   clock.c      the clock that the server reads: the harness can move it
 *   waits.c      where each thread waits, and until when on that clock
 *   sleeps.c     waits of a thread by itself
 *   timers.c     the kernel's timers, on that clock
 *   watched.c    what a wait was for, and what it found; only where a trace is wanted
 *   crash.c      where a program has crashed
 *   shared.c     the file, and the handler of SIGUSR1
 *   rings.c      counts the calls for io_uring
 *   alloc.c      a library of its own: malloc() and its relatives, which fail when told to
 *
 * How it works: the dynamic linker finds our write() before the C library's. Calls that the C
 * library makes by itself (the write() inside of printf) do not come by here, and a statically
 * linked server does not load it.
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

/* The layout of the file. shared.py says the same: change both, and VERSION too. */
#define MAGIC          0x4d494853u /* "SHIM" */
#define VERSION        13u
#define PLANS_MAX      64
#define STEPS_MAX      64
#define RECORD_ENTRIES 8192u /* of a table; then the oldest are overwritten */
#define WAITERS        512   /* threads; what more of them wait for is not told */
#define TIMERS         64

/* What a call does, as far as a schedule is concerned. */
enum group { OUTPUT = 1, INPUT = 2, WAIT = 4, ACCEPT = 8, CLOSE = 16, ALLOCATION = 32 };

/* Every function that is looked after: X(name, group). The record names them by their place. */
#define EACH_CALL(X)                                                                               \
    X(write, OUTPUT)                                                                               \
    X(writev, OUTPUT)                                                                              \
    X(send, OUTPUT)                                                                                \
    X(sendto, OUTPUT)                                                                              \
    X(sendmsg, OUTPUT)                                                                             \
    X(sendmmsg, OUTPUT)                                                                            \
    X(sendfile, OUTPUT)                                                                            \
    X(sendfile64, OUTPUT)                                                                          \
    X(read, INPUT)                                                                                 \
    X(__read_chk, INPUT)                                                                           \
    X(readv, INPUT)                                                                                \
    X(recv, INPUT)                                                                                 \
    X(__recv_chk, INPUT)                                                                           \
    X(recvfrom, INPUT)                                                                             \
    X(__recvfrom_chk, INPUT)                                                                       \
    X(recvmsg, INPUT)                                                                              \
    X(recvmmsg, INPUT)                                                                             \
    X(poll, WAIT)                                                                                  \
    X(__poll_chk, WAIT)                                                                            \
    X(ppoll, WAIT)                                                                                 \
    X(__ppoll_chk, WAIT)                                                                           \
    X(select, WAIT)                                                                                \
    X(pselect, WAIT)                                                                               \
    X(epoll_wait, WAIT)                                                                            \
    X(epoll_pwait, WAIT)                                                                           \
    X(epoll_pwait2, WAIT)                                                                          \
    X(accept, ACCEPT)                                                                              \
    X(accept4, ACCEPT)                                                                             \
    X(close, CLOSE)                                                                                \
    X(malloc, ALLOCATION)                                                                          \
    X(epoll_ctl, 0)                                                                                \
    X(clock_gettime, 0)                                                                            \
    X(gettimeofday, 0)                                                                             \
    X(time, 0)                                                                                     \
    X(timespec_get, 0)                                                                             \
    X(nanosleep, 0)                                                                                \
    X(clock_nanosleep, 0)                                                                          \
    X(pthread_cond_signal, 0)                                                                      \
    X(pthread_cond_broadcast, 0)                                                                   \
    X(pthread_cond_timedwait, 0)                                                                   \
    X(pthread_cond_clockwait, 0)                                                                   \
    X(timerfd_create, 0)                                                                           \
    X(timerfd_settime, 0)                                                                          \
    X(timerfd_gettime, 0)                                                                          \
    X(setitimer, 0)                                                                                \
    X(getitimer, 0)                                                                                \
    X(alarm, 0)                                                                                    \
    X(timer_create, 0)                                                                             \
    X(io_uring_enter, 0)                                                                           \
    X(prctl, 0)

enum call {
#define CALL_ID(name, does) CALL_##name,
    EACH_CALL(CALL_ID)
#undef CALL_ID
        CALLS
};

/* One step of a plan. Both 0: the call goes through as it is. */
struct step {
    int32_t error;  /* the errno the call fails with; SPURIOUS; or 0 */
    uint32_t limit; /* the next bytes: no call moves more than what is left of them; or 0 */
};

/* A wait that reports the plan's connection as readable although nothing is there. */
#define SPURIOUS (-1)

/* What happens to some of the calls, one step after the other. Only calls that could get something
 * done count: not the read() of a non-blocking socket that has nothing to read. The server writes
 * what is _Atomic, the harness the rest. */
struct plan {
    uint32_t groups;    /* of enum group; 0: the plan is not in use */
    int32_t connection; /* as numbered by accept(), from 0; ANY */
    uint32_t skip;      /* so many calls go through first */
    uint32_t steps;     /* in use */
    uint64_t seed;      /* not 0: for ever a step drawn by chance, with a limit of 1 to its own */
    uint64_t at_least;  /* bytes: calls that ask for fewer do not count */
    struct step step[STEPS_MAX];
    _Atomic uint64_t calls; /* so many have counted */
    _Atomic uint64_t fired; /* so many have been changed */
    _Atomic uint32_t at;    /* the step that comes next */
    _Atomic uint32_t moved; /* bytes of its limit that have been moved */
    _Atomic int32_t hit;    /* port of the peer of the last call that has been changed, or 0 */
    int32_t unused;
};

#define ANY (-1)

/* Where a process has crashed: the first that has, of all that map the file. Addresses of code are
 * those of the file `program`, as addr2line(1) wants them; OUTSIDE of it, in a library or nowhere.
 * The frames follow `signal`, one by one. */
#define FRAMES_MAX  16
#define PROGRAM_MAX 512
#define OUTSIDE     0u
#define NO_ADDRESS  UINT64_MAX
struct crash {
    _Atomic uint32_t pid;       /* 0: no process has crashed */
    _Atomic int32_t signal;     /* 0: what comes next is not written yet */
    uint64_t address;           /* that was used, of SIGSEGV and SIGBUS; NO_ADDRESS: not known */
    uint64_t pc, sp;            /* registers: program counter and stack pointer */
    uint64_t frame[FRAMES_MAX]; /* the innermost comes first; an unused one is OUTSIDE */
    char program[PROGRAM_MAX];  /* path of the file that was executed */
};

/* The clock that the server reads. The harness writes all but `reads`. A clock that FLOWS goes on
 * with the machine's; then its two times are what has to be added to CLOCK_MONOTONIC. One that
 * STANDS is moved by the harness. The time of day may be moved alone. */
enum clock_mode { CLOCK_OF_THE_MACHINE, CLOCK_FLOWS, CLOCK_STANDS };

struct clock {
    _Atomic uint32_t mode;
    _Atomic uint32_t generation; /* raised by 2 at each move; odd while it is written */
    _Atomic int64_t monotonic_ns;
    _Atomic int64_t realtime_ns;
    _Atomic uint64_t reads; /* so often the server has read it */
};

/* A thread that has waited. It writes all of it. */
enum waiter_state { RUNS, WAITS };

struct waiter {
    _Atomic uint32_t pid;   /* 0: nobody's */
    _Atomic uint32_t tid;   /* 0: not written yet */
    _Atomic uint32_t call;  /* enum call */
    _Atomic int32_t fd;     /* -1: none */
    _Atomic int64_t due_ns; /* on the monotonic clock that the server reads; NO_DUE */
    _Atomic uint32_t state; /* enum waiter_state */
    _Atomic uint32_t waits; /* so often it has begun to wait */
    _Atomic uint32_t seen;  /* generation of the clock when it has looked at it last */
    uint32_t unused;
};

#define NO_DUE INT64_MAX

/* A timer of the kernel, made by a process that has a clock of ours. */
enum timer_kind { NO_TIMER, TIMER_DESCRIPTOR, TIMER_SIGNAL };

struct timer {
    _Atomic uint32_t pid;        /* 0: nobody's */
    uint32_t kind;               /* enum timer_kind */
    int32_t which;               /* its descriptor, or the number of its signal */
    int32_t clock;               /* clockid_t */
    _Atomic int64_t due_ns;      /* on this clock; NO_DUE: it is not armed */
    _Atomic int64_t interval_ns; /* 0: once */
};

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

/* FLAG_WATCHED: not a call of its own, but what the wait behind it was for: `fd` was waited for
 * with the interest in `size`, and was ready as `result` says. Both are of enum watched.
 * FLAG_REPEATED: the `size` entries of this thread before it came again and again: `result` more
 * entries, the last of them `took_ns` after `start_ns`. It grows for as long as they do.
 *
 * There are two tables, so that a server that spins does not push out the calls that tell where the
 * bytes are. MAJOR has the calls that moved bytes, accepted or closed, and the FLAG_REPEATED. */
enum table { MINOR, MAJOR, TABLES };

enum { FLAG_FAULT = 1, FLAG_CLOSED_TWICE = 2, FLAG_WATCHED = 4, FLAG_REPEATED = 8 };

/* END: the peer sends no more. CLOSED: the descriptor is not open. */
enum watched {
    WATCHED_IN = 1,
    WATCHED_OUT = 2,
    WATCHED_ERROR = 4,
    WATCHED_HANGUP = 8,
    WATCHED_END = 16,
    WATCHED_URGENT = 32,
    WATCHED_CLOSED = 64,
};

/* What the library is to do. */
enum duty { CALLS_COUNT = 1, CRASHES_NOTE = 2 };

struct shared {
    uint32_t magic;
    uint32_t version;
    _Atomic uint64_t outputs; /* calls so far; transfers of stdin, stdout and stderr do not count */
    _Atomic uint64_t inputs;
    _Atomic uint64_t waits;
    _Atomic uint64_t accepts;
    _Atomic uint32_t connections; /* accepted so far */
    _Atomic uint32_t recorded;    /* entries so far */
    _Atomic uint32_t generation;  /* odd while the harness writes the plans */
    uint32_t plans;               /* in use: the first so many */
    uint32_t detail;              /* not 0: what is watched is recorded, too, and under_way */
    _Atomic uint32_t pauses;      /* by SIGSTOP and SIGCONT, of which the server is not to know */
    _Atomic uint32_t signals;     /* that the harness has sent beside these */
    uint32_t duties;              /* of enum duty */
    _Atomic uint64_t under_way; /* the last call that began and has not returned: its enum call + 1
                                   in the upper half, its descriptor in the lower; or 0 */
    _Atomic uint64_t under_way_size; /* and what it has as `size` and `start_ns` of an entry */
    _Atomic uint64_t under_way_since;
    _Atomic uint32_t placed[TABLES]; /* entries so far in each table */
    uint32_t taken;                  /* of those in MAJOR: seen by the harness */
    _Atomic uint32_t rings;          /* calls of io_uring_enter() so far */
    _Atomic uint32_t kernel_timers;  /* set so far, with signals, on the clock of the machine */
    struct crash crash;
    struct clock clock;
    struct waiter waiter[WAITERS];
    struct timer timer[TIMERS];
    struct plan plan[PLANS_MAX];
    _Atomic uint32_t connection_of[UINT16_MAX + 1]; /* its number + 1, by the port of the peer */
    struct entry entry[TABLES][RECORD_ENTRIES];
};

extern struct shared *shared; /* NULL: the library does nothing */

/* The C library's function, NULL if it has none of that name. */
void *real_function(enum call call);

/* Whether it has been found already: then real_function() looks for nothing. */
bool is_known(enum call call);

#define REAL(name) ((__typeof__(name) *)real_function(CALL_##name))

/* The C library's function, if it has it. */
#define CALL(name, ...) (REAL(name) != NULL ? REAL(name)(__VA_ARGS__) : no_such_function())

int no_such_function(void);

/* clock.c. Whether the harness gives the server this clock; its time for the server; that of the
 * machine, in which the library itself measures. */
bool clock_is_ours(clockid_t id);
int64_t clock_now(clockid_t id);
int64_t clock_machine(clockid_t id);
struct timespec clock_timespec(int64_t ns);
int64_t clock_ns(time_t seconds, int64_t ns); /* at most NO_DUE - 1 */

/* A limit in ns. 0 if it is invalid, so that the real call is made, and says so. */
int64_t limit_of(const struct timespec *limit);

#define NO_LIMIT (-1)

/* waits.c. A wait:
 *
 *     struct wait wait = wait_for(call, fd, limit);
 *     do
 *         result = wait.sliced ? a call that waits for `wait.slice` : the call as it is;
 *     while (wait_again(&wait, result says that nothing has come));
 *     wait_end(&wait);
 *
 * With wait_with_mask() the slices are calls that have the mask `wait.mask`. */
struct wait {
    clockid_t clock;
    int64_t due_ns; /* on this clock, or NO_DUE */
    bool noted;     /* in the table of waiters */
    bool sliced;
    bool masked;
    uint64_t began_ns; /* on the machine's clock */
    struct timespec slice;
    sigset_t mask, before;
};

void waits_start(void);
struct wait wait_for(enum call call, int fd, int64_t limit_ns); /* NO_LIMIT; 0: it does not wait */
struct wait wait_until(enum call call, int fd, clockid_t clock, int64_t due_ns);
void wait_with_mask(struct wait *wait, const sigset_t *mask);
bool wait_again(struct wait *wait, bool nothing);
int64_t wait_left(const struct wait *wait); /* ns */
void wait_end(struct wait *wait);           /* keeps errno */

/* timers.c. Whether the process has a timerfd of ours; timers_fire() lets those expire that are
 * due, and returns whether there were some; timers_await() waits before a read() that may wait. */
bool timers_in_use(void);
bool timers_fire(void);
void timers_closing(int fd);
bool timers_await(int fd);

/* crash.c. From now on a crash is written to this place of the file. The place is that of a program
 * which has no sanitizer: under one nothing happens. */
void crash_start(struct crash *place);

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
    int error;          /* errno, SPURIOUS, or 0 */
    bool closed_before; /* of a close(): the connection was closed already */
    struct plan *plan;  /* whose step limits it, or NULL */
    uint32_t generation;
    uint32_t pauses, signals; /* so far */
    uint64_t start_ns;
};

struct turn turn_begin(enum call call, int fd, size_t size, int flags);
ssize_t turn_fail(struct turn *turn);
ssize_t turn_end(struct turn *turn, ssize_t result);

/* Whether a wait that failed has to be made again, as nothing but a pause has interrupted it. That
 * happens to epoll's waits alone, see "Interruption of system calls and library functions by stop
 * signals" in signal(7). */
bool turn_was_paused(struct turn *turn);

/* Records that a wait was for this descriptor. */
void turn_watched(const struct turn *turn, int fd, unsigned interest, unsigned ready);

/* record.c. Puts an entry into the record; it says all but took_ns, thread and stamp. */
void record_start(void);
void record_entry(struct entry entry, enum table table);
uint64_t record_now(void); /* ns, CLOCK_MONOTONIC */

/* schedule.c. Looks for a step for this call: sets error, or size and plan, of `turn`. */
void schedule_apply(struct turn *turn);

/* Takes note of how many bytes the call has moved. */
void schedule_moved(struct turn *turn, ssize_t result);

#define FDS_MAX 65536 /* descriptors above are not looked after */

/* sockets.c. Connections are numbered as they are accepted, by all processes together. */
enum { NO_CONNECTION = -1 };

void sockets_start(void);
int sockets_accepted(int fd); /* returns the new connection's number */
int sockets_connection(int fd);

/* The same for a call that moves bytes. A copy of a descriptor, and one that another process has
 * sent, is a connection that accept() has returned, too: its peer tells which. */
int sockets_identified(int fd);

/* The port of the peer, in host order; 0 when that is no internet address. */
uint16_t sockets_peer(int fd);

int sockets_find(int connection,
                 int from); /* its descriptor, or any (ANY), from `from` on; or -1 */

/* To be called before close(). True: it was a connection and has been closed before. */
bool sockets_closing(int fd);

/* May this call wait? MSG_DONTWAIT in `flags` says no. */
bool sockets_blocking(int fd, int flags);

/* Is there something to read or accept, or space to write? */
bool sockets_ready(int fd, enum group group);

/* Edge-triggered epoll reports a change once. After a call that was kept from using up what there
 * is, the change has to be reported again, as it would be by a kernel that had less to give. */
struct epoll_event;
void sockets_watched(int epfd, int operation, int fd, const struct epoll_event *event);
void sockets_rearm(int fd);

/* What epfd watches `fd` for. False: nothing. */
bool sockets_event(int epfd, int fd, struct epoll_event *event);

/* The next descriptor, from `from` on, that epfd watches with this `data`; or -1. */
int sockets_meant(int epfd, uint64_t data, int from);

/* watched.c. What a wait is for, before it is made; and after it, what is ready. Each leaves errno
 * alone, and does nothing unless a trace is wanted. */
struct pollfd;
void watched_poll(const struct turn *turn, const struct pollfd *fds, size_t count);
void watched_poll_ready(const struct turn *turn, const struct pollfd *fds, size_t count);
void watched_select(const struct turn *turn, int count, const void *in, const void *out,
                    const void *urgent);
void watched_select_ready(const struct turn *turn, int count, const void *in, const void *out,
                          const void *urgent);
void watched_epoll(int fd, const struct epoll_event *event);
void watched_epoll_ready(const struct turn *turn, const struct epoll_event *events, int count);

/* A new connection: nothing is known of what its descriptor was watched for. */
void watched_forget(int fd);

#endif
