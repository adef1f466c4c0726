/* What happens with a request: it is run, it is queued for EXEC, or it is refused. */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "redis/client.h"
#include "redis/resp.h"

/* Writes the reply to a request, to the output of the client's connection. If that is not possible,
 * closes the connection. */
void dispatch(struct client *client, const struct request *request);

#endif
