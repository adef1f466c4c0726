#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Options with a long name only. The numbers are beyond those of letters. */
enum {
    OPTION_FRAMING = 256,
    OPTION_APP,
    OPTION_BACKEND,
    OPTION_IDLE_TIMEOUT,
    OPTION_FRAME_TIMEOUT,
    OPTION_QUOTA,
    OPTION_HIGH_WATER,
    OPTION_LOW_WATER,
    OPTION_MAX_CONNS,
    OPTION_GRACE,
    OPTION_THREADS,
    OPTION_STACK,
    OPTION_IO
};

static const struct option long_options[] = {
    {"framing", required_argument, NULL, OPTION_FRAMING},
    {"app", required_argument, NULL, OPTION_APP},
    {"backend", required_argument, NULL, OPTION_BACKEND},
    {"idle-timeout", required_argument, NULL, OPTION_IDLE_TIMEOUT},
    {"frame-timeout", required_argument, NULL, OPTION_FRAME_TIMEOUT},
    {"quota", required_argument, NULL, OPTION_QUOTA},
    {"high-water", required_argument, NULL, OPTION_HIGH_WATER},
    {"low-water", required_argument, NULL, OPTION_LOW_WATER},
    {"max-conns", required_argument, NULL, OPTION_MAX_CONNS},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"stack", required_argument, NULL, OPTION_STACK},
    {"io", required_argument, NULL, OPTION_IO},
    {0},
};

/* strtol() alone would accept " 80", "+80" and "80x". A number has digits only. */
static bool parse_number(const char *text, long max, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && *number <= max;
}

static bool parse_port(const char *text, in_port_t *port)
{
    long value;
    if (!parse_number(text, MAX_PORT, &value))
        return false;
    *port = htons((uint16_t)value);
    return true;
}

static bool parse_ms(const char *text, int32_t *ms)
{
    long value;
    if (!parse_number(text, TIMER_MAX_MS, &value))
        return false;
    *ms = (int32_t)value;
    return true;
}

static bool parse_framing(const char *text, struct framing *framing)
{
    static const char fixed[] = "fixed:";
    long value = 0;
    if (strcmp(text, "length") == 0)
        framing->kind = FRAMING_LENGTH;
    else if (strcmp(text, "line") == 0)
        framing->kind = FRAMING_LINE;
    else if (strncmp(text, fixed, strlen(fixed)) == 0)
        framing->kind = FRAMING_FIXED;
    else
        return false;
    if (framing->kind == FRAMING_FIXED &&
        (!parse_number(text + strlen(fixed), FIXED_MAX_BYTES, &value) || value == 0))
        return false;
    framing->fixed_bytes = (size_t)value;
    return true;
}

static bool parse_app(const char *text, const struct app **app)
{
    static const struct app *const all[] = {&app_echo, &app_rpc, &app_redis};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, text) == 0) {
            *app = all[i];
            return true;
        }
    }
    return false;
}

/* A backend of those that tell readiness. */
static bool parse_backend(const char *text, const struct backend **backend)
{
    static const struct backend *const all[] = {&backend_select, &backend_poll, &backend_epoll};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i]->name, text) == 0) {
            *backend = all[i];
            return true;
        }
    }
    return false;
}

static bool parse_size(const char *text, long min, size_t *size)
{
    long value;
    if (!parse_number(text, MAX_WATER, &value) || value < min)
        return false;
    *size = (size_t)value;
    return true;
}

/* N/MS: so many frames in so many milliseconds. */
static bool parse_quota(const char *text, struct limits *limits)
{
    char frames[16];
    size_t digits = strcspn(text, "/");
    if (text[digits] == '\0' || digits >= sizeof frames)
        return false;
    memcpy(frames, text, digits);
    frames[digits] = '\0';
    return parse_size(frames, 1, &limits->quota_frames) &&
           parse_ms(text + digits + 1, &limits->quota_interval_ms) && limits->quota_interval_ms > 0;
}

static bool parse_max_conns(const char *text, int64_t *max_conns)
{
    long value;
    if (!parse_number(text, INT32_MAX, &value) || value == 0)
        return false;
    *max_conns = value;
    return true;
}

static bool parse_threads(const char *text, int *threads)
{
    long value;
    if (!parse_number(text, MAX_THREADS, &value) || value == 0)
        return false;
    *threads = (int)value;
    return true;
}

static bool parse_io(const char *text, enum moves *moves)
{
    *moves = strcmp(text, "uring") == 0 ? MOVES_URING : MOVES_EPOLL;
    return *moves == MOVES_URING || strcmp(text, "epoll") == 0;
}

static int processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1)
        return 1;
    return count < MAX_THREADS ? (int)count : MAX_THREADS;
}

/* Takes one option over. False: it does not exist, or its text means nothing. */
static bool take_option(struct options *options, int option, const char *text)
{
    switch (option) {
    case 'a':
        return inet_pton(AF_INET, text, &options->address.sin_addr) == 1;
    case 'p':
        return parse_port(text, &options->address.sin_port);
    case 'v':
        options->verbose = true;
        return true;
    case OPTION_FRAMING:
        return parse_framing(text, &options->framing);
    case OPTION_APP:
        return parse_app(text, &options->app);
    case OPTION_BACKEND:
        return parse_backend(text, &options->backend);
    case OPTION_IDLE_TIMEOUT:
        return parse_ms(text, &options->limits.idle_timeout_ms);
    case OPTION_FRAME_TIMEOUT:
        return parse_ms(text, &options->limits.frame_timeout_ms);
    case OPTION_QUOTA:
        return parse_quota(text, &options->limits);
    case OPTION_HIGH_WATER:
        return parse_size(text, 1, &options->limits.high_water);
    case OPTION_LOW_WATER:
        return parse_size(text, 0, &options->limits.low_water);
    case OPTION_MAX_CONNS:
        return parse_max_conns(text, &options->limits.max_conns);
    case OPTION_GRACE:
        return parse_ms(text, &options->grace_ms);
    case OPTION_THREADS:
        return parse_threads(text, &options->threads);
    case OPTION_STACK:
        return parse_size(text, MIN_STACK, &options->stack_bytes);
    case OPTION_IO:
        return parse_io(text, &options->moves);
    default:
        return false;
    }
}

/* The next option, or -1 at the end. getopt_long() takes --fram for --framing as well, and --fram
 * would change its meaning with the next option that begins so: only the whole name counts. */
static int next_option(int argc, char **argv)
{
    const char *argument = argv[optind];
    int index = -1;
    int option = getopt_long(argc, argv, "+a:p:v", long_options, &index);
    bool shortened =
        index >= 0 && strcspn(argument, "=") < strlen("--") + strlen(long_options[index].name);
    return shortened ? '?' : option;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .address = {.sin_family = AF_INET,
                    .sin_port = htons(DEFAULT_PORT),
                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
        .app = &app_echo,
        .stack_bytes = DEFAULT_STACK,
        .limits = {.high_water = DEFAULT_HIGH_WATER, .low_water = SIZE_MAX},
    };
    int option;
    bool framed = false;
    while ((option = next_option(argc, argv)) != -1) {
        if (!take_option(options, option, optarg))
            return false;
        framed = framed || option == OPTION_FRAMING;
    }
    /* A message says nothing of its length: only the frame does. */
    if (options->app == &app_rpc && options->framing.kind != FRAMING_LENGTH)
        return false;
    /* Redis' clients have a framing of their own, and all of them share the keys of one loop. */
    if (options->app == &app_redis && (framed || options->threads > 1))
        return false;
    if (options->threads == 0)
        options->threads = options->app == &app_redis ? 1 : processors();
    /* A backend tells readiness: to choose one is to choose readiness. */
    if (options->backend != NULL && options->moves == MOVES_URING)
        return false;
    if (options->backend != NULL)
        options->moves = MOVES_EPOLL;
    else
        options->backend = &backend_epoll;
    struct limits *limits = &options->limits;
    if (limits->low_water == SIZE_MAX)
        limits->low_water = limits->high_water / 2;
    return optind == argc && limits->low_water <= limits->high_water;
}

void options_usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-a ADDR] [-p PORT] [-v] [--framing length|line|fixed:N]\n"
            "          [--app echo|rpc|redis] [--backend select|poll|epoll] [--idle-timeout MS]\n"
            "          [--frame-timeout MS] [--quota N/MS] [--high-water BYTES]\n"
            "          [--low-water BYTES] [--max-conns N] [--grace MS] [--threads N]\n"
            "          [--stack BYTES] [--io uring|epoll]\n"
            "--app rpc needs --framing length; low water is at most high water; --backend is not\n"
            "for --io uring; --app redis has its own framing, and one thread\n",
            program);
}
