/* Coroutines that wait for descriptors: with an event manager that is looked at, and a clock that
 * goes on when the check says so. */
#ifndef GRADER_CO_IO_CASE_H
#define GRADER_CO_IO_CASE_H

#include <netinet/in.h>

#include "co_case.h"
#include "co_io.h"
#include "fake_clock.h"
#include "watched_events.h"

enum {
    ROOM = 64,       /* bytes to read at a time */
    IN_VAIN_MAX = 2, /* waits that may end with nothing: the first one may be a try */
    BATCH = 4,       /* clients that one co_accept() may return */
    BACKLOG = 20,    /* clients that wait to be accepted */
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

void pair_send_text(struct pair pair, const char *text);

/* From its `offset` on, bytes of co_io_data. */
void pair_send_data(struct pair pair, size_t offset, size_t size);

/* A TCP socket on a port of its own. It listens, unless `backlog` is negative. */
int bind_somewhere(struct sockaddr_in *address, int backlog);

/* A socket, and a coroutine that makes a call when it is asked to */

struct party {
    struct pair pair;
    struct sockaddr_in address; /* where it listens, or what it connects to */
    struct co_socket socket;
    struct buffer in, out;
    struct coroutine *co; /* NULL: it has ended */

    /* The call that it is in, or has still to make; PARKS: none. */
    enum does { PARKS, READS, WRITES, WAITS, ACCEPTS, CONNECTS } does, did;
    size_t most; /* bytes in a call */
    int timeout_ms;
    bool repeats;     /* it makes the same call until it fails, or everything is moved */
    bool takes_again; /* IO_AGAIN is what it expects, too */
    bool ends;        /* it is to end after its call */

    /* Is called by the coroutine when it ends. NULL: nothing is to be done. */
    void (*last)(struct party *p);

    /* Of co_accept(): IO_OK is a client, IO_AGAIN is NET_NONE, IO_ERROR is NET_FULL. */
    enum io_result result;
    int error;        /* errno then */
    int calls;        /* that have returned */
    int in_vain;      /* of these, with IO_AGAIN */
    int wakes;        /* while it was in no call */
    size_t moved;     /* bytes, by all calls */
    size_t queued;    /* bytes of co_io_data put into `out` */
    size_t taken;     /* bytes that the peer has read */
    int met, clients; /* clients: that have connected, and accepted */
    int batch;        /* of these, the most of one call */
};

/* Is called when co_accept() or co_connect() has returned. NULL: nothing is to be looked at. */
extern void (*party_has_called)(int fd, const char *function);

void party_begin(struct party *p, struct pair pair);

/* It is to make the call when it runs next. */
void party_call(struct party *p, enum does does);

/* It makes the call, and runs until that waits. */
void party_ask(struct party *p, enum does does);

/* Input comes, and ends its wait. */
void party_gets(struct party *p, const char *text);

/* Ends its call by a wake-up. From now on it is in none. */
void party_stop(struct party *p);

/* The coroutine ends, and another one forgets the socket. And then the whole case ends. */
void party_end(struct party *p);
void party_end_all(struct party *p);

/* These begin with its call: it accepts all clients that come, or connects. */
void party_accepts(struct party *p);
void party_connects(struct party *p, const struct sockaddr_in *address);

/* So many clients connect to it, and close their ends. */
void party_meets(struct party *p, int clients);

/* It accepts all that have connected. */
void party_expect_clients(struct party *p);

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
