#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/command_line.h"
#include "commands/app_redis.h"
#include "events/timers.h"
#include "server/answer.h"

enum { DEFAULT_PORT = 1234, MAX_PORT = 65535, MAX_THREADS = 256 };

/* Of output that waits. A larger value is a mistake: it would not fit into memory. */
#define DEFAULT_HIGH_WATER (1u << 20)
#define MAX_WATER          (1L << 30)

/* Of the stack of a coroutine. Printing one line takes 10 KiB of it, in the C library. */
#define DEFAULT_STACK (64u << 10)
#define MIN_STACK     (32L << 10)

static bool parse_framing(const struct option_row *row, const char *text, void *field)
{
    static const char fixed[] = "fixed:";
    struct framing *framing = field;
    framing->fixed_bytes = 0;
    if (strcmp(text, "length") == 0)
        framing->kind = FRAMING_LENGTH;
    else if (strcmp(text, "line") == 0)
        framing->kind = FRAMING_LINE;
    else if (strncmp(text, fixed, strlen(fixed)) == 0 &&
             parse_size(row, text + strlen(fixed), &framing->fixed_bytes))
        framing->kind = FRAMING_FIXED;
    else
        return false;
    return true;
}

static bool parse_app(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    static const struct app *const all[] = {&app_echo, &app_rpc, &app_redis};
    const struct app **app = field;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, text) == 0) {
            *app = all[i];
            return true;
        }
    }
    return false;
}

static bool parse_backend(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    static const struct backend *const all[] = {&backend_select, &backend_poll, &backend_epoll};
    const struct backend **backend = field;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, text) == 0) {
            *backend = all[i];
            return true;
        }
    }
    return false;
}

/* N/MS: so many frames in so many milliseconds. */
static bool parse_quota(const struct option_row *row, const char *text, void *field)
{
    static const struct option_row interval = {.least = 1, .most = TIMER_MAX_MS};
    struct limits *limits = field;
    char frames[16];
    size_t digits = strcspn(text, "/");
    if (text[digits] == '\0' || digits >= sizeof frames)
        return false;
    memcpy(frames, text, digits);
    frames[digits] = '\0';
    return parse_size(row, frames, &limits->quota_frames) &&
           parse_int32(&interval, text + digits + 1, &limits->quota_interval_ms);
}

static bool parse_io(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    enum moves *moves = field;
    *moves = strcmp(text, "uring") == 0 ? MOVES_URING : MOVES_EPOLL;
    return *moves == MOVES_URING || strcmp(text, "epoll") == 0;
}

/* offsetof() counts the bytes from the beginning of a struct to one of its fields. */
#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
    {"-a ADDR", parse_address, FIELD(address), 0, 0},
    {"-p PORT", parse_port, FIELD(address), 0, MAX_PORT},
    {"-v", parse_flag, FIELD(verbose), 0, 0},
    {"--framing length|line|fixed:N", parse_framing, FIELD(config.framing), 1, FIXED_MAX_BYTES},
    {"--app echo|rpc|redis", parse_app, FIELD(config.app), 0, 0},
    {"--backend select|poll|epoll", parse_backend, FIELD(backend), 0, 0},
    {"--idle-timeout MS", parse_int32, FIELD(config.limits.idle_timeout_ms), 0, TIMER_MAX_MS},
    {"--frame-timeout MS", parse_int32, FIELD(config.limits.frame_timeout_ms), 0, TIMER_MAX_MS},
    {"--quota N/MS", parse_quota, FIELD(config.limits), 1, MAX_WATER},
    {"--high-water BYTES", parse_size, FIELD(config.limits.high_water), 1, MAX_WATER},
    {"--low-water BYTES", parse_size, FIELD(config.limits.low_water), 0, MAX_WATER},
    {"--max-conns N", parse_int32, FIELD(config.limits.max_conns), 1, INT32_MAX},
    {"--grace MS", parse_int32, FIELD(config.grace_ms), 0, TIMER_MAX_MS},
    {"--threads N", parse_int32, FIELD(threads), 1, MAX_THREADS},
    {"--stack BYTES", parse_size, FIELD(config.stack_bytes), MIN_STACK, MAX_WATER},
    {"--io uring|epoll", parse_io, FIELD(moves), 0, 0},
    {0},
};

static int processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        return 1;
    return count < MAX_THREADS ? (int)count : MAX_THREADS;
}

/* Whether the options fit together. Sets the defaults that depend on other options. */
static bool options_fit(struct options *options)
{
    struct limits *limits = &options->config.limits;
    /* A message says nothing of its length: only the frame does. */
    if (options->config.app == &app_rpc && options->config.framing.kind != FRAMING_LENGTH)
        return false;
    /* Redis' clients have a framing of their own, and all of them share the keys of one loop. */
    bool redis = options->config.app == &app_redis;
    if (redis && (options->config.framing.fixed_bytes != SIZE_MAX || options->threads > 1))
        return false;
    if (options->threads == 0)
        options->threads = redis ? 1 : processors();
    /* A backend tells readiness: to choose one is to choose readiness. */
    if (options->backend != NULL && options->moves == MOVES_URING)
        return false;
    if (options->backend != NULL)
        options->moves = MOVES_EPOLL;
    else
        options->backend = &backend_epoll;
    if (limits->low_water == SIZE_MAX)
        limits->low_water = limits->high_water / 2;
    return limits->low_water <= limits->high_water;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .address = {.sin_family = AF_INET,
                    .sin_port = htons(DEFAULT_PORT),
                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
        .config.app = &app_echo,
        .config.framing.fixed_bytes = SIZE_MAX, /* until there is a --framing */
        .config.stack_bytes = DEFAULT_STACK,
        .config.limits = {.high_water = DEFAULT_HIGH_WATER, .low_water = SIZE_MAX},
    };
    return command_line_read(rows, options, argc, argv) && options_fit(options);
}

void options_usage(const char *program)
{
    command_line_usage(rows, program);
    fputs("--app rpc needs --framing length\n", stderr);
    fputs("--low-water is at most --high-water\n", stderr);
    fputs("--backend is not for --io uring\n", stderr);
    fputs("--app redis has its own framing, and one thread\n", stderr);
}
