/* What a connection may do next: its budget, and its output at the water marks.
 * links: flow.c buffer.c */
#include "check.h"
#include "flow.h"

#define BUDGET "budget-used-up"
#define ROOM   "flow-room"
#define SPEND  "flow-spend"
#define VAIN   "again-in-vain"
#define WATER  "water-marks"
#define QUOTA  "quota-unread"
#define STATE  "wants-input"

enum { HIGH = 100, LOW = 40 };

/* A connection, and what a call has to return for it; of WANTED and AGAIN 0 or 1. */
struct row {
    enum { IS_ROOM, IS_WANTED, IS_AGAIN } call;
    const char *what, *hint;
    size_t due, high, waiting, spent;
    bool suspended, over_quota, readable, unread;
    enum conn_state state;
};

static const struct row rows[] = {
    {IS_ROOM, "no output", ROOM, HIGH, HIGH},
    {IS_ROOM, "output of a byte less than high water", ROOM, 1, HIGH, HIGH - 1},
    {IS_ROOM, "output at high water", ROOM, 0, HIGH, HIGH},
    {IS_ROOM, "a connection that is suspended", WATER, 0, HIGH, .suspended = true},
    {IS_ROOM, "more free space than budget", ROOM, BUDGET_BYTES, 2 * BUDGET_BYTES},
    {IS_ROOM, "half of the budget", SPEND, BUDGET_BYTES / 2, 2 * BUDGET_BYTES,
     .spent = BUDGET_BYTES / 2},
    {IS_ROOM, "a turn that has cost more than its budget", SPEND, 0, 2 * BUDGET_BYTES,
     .spent = 2 * BUDGET_BYTES},
    {IS_AGAIN, "a turn after which nothing is left to do", VAIN, 0, HIGH},
    {IS_AGAIN, "a turn that has used up its budget, and has left input that was read", BUDGET, 1,
     HIGH, .spent = 2 * BUDGET_BYTES, .unread = true},
    {IS_AGAIN, "a turn that has used up its budget, and has left output", BUDGET, 1, HIGH, 1,
     .spent = 2 * BUDGET_BYTES},
    {IS_AGAIN, "input that no event will report again", BUDGET, 1, HIGH, .readable = true},
    {IS_AGAIN, "input of a connection that is suspended", VAIN, 0, HIGH, .readable = true,
     .suspended = true},
    {IS_WANTED, "an open connection that nothing delays", STATE, 1, HIGH},
    {IS_WANTED, "a connection that is suspended", WATER, 0, HIGH, .suspended = true},
    {IS_WANTED, "a connection whose quota is used up", QUOTA, 0, HIGH, .over_quota = true},
    {IS_WANTED, "a lingering connection that is suspended", STATE, 1, HIGH, .suspended = true,
     .state = CONN_LINGERING},
    {IS_WANTED, "a lingering connection whose quota is used up", STATE, 1, HIGH, .over_quota = true,
     .state = CONN_LINGERING},
    {IS_WANTED, "a connection that is draining", STATE, 0, HIGH, .state = CONN_DRAINING},
    {IS_WANTED, "a connection that is closed", STATE, 0, HIGH, .state = CONN_CLOSED},
};

static struct config config;
static struct server server = {.config = &config};
static struct conn conn;
static size_t left_of_quota;
static int agains; /* calls of events_again() */

void events_again(struct events *e, struct watch *watch)
{
    CHECK(watch == &conn.watch, BUDGET, "events_again() was called for another watch");
    agains++;
}

size_t quota_left(const struct quota *q)
{
    return left_of_quota;
}

static void set_bytes(struct buffer *buffer, size_t size)
{
    static const uint8_t bytes[HIGH];
    buffer_consume(buffer, buffer_len(buffer));
    if (size > 0 && !buffer_append(buffer, bytes, size))
        check_impossible("no memory");
}

static void begin(const struct row *row)
{
    check_case();
    set_bytes(&conn.in, row->unread ? 4 : 0);
    set_bytes(&conn.out, row->waiting);
    config.limits.high_water = row->high;
    config.limits.low_water = LOW;
    conn = (struct conn){.server = &server,
                         .state = row->state,
                         .in = conn.in,
                         .out = conn.out,
                         .writable = true,
                         .readable = row->readable,
                         .suspended = row->suspended};
    left_of_quota = row->over_quota ? 0 : SIZE_MAX;
    agains = 0;
    flow_begin_turn(&conn);
    if (row->spent > 0) {
        check_step("calls flow_spend() with %zu of %u", row->spent, BUDGET_BYTES);
        flow_spend(&conn, row->spent);
    }
}

static void expect(const struct row *row)
{
    static const char *const names[] = {"flow_room", "flow_wants_input", "flow_end_turn"};
    begin(row);
    check_step("calls %s() for %s", names[row->call], row->what);
    if (row->call == IS_AGAIN) {
        flow_end_turn(&conn);
        CHECK((size_t)agains == row->due, row->hint,
              "flow_end_turn() has called events_again() %s; due is %zu", check_times(agains),
              row->due);
        return;
    }
    size_t got = row->call == IS_ROOM ? flow_room(&conn) : flow_wants_input(&conn);
    CHECK(got == row->due, row->hint, "%s() returned %zu; due is %zu", names[row->call], got,
          row->due);
}

static void expect_all(int call)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((int)rows[i].call == call)
            expect(&rows[i]);
    buffer_free(&conn.in);
    buffer_free(&conn.out);
}

static void budget(void)
{
    expect_all(IS_ROOM);
    expect_all(IS_AGAIN);
    check_step("calls flow_begin_turn() after all of a budget was spent");
    flow_spend(&conn, BUDGET_BYTES);
    flow_begin_turn(&conn);
    CHECK(conn.budget == BUDGET_BYTES, SPEND, "%zu is left of the budget", (size_t)conn.budget);
}

/* Output that waits, one after the other, and whether the connection is suspended then. */
static void marks(void)
{
    static const struct {
        size_t high, low, waiting;
        bool due;
    } turns[] = {
        {HIGH, LOW, HIGH - 1, false},
        {HIGH, LOW, HIGH, true},
        {HIGH, LOW, LOW + 1, true},
        {HIGH, LOW, LOW, false},
        {HIGH, LOW, LOW + 1, false},
        {HIGH, LOW, HIGH, true},
        {HIGH, LOW, 0, false},
        {1, 0, 1, true},
        {1, 0, 0, false},
        {LOW, LOW, LOW, true},
        {LOW, LOW, LOW - 1, false},
    };
    begin(&rows[0]);
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        config.limits.high_water = turns[i].high;
        config.limits.low_water = turns[i].low;
        check_step("lets %zu bytes of output wait; high water is %zu, low water %zu",
                   turns[i].waiting, turns[i].high, turns[i].low);
        set_bytes(&conn.out, turns[i].waiting);
        flow_look(&conn);
        CHECK(conn.suspended == turns[i].due, WATER,
              "after flow_look() the connection is%s suspended; %s", conn.suspended ? "" : " not",
              turns[i].due ? "from high water on, and until low water, it has to be"
                           : "it may not be");
    }
    buffer_free(&conn.out);
}

static void wanted(void)
{
    expect_all(IS_WANTED);
}

const struct check checks[] = {
    {"budget", budget},
    {"marks", marks},
    {"wanted", wanted},
    {0},
};
