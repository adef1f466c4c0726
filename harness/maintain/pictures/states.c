/* Tells what happens to the only connection of the server of chapter 03, as lines of JSON in the
 * file that LAB_STATES names. The linker puts these functions in front of those of the server
 * (--wrap), so its source is the one that students see. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "conn.h"
#include "io.h"

int __real_poll(struct pollfd *polls, nfds_t count, int timeout_ms);
struct conn *__real_conn_new(int fd);
void __real_conn_read(struct conn *c);
void __real_conn_write(struct conn *c);
void __real_conn_free(struct conn *c);
enum io_result __real_io_read(int fd, void *data, size_t size, size_t *moved);
enum io_result __real_io_write(int fd, const void *data, size_t size, size_t *moved);

enum { CONNECTION = 2 }; /* its place in the array: the stop pipe and the listener come first */

static FILE *told(void)
{
    static FILE *file;
    if (file == NULL && (file = fopen(getenv("LAB_STATES"), "w")) == NULL)
        abort();
    return file;
}

static void tell_bytes(const char *name, const uint8_t *data, size_t size)
{
    fprintf(told(), ", \"%s\": \"", name);
    for (size_t i = 0; i < size; i++)
        fprintf(told(), "%s%02x", i > 0 ? " " : "", data[i]);
    fputs("\"", told());
}

static void end_line(void)
{
    fputs("}\n", told());
    fflush(told());
}

static void tell_state(const char *function, const struct conn *c)
{
    static const char *const names[] = {"CONN_READING", "CONN_WRITING", "CONN_CLOSED"};
    fprintf(told(), "{\"after\": \"%s\", \"state\": \"%s\", \"sent\": %zu", function,
            names[c->state], c->sent);
    tell_bytes("buffer", c->frame.data, c->frame.len);
    end_line();
}

static const char *name_of(short events)
{
    if (events & POLLIN)
        return "POLLIN";
    return events & POLLOUT ? "POLLOUT" : "";
}

int __wrap_poll(struct pollfd *polls, nfds_t count, int timeout_ms)
{
    const char *interest = count > CONNECTION ? name_of(polls[CONNECTION].events) : "";
    fprintf(told(), "{\"interest\": \"%s\"", interest);
    end_line();
    int ready = __real_poll(polls, count, timeout_ms);
    const char *found = count > CONNECTION ? name_of(polls[CONNECTION].revents) : "";
    fprintf(told(), "{\"ready\": \"%s\"", found);
    end_line();
    return ready;
}

static void tell_call(const char *call, size_t asked, enum io_result result, const uint8_t *data,
                      size_t moved)
{
    static const char *const names[] = {"IO_OK", "IO_AGAIN", "IO_EOF", "IO_ERROR"};
    fprintf(told(), "{\"call\": \"%s\", \"asked\": %zu, \"result\": \"%s\"", call, asked,
            names[result]);
    tell_bytes("moved", data, result == IO_OK ? moved : 0);
    end_line();
}

enum io_result __wrap_io_read(int fd, void *data, size_t size, size_t *moved)
{
    enum io_result result = __real_io_read(fd, data, size, moved);
    tell_call("io_read", size, result, data, *moved);
    return result;
}

enum io_result __wrap_io_write(int fd, const void *data, size_t size, size_t *moved)
{
    enum io_result result = __real_io_write(fd, data, size, moved);
    tell_call("io_write", size, result, data, *moved);
    return result;
}

struct conn *__wrap_conn_new(int fd)
{
    struct conn *c = __real_conn_new(fd);
    tell_state("conn_new", c);
    return c;
}

void __wrap_conn_read(struct conn *c)
{
    __real_conn_read(c);
    tell_state("conn_read", c);
}

void __wrap_conn_write(struct conn *c)
{
    __real_conn_write(c);
    tell_state("conn_write", c);
}

void __wrap_conn_free(struct conn *c)
{
    tell_state("conn_free", c);
    __real_conn_free(c);
}
