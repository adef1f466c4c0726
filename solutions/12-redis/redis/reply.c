#include "redis/reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/number.h"

/* The only function that writes into the buffer. */
static void put(struct reply *r, const void *data, size_t size)
{
    if (r->failed != NULL || size == 0)
        return;
    if (buffer_len(r->out) + size > REPLY_MAX_BYTES)
        r->failed = "reply too large";
    else if (!buffer_append(r->out, data, size))
        r->failed = "out of memory";
}

// BEGIN replies
/* A byte that says what follows, a number, and a line break. */
static void put_number(struct reply *r, char kind, int64_t value)
{
    uint8_t line[1 + NUMBER_MAX_BYTES + 2];
    line[0] = (uint8_t)kind;
    size_t size = 1 + number_print(value, line + 1);
    line[size++] = '\r';
    line[size++] = '\n';
    put(r, line, size);
}

void reply_status(struct reply *r, const char *text)
{
    put(r, "+", 1);
    put(r, text, strlen(text));
    put(r, "\r\n", 2);
}

static bool is_line_break(char c)
{
    return c == '\r' || c == '\n';
}

void reply_error(struct reply *r, const char *format, ...)
{
    char text[REPLY_MAX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = strlen(text);
    while (size > 0 && is_line_break(text[size - 1]))
        size--;
    for (size_t i = 0; i < size; i++)
        if (is_line_break(text[i]))
            text[i] = ' ';
    put(r, "-", 1);
    put(r, text, size);
    put(r, "\r\n", 2);
}

void reply_number(struct reply *r, int64_t value)
{
    put_number(r, ':', value);
}

void reply_string(struct reply *r, struct bytes text)
{
    put_number(r, '$', (int64_t)text.size);
    put(r, text.data, text.size);
    put(r, "\r\n", 2);
}

void reply_nil(struct reply *r)
{
    put_number(r, '$', -1);
}

void reply_no_array(struct reply *r)
{
    put_number(r, '*', -1);
}

void reply_array(struct reply *r, size_t count)
{
    put_number(r, '*', (int64_t)count);
}
// END replies

void reply_text(struct reply *r, const char *text)
{
    reply_string(r, (struct bytes){(const uint8_t *)text, strlen(text)});
}

void reply_append(struct reply *r, const struct buffer *replies)
{
    put(r, buffer_head(replies), buffer_len(replies));
}
