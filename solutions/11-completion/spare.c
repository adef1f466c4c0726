#include "spare.h"

#include <stdlib.h>

#include "buffer.h"

static _Thread_local struct block *spare; /* owned; NULL: there is none */

struct block *spare_take(size_t cap)
{
    if (spare == NULL || spare->cap < cap)
        return NULL;
    struct block *taken = spare;
    spare = NULL;
    return taken;
}

void spare_keep(struct block *block)
{
    if (spare == NULL || (block != NULL && block->cap > spare->cap)) {
        struct block *smaller = spare;
        spare = block;
        block = smaller;
    }
    free(block);
}

void spare_free(void)
{
    free(spare);
    spare = NULL;
}
