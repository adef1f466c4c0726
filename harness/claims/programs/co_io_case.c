#include "co_io_case.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void co_io_case_begin(void)
{
    co_case_begin(STACK_BYTES);
    fake_clock_begin();
    watched_begin();
}

void co_io_case_end(void)
{
    watched_end();
    co_case_end();
}

void co_io_case_turn(void)
{
    events_turn(watched_events, 0);
    timers_run(co_case_timers);
    co_run(co_case_scheduler);
}

void co_io_case_settle(const char *hint)
{
    check_step("runs iterations of the loop, until nothing more happens");
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    for (int i = 0; i < RUNS && co_is_ready(co_case_scheduler); i++)
        co_io_case_turn();
    CHECK(!co_is_ready(co_case_scheduler), hint,
          "nothing happens, but a coroutine is ready in each iteration of the loop: it does not "
          "wait");
}

const char *co_io_case_result_name(enum io_result result)
{
    static const char *const names[] = {
        [IO_OK] = "IO_OK",       [IO_AGAIN] = "IO_AGAIN", [IO_EOF] = "IO_EOF",
        [IO_ERROR] = "IO_ERROR", [IO_LATE] = "IO_LATE",   [IO_CANCELLED] = "IO_CANCELLED"};
    return (unsigned)result <= IO_CANCELLED ? names[result] : "an unknown result";
}

void pair_send_text(struct pair pair, const char *text)
{
    check_step("sends \"%s\" to descriptor %d", text, pair.fd);
    if (write(pair.peer, text, strlen(text)) != (ssize_t)strlen(text))
        check_impossible("write: %s", strerror(errno));
}
