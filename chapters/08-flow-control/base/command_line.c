#include "base/command_line.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No line of the usage message is longer. */
enum { MAX_COLUMNS = 100 };

/* strtol() alone would accept " 80", "+80" and "80x". A number has digits only. */
static bool parse_number(const struct option_row *row, const char *text, long *number)
{
    char *end;
    *number = strtol(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && *number >= row->least &&
           *number <= row->most;
}

bool parse_flag(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    (void)text;
    *(bool *)field = true;
    return true;
}

bool parse_int32(const struct option_row *row, const char *text, void *field)
{
    long value;
    if (!parse_number(row, text, &value))
        return false;
    *(int32_t *)field = (int32_t)value;
    return true;
}

bool parse_size(const struct option_row *row, const char *text, void *field)
{
    long value;
    if (!parse_number(row, text, &value))
        return false;
    *(size_t *)field = (size_t)value;
    return true;
}

bool parse_address(const struct option_row *row, const char *text, void *field)
{
    (void)row;
    struct sockaddr_in *address = field;
    return inet_pton(AF_INET, text, &address->sin_addr) == 1;
}

bool parse_port(const struct option_row *row, const char *text, void *field)
{
    struct sockaddr_in *address = field;
    long value;
    if (!parse_number(row, text, &value))
        return false;
    address->sin_port = htons((uint16_t)value);
    return true;
}

/* Finds an option by its full name. Abbreviations such as --fram are refused, because an option
 * that is added later could make them ambiguous. */
static const struct option_row *find_row(const struct option_row *row, const char *name,
                                         size_t length)
{
    for (; row->usage != NULL; row++)
        if (strcspn(row->usage, " ") == length && memcmp(row->usage, name, length) == 0)
            return row;
    return NULL;
}

/* A command line that is being read. */
struct command_line {
    const struct option_row *rows;
    void *options;
    char **next; /* the argument to read next; NULL after the last one */
};

/* Sets the field of an option. If `text` is NULL, the next argument is the text. */
static bool take_option(struct command_line *line, const struct option_row *row, const char *text)
{
    if (text == NULL)
        text = *line->next++;
    return text != NULL && row->parse(row, text, (char *)line->options + row->offset);
}

/* --app rpc or --app=rpc */
static bool take_name(struct command_line *line, const char *name)
{
    size_t length = strcspn(name, "=");
    const struct option_row *row = find_row(line->rows, name, length);
    return row != NULL && take_option(line, row, name[length] == '=' ? name + length + 1 : NULL);
}

/* -v, -p 0 or -p0, and several letters in one argument: -vp0 */
static bool take_letters(struct command_line *line, const char *letters)
{
    do {
        const char name[] = {'-', *letters++};
        const struct option_row *row = find_row(line->rows, name, sizeof name);
        if (row == NULL)
            return false;
        if (strchr(row->usage, ' ') != NULL)
            return take_option(line, row, *letters != '\0' ? letters : NULL);
        take_option(line, row, ""); /* a flag has no text */
    } while (*letters != '\0');
    return true;
}

static bool take_argument(struct command_line *line, const char *argument)
{
    if (strncmp(argument, "--", 2) == 0)
        return take_name(line, argument);
    return argument[0] == '-' && take_letters(line, argument + 1);
}

bool command_line_read(const struct option_row *rows, void *options, int argc, char **argv)
{
    struct command_line line = {.rows = rows, .options = options, .next = argv + 1};
    char **end = argv + argc;
    while (line.next < end && strcmp(*line.next, "--") != 0) {
        const char *argument = *line.next++;
        if (!take_argument(&line, argument)) {
            fprintf(stderr, "%s: wrong option: %s\n", argv[0], argument);
            return false;
        }
    }
    if (line.next < end)
        line.next++; /* "--" ends the options */
    return line.next == end;
}

void command_line_usage(const struct option_row *rows, const char *program)
{
    int column = fprintf(stderr, "usage: %s", program);
    for (const struct option_row *row = rows; row->usage != NULL; row++) {
        int width = (int)(strlen(" []") + strlen(row->usage));
        if (column + width > MAX_COLUMNS)
            column = fprintf(stderr, "\n         ");
        column += fprintf(stderr, " [%s]", row->usage);
    }
    fputs("\n", stderr);
}
