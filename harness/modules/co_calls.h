/* Coroutines that accept and connect, each call of theirs with what became of it. */
#ifndef GRADER_CO_CALLS_H
#define GRADER_CO_CALLS_H

#include <netinet/in.h>

#include "co_io_case.h"

enum { CLIENTS_MAX = 20, MOST = 4 };

/* Is called when co_accept or co_connect has returned. NULL: nothing is to be looked at. */
extern void (*co_calls_look)(int fd, const char *function);

int new_tcp_socket(bool nonblocking);

/* A coroutine that accepts clients again and again, up to `most` (MOST) at a time. After NET_FULL
 * it waits until it is woken. */
struct acceptor {
    struct co_socket socket;
    struct sockaddr_in address; /* where it listens */
    struct coroutine *co;       /* NULL: it has ended */
    int own[CLIENTS_MAX], own_count;
    int clients[CLIENTS_MAX], count; /* the other ends, which it has accepted */
    int most, batch;                 /* clients in one call: allowed, and at most returned */
    int none, full, error;           /* returns without a client, and the last errno */
    bool ends;
};

/* Begins a case with it, in which it waits: no client has come. */
void acceptor_begin(struct acceptor *a, const char *hint, int most);
void acceptor_connect(struct acceptor *a, int count);

/* So many were accepted, since the beginning. */
void acceptor_expect(struct acceptor *a, int due);

/* Ends the case. */
void acceptor_end(struct acceptor *a);

/* A case: clients come one by one and together, and all are accepted. */
void clients_in_groups(const char *hint);

/* A coroutine that connects once. */
struct caller {
    struct co_socket socket;
    struct sockaddr_in address;
    struct coroutine *co;
    enum io_result result;
    int error; /* errno, when it returned */
    bool over;
};

/* `whom`: the end of the step, after "co_connect()". */
void caller_begin(struct caller *c, const struct sockaddr_in *address, const char *whom);
void caller_expect(struct caller *c, enum io_result due);
void caller_expect_error(struct caller *c, int error);
void caller_expect_waiting(struct caller *c);
void caller_end(struct caller *c);

#endif
