/* What a connection does in its turn: frames come in, replies go out. None of it waits, and each
 * stops where flow control says so. Any of it may close the connection (conn_close). */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>

#include "conn.h"

/* Sends until everything is sent, the kernel takes no more, or the turn is over. */
void exchange_send(struct conn *c);

/* Answers every complete frame and sends the answers together, without waiting to hear that the
 * socket is writable: it nearly always is. */
void exchange_answer(struct conn *c);

/* Sends the replies of alarms that rang when there was no space for them. */
void exchange_owed(struct conn *c);

/* Reads once: to answer it, or, where nothing is answered any more, to throw it away. True: there
 * may be more to read, and nobody will say so again. */
bool exchange_read(struct conn *c);

#endif
