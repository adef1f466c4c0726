/* Coroutines that wait for descriptors: with an event manager that is looked at, and a clock that
 * goes on when the check says so. */
#ifndef GRADER_CO_IO_CASE_H
#define GRADER_CO_IO_CASE_H

#include "co_case.h"
#include "co_io.h"
#include "fake_clock.h"
#include "watched_events.h"

enum {
    ROOM = 64,       /* bytes to read at a time */
    IN_VAIN_MAX = 2, /* waits that may end with nothing: the first one may be a try */
    DATA_BYTES = 4 << 20
};

/* What is sent, unless a check sends a text: the same in each case. */
extern uint8_t co_io_data[DATA_BYTES];

/* The hint of each failure in the case. */
extern const char *co_io_case_hint;

#define EXPECT(condition, ...) CHECK(condition, co_io_case_hint, __VA_ARGS__)

void co_io_case_begin(const char *hint);
void co_io_case_end(void);

/* An iteration of the loop. */
void co_io_case_turn(void);

/* As many iterations as it takes until no coroutine is ready. */
void co_io_case_settle(void);

/* The same, and a pause for the kernel. */
void co_io_case_pause(void);

#define RUN_UNTIL(condition, looks)                                                                \
    for (int look_ = 0; look_ < (looks) && !(condition); look_++)                                  \
    co_io_case_pause()

const char *co_io_case_result_name(enum io_result result);

void pair_send_text(struct pair pair, const char *text);

/* From its `offset` on, bytes of co_io_data. */
void pair_send_data(struct pair pair, size_t offset, size_t size);

/* A socket, and a coroutine that makes a call when it is asked to */

struct party {
    struct pair pair;
    struct co_socket socket;
    struct buffer in, out;
    struct coroutine *co; /* NULL: it has ended */

    /* The call that it is in, or has still to make; PARKS: none. */
    enum does { PARKS, READS, WRITES, WAITS } does, did;
    size_t most; /* bytes in a call */
    int timeout_ms;
    bool repeats;     /* it makes the same call until it fails, or everything is moved */
    bool takes_again; /* IO_AGAIN is what it expects, too */
    bool ends;        /* it is to end after its call */

    /* Is called by the coroutine when it ends. NULL: nothing is to be done. */
    void (*last)(struct party *p);

    enum io_result result;
    int error;     /* errno then */
    int calls;     /* that have returned */
    int in_vain;   /* of these, with IO_AGAIN */
    int wakes;     /* while it was in no call */
    size_t moved;  /* bytes, by all calls */
    size_t queued; /* bytes of co_io_data put into `out` */
    size_t taken;  /* bytes that the peer has read */
};

void party_begin(struct party *p, struct pair pair);

/* It is to make the call when it runs next. */
void party_call(struct party *p, enum does does);

/* It makes the call, and runs until that waits. */
void party_ask(struct party *p, enum does does);

/* Input comes, and ends its wait. */
void party_gets(struct party *p, const char *text);

/* Ends its call by a wake-up. From now on it is in none. */
void party_stop(struct party *p);

/* The coroutine ends, and another one forgets the socket. */
void party_end(struct party *p);

void party_expect_waiting(const struct party *p);
void party_expect_result(const struct party *p, enum io_result due);
void party_expect_error(const struct party *p, int error);
void party_expect_text(struct party *p, const char *due);

/* Puts the next bytes of co_io_data into `out`. */
void party_queue(struct party *p, size_t size);

/* The peer reads what is there: the next bytes of what was queued. Returns how many. */
size_t party_take(struct party *p);

/* Everything that was queued has arrived, and nothing else is in the buffer. */
void party_expect_arrived(struct party *p);

#endif
