#include "spare.h"

#include <stdlib.h>

static _Thread_local struct {
    uint8_t *data;
    size_t size;
} spare;

uint8_t *spare_take(size_t *size)
{
    if (spare.size < *size)
        return NULL;
    uint8_t *data = spare.data;
    *size = spare.size;
    spare.data = NULL;
    spare.size = 0;
    return data;
}

void spare_keep(uint8_t *data, size_t size)
{
    if (size > spare.size) {
        uint8_t *smaller = spare.data;
        spare.data = data;
        spare.size = size;
        data = smaller;
    }
    free(data);
}

void spare_free(void)
{
    free(spare.data);
    spare.data = NULL;
    spare.size = 0;
}
