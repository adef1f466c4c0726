#define _GNU_SOURCE /* accept4(); only older versions of liburing.h define it */
#include "fake_ops.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"
#include "fake_ring.h"
#include "ring.h"

enum {
    OPS_MAX = 8192,
    FAILS_MAX = 16,
    AS_USUAL = 1,   /* a planned result that is none */
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

bool fake_ring_held;
int fake_ring_missed;

static struct op ops[OPS_MAX];
static unsigned op_count, op_number;

static struct {
    int opcode, result;
} failing[FAILS_MAX];
static int fail_count;

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
    failing[fail_count].opcode = opcode;
    failing[fail_count++].result = result;
}

void fake_ring_skip_next(int opcode, int count)
{
    for (int i = 0; i < count; i++)
        fake_ring_fail_next(opcode, AS_USUAL);
}

static bool planned(int opcode, int *result)
{
    for (int i = 0; i < fail_count; i++) {
        if (failing[i].opcode != opcode)
            continue;
        *result = failing[i].result;
        memmove(&failing[i], &failing[i + 1], (size_t)(--fail_count - i) * sizeof *failing);
        return *result != AS_USUAL;
    }
    return false;
}

/* Memory that is freed too early */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ /* as gcc has it */
#endif
#endif

#ifdef __SANITIZE_ADDRESS__

#include <sanitizer/asan_interface.h>

/* The sanitizer has replaced free(), and knows what was freed. */
static void look_at_use(const struct op *op)
{
    bool plain = sends(op) || (receives(op) && !uses_lent(op));
    if (head_of(op) != NULL)
        CHECK(__asan_region_is_poisoned(head_of(op), sizeof(struct operation)) == NULL,
              fake_ring_hint(), "the memory of %s that is in flight was freed", name_of(op));
    if (plain)
        CHECK(__asan_region_is_poisoned(memory_of(op), op->entry.len) == NULL, fake_ring_hint(),
              "memory that %s in flight uses was freed", name_of(op));
}

#else

static void look_at_use(const struct op *op)
{
    (void)op; /* free() has looked */
}

static bool overlaps(const char *from, size_t size, uint64_t at, size_t used)
{
    uintptr_t first = (uintptr_t)from;
    return at != 0 && used > 0 && first < at + used && at < first + size;
}

static void look_at_freed(const char *function, void *memory)
{
    /* It may be filled again from now on, also while a copy is being made. */
    fake_ring_look_at_lent();
    if (memory == NULL || op_count == 0)
        return;
    size_t size = malloc_usable_size(memory);
    for (unsigned i = 0; i < op_count; i++) {
        const struct op *op = &ops[i];
        if (overlaps(memory, size, op->entry.user_data, sizeof(struct operation)))
            check_fail(fake_ring_hint(), "%s was called for the memory of %s that is in flight",
                       function, name_of(op));
        if ((sends(op) || (receives(op) && !uses_lent(op))) &&
            overlaps(memory, size, op->entry.addr, op->entry.len))
            check_fail(fake_ring_hint(), "%s was called for memory that %s in flight uses",
                       function, name_of(op));
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

#endif

/* Completing */

/* Its memory still has to be what it was when it was submitted. */
static void look_at_memory(const struct op *op)
{
    const struct operation *head = head_of(op);
    look_at_use(op);
    if (head != NULL)
        CHECK(head->completed == op->head.completed && head->context == op->head.context,
              fake_ring_hint(), "%s is in flight, but its memory was used for something else",
              name_of(op));
    if (sends(op))
        CHECK(memcmp(memory_of(op), op->copy, op->entry.len) == 0, fake_ring_hint(),
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
    fake_ring_post(op->entry.user_data, result, flags);
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
    fake_ring_post(op->entry.user_data, result, flags | IORING_CQE_F_MORE);
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
            fake_ring_post(op->entry.user_data, result, IORING_CQE_F_MORE);
        else
            settle(op, result);
    }
}

void fake_ops_run(void)
{
    fake_ring_look_at_lent();
    unsigned i = 0;
    while (i < op_count) {
        unsigned number = ops[i].number;
        if (ops[i].tried != fake_ring_seen.calls)
            attempt(&ops[i]);
        i += i < op_count && ops[i].number == number; /* otherwise it has gone */
    }
}

static bool is_meant(const struct op *op, const struct io_uring_sqe *request)
{
    if (request->cancel_flags & IORING_ASYNC_CANCEL_ANY)
        return true;
    if (request->cancel_flags & IORING_ASYNC_CANCEL_FD)
        return op->entry.fd == request->fd;
    return op->entry.user_data == request->addr;
}

int fake_ops_cancel(const struct io_uring_sqe *request)
{
    bool all = request->cancel_flags & (IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY);
    int count = 0;
    fake_ring_seen.cancels++;
    if (fake_ring_missed > 0) {
        fake_ring_missed--;
        return -ENOENT;
    }
    for (unsigned i = 0; i < op_count && (all || count == 0); i++) {
        if (!is_meant(&ops[i], request) || ops[i].cancelled || ops[i].over)
            continue;
        ops[i].cancelled = true;
        count++;
    }
    return all ? count : count > 0 ? 0 : -ENOENT;
}

static void look_for_a_second(const struct op *op)
{
    if (!sends(op) && !uses_lent(op))
        return;
    CHECK(fake_ring_of_kind(op->entry.fd, op->entry.opcode) == 1, fake_ring_hint(),
          "%s was begun, but another one is in flight on this descriptor", name_of(op));
}

void fake_ops_submit(const struct io_uring_sqe *entry)
{
    if (op_count == OPS_MAX)
        check_impossible("too many operations are in flight");
    fake_ring_seen.submitted++;
    struct op *op = &ops[op_count];
    unsigned late = fake_ring_plan.late * (entry->opcode == fake_ring_plan.slow ? 2 : 1);
    *op = (struct op){.entry = *entry, .number = ++op_number, .wait = late};
    if (head_of(op) != NULL)
        op->head = *head_of(op);
    if (sends(op)) {
        op->copy = check_memory(entry->len);
        memcpy(op->copy, memory_of(op), entry->len);
    }
    op_count++;
    look_for_a_second(op);
    fake_ring_look_at_lent();
    attempt(op);
}

void fake_ops_forget(void)
{
    while (op_count > 0)
        free(ops[--op_count].copy);
    op_number = 0;
    fail_count = 0;
    fake_ring_held = false;
    fake_ring_missed = 0;
}
