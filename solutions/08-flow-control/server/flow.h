/* Flow control: how much of the server one connection may have.
 *
 * Three rules, each for something that one client could take from the others. The budget bounds how
 * long a connection keeps the loop in one iteration. The water marks bound the memory in which its
 * replies wait. The quota bounds how many of its frames are answered in an interval. All three only
 * delay: what is not read waits in the kernel, and in the end at the client. */
#ifndef FLOW_H
#define FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "server/conn.h"

/* What one connection may read, and what it may send, in one iteration of the loop. This is many
 * small frames, or a good part of a large one. */
#define BUDGET_BYTES (256u << 10)

/* Input is read up to this much: many small frames, or the beginning of a large one. A frame of 64
 * KiB with its header still fits. */
#define READ_BYTES (72u << 10)

/* What one call sends at most: more than the budget, since each call wakes the client, and a large
 * frame is to leave in few of them. */
#define SEND_BYTES (2u << 20)

/* What a system call costs beside its bytes: as much as sending this many. So a client that makes
 * many small ones necessary does not keep the loop. */
#define CALL_COST (4u << 10)

/* What a message costs beside its bytes. */
#define MESSAGE_COST (1u << 10)

/* To be called first in a turn: the whole budget is available again. */
void flow_begin_turn(struct conn *c);

/* To be called last in a turn. If work is left that no event will report, the connection gets
 * another turn in the next iteration. */
void flow_end_turn(struct conn *c);

/* Takes `cost` from the budget, or all that is left of it. */
void flow_spend(struct conn *c, size_t cost);

/* How many bytes of replies may be added now: 0 while it is suspended, and never more than the
 * budget or the free space below high water. */
size_t flow_room(const struct conn *c);

/* Suspends the connection at high water, and resumes it at low water. Between the two nothing
 * changes: otherwise a client that takes a little now and then would stop and start the reading
 * each time. To be called whenever output has been added or sent. */
void flow_look(struct conn *c);

/* Whether the connection is to be read now. False while it has to wait for free space or for the
 * next interval, and at the end of the input. A lingering connection is always read. */
bool flow_wants_input(const struct conn *c);

/* How much space the input needs for what comes next, at least 1. A large frame gets all its space
 * at once, and is read to its end and no further: so it fills its block, and goes out without a
 * copy. */
size_t flow_space(const struct conn *c);

#endif
