/* An application: what is done with the frames of clients. The server knows nothing else of it, and
 * so a further application changes no file of the server. */
#ifndef APP_H
#define APP_H

#include <stdbool.h>

#include "wire/frame.h"

struct conn;
struct worker;

struct app {
    const char *name; /* as on the command line */

    /* Makes what all clients of a loop share: worker->shared. False: errno has the reason. */
    bool (*start)(struct worker *worker);

    /* Frees it, if it was made. The connections are closed already. */
    void (*stop)(struct worker *worker);

    /* Makes what a new connection needs. False: no memory; `close` will be called. */
    bool (*open)(struct conn *c);

    /* Cancels what would be sent later, without a request. */
    void (*forget)(struct conn *c);

    /* Frees what `open` has made. */
    void (*close)(struct conn *c);

    /* Answers the complete frames at the head of the input, one after the other, until the output
     * is full or the quota is used up. Returns the run of frames that it has answered. If there is
     * no memory, it closes the connection. */
    struct run (*answer)(struct conn *c);
};

#endif
