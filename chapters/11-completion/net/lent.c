#include "net/lent.h"

#include <errno.h>
#include <liburing.h>
#include <sys/mman.h>

/* The entries of the ring come first: they have to begin at a page. */
enum {
    RING_BYTES = LENT_COUNT * sizeof(struct io_uring_buf),
    MEMORY_BYTES = RING_BYTES + LENT_COUNT * LENT_BYTES
};

static uint8_t *buffer_at(const struct lent *lent, unsigned number)
{
    return lent->memory + (size_t)number * LENT_BYTES;
}

/* TODO 2: Put a buffer into the ring of free ones, and find the number of the buffer that a
 * completion has. Graded by test_11_buffers_are_lent.
 * io_uring_buf_ring_add() writes the entry, and io_uring_buf_ring_advance() lets the kernel see
 * it. The number is in the upper half of the flags. */
static void put(struct lent *lent, unsigned number)
{
    (void)buffer_at(lent, number);
}

static unsigned number_in(unsigned flags)
{
    (void)flags;
    return 0;
}

bool lent_has(unsigned flags)
{
    return flags & IORING_CQE_F_BUFFER;
}

const uint8_t *lent_bytes(const struct lent *lent, unsigned flags)
{
    return buffer_at(lent, number_in(flags));
}

void lent_return(struct lent *lent, unsigned flags)
{
    put(lent, number_in(flags));
}

bool lent_open(struct lent *lent, struct io_uring *ring)
{
    /* mmap() gives the memory of a page only when the page is first used. */
    uint8_t *memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    struct io_uring_buf_reg group = {
        .ring_addr = (uintptr_t)memory,
        .ring_entries = LENT_COUNT,
        .bgid = LENT_GROUP,
    };
    int result = io_uring_register_buf_ring(ring, &group, 0);
    if (result < 0) {
        munmap(memory, MEMORY_BYTES);
        errno = -result;
        return false;
    }
    *lent = (struct lent){.free = (void *)memory, .memory = memory + RING_BYTES};
    io_uring_buf_ring_init(lent->free);
    for (unsigned number = 0; number < LENT_COUNT; number++)
        put(lent, number);
    return true;
}

void lent_close(struct lent *lent)
{
    munmap(lent->free, MEMORY_BYTES);
}
