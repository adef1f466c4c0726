#include "backend.h"

#include <string.h>

const struct backend *backend_find(const char *name)
{
    static const struct backend *const all[] = {&backend_select, &backend_poll, &backend_epoll};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}
