/* Answers to the frames that a client has sent: the frame itself, or what its message asks for.
 *
 * Both functions answer complete frames at the head of the input, one after the other, until the
 * output is full, and return how many bytes these were. *bad: behind them comes a frame that is too
 * long. Without memory they close the connection. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "conn.h"

/* The reply to a frame is the frame. */
size_t answer_run(struct conn *c, bool *bad);

/* The reply to a message is another message. */
size_t answer_messages(struct conn *c, bool *bad);

#endif
