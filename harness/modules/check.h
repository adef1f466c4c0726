/*
 * What the grader's own programs are made of. Such a program is linked with modules of a server and
 * calls them as the server would. modules/program.py starts it once for each check and reads
 * what the check has to say from memory that both share: so it is there also when the module has
 * brought the program down, and nothing that the module prints is taken for it.
 *
 * A program is a file NN_name.c of this directory with
 *
 *     a line of its head comment that names the module's files:  * links: reader.c writer.c
 *     (or several; "co.c?" is one that may be missing)
 *     #include "check.h", and others that are here: each brings its .c
 *     const struct check checks[], its checks, the last one all zero
 *
 * A check tells each step before it makes it, since it may be the last; it returns when all is as
 * it should be. All functions but check_at_the_end() may be called by any thread.
 */
#ifndef GRADER_CHECK_H
#define GRADER_CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Callbacks need not use all that they get; and what is called has to be declared. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic error "-Wimplicit-function-declaration"

struct check {
    const char *name;
    void (*run)(void);
};

extern const struct check checks[];

/* Begins another case: only the steps of the last one are told. */
void check_case(void);

/* What the program does next, from a verb on: "calls reader_i16()". Of very many steps the first
 * are forgotten. */
__attribute__((format(printf, 1, 2))) void check_step(const char *format, ...);

/* The module is wrong, in the step that was told last: one sentence, no advice; `hint` is a key of
 * harness/feedback/hints.md. */
__attribute__((format(printf, 2, 3))) _Noreturn void check_fail(const char *hint,
                                                                const char *format, ...);

/* The same, unless the condition holds. */
#define CHECK(condition, hint, ...)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(hint, __VA_ARGS__);                                                         \
    } while (0)

/* The same, unless the `came_size` bytes that came equal those that are due; a failure shows both.
 * `what` came: "the frame". */
void check_equal(const char *hint, const char *what, const void *due, size_t due_size,
                 const void *came, size_t came_size);

/* The machine is to blame: nothing is judged. */
__attribute__((format(printf, 1, 2))) _Noreturn void check_impossible(const char *format, ...);

/* A number for the claim, which judges it: a time, a count. */
void check_value(const char *name, double value);

/* What the claim has given the check under this name, as text or as a number; or else "" and 0. */
const char *check_option(const char *name);
long check_number(const char *name);

/* "3 bytes: ff 00 01", of many only the first. Good until the thread has asked for eight more. */
const char *check_hex(const void *data, size_t size);

/* "once", "3 times". Good as long. */
const char *check_times(long count);

/* Why a function of the module has failed, as errno says, which the module may have left 0. Good as
 * long. */
const char *check_reason(void);

/* Chance: the same for every run with the same SEED. check_below: from 0 to `limit` - 1. */
uint64_t check_random(void);
uint64_t check_below(uint64_t limit);
void check_fill(void *bytes, size_t size);

/* A copy behind whose last byte memory ends: to touch the next byte is a SIGSEGV. Good until the
 * next call. */
uint8_t *check_at_the_end(const void *data, size_t size);

/* So much memory, all zero: if there is none, the machine is to blame. free() frees it. */
void *check_memory(size_t size);

void check_pause(int ms);

/* Protects what is told. A program that replaces pthread_mutex_lock() leaves it alone. */
extern pthread_mutex_t check_lock;

void check_thread(pthread_t *thread, void *(*work)(void *), void *context);

/* CPU seconds that the program has used, all threads together. */
double check_cpu_seconds(void);

/* Steps that the modules have taken so far, see harness/server/steps; -1 in a program that does not
 * count them. */
double check_steps(void);

#endif
