/*
 * Unusual: waits in select(). select PORT
 *
 * Right for more than 1,024 descriptors, too: FD_SETSIZE is a limit of the type fd_set, not of the
 * call, which takes as many bits as its first argument says. So the bitmaps are arrays of our own,
 * and FD_SET(), which may check for FD_SETSIZE, is not used.
 */
#include "echo.h"

#include <sys/select.h>

enum { WORD_BITS = 8 * sizeof(long) };

static unsigned long *in, *out;

static void set_bit(unsigned long *bits, int fd)
{
    bits[fd / WORD_BITS] |= 1ul << fd % WORD_BITS;
}

static bool has_bit(const unsigned long *bits, int fd)
{
    return bits[fd / WORD_BITS] >> fd % WORD_BITS & 1;
}

/* Sets what everyone waits for; the listener only where it makes sense. Returns select()'s first
 * argument. */
static int set_interest(int signals, int listener, bool room)
{
    int end = conns_end > listener ? conns_end : listener + 1;
    size_t bytes = (size_t)(end / WORD_BITS + 1) * sizeof *in;
    in = realloc(in, bytes);
    out = realloc(out, bytes);
    if (in == NULL || out == NULL)
        fail("select");
    memset(in, 0, bytes);
    memset(out, 0, bytes);
    set_bit(in, signals);
    if (room)
        set_bit(in, listener);
    for (int fd = 0; fd < conns_end; fd++)
        if (conns[fd])
            set_bit(owes(conns[fd]) ? out : in, fd);
    return end;
}

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    bool room = true;
    for (;;) {
        struct timeval pause = {.tv_usec = 1000 * PAUSE_MS};
        int fd, end = set_interest(signals, listener, room);
        if (select(end, (fd_set *)in, (fd_set *)out, NULL, room ? NULL : &pause) < 0)
            continue; /* EINTR: the bits say nothing */
        if (has_bit(in, signals) && told_to_stop(signals))
            break;
        for (fd = 0; fd < end && fd < conns_end; fd++)
            if (conns[fd] && (has_bit(in, fd) || has_bit(out, fd)) && !conn_turn(conns[fd]))
                conn_close(conns[fd]);
        if (room && !has_bit(in, listener))
            continue;
        while ((fd = accept_next(listener, SOCK_NONBLOCK)) >= 0)
            conn_open(fd);
        room = fd != NO_ROOM;
    }
    close_all();
    free(in);
    free(out);
    close(listener);
    close(signals);
    return 0;
}
