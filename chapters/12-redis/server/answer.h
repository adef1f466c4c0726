/* Answers the frames of a client: with the frame itself, or with the reply to its message.
 *
 * If there is no memory, these functions close the connection. */
#ifndef ANSWER_H
#define ANSWER_H

#include "server/app.h"
#include "server/conn.h"

/* Messages answered in one iteration: about as much work as echoing BUDGET_BYTES. */
enum { TURN_MESSAGES = 256 };

/* The reply to a frame is the frame. */
extern const struct app app_echo;

/* The reply to a message is another message. */
extern const struct app app_rpc;

/* Makes the replies of alarms that have rung while the output was full: for as many as fit, and at
 * most TURN_MESSAGES. */
void answer_owed(struct conn *c);

#endif
