#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_PORT = 1234, MAX_PORT = 65535 };

/* Options with a long name only. The numbers are beyond those of letters. */
enum { OPTION_FRAMING = 256, OPTION_APP, OPTION_BACKEND };

static const struct option long_options[] = {
    {"framing", required_argument, NULL, OPTION_FRAMING},
    {"app", required_argument, NULL, OPTION_APP},
    {"backend", required_argument, NULL, OPTION_BACKEND},
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

static bool parse_app(const char *text, enum app *app)
{
    *app = strcmp(text, "rpc") == 0 ? APP_RPC : APP_ECHO;
    return *app == APP_RPC || strcmp(text, "echo") == 0;
}

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
        .backend = &backend_epoll,
    };
    int option;
    while ((option = next_option(argc, argv)) != -1)
        if (!take_option(options, option, optarg))
            return false;
    /* A message says nothing of its length: only the frame does. */
    if (options->app == APP_RPC && options->framing.kind != FRAMING_LENGTH)
        return false;
    return optind == argc;
}

void options_usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-a ADDR] [-p PORT] [-v] [--framing length|line|fixed:N] [--app echo|rpc]\n"
            "          [--backend select|poll|epoll]\n"
            "--app rpc needs --framing length\n",
            program);
}
