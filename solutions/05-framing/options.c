#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command_line.h"

enum { DEFAULT_PORT = 1234, MAX_PORT = 65535 };

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
    enum app *app = field;
    *app = strcmp(text, "rpc") == 0 ? APP_RPC : APP_ECHO;
    return *app == APP_RPC || strcmp(text, "echo") == 0;
}

/* offsetof() counts the bytes from the beginning of a struct to one of its fields. */
#define FIELD(name) offsetof(struct options, name)

static const struct option_row rows[] = {
    {"-a ADDR", parse_address, FIELD(address), 0, 0},
    {"-p PORT", parse_port, FIELD(address), 0, MAX_PORT},
    {"-v", parse_flag, FIELD(verbose), 0, 0},
    {"--framing length|line|fixed:N", parse_framing, FIELD(framing), 1, FIXED_MAX_BYTES},
    {"--app echo|rpc", parse_app, FIELD(app), 0, 0},
    {0},
};

/* Whether the options fit together. */
static bool options_fit(const struct options *options)
{
    /* A message says nothing of its length: only the frame does. */
    if (options->app == APP_RPC && options->framing.kind != FRAMING_LENGTH)
        return false;
    return true;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .address = {.sin_family = AF_INET,
                    .sin_port = htons(DEFAULT_PORT),
                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
    };
    return command_line_read(rows, options, argc, argv) && options_fit(options);
}

void options_usage(const char *program)
{
    command_line_usage(rows, program);
    fputs("--app rpc needs --framing length\n", stderr);
}
