/* Answers the frames of a client: with the frame itself, or with the reply to its message.
 *
 * Both functions answer the complete frames at the head of the input, one after the other, until
 * the output is full. They return how many bytes these frames had. *bad: the next frame is too
 * long. If there is no memory, they close the connection. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/conn.h"

/* The reply to a frame is the frame. */
size_t answer_run(struct conn *c, bool *bad);

/* The reply to a message is another message. */
size_t answer_messages(struct conn *c, bool *bad);

#endif
