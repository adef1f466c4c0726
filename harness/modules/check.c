#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* The layout of the shared memory. harness/modules/report_channel.py says the same. */
enum { TOKEN_BYTES = 16, TEXT_BYTES = 64 << 10 };

struct text {
    uint64_t size;
    char bytes[TEXT_BYTES];
};

struct report {
    char token[TOKEN_BYTES]; /* taken away at the start, and back, turned, if the check passes */
    uint64_t held;           /* by the grader, until a debugger has attached */
    uint64_t progress;       /* counts what was told */
    struct text facts;       /* lines: what has failed, and numbers */
    struct text steps;       /* lines */
};

/* Of harness/server/steps, in a program that counts; else NULL. */
uint64_t work_steps(void) __attribute__((weak));

static uint64_t forgotten; /* steps that are no longer in the text */

static struct report unheard; /* of a fuzzer, which has nobody to tell */
static struct report *report = &unheard;

enum {
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    LINE_MIN_BYTES = 64,
    MESSAGE_BYTES = 1024,
    SHOWN_BYTES = 16,
    COMPARED_BYTES = 4096,
    SMALL_BYTES = 64 + 3 * SHOWN_BYTES
};

pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;
static char **options; /* NAME=VALUE */
static uint64_t chance;

/* Telling */

/* Adds a line to the text, cut where the text is full. */
static void add_line(struct text *text, const char *kind, const char *format, va_list arguments)
{
    char *line = text->bytes + text->size;
    size_t room = TEXT_BYTES - text->size;
    if (room < LINE_MIN_BYTES)
        return;
    size_t size = (size_t)snprintf(line, room, "%s", kind);
    size += (size_t)vsnprintf(line + size, room - size, format, arguments);
    if (size >= room)
        size = room - 1;
    for (size_t i = 0; i < size; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[size] = '\n';
    text->size += size + 1;
}

static void tell(struct text *text, const char *kind, const char *format, va_list arguments)
{
    pthread_mutex_lock(&check_lock);
    add_line(text, kind, format, arguments);
    report->progress++;
    pthread_mutex_unlock(&check_lock);
}

__attribute__((format(printf, 2, 3))) static void tell_fact(const char *kind, const char *format,
                                                            ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(&report->facts, kind, format, arguments);
    va_end(arguments);
}

/* Ends the program at once: what the module has left for the end is no matter now. */
_Noreturn static void end_failed(void)
{
    if (report == &unheard)
        abort(); /* so that the fuzzer keeps the input */
    _exit(STATUS_FAILED);
}

/* Drops the older half of the steps. The first line says how many have gone. */
static void forget_steps(struct text *steps)
{
    char line[LINE_MIN_BYTES];
    size_t end = steps->size / 2;
    forgotten -= forgotten > 0; /* the line that says so is no step */
    while (steps->bytes[end - 1] != '\n')
        end++;
    for (size_t i = 0; i < end; i++)
        forgotten += steps->bytes[i] == '\n';
    size_t left = steps->size - end;
    size_t size = (size_t)snprintf(line, sizeof line, "has made %" PRIu64 " steps\n", forgotten);
    memmove(steps->bytes + size, steps->bytes + end, left);
    memcpy(steps->bytes, line, size);
    steps->size = size + left;
}

void check_case(void)
{
    pthread_mutex_lock(&check_lock);
    report->steps.size = 0;
    forgotten = 0;
    report->progress++;
    pthread_mutex_unlock(&check_lock);
}

void check_step(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&check_lock);
    if (TEXT_BYTES - report->steps.size < MESSAGE_BYTES)
        forget_steps(&report->steps);
    add_line(&report->steps, "", format, arguments);
    report->progress++;
    pthread_mutex_unlock(&check_lock);
    va_end(arguments);
}

void check_fail(const char *hint, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tell_fact("failed ", "%s %s", hint, text);
    end_failed();
}

void check_impossible(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(&report->facts, "impossible ", format, arguments);
    va_end(arguments);
    end_failed();
}

void check_value(const char *name, double value)
{
    tell_fact("value ", "%s %.17g", name, value);
}

/* Bytes */

static size_t write_hex(char *text, const uint8_t *data, size_t size, const char *between)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < size; i++)
        length += (size_t)sprintf(text + length, "%s%02x", i > 0 ? between : "", data[i]);
    return length;
}

/* Space for a text that the caller need not free. */
static char *new_text(void)
{
    static _Thread_local char texts[8][SMALL_BYTES];
    static _Thread_local unsigned turn;
    return texts[turn++ % 8];
}

const char *check_hex(const void *data, size_t size)
{
    char *text = new_text();
    size_t shown = size < SHOWN_BYTES ? size : SHOWN_BYTES;
    int length = sprintf(text, size == 1 ? "%zu byte%s" : "%zu bytes%s", size, shown ? ": " : "");
    size_t end = (size_t)length + write_hex(text + length, data, shown, " ");
    strcpy(text + end, shown < size ? " ..." : "");
    return text;
}

const char *check_times(long count)
{
    if (count == 1)
        return "once";
    char *text = new_text();
    snprintf(text, SMALL_BYTES, "%ld times", count);
    return text;
}

const char *check_reason(void)
{
    if (errno == 0)
        return "errno is 0";
    char *text = new_text();
    snprintf(text, SMALL_BYTES, "%s", strerror(errno));
    return text;
}

static void tell_bytes(const char *kind, const void *data, size_t size)
{
    static _Thread_local char text[2 * COMPARED_BYTES + 1];
    write_hex(text, data, size, "");
    tell_fact(kind, "%s", text);
}

void check_equal(const char *hint, const char *what, const void *due, size_t due_size,
                 const void *came, size_t came_size)
{
    const uint8_t *expected = due, *received = came;
    size_t size = due_size < came_size ? due_size : came_size, at = 0;
    while (at < size && expected[at] == received[at])
        at++;
    if (at == due_size && at == came_size)
        return;
    if (due_size <= COMPARED_BYTES && came_size <= COMPARED_BYTES) {
        tell_bytes("expected ", due, due_size);
        tell_bytes("received ", came, came_size);
    }
    CHECK(at < size, hint, "%s has %zu bytes instead of %zu", what, came_size, due_size);
    check_fail(hint, "byte %zu of %s is %02x instead of %02x", at, what, received[at],
               expected[at]);
}

/* What else a check may need */

const char *check_option(const char *name)
{
    size_t length = strlen(name);
    for (char **option = options; option != NULL && *option != NULL; option++)
        if (strncmp(*option, name, length) == 0 && (*option)[length] == '=')
            return *option + length + 1;
    return "";
}

long check_number(const char *name)
{
    return atol(check_option(name));
}

/* splitmix64, by Sebastiano Vigna */
uint64_t check_random(void)
{
    pthread_mutex_lock(&check_lock);
    uint64_t bits = chance += 0x9e3779b97f4a7c15;
    pthread_mutex_unlock(&check_lock);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
}

uint64_t check_below(uint64_t limit)
{
    return check_random() % limit;
}

void check_fill(void *bytes, size_t size)
{
    for (uint8_t *to = bytes; size > 0; size--)
        *to++ = (uint8_t)check_random();
}

#ifdef SANITIZED

/* The sanitizer watches every byte, and has more to say than SIGSEGV. A byte stands in front, since
 * even a block of no bytes has one. */
static uint8_t *new_end(size_t size)
{
    static uint8_t *block;
    free(block);
    block = malloc(size + 1);
    return block != NULL ? block + 1 : NULL;
}

#else

static uint8_t *new_end(size_t size)
{
    static uint8_t *pages;
    static size_t room;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (pages != NULL && size <= room)
        return pages + room - size;
    if (pages != NULL)
        munmap(pages, room + page);
    room = (size / page + 1) * page;
    pages = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + room, page, PROT_NONE) != 0)
        return NULL;
    return pages + room - size;
}

#endif

uint8_t *check_at_the_end(const void *data, size_t size)
{
    uint8_t *copy = new_end(size);
    if (copy == NULL)
        check_impossible("no memory for a copy of %zu bytes", size);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

void *check_memory(size_t size)
{
    void *memory = calloc(size > 0 ? size : 1, 1);
    if (memory == NULL)
        check_impossible("no memory for %zu bytes", size);
    return memory;
}

void check_pause(int ms)
{
    usleep((useconds_t)ms * 1000);
}

void check_thread(pthread_t *thread, void *(*work)(void *), void *context)
{
    if (pthread_create(thread, NULL, work, context) != 0)
        check_impossible("no thread can be started");
}

double check_cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double check_steps(void)
{
    return work_steps != NULL ? (double)work_steps() : -1;
}

#ifndef FUZZER /* it brings a main() of its own */

static void wait_for_debugger(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* it is not our parent */
    while (__atomic_load_n(&report->held, __ATOMIC_SEQ_CST))
        usleep(10000);
}

static void run_check(const char *name)
{
    for (const struct check *check = checks; check->name != NULL; check++) {
        if (strcmp(check->name, name) == 0) {
            check->run();
            return;
        }
    }
    check_impossible("there is no check %s", name);
}

/* FD CHECK NAME=VALUE... The descriptor is closed again: so the module finds those free that it
 * would find free in a server. */
int main(int argc, char **argv)
{
    char token[TOKEN_BYTES];
    if (argc < 3) {
        fprintf(stderr, "harness/modules/program.py starts this program\n");
        return STATUS_USAGE;
    }
    int fd = atoi(argv[1]);
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (report == MAP_FAILED) {
        perror("mmap");
        return STATUS_USAGE;
    }
    close(fd);
    memcpy(token, report->token, TOKEN_BYTES);
    memset(report->token, 0, TOKEN_BYTES);
    options = argv + 3;
    chance = (uint64_t)check_number("seed");
    if (report->held)
        wait_for_debugger();
    run_check(argv[2]);
    for (int i = 0; i < TOKEN_BYTES; i++)
        report->token[i] = (char)~token[i];
    return 0;
}

#endif
