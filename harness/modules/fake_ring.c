#include "fake_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fake_ops.h"

enum {
    BACKLOG_MAX = 65536, /* completions for which the ring has no space */
    BUFFERS_MAX = 32768,
    FILLER = 0xdb /* in a lent buffer of the kernel */
};

struct fake_ring_plan fake_ring_plan;
struct fake_ring_seen fake_ring_seen;

static struct io_uring *ring; /* NULL: there is none */
static unsigned sq_head, sq_tail, cq_head, cq_tail, mask[2], entries[2], zero[4];
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static struct io_uring_cqe backlog[BACKLOG_MAX];
static unsigned backlog_count;
static bool waited; /* the last call would have waited */

const char *fake_ring_hint(void)
{
    return fake_ring_plan.hint != NULL ? fake_ring_plan.hint : "in-the-module";
}

/* Completions */

static void flush(void)
{
    unsigned count = 0;
    while (count < backlog_count && cq_tail - cq_head < entries[1])
        cqes[cq_tail++ & mask[1]] = backlog[count++];
    backlog_count -= count;
    memmove(backlog, backlog + count, backlog_count * sizeof *backlog);
}

void fake_ring_post(uint64_t user_data, int result, unsigned flags)
{
    if (backlog_count == BACKLOG_MAX)
        check_fail(fake_ring_hint(), "%d completions wait to be taken", BACKLOG_MAX);
    backlog[backlog_count++] =
        (struct io_uring_cqe){.user_data = user_data, .res = result, .flags = flags};
    flush();
}

static int submit(void)
{
    int count = 0;
    for (; sq_head != ring->sq.sqe_tail; sq_head++, count++) {
        const struct io_uring_sqe *entry = &sqes[sq_head & mask[0]];
        if (entry->opcode == IORING_OP_ASYNC_CANCEL)
            fake_ring_post(entry->user_data, fake_ops_cancel(entry), 0);
        else
            fake_ops_submit(entry);
    }
    ring->sq.sqe_head = sq_tail = sq_head;
    return count;
}

static int refusals, refusal, refused;

void fake_ring_refuse(int calls, int error)
{
    refusals = calls;
    refusal = -error;
    refused = 0;
}

/* One system call. A limit of -1 ms: none. With DEFER_TASKRUN the kernel does its work only for a
 * caller that wants completions. */
static int enter(bool submits, bool wants, unsigned least, long long limit)
{
    fake_ring_seen.calls++;
    fake_ring_seen.limit = least == 0 ? 0 : limit;
    waited = false;
    if (refusals > 0) {
        refusals--;
        if (++refused > FAKE_RING_REFUSALS)
            _exit(FAKE_RING_SPINS);
        return refusal;
    }
    int count = submits ? submit() : 0;
    if (wants || least > 0 || !(ring->flags & IORING_SETUP_DEFER_TASKRUN))
        fake_ops_run();
    flush();
    waited = cq_tail - cq_head < least;
    fake_ring_seen.waits += waited;
    return count;
}

/* The functions of liburing */

int io_uring_submit(struct io_uring *r)
{
    return enter(true, false, 0, 0);
}

int io_uring_submit_and_wait(struct io_uring *r, unsigned least)
{
    int count = enter(true, false, least, -1);
    return waited && count == 0 ? -EINTR : count;
}

int io_uring_get_events(struct io_uring *r)
{
    return enter(false, true, 0, 0);
}

int io_uring_submit_and_get_events(struct io_uring *r)
{
    return enter(true, true, 0, 0);
}

static long long ms_of(const struct __kernel_timespec *limit)
{
    return limit == NULL ? -1 : limit->tv_sec * 1000LL + limit->tv_nsec / 1000000;
}

/* The first completion, without taking it. */
static int first(struct io_uring_cqe **completion, int otherwise)
{
    *completion = cq_tail == cq_head ? NULL : &cqes[cq_head & mask[1]];
    return *completion == NULL ? otherwise : 0;
}

int io_uring_submit_and_wait_timeout(struct io_uring *r, struct io_uring_cqe **completion,
                                     unsigned least, struct __kernel_timespec *limit, sigset_t *set)
{
    int count = enter(true, limit != NULL, least, ms_of(limit));
    int found = first(completion, limit == NULL ? -EINTR : -ETIME);
    return found == 0 || count < 0 ? count : found;
}

int io_uring_wait_cqes(struct io_uring *r, struct io_uring_cqe **completion, unsigned least,
                       struct __kernel_timespec *limit, sigset_t *set)
{
    if (cq_tail - cq_head < least)
        enter(false, true, least, ms_of(limit));
    return first(completion, limit == NULL ? -EINTR : -ETIME);
}

int io_uring_wait_cqe_timeout(struct io_uring *r, struct io_uring_cqe **completion,
                              struct __kernel_timespec *limit)
{
    return io_uring_wait_cqes(r, completion, 1, limit, NULL);
}

int __io_uring_get_cqe(struct io_uring *r, struct io_uring_cqe **completion, unsigned submits,
                       unsigned least, sigset_t *set)
{
    flush();
    if (submits > 0 || cq_tail - cq_head < least)
        enter(submits > 0, false, least, -1);
    return first(completion, least == 0 ? -EAGAIN : -EINTR);
}

unsigned io_uring_peek_batch_cqe(struct io_uring *r, struct io_uring_cqe **completions,
                                 unsigned count)
{
    unsigned i = 0;
    flush();
    for (; i < count && cq_head + i != cq_tail; i++)
        completions[i] = &cqes[(cq_head + i) & mask[1]];
    return i;
}

/* Lent buffers: the ring of those that are free, as the kernel sees it */

static struct io_uring_buf_ring *lent; /* NULL: there is none */
static unsigned lent_entries;
static uint16_t lent_head, lent_seen; /* taken; and looked at */
static bool is_free[BUFFERS_MAX];

static void lent_open(const struct io_uring_buf_reg *group)
{
    if (group->ring_entries > BUFFERS_MAX)
        check_impossible("too many lent buffers");
    lent = (struct io_uring_buf_ring *)(uintptr_t)group->ring_addr;
    lent_entries = group->ring_entries;
}

static void lent_close(void)
{
    lent = NULL;
    lent_head = lent_seen = 0;
    memset(is_free, 0, sizeof is_free);
}

static unsigned withheld(void)
{
    unsigned plan = fake_ring_plan.buffers;
    return plan == 0 || plan >= lent_entries ? 0 : lent_entries - plan;
}

void fake_ring_look_at_lent(void)
{
    if (lent == NULL)
        return;
    for (; lent_seen != lent->tail; lent_seen++) {
        struct io_uring_buf *buf = &lent->bufs[lent_seen & (lent_entries - 1)];
        CHECK(buf->bid < BUFFERS_MAX && !is_free[buf->bid], fake_ring_hint(),
              "lent buffer %d was put into the ring, but it is there already", buf->bid);
        is_free[buf->bid] = true;
        memset((void *)(uintptr_t)buf->addr, FILLER, buf->len);
    }
}

unsigned fake_ring_buffers(void)
{
    fake_ring_look_at_lent();
    return lent == NULL ? 0 : (uint16_t)(lent->tail - lent_head) - withheld();
}

int fake_ring_take_buffer(void **memory, unsigned *size)
{
    if (fake_ring_buffers() == 0)
        return -1;
    struct io_uring_buf *buf = &lent->bufs[lent_head & (lent_entries - 1)];
    lent_head++;
    is_free[buf->bid] = false;
    *memory = (void *)(uintptr_t)buf->addr;
    *size = buf->len;
    return buf->bid;
}

/* Makes and ends a ring */

static void forget_all(void)
{
    fake_ops_forget();
    lent_close();
    backlog_count = 0;
    sq_head = sq_tail = cq_head = cq_tail = 0;
    fake_ring_seen = (struct fake_ring_seen){0};
}

static unsigned power_of_two(unsigned size)
{
    unsigned power = 1;
    while (power < size)
        power *= 2;
    return power;
}

int io_uring_queue_init_params(unsigned count, struct io_uring *r, struct io_uring_params *p)
{
    unsigned most = fake_ring_plan.entries;
    if (ring != NULL)
        check_impossible("a second ring is made");
    forget_all();
    entries[0] = power_of_two(most != 0 && most < count ? most : count);
    entries[1] = 2 * entries[0];
    mask[0] = entries[0] - 1;
    mask[1] = entries[1] - 1;
    sqes = check_memory(entries[0] * sizeof *sqes);
    cqes = check_memory(entries[1] * sizeof *cqes);
    *r = (struct io_uring){.flags = p->flags, .ring_fd = -1, .enter_ring_fd = -1};
    r->features = p->features = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
    r->sq = (struct io_uring_sq){.khead = &sq_head,
                                 .ktail = &sq_tail,
                                 .kring_mask = &mask[0],
                                 .kring_entries = &entries[0],
                                 .kflags = &zero[0],
                                 .kdropped = &zero[1],
                                 .sqes = sqes,
                                 .ring_mask = mask[0],
                                 .ring_entries = entries[0]};
    r->cq = (struct io_uring_cq){.khead = &cq_head,
                                 .ktail = &cq_tail,
                                 .kring_mask = &mask[1],
                                 .kring_entries = &entries[1],
                                 .kflags = &zero[2],
                                 .koverflow = &zero[3],
                                 .cqes = cqes,
                                 .ring_mask = mask[1],
                                 .ring_entries = entries[1]};
    ring = r;
    return 0;
}

int io_uring_queue_init(unsigned count, struct io_uring *r, unsigned flags)
{
    struct io_uring_params p = {.flags = flags};
    return io_uring_queue_init_params(count, r, &p);
}

void io_uring_queue_exit(struct io_uring *r)
{
    forget_all();
    ring = NULL;
    free(sqes);
    free(cqes);
    sqes = NULL;
    cqes = NULL;
}

int io_uring_register(unsigned fd, unsigned opcode, const void *argument, unsigned count)
{
    return 0;
}

int io_uring_enable_rings(struct io_uring *r)
{
    return 0;
}

int io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *group, unsigned flags)
{
    lent_open(group);
    return 0;
}

int io_uring_unregister_buf_ring(struct io_uring *r, int group)
{
    lent_close();
    return 0;
}
