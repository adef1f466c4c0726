#define _GNU_SOURCE /* RTLD_NEXT */
#include "fake_ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"

enum {
    ENTRIES_MAX = 4096,
    COMPLETIONS_MAX = 65536, /* far more than there are at a time */
    CQ_MASK = COMPLETIONS_MAX - 1,
    OPS_MAX = 8192,
    FILLER = 0xdb /* in a lent buffer of the kernel */
};

/* An operation in flight. */
struct op {
    struct io_uring_sqe entry;
    unsigned wait;         /* calls until it completes, once it is over */
    int tried;             /* in this call, see fake_ring_seen.calls */
    bool over;             /* it has moved what it will move, and completes soon */
    int result;            /* then */
    struct operation head; /* its memory, as it was at first */
    uint8_t *copy;         /* of what it sends */
};

struct fake_ring_plan fake_ring_plan;
struct fake_ring_seen fake_ring_seen;
bool fake_ring_held;
int fake_ring_missed, fake_ring_refusals;

static struct {
    int opcode, first, result; /* 0: none has to fail */
} failing;

static struct io_uring *ring; /* NULL: there is none */
static unsigned sq_head, sq_tail, cq_head, cq_tail;
static struct io_uring_sqe sqes[ENTRIES_MAX];
static struct io_uring_cqe cqes[COMPLETIONS_MAX];
static struct op ops[OPS_MAX];
static unsigned op_count;

static struct io_uring_buf_ring *lent; /* those that are free, as the kernel sees it, or NULL */
static unsigned lent_entries;
static uint16_t lent_head, lent_seen; /* taken; and looked at */

/* Lent buffers */

/* Looks at the lent buffers that were given back since the last time, and writes into them: a
 * buffer belongs to the kernel as soon as it is there. */
static void look_at_lent(void)
{
    for (; lent != NULL && lent_seen != lent->tail; lent_seen++) {
        struct io_uring_buf *buf = &lent->bufs[lent_seen & (lent_entries - 1)];
        memset((void *)(uintptr_t)buf->addr, FILLER, buf->len);
    }
}

/* Replaces that of the C library: a module that copies bytes out of a lent buffer frees memory when
 * its own buffer grows. So this finds a lent buffer that is given back before it is copied. */
void free(void *memory)
{
    static void (*real)(void *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "free");
    look_at_lent();
    real(memory);
}

unsigned fake_ring_buffers(void)
{
    unsigned most = fake_ring_plan.buffers;
    if (lent == NULL)
        return 0;
    look_at_lent();
    unsigned withheld = most == 0 || most >= lent_entries ? 0 : lent_entries - most;
    return (uint16_t)(lent->tail - lent_head) - withheld;
}

int fake_ring_take_buffer(void **memory, unsigned *size)
{
    if (fake_ring_buffers() == 0)
        return -1;
    struct io_uring_buf *buf = &lent->bufs[lent_head++ & (lent_entries - 1)];
    *memory = (void *)(uintptr_t)buf->addr;
    *size = buf->len;
    return buf->bid;
}

/* Operations */

static bool is_a(const struct op *op, int opcode)
{
    return op->entry.opcode == opcode;
}

static const char *name_of(const struct op *op)
{
    return is_a(op, IORING_OP_SEND)   ? "a sending operation"
           : is_a(op, IORING_OP_RECV) ? "a receiving operation"
                                      : "an operation";
}

static bool uses_lent(const struct op *op)
{
    return is_a(op, IORING_OP_RECV) && op->entry.flags & IOSQE_BUFFER_SELECT;
}

static bool repeats(const struct op *op)
{
    return (is_a(op, IORING_OP_RECV) && op->entry.ioprio & IORING_RECV_MULTISHOT) ||
           (is_a(op, IORING_OP_POLL_ADD) && op->entry.len & IORING_POLL_ADD_MULTI);
}

static void *memory_of(const struct op *op)
{
    return (void *)(uintptr_t)op->entry.addr;
}

static struct operation *head_of(const struct op *op)
{
    return (struct operation *)(uintptr_t)op->entry.user_data;
}

/* Those of this kind, or of all (-1). */
static int count_of(int fd, int opcode)
{
    int count = 0;
    for (unsigned i = 0; i < op_count; i++)
        count += ops[i].entry.fd == fd && (opcode < 0 || is_a(&ops[i], opcode));
    return count;
}

int fake_ring_in_flight(int fd)
{
    return count_of(fd, -1);
}

void fake_ring_fail(int opcode, int first, int result)
{
    failing = (__typeof__(failing)){opcode, first, result};
}

/* The planned result of an operation, or 0. */
static int failure(const struct op *op)
{
    int result = failing.result;
    if (result == 0 || !is_a(op, failing.opcode) || failing.first-- > 0)
        return 0;
    failing.result = 0;
    return result;
}

static void post(uint64_t user_data, int result, unsigned flags)
{
    CHECK(cq_tail - cq_head < COMPLETIONS_MAX, fake_ring_plan.hint,
          "%d completions wait to be taken", COMPLETIONS_MAX);
    cqes[cq_tail++ & CQ_MASK] =
        (struct io_uring_cqe){.user_data = user_data, .res = result, .flags = flags};
}

/* Its memory still has to be what it was when it was submitted. */
static void look_at_memory(const struct op *op)
{
    const struct operation *head = head_of(op);
    if (head != NULL)
        CHECK(head->completed == op->head.completed && head->context == op->head.context,
              fake_ring_plan.hint, "%s is in flight, but its memory was used for something else",
              name_of(op));
    if (op->copy != NULL)
        CHECK(memcmp(memory_of(op), op->copy, op->entry.len) == 0, fake_ring_plan.hint,
              "%s is in flight, but the bytes that it sends were changed", name_of(op));
}

/* The last completion of the operation. */
static void finish(struct op *op, int result, unsigned flags)
{
    uint8_t *copy = op->copy;
    post(op->entry.user_data, result, flags);
    memmove(op, op + 1, (size_t)(&ops[--op_count] - op) * sizeof *op);
    free(copy);
}

/* It is over. Its completion may come late. */
static void settle(struct op *op, int result)
{
    op->tried = fake_ring_seen.calls;
    op->over = true;
    op->result = result;
    if (op->wait == 0)
        finish(op, result, 0);
}

static int result_of(ssize_t result)
{
    return result < 0 ? -errno : (int)result;
}

/* Receives into a lent buffer, if there is something. */
static void receive_lent(struct op *op)
{
    char byte;
    void *memory;
    unsigned size;
    int result = result_of(recv(op->entry.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT));
    if (result == -EAGAIN)
        return;
    int number = result > 0 ? fake_ring_take_buffer(&memory, &size) : -1;
    if (number < 0) {
        settle(op, result > 0 ? -ENOBUFS : result);
        return;
    }
    result = result_of(recv(op->entry.fd, memory, size, MSG_DONTWAIT));
    unsigned flags = IORING_CQE_F_BUFFER | (unsigned)number << IORING_CQE_BUFFER_SHIFT;
    if (repeats(op))
        post(op->entry.user_data, result, flags | IORING_CQE_F_MORE);
    else
        finish(op, result, flags);
}

/* What the call that it stands for returns now. */
static int carry_out(const struct op *op)
{
    const struct io_uring_sqe *entry = &op->entry;
    unsigned piece = fake_ring_plan.piece;
    struct pollfd polled = {.fd = entry->fd, .events = (short)entry->poll32_events};
    switch (entry->opcode) {
    case IORING_OP_RECV:
        return result_of(recv(entry->fd, memory_of(op), entry->len, MSG_DONTWAIT));
    case IORING_OP_SEND:
        return result_of(send(entry->fd, memory_of(op),
                              piece != 0 && piece < entry->len ? piece : entry->len,
                              MSG_DONTWAIT | MSG_NOSIGNAL));
    case IORING_OP_ACCEPT:
        return result_of(accept(entry->fd, NULL, NULL));
    case IORING_OP_CONNECT:
        if (connect(entry->fd, memory_of(op), (socklen_t)entry->off) == 0 || errno == EISCONN)
            return 0;
        return errno == EINPROGRESS || errno == EALREADY ? -EAGAIN : -errno;
    case IORING_OP_POLL_ADD:
        return poll(&polled, 1, 0) > 0 ? polled.revents : -EAGAIN;
    case IORING_OP_NOP:
        return 0;
    default:
        check_impossible("this check does not know operation %d of io_uring", entry->opcode);
    }
}

/* Tries an operation, as the kernel does when it is submitted, and whenever something happens. */
static void attempt(struct op *op)
{
    int result;
    op->tried = fake_ring_seen.calls;
    look_at_memory(op);
    if (op->over) {
        if (--op->wait == 0)
            finish(op, op->result, 0);
    } else if (fake_ring_held) {
        return;
    } else if ((result = failure(op)) != 0) {
        settle(op, result);
    } else if (uses_lent(op)) {
        receive_lent(op);
    } else {
        result = carry_out(op);
        if (repeats(op) && result >= 0)
            post(op->entry.user_data, result, IORING_CQE_F_MORE);
        else if (result != -EAGAIN)
            settle(op, result);
    }
}

/* Tries every operation that was not tried in this call. */
static void run(void)
{
    for (unsigned i = 0, before; i < op_count; i += op_count == before) {
        before = op_count; /* one less: it has completed */
        if (ops[i].tried != fake_ring_seen.calls)
            attempt(&ops[i]);
    }
}

/* Takes over an operation, and tries it at once. */
static void take_over(const struct io_uring_sqe *entry)
{
    if (op_count == OPS_MAX)
        check_impossible("too many operations are in flight");
    struct op *op = &ops[op_count++];
    unsigned late = fake_ring_plan.late * (entry->opcode == fake_ring_plan.slow ? 2 : 1);
    *op = (struct op){.entry = *entry, .wait = late};
    if (head_of(op) != NULL)
        op->head = *head_of(op);
    if (is_a(op, IORING_OP_SEND)) {
        op->copy = check_memory(entry->len);
        memcpy(op->copy, memory_of(op), entry->len);
    }
    if (op->copy != NULL || uses_lent(op))
        CHECK(count_of(entry->fd, entry->opcode) == 1, fake_ring_plan.hint,
              "%s was begun, but another one is in flight on this descriptor", name_of(op));
    attempt(op);
}

/* A request to cancel one operation, or all of them. Returns how it completes. */
static int cancel(const struct io_uring_sqe *request)
{
    bool all = request->cancel_flags & IORING_ASYNC_CANCEL_ANY;
    int count = 0;
    fake_ring_seen.cancels++;
    if (fake_ring_missed > 0) {
        fake_ring_missed--;
        return -ENOENT;
    }
    for (unsigned i = op_count; i-- > 0;) {
        if ((!all && ops[i].entry.user_data != request->addr) || ops[i].over)
            continue;
        settle(&ops[i], -ECANCELED);
        count++;
    }
    return count == 0 ? -ENOENT : all ? count : 0;
}

/* Calls of the kernel */

static int submit(void)
{
    int count = 0;
    for (; sq_head != ring->sq.sqe_tail; sq_head++, count++) {
        const struct io_uring_sqe *entry = &sqes[sq_head & ring->sq.ring_mask];
        if (entry->opcode == IORING_OP_ASYNC_CANCEL)
            post(entry->user_data, cancel(entry), 0);
        else
            take_over(entry);
    }
    ring->sq.sqe_head = sq_tail = sq_head;
    return count;
}

/* One system call. A limit of -1 ms: none. With DEFER_TASKRUN the kernel does its work only for a
 * caller that wants completions. Otherwise it only tries once what is submitted. */
static int enter(bool wants, unsigned least, long long limit)
{
    static int refused;
    fake_ring_seen.calls++;
    fake_ring_seen.limit = least == 0 ? 0 : limit;
    if (fake_ring_refusals > 0) {
        fake_ring_refusals--;
        if (++refused > FAKE_RING_REFUSALS)
            _exit(FAKE_RING_SPINS);
        return -ENOMEM;
    }
    look_at_lent();
    int count = submit();
    if (wants || least > 0 || !(ring->flags & IORING_SETUP_DEFER_TASKRUN))
        run();
    bool waits = cq_tail - cq_head < least;
    fake_ring_seen.waits += waits;
    return waits && count == 0 ? (limit < 0 ? -EINTR : -ETIME) : count;
}

int io_uring_submit(struct io_uring *r)
{
    return enter(false, 0, 0);
}

int io_uring_submit_and_wait(struct io_uring *r, unsigned least)
{
    return enter(false, least, -1);
}

int io_uring_submit_and_get_events(struct io_uring *r)
{
    return enter(true, 0, 0);
}

/* The first completion, without taking it. */
int __io_uring_get_cqe(struct io_uring *r, struct io_uring_cqe **completion, unsigned submits,
                       unsigned least, sigset_t *set)
{
    *completion = cq_tail == cq_head ? NULL : &cqes[cq_head & CQ_MASK];
    return *completion == NULL ? -EAGAIN : 0;
}

int io_uring_submit_and_wait_timeout(struct io_uring *r, struct io_uring_cqe **completion,
                                     unsigned least, struct __kernel_timespec *limit, sigset_t *set)
{
    int count =
        enter(true, least, limit == NULL ? -1 : limit->tv_sec * 1000LL + limit->tv_nsec / 1000000);
    __io_uring_get_cqe(r, completion, 0, 0, set);
    return count;
}

/* Makes and ends a ring */

static void forget_all(void)
{
    while (op_count > 0)
        free(ops[--op_count].copy);
    lent = NULL;
    lent_head = lent_seen = 0;
    sq_head = sq_tail = cq_head = cq_tail = 0;
    fake_ring_seen = (struct fake_ring_seen){0};
    fake_ring_held = false;
    fake_ring_missed = fake_ring_refusals = 0;
    failing.result = 0;
}

int io_uring_queue_init(unsigned count, struct io_uring *r, unsigned flags)
{
    unsigned most = fake_ring_plan.entries != 0 ? fake_ring_plan.entries : ENTRIES_MAX;
    if (ring != NULL)
        check_impossible("a second ring is made");
    forget_all();
    ring = r;
    *r = (struct io_uring){
        .sq = {&sq_head, &sq_tail, .sqes = sqes, .ring_mask = most - 1, .ring_entries = most},
        .cq = {&cq_head, &cq_tail, .cqes = cqes, .ring_mask = CQ_MASK},
        .flags = flags,
        .features = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG,
        .ring_fd = -1,
        .enter_ring_fd = -1,
    };
    return 0;
}

void io_uring_queue_exit(struct io_uring *r)
{
    forget_all();
    ring = NULL;
}

int io_uring_register(unsigned fd, unsigned opcode, const void *argument, unsigned count)
{
    return 0;
}

int io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *group, unsigned flags)
{
    lent = (struct io_uring_buf_ring *)(uintptr_t)group->ring_addr;
    lent_entries = group->ring_entries;
    return 0;
}
