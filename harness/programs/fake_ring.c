#include "fake_ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "ring.h"

enum {
    OPS_MAX = 8192,
    BUFFERS_MAX = 32768,
    BACKLOG_MAX = 65536, /* completions for which the ring has no space */
    FAILS_MAX = 16,
    FILLER = 0xdb,  /* in memory that the kernel may write into */
    EDGE_BYTES = 64 /* of that memory, at its beginning and its end */
};

/* An operation in flight. */
struct op {
    struct io_uring_sqe entry;
    unsigned number;       /* in the order in which they were submitted */
    unsigned wait;         /* calls until it completes, once it is over */
    int tried;             /* in this call, see fake_ring_seen.calls */
    bool cancelled;        /* by a request */
    bool over;             /* it has moved what it will move, and completes soon */
    int result;            /* then */
    struct operation head; /* its memory, as it was at first */
    uint8_t *copy;         /* of what it sends */
};

struct fake_ring_plan fake_ring_plan;
struct fake_ring_seen fake_ring_seen;
bool fake_ring_held;

static struct io_uring *ring; /* NULL: there is none */
static unsigned sq_head, sq_tail, cq_head, cq_tail, mask[2], entries[2], zero[4];
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static struct op ops[OPS_MAX];
static unsigned op_count, op_number;
static struct io_uring_cqe backlog[BACKLOG_MAX];
static unsigned backlog_count;

/* The ring of lent buffers. */
static struct io_uring_buf_ring *lent;
static unsigned lent_entries, lent_group;
static uint16_t lent_head, lent_seen; /* taken; and looked at */
static bool lent_free[BUFFERS_MAX];

static struct {
    int opcode, result;
} fails[FAILS_MAX];
static int fail_count;

static const char *hint(void)
{
    return fake_ring_plan.hint != NULL ? fake_ring_plan.hint : "in-the-module";
}

/* Names and properties of operations */

static const char *name_of(const struct op *op)
{
    switch (op->entry.opcode) {
    case IORING_OP_RECV:
    case IORING_OP_READ:
        return "a receiving operation";
    case IORING_OP_SEND:
    case IORING_OP_WRITE:
        return "a sending operation";
    case IORING_OP_ACCEPT:
        return "an accepting operation";
    case IORING_OP_CONNECT:
        return "a connecting operation";
    case IORING_OP_POLL_ADD:
        return "a poll operation";
    default:
        return "an operation";
    }
}

static bool sends(const struct op *op)
{
    return op->entry.opcode == IORING_OP_SEND || op->entry.opcode == IORING_OP_WRITE;
}

static bool receives(const struct op *op)
{
    return op->entry.opcode == IORING_OP_RECV || op->entry.opcode == IORING_OP_READ;
}

static bool uses_lent(const struct op *op)
{
    return receives(op) && op->entry.flags & IOSQE_BUFFER_SELECT;
}

static bool repeats(const struct op *op)
{
    const struct io_uring_sqe *entry = &op->entry;
    return (entry->opcode == IORING_OP_RECV && entry->ioprio & IORING_RECV_MULTISHOT) ||
           (entry->opcode == IORING_OP_ACCEPT && entry->ioprio & IORING_ACCEPT_MULTISHOT) ||
           (entry->opcode == IORING_OP_POLL_ADD && entry->len & IORING_POLL_ADD_MULTI);
}

static void *memory_of(const struct op *op)
{
    return (void *)(uintptr_t)op->entry.addr;
}

static struct operation *head_of(const struct op *op)
{
    return (struct operation *)(uintptr_t)op->entry.user_data;
}

int fake_ring_of_kind(int fd, int opcode)
{
    int count = 0;
    for (unsigned i = 0; i < op_count; i++)
        count += (fd < 0 || ops[i].entry.fd == fd) && (opcode < 0 || ops[i].entry.opcode == opcode);
    return count;
}

int fake_ring_in_flight(int fd)
{
    return fake_ring_of_kind(fd, -1);
}

void fake_ring_fail_next(int opcode, int result)
{
    if (fail_count == FAILS_MAX)
        check_impossible("too many results are planned");
    fails[fail_count].opcode = opcode;
    fails[fail_count++].result = result;
}

static bool planned(int opcode, int *result)
{
    for (int i = 0; i < fail_count; i++) {
        if (fails[i].opcode != opcode)
            continue;
        *result = fails[i].result;
        memmove(&fails[i], &fails[i + 1], (size_t)(--fail_count - i) * sizeof *fails);
        return true;
    }
    return false;
}

/* Memory that is freed too early */

static bool overlaps(const char *from, size_t size, uint64_t at, size_t used)
{
    uintptr_t first = (uintptr_t)from;
    return at != 0 && used > 0 && first < at + used && at < first + size;
}

static void look_at_lent(void);

static void look_at_freed(const char *function, void *memory)
{
    look_at_lent(); /* it may be filled again from now on, also while a copy is being made */
    if (ring == NULL || memory == NULL || op_count == 0)
        return;
    size_t size = malloc_usable_size(memory);
    for (unsigned i = 0; i < op_count; i++) {
        const struct op *op = &ops[i];
        if (overlaps(memory, size, op->entry.user_data, sizeof(struct operation)))
            check_fail(hint(), "%s was called for the memory of %s that is in flight", function,
                       name_of(op));
        if ((sends(op) || (receives(op) && !uses_lent(op))) &&
            overlaps(memory, size, op->entry.addr, op->entry.len))
            check_fail(hint(), "%s was called for memory that %s in flight uses", function,
                       name_of(op));
    }
}

/* Both replace those of the C library. */
void free(void *memory)
{
    static void (*real)(void *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "free");
    look_at_freed("free()", memory);
    real(memory);
}

void *realloc(void *memory, size_t size)
{
    static void *(*real)(void *, size_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "realloc");
    look_at_freed("realloc()", memory);
    return real(memory, size);
}

/* Lent buffers */

static unsigned lent_withheld(void)
{
    unsigned plan = fake_ring_plan.buffers;
    return plan == 0 || plan >= lent_entries ? 0 : lent_entries - plan;
}

/* Looks at what was given to the ring since the last time. */
static void look_at_lent(void)
{
    if (lent == NULL)
        return;
    for (; lent_seen != lent->tail; lent_seen++) {
        struct io_uring_buf *buf = &lent->bufs[lent_seen & (lent_entries - 1)];
        CHECK(buf->bid < BUFFERS_MAX && !lent_free[buf->bid], hint(),
              "lent buffer %d was put into the ring, but it is there already", buf->bid);
        lent_free[buf->bid] = true;
        memset((void *)(uintptr_t)buf->addr, FILLER, buf->len);
    }
}

unsigned fake_ring_buffers(void)
{
    look_at_lent();
    return lent == NULL ? 0 : (uint16_t)(lent->tail - lent_head) - lent_withheld();
}

int fake_ring_take_buffer(void **memory, unsigned *size)
{
    look_at_lent();
    unsigned there = lent == NULL ? 0 : (uint16_t)(lent->tail - lent_head);
    if (there <= lent_withheld())
        return -1;
    struct io_uring_buf *buf = &lent->bufs[lent_head & (lent_entries - 1)];
    lent_head++;
    lent_free[buf->bid] = false;
    *memory = (void *)(uintptr_t)buf->addr;
    *size = buf->len;
    return buf->bid;
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

static void post(uint64_t user_data, int result, unsigned flags)
{
    if (backlog_count == BACKLOG_MAX)
        check_impossible("too many completions");
    backlog[backlog_count++] =
        (struct io_uring_cqe){.user_data = user_data, .res = result, .flags = flags};
    flush();
}

/* Its memory still has to be what it was when it was submitted. */
static void look_at_memory(const struct op *op)
{
    const struct operation *head = head_of(op);
    if (head != NULL)
        CHECK(head->completed == op->head.completed && head->context == op->head.context, hint(),
              "%s is in flight, but its memory was used for something else", name_of(op));
    if (sends(op))
        CHECK(memcmp(memory_of(op), op->copy, op->entry.len) == 0, hint(),
              "%s is in flight, but the bytes that it sends were changed", name_of(op));
}

static void remove_op(struct op *op)
{
    __typeof__(op->copy) copy = op->copy;
    unsigned at = (unsigned)(op - ops);
    memmove(op, op + 1, (--op_count - at) * sizeof *op);
    fake_ring_seen.completed++;
    free(copy);
}

/* The last completion of the operation. */
static void finish(struct op *op, int result, unsigned flags)
{
    look_at_memory(op);
    post(op->entry.user_data, result, flags);
    remove_op(op);
}

/* It is over. Its completion may come late. */
static void settle(struct op *op, int result)
{
    op->over = true;
    op->result = result;
    if (op->wait == 0)
        finish(op, result, 0);
}

/* Carrying out */

static void scribble(const struct op *op)
{
    if (!receives(op) || uses_lent(op))
        return;
    size_t edge = op->entry.len < EDGE_BYTES ? op->entry.len : EDGE_BYTES;
    memset(memory_of(op), FILLER, edge);
    memset((uint8_t *)memory_of(op) + op->entry.len - edge, FILLER, edge);
}

static int call_result(ssize_t result)
{
    return result < 0 ? -errno : (int)result;
}

/* Receives into a lent buffer, if there is something. */
static void receive_lent(struct op *op)
{
    char byte;
    void *memory;
    unsigned size;
    ssize_t there = recv(op->entry.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (there < 0 && errno == EAGAIN)
        return;
    int number = there > 0 ? fake_ring_take_buffer(&memory, &size) : -1;
    if (there <= 0 || number < 0) {
        settle(op, there > 0 ? -ENOBUFS : call_result(there));
        return;
    }
    int result = call_result(recv(op->entry.fd, memory, size, MSG_DONTWAIT));
    unsigned flags = IORING_CQE_F_BUFFER | (unsigned)number << IORING_CQE_BUFFER_SHIFT;
    if (!repeats(op)) {
        finish(op, result, flags);
        return;
    }
    post(op->entry.user_data, result, flags | IORING_CQE_F_MORE);
}

static int connected(const struct op *op)
{
    const struct sockaddr *address = memory_of(op);
    if (connect(op->entry.fd, address, (socklen_t)op->entry.off) == 0 || errno == EISCONN)
        return 0;
    return errno == EINPROGRESS || errno == EALREADY ? -EAGAIN : -errno;
}

/* What the call that it stands for returns now. */
static int carry_out(struct op *op)
{
    const struct io_uring_sqe *entry = &op->entry;
    size_t size = entry->len;
    if (sends(op) && fake_ring_plan.piece != 0 && size > fake_ring_plan.piece)
        size = fake_ring_plan.piece;
    struct pollfd polled = {.fd = entry->fd, .events = (short)entry->poll32_events};
    switch (entry->opcode) {
    case IORING_OP_NOP:
        return 0;
    case IORING_OP_RECV:
    case IORING_OP_READ:
        return call_result(recv(entry->fd, memory_of(op), size, MSG_DONTWAIT));
    case IORING_OP_SEND:
    case IORING_OP_WRITE: /* the kernel adds this flag for both */
        return call_result(send(entry->fd, memory_of(op), size, MSG_DONTWAIT | MSG_NOSIGNAL));
    case IORING_OP_ACCEPT:
        return call_result(accept4(entry->fd, NULL, NULL, (int)entry->accept_flags));
    case IORING_OP_CONNECT:
        return connected(op);
    case IORING_OP_POLL_ADD:
        return poll(&polled, 1, 0) > 0 ? polled.revents : -EAGAIN;
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
        return;
    }
    scribble(op);
    if (op->cancelled) {
        settle(op, -ECANCELED);
    } else if (fake_ring_held && op->entry.opcode != IORING_OP_NOP) {
        return;
    } else if (planned(op->entry.opcode, &result)) {
        settle(op, result);
    } else if (uses_lent(op)) {
        receive_lent(op);
    } else {
        result = carry_out(op);
        if (result == -EAGAIN)
            return;
        if (repeats(op) && result >= 0)
            post(op->entry.user_data, result, IORING_CQE_F_MORE);
        else
            settle(op, result);
    }
}

static void run_all(void)
{
    look_at_lent();
    unsigned i = 0;
    while (i < op_count) {
        unsigned number = ops[i].number;
        if (ops[i].tried != fake_ring_seen.calls)
            attempt(&ops[i]);
        i += i < op_count && ops[i].number == number; /* otherwise it has gone */
    }
}

/* Submitting */

static bool is_meant(const struct op *op, const struct io_uring_sqe *request)
{
    if (request->cancel_flags & IORING_ASYNC_CANCEL_ANY)
        return true;
    if (request->cancel_flags & IORING_ASYNC_CANCEL_FD)
        return op->entry.fd == request->fd;
    return op->entry.user_data == request->addr;
}

static void cancel(const struct io_uring_sqe *request)
{
    int count = 0;
    fake_ring_seen.cancels++;
    for (unsigned i = 0; i < op_count; i++) {
        if (!is_meant(&ops[i], request) || ops[i].cancelled || ops[i].over)
            continue;
        ops[i].cancelled = true;
        count++;
        if (!(request->cancel_flags & (IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY)))
            break;
    }
    bool all = request->cancel_flags & (IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY);
    post(request->user_data, all ? count : count > 0 ? 0 : -ENOENT, 0);
}

static void look_for_a_second(const struct op *op)
{
    if (!sends(op) && !uses_lent(op))
        return;
    CHECK(fake_ring_of_kind(op->entry.fd, op->entry.opcode) == 1, hint(),
          "%s was begun, but another one is in flight on this descriptor", name_of(op));
}

static void submit_one(const struct io_uring_sqe *entry)
{
    if (entry->opcode == IORING_OP_ASYNC_CANCEL) {
        cancel(entry);
        return;
    }
    if (op_count == OPS_MAX)
        check_impossible("too many operations are in flight");
    fake_ring_seen.submitted++;
    struct op *op = &ops[op_count];
    unsigned late = fake_ring_plan.late * (entry->opcode == fake_ring_plan.slow ? 2 : 1);
    *op = (struct op){.entry = *entry, .number = ++op_number, .wait = late};
    if (head_of(op) != NULL)
        op->head = *head_of(op);
    if (sends(op)) {
        op->copy = malloc(entry->len + 1);
        if (op->copy == NULL)
            check_impossible("no memory for %u bytes", entry->len);
        memcpy(op->copy, memory_of(op), entry->len);
    }
    op_count++;
    look_for_a_second(op);
    look_at_lent();
    attempt(op);
}

static int submit(void)
{
    int count = 0;
    for (; sq_head != ring->sq.sqe_tail; sq_head++, count++)
        submit_one(&sqes[sq_head & mask[0]]);
    ring->sq.sqe_head = sq_tail = sq_head;
    return count;
}

/* One system call. A limit of -1 ms: none. With DEFER_TASKRUN the kernel does its work only for a
 * caller that wants completions. */
static int enter(bool submits, bool wants, unsigned least, long long limit, bool *waited)
{
    fake_ring_seen.calls++;
    fake_ring_seen.limit = least == 0 ? 0 : limit;
    int count = submits ? submit() : 0;
    if (wants || least > 0 || !(ring->flags & IORING_SETUP_DEFER_TASKRUN))
        run_all();
    flush();
    *waited = cq_tail - cq_head < least;
    if (*waited) {
        fake_ring_seen.waits++;
        fake_ring_seen.too_long += cq_tail != cq_head;
    }
    return count;
}

/* The functions of liburing */

int io_uring_submit(struct io_uring *r)
{
    bool waited;
    (void)r;
    return enter(true, false, 0, 0, &waited);
}

int io_uring_submit_and_wait(struct io_uring *r, unsigned least)
{
    bool waited;
    (void)r;
    int count = enter(true, false, least, -1, &waited);
    return waited && count == 0 ? -EINTR : count;
}

int io_uring_get_events(struct io_uring *r)
{
    bool waited;
    (void)r;
    return enter(false, true, 0, 0, &waited);
}

int io_uring_submit_and_get_events(struct io_uring *r)
{
    bool waited;
    (void)r;
    return enter(true, true, 0, 0, &waited);
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
    bool waited;
    (void)r, (void)set;
    int count = enter(true, limit != NULL, least, ms_of(limit), &waited);
    int found = first(completion, limit == NULL ? -EINTR : -ETIME);
    return found == 0 ? count : found;
}

int io_uring_wait_cqes(struct io_uring *r, struct io_uring_cqe **completion, unsigned least,
                       struct __kernel_timespec *limit, sigset_t *set)
{
    bool waited;
    (void)r, (void)set;
    if (cq_tail - cq_head < least)
        enter(false, true, least, ms_of(limit), &waited);
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
    bool waited;
    (void)r, (void)set;
    flush();
    if (submits > 0 || cq_tail - cq_head < least)
        enter(submits > 0, false, least, -1, &waited);
    return first(completion, least == 0 ? -EAGAIN : -EINTR);
}

unsigned io_uring_peek_batch_cqe(struct io_uring *r, struct io_uring_cqe **completions,
                                 unsigned count)
{
    unsigned i = 0;
    (void)r;
    flush();
    for (; i < count && cq_head + i != cq_tail; i++)
        completions[i] = &cqes[(cq_head + i) & mask[1]];
    return i;
}

/* Makes and ends a ring */

static void forget_all(void)
{
    while (op_count > 0)
        free(ops[--op_count].copy);
    op_number = backlog_count = 0;
    sq_head = sq_tail = cq_head = cq_tail = 0;
    lent = NULL;
    lent_head = lent_seen = 0;
    memset(lent_free, 0, sizeof lent_free);
    fail_count = 0;
    fake_ring_held = false;
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
    sqes = calloc(entries[0], sizeof *sqes);
    cqes = calloc(entries[1], sizeof *cqes);
    if (sqes == NULL || cqes == NULL)
        check_impossible("no memory for the rings");
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
    (void)r;
    forget_all();
    ring = NULL;
    free(sqes);
    free(cqes);
    sqes = NULL;
    cqes = NULL;
}

int io_uring_register(unsigned fd, unsigned opcode, const void *argument, unsigned count)
{
    (void)fd, (void)opcode, (void)argument, (void)count;
    return 0;
}

int io_uring_enable_rings(struct io_uring *r)
{
    (void)r;
    return 0;
}

int io_uring_register_buf_ring(struct io_uring *r, struct io_uring_buf_reg *group, unsigned flags)
{
    (void)r, (void)flags;
    lent = (struct io_uring_buf_ring *)(uintptr_t)group->ring_addr;
    lent_entries = group->ring_entries;
    lent_group = group->bgid;
    if (lent_entries > BUFFERS_MAX)
        return -EINVAL;
    return 0;
}

int io_uring_unregister_buf_ring(struct io_uring *r, int group)
{
    (void)r, (void)group;
    lent = NULL;
    return 0;
}
