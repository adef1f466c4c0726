/* Answers to the frames that a client has sent: the frame itself, or what its message asks for.
 *
 * Without memory they close the connection. */
#ifndef ANSWER_H
#define ANSWER_H

#include "conn.h"
#include "frame.h"

/* Both answer complete frames at the head of the input, one after the other, as long as there is
 * room for replies and the quota lasts, and return which these were. */

/* The reply to a frame is the frame. */
struct run answer_run(struct conn *c);

/* The reply to a message is another message. */
struct run answer_messages(struct conn *c);

/* Makes the reply of an alarm that has rung. */
void answer_alarm(struct conn *c, struct alarm *alarm);

#endif
