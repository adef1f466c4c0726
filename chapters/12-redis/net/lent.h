/* Buffers that a ring lends: the kernel takes one only when input has arrived. So a connection that
 * waits for input owns no buffer for it, however long it waits.
 *
 *     free buffers, in a ring of their own:   [ 7 ] [ 0 ] [ 3 ] ...
 *                                               |                ^
 *               the kernel fills the first one, v                | lent_return(), once its bytes
 *               and the completion has its number                  are copied
 *
 * If no buffer is free, an operation completes with -ENOBUFS. Its input stays in the socket. */
#ifndef LENT_H
#define LENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many there are, a power of two, and the size of each: 2 MiB, however many clients there are.
 * In one iteration each client that has sent something takes one at least. One with many frames in
 * flight fills several, each with a completion of its own. To see what happens when none is free,
 * compile with -DLENT_COUNT=2. */
#ifndef LENT_COUNT
#define LENT_COUNT 256
#endif
enum { LENT_BYTES = 8 << 10 };

/* Their group, for an operation that is to use them; see IOSQE_BUFFER_SELECT. */
enum { LENT_GROUP = 0 };

struct io_uring;
struct io_uring_buf_ring;

struct lent {
    struct io_uring_buf_ring *free; /* the ring of the free ones; their memory follows it */
    uint8_t *memory;                /* of the buffers, one after the other */
};

/* Registers all of them with the ring. False: errno has the reason. */
bool lent_open(struct lent *lent, struct io_uring *ring);

/* The ring must be gone. */
void lent_close(struct lent *lent);

/* Whether a completion with these flags has a buffer, and its bytes. They are yours until
 * lent_return(). */
bool lent_has(unsigned flags);
const uint8_t *lent_bytes(const struct lent *lent, unsigned flags);

/* Gives the buffer of such a completion back. */
void lent_return(struct lent *lent, unsigned flags);

#endif
