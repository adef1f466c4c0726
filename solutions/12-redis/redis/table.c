#include "redis/table.h"

#include <stdlib.h>
#include <sys/mman.h>

/* In a piece. */
static const size_t piece_buckets = TABLE_PIECE_BYTES / sizeof(struct entry *);

static size_t bytes_of(const struct table *table)
{
    return table->size * sizeof *table->buckets;
}

static bool is_mapped(const struct table *table)
{
    return table->size >= piece_buckets;
}

/* The pages of a new mapping are zero, and each takes memory when it is first used. NULL: there is
 * no memory. */
static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

bool table_new(struct table *table, size_t size)
{
    *table = (struct table){.size = size};
    size_t bytes = bytes_of(table);
    table->buckets = is_mapped(table) ? map(bytes) : calloc(1, bytes);
    if (table->buckets == NULL)
        *table = (struct table){0};
    return table->buckets != NULL;
}

void table_trim(struct table *table, size_t end)
{
    if (!is_mapped(table))
        return;
    size_t first = table->trimmed;
    size_t count = end / piece_buckets * piece_buckets - first;
    if (count == 0)
        return;
    /* The addresses stay ours, and whatever is read there is zero: empty buckets. */
    madvise(table->buckets + first, count * sizeof *table->buckets, MADV_DONTNEED);
    table->trimmed = first + count;
}

void table_free(struct table *table)
{
    if (is_mapped(table))
        munmap(table->buckets, bytes_of(table));
    else
        free(table->buckets);
    *table = (struct table){0};
}
