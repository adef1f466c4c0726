/* Answers the frames of a client: with the frame itself, or with the reply to its message.
 *
 * If there is no memory, these functions close the connection. */
#ifndef ANSWER_H
#define ANSWER_H

#include "server/conn.h"
#include "wire/frame.h"

/* Messages answered in one iteration, and alarms: about as much work as echoing BUDGET_BYTES. */
enum { TURN_MESSAGES = 256 };

/* Both answer the complete frames at the head of the input, one after the other, until the output
 * is full or the quota is used up. They return the run of frames that they have answered. */

/* The reply to a frame is the frame. */
struct run answer_run(struct conn *c);

/* The reply to a message is another message. */
struct run answer_messages(struct conn *c);

/* Makes the reply of an alarm that has rung. */
void answer_alarm(struct conn *c, struct alarm *alarm);

/* The same for alarms that could not be answered when they rang: for as many as fit, and at most
 * TURN_MESSAGES. */
void answer_owed(struct conn *c);

#endif
