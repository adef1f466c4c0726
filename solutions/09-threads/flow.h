/* How much of the server one connection may have: flow control.
 *
 * Three rules, each for another thing that one client could take from the others. The water marks
 * bound the memory that its replies wait in; the quota bounds how many frames it has answered in an
 * interval; the budget bounds how long it keeps the loop in one turn. And while a broadcast of it
 * is under way it gets nothing else answered: there is one at a time. All of them only put off:
 * what is not read waits in the kernel, and in the end, at the client. */
#ifndef FLOW_H
#define FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "conn.h"

/* What one connection may do before the others have their turn: read so much, and send so much. Of
 * small frames these are many, of a large one it is a good part. */
#define TURN_BYTES (256u << 10)

/* A callback begins: the whole budget is there. */
void flow_begin_turn(struct conn *c);

/* Takes some of the budget; at most all there is. */
void flow_spend(struct conn *c, size_t cost);

/* How many bytes of replies may be added now. */
size_t flow_room(const struct conn *c);

/* To be called whenever output has been added or sent. */
void flow_look(struct conn *c);

/* Whether what comes next is input: not room for replies, and not the next interval. */
bool flow_wants_input(const struct conn *c);

#endif
