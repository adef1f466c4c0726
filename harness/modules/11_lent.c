/* Buffers that a ring lends: the ring is the grader's own.
 * links: lent.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake_ring.h"
#include "lent.h"

#define LENT "lent-buffer"

enum { ROUNDS = 3, HELD = 5 };

static struct io_uring ring;
static struct lent lent;

struct taken {
    uint8_t *memory;
    unsigned size;
    unsigned flags; /* of its completion */
};

static struct taken taken[LENT_COUNT];

static void take(struct taken *t)
{
    void *memory;
    int number = fake_ring_take_buffer(&memory, &t->size);
    CHECK(number >= 0, LENT, "the kernel finds no free buffer, but %u have to be free",
          fake_ring_buffers());
    t->memory = memory;
    t->flags = IORING_CQE_F_BUFFER | (unsigned)number << IORING_CQE_BUFFER_SHIFT;
}

static void expect_free(unsigned due)
{
    unsigned there = fake_ring_buffers();
    CHECK(there == due, LENT, "%u buffers are in the ring of free ones; due are %u", there, due);
}

static int by_address(const void *left, const void *right)
{
    const struct taken *a = left, *b = right;
    return a->memory < b->memory ? -1 : a->memory > b->memory;
}

static void expect_apart(void)
{
    static struct taken sorted[LENT_COUNT];
    memcpy(sorted, taken, sizeof taken);
    qsort(sorted, LENT_COUNT, sizeof *sorted, by_address);
    for (int i = 0; i < LENT_COUNT; i++)
        CHECK(sorted[i].size == LENT_BYTES, LENT, "a buffer has %u bytes; due are %d",
              sorted[i].size, LENT_BYTES);
    for (int i = 1; i < LENT_COUNT; i++)
        CHECK(sorted[i].memory >= sorted[i - 1].memory + LENT_BYTES, LENT,
              "the memory of two buffers overlaps");
}

/* The completions come with more flags than those of the buffer. */
static void expect_found(struct taken *t, unsigned more)
{
    CHECK(lent_has(t->flags | more), LENT,
          "lent_has() returned false for a completion that has one");
    CHECK(lent_bytes(&lent, t->flags | more) == t->memory, LENT,
          "lent_bytes() returned other memory than that of buffer %u, which the kernel has filled",
          t->flags >> IORING_CQE_BUFFER_SHIFT);
}

static void all_lent(void)
{
    check_case();
    fake_ring_plan = (struct fake_ring_plan){.hint = LENT};
    if (io_uring_queue_init(8, &ring, 0) != 0)
        check_impossible("no ring");
    check_step("calls lent_open()");
    CHECK(lent_open(&lent, &ring), "module-refuses", "lent_open() returned false: %s",
          check_reason());
    expect_free(LENT_COUNT);
    for (int round = 0; round < ROUNDS; round++) {
        check_step("has the kernel fill all %d buffers", LENT_COUNT);
        for (int i = 0; i < LENT_COUNT; i++) {
            take(&taken[i]);
            memset(taken[i].memory, i, taken[i].size);
        }
        expect_apart();
        expect_free(0);
        check_step("calls lent_bytes() and lent_return() for each, the last one first");
        for (int i = LENT_COUNT - 1; i >= 0; i--) {
            expect_found(&taken[i], i % 2 ? IORING_CQE_F_MORE : IORING_CQE_F_SOCK_NONEMPTY);
            lent_return(&lent, taken[i].flags | (i % 2 ? IORING_CQE_F_MORE : 0));
            if (i >= LENT_COUNT - HELD)
                expect_free((unsigned)(LENT_COUNT - i));
        }
        expect_free(LENT_COUNT);
    }
    CHECK(!lent_has(IORING_CQE_F_MORE), LENT, "lent_has() returned true for one without a buffer");
    io_uring_queue_exit(&ring);
    check_step("calls lent_close()");
    lent_close(&lent);
}

const struct check checks[] = {
    {"lends", all_lent},
    {0},
};
