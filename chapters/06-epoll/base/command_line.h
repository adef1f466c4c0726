/* Reads a command line whose options are the rows of a table. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* An option sets one field of a struct. The last row of a table is {0}. */
struct option_row {
    const char *usage; /* -v: a letter; --framing WHAT: a name, and what its text is */
    /* Sets the field. False: the text means nothing. Each parser knows the type of its field. */
    bool (*parse)(const struct option_row *row, const char *text, void *field);
    size_t offset;    /* of the field: how many bytes after the beginning of the struct it is */
    long least, most; /* of the number in the text; 0 if there is none */
};

/* Parsers for fields of the type in their name; parse_address() and parse_port() set one part of a
 * struct sockaddr_in. */
bool parse_flag(const struct option_row *row, const char *text, void *field);
bool parse_int32(const struct option_row *row, const char *text, void *field);
bool parse_size(const struct option_row *row, const char *text, void *field);
bool parse_address(const struct option_row *row, const char *text, void *field);
bool parse_port(const struct option_row *row, const char *text, void *field);

/* Sets the fields of `options` that the command line names. False: wrong usage. */
bool command_line_read(const struct option_row *rows, void *options, int argc, char **argv);

/* Prints all options on stderr. */
void command_line_usage(const struct option_row *rows, const char *program);

#endif
