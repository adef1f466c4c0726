/* The application of Redis' clients: each frame is a request, and the reply to its command is sent
 * back. */
#ifndef APP_REDIS_H
#define APP_REDIS_H

#include "server/app.h"

/* All clients share the keys, so only one loop may have this application. A client whose bytes are
 * no request is told so, and given up. */
extern const struct app app_redis;

#endif
