#include "redis/words.h"

#include <ctype.h>

/* A word while it is read and written in place. */
struct scan {
    const uint8_t *next;
    const uint8_t *end;
    uint8_t *to;
};

static int digit_value(uint8_t digit)
{
    return isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10;
}

/* Takes what follows a \ between double quotes. */
static uint8_t take_escaped(struct scan *s)
{
    uint8_t byte = *s->next++;
    switch (byte) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    case 'x':
        if (s->end - s->next < 2 || !isxdigit(s->next[0]) || !isxdigit(s->next[1]))
            return byte;
        s->next += 2;
        return (uint8_t)(digit_value(s->next[-2]) << 4 | digit_value(s->next[-1]));
    default:
        return byte;
    }
}

/* Takes the part of a word after an opening quote. False: the quote is not closed as it must be. */
static bool take_quoted(struct scan *s, uint8_t quote)
{
    while (s->next < s->end) {
        uint8_t byte = *s->next++;
        if (byte == quote)
            return s->next == s->end || isspace(*s->next);
        bool escapes = byte == '\\' && s->next < s->end;
        if (escapes && quote == '"')
            byte = take_escaped(s);
        else if (escapes && *s->next == quote)
            byte = *s->next++;
        *s->to++ = byte;
    }
    return false;
}

/* Whether a byte ends a word that is not quoted. */
static bool is_separator(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

enum words_result words_next(uint8_t *line, size_t size, size_t *at, struct bytes *word)
{
    while (*at < size && isspace(line[*at]))
        (*at)++;
    if (*at == size)
        return WORDS_END;
    uint8_t *begin = line + *at;
    struct scan s = {.next = begin, .end = line + size, .to = begin};
    while (s.next < s.end && !is_separator(*s.next)) {
        uint8_t byte = *s.next++;
        if (byte != '"' && byte != '\'')
            *s.to++ = byte;
        else if (!take_quoted(&s, byte))
            return WORDS_BAD;
        else
            break; /* a closing quote ends the word */
    }
    *at = (size_t)(s.next - line);
    *word = (struct bytes){.data = begin, .size = (size_t)(s.to - begin)};
    return WORDS_OK;
}
