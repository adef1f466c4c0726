#include "server/grace.h"

#include "base/log.h"
#include "net/net.h"
#include "server/flow.h"

/* TODO 9: End gracefully: serve the connections that are open, drain each one that owes nothing,
 * and end when none is left, at the latest after `grace_ms`. Graded by
 * test_08_replies_arrive_when_the_server_ends.
 * grace.h has the contract of both functions. The stub ends at once, whatever is owed. */
void grace_serve(struct server *server)
{
    (void)server;
}

void grace_look(struct conn *c)
{
    (void)c;
}
