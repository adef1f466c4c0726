#include "fake_lent.h"

#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "fake_ring.h"

enum { BUFFERS_MAX = 32768, FILLER = 0xdb };

static struct io_uring_buf_ring *lent; /* NULL: there is none */
static unsigned entries;
static uint16_t head, seen; /* taken; and looked at */
static bool is_free[BUFFERS_MAX];

void fake_lent_open(const struct io_uring_buf_reg *group)
{
    if (group->ring_entries > BUFFERS_MAX)
        check_impossible("too many lent buffers");
    lent = (struct io_uring_buf_ring *)(uintptr_t)group->ring_addr;
    entries = group->ring_entries;
}

void fake_lent_close(void)
{
    lent = NULL;
    head = seen = 0;
    memset(is_free, 0, sizeof is_free);
}

static unsigned withheld(void)
{
    unsigned plan = fake_ring_plan.buffers;
    return plan == 0 || plan >= entries ? 0 : entries - plan;
}

void fake_lent_look(void)
{
    if (lent == NULL)
        return;
    for (; seen != lent->tail; seen++) {
        struct io_uring_buf *buf = &lent->bufs[seen & (entries - 1)];
        CHECK(buf->bid < BUFFERS_MAX && !is_free[buf->bid], fake_ring_hint(),
              "lent buffer %d was put into the ring, but it is there already", buf->bid);
        is_free[buf->bid] = true;
        memset((void *)(uintptr_t)buf->addr, FILLER, buf->len);
    }
}

unsigned fake_ring_buffers(void)
{
    fake_lent_look();
    return lent == NULL ? 0 : (uint16_t)(lent->tail - head) - withheld();
}

int fake_ring_take_buffer(void **memory, unsigned *size)
{
    if (fake_ring_buffers() == 0)
        return -1;
    struct io_uring_buf *buf = &lent->bufs[head & (entries - 1)];
    head++;
    is_free[buf->bid] = false;
    *memory = (void *)(uintptr_t)buf->addr;
    *size = buf->len;
    return buf->bid;
}
