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

static struct config config;
static struct server server = {.config = &config};
static struct conn conn;
static size_t quota; /* what is left of it */
static int agains;   /* calls of events_again() */

void events_again(struct events *e, struct watch *watch)
{
    CHECK(watch == &conn.watch, BUDGET, "events_again() was called for another watch");
    agains++;
}

size_t quota_left(const struct quota *q)
{
    return quota;
}

/* An open connection with nothing to read or send. */
static void begin(size_t high_water, size_t low_water)
{
    check_case();
    buffer_free(&conn.in);
    buffer_free(&conn.out);
    config.limits = (struct limits){.high_water = high_water, .low_water = low_water};
    conn = (struct conn){.server = &server, .state = CONN_OPEN, .writable = true};
    quota = SIZE_MAX;
    agains = 0;
    flow_begin_turn(&conn);
}

/* From now on so many bytes of output wait. */
static void set_output(size_t size)
{
    static const uint8_t bytes[HIGH];
    check_step("lets %zu bytes of output wait; high water is %zu, low water %zu", size,
               config.limits.high_water, config.limits.low_water);
    buffer_consume(&conn.out, buffer_len(&conn.out));
    if (size > 0 && !buffer_append(&conn.out, bytes, size))
        check_impossible("no memory");
}

/* From now on a frame is read and not answered. */
static void set_input(void)
{
    static const uint8_t frame[4];
    if (!buffer_append(&conn.in, frame, sizeof frame))
        check_impossible("no memory");
}

/* Marks */

static void expect_suspended(size_t waiting, bool due)
{
    set_output(waiting);
    flow_look(&conn);
    CHECK(conn.suspended == due, WATER, "after flow_look() the connection is%s suspended; %s",
          conn.suspended ? "" : " not",
          due ? "from high water on, and until low water, it has to be" : "it may not be");
}

static void marks(void)
{
    begin(HIGH, LOW);
    expect_suspended(HIGH - 1, false);
    expect_suspended(HIGH, true);
    expect_suspended(LOW + 1, true);
    expect_suspended(LOW, false);
    expect_suspended(LOW + 1, false);
    expect_suspended(HIGH, true);
    expect_suspended(0, false);
    begin(1, 0);
    expect_suspended(1, true);
    expect_suspended(0, false);
    begin(LOW, LOW);
    expect_suspended(LOW, true);
    expect_suspended(LOW - 1, false);
    buffer_free(&conn.out);
}

/* Input */

static void expect_wanted(bool due, const char *hint, const char *why)
{
    bool wanted = flow_wants_input(&conn);
    CHECK(wanted == due, hint, "flow_wants_input() returned %s for %s", wanted ? "true" : "false",
          why);
}

static void wanted(void)
{
    begin(HIGH, LOW);
    expect_wanted(true, STATE, "an open connection that nothing delays");
    conn.suspended = true;
    expect_wanted(false, WATER, "a connection that is suspended");
    conn.state = CONN_LINGERING;
    expect_wanted(true, STATE, "a lingering connection that is suspended");
    begin(HIGH, LOW);
    quota = 0;
    expect_wanted(false, QUOTA, "a connection whose quota is used up");
    conn.state = CONN_LINGERING;
    expect_wanted(true, STATE, "a lingering connection whose quota is used up");
    begin(HIGH, LOW);
    conn.state = CONN_DRAINING;
    expect_wanted(false, STATE, "a connection that is draining");
    conn.state = CONN_CLOSED;
    expect_wanted(false, STATE, "a connection that is closed");
}

/* The budget */

static void expect_room(size_t due, const char *hint)
{
    size_t room = flow_room(&conn);
    CHECK(room == due, hint, "flow_room() returned %zu; due is %zu", room, due);
}

static void room(void)
{
    begin(HIGH, LOW);
    expect_room(HIGH, ROOM);
    set_output(HIGH - 1);
    expect_room(1, ROOM);
    set_output(HIGH);
    expect_room(0, ROOM);
    begin(HIGH, LOW);
    conn.suspended = true;
    CHECK(flow_room(&conn) == 0, WATER,
          "flow_room() returned %zu for a connection that is suspended; due is 0",
          flow_room(&conn));
    begin(2 * BUDGET_BYTES, LOW);
    expect_room(BUDGET_BYTES, ROOM);
    buffer_free(&conn.out);
}

static void spent(void)
{
    begin(2 * BUDGET_BYTES, LOW);
    check_step("calls flow_spend() with half of the budget, and then with all of it");
    flow_spend(&conn, BUDGET_BYTES / 2);
    expect_room(BUDGET_BYTES / 2, SPEND);
    flow_spend(&conn, BUDGET_BYTES);
    expect_room(0, SPEND);
    check_step("calls flow_spend() with a byte more, though nothing is left");
    flow_spend(&conn, 1);
    expect_room(0, SPEND);
    check_step("calls flow_begin_turn()");
    flow_begin_turn(&conn);
    expect_room(BUDGET_BYTES, SPEND);
}

static void expect_again(int due, const char *why)
{
    flow_end_turn(&conn);
    CHECK(agains == due, agains < due ? BUDGET : VAIN,
          "flow_end_turn() has called events_again() %s; due is %d: %s", check_times(agains), due,
          why);
}

static void again(void)
{
    begin(HIGH, LOW);
    expect_again(0, "nothing is left to do");
    begin(HIGH, LOW);
    set_input();
    flow_spend(&conn, 2 * BUDGET_BYTES);
    expect_again(1, "the budget is used up, and input that has been read is left");
    begin(HIGH, LOW);
    set_output(1);
    flow_spend(&conn, 2 * BUDGET_BYTES);
    expect_again(1, "the budget is used up, and output is left that the kernel would take");
    begin(HIGH, LOW);
    conn.readable = true;
    expect_again(1, "there is input, and no event will report it again");
    begin(HIGH, LOW);
    conn.readable = true;
    conn.suspended = true;
    expect_again(0, "there is input, but the connection is suspended");
    buffer_free(&conn.in);
    buffer_free(&conn.out);
}

const struct check checks[] = {
    {"marks", marks}, {"wanted", wanted}, {"room", room}, {"spent", spent}, {"again", again}, {0},
};
