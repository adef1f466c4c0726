/* The memory of a hash table's buckets.
 *
 * A table of a million keys has 8 MiB and more. No single call may pay for that: not for clearing
 * it, and not for giving it back.
 *
 * A large table is mapped. The kernel clears each of its pages when the page is first used, and
 * takes back what table_trim() names, a piece at a time. A small one comes from calloc(): a page
 * and two system calls would be much for a few keys, and clearing it takes a few microseconds. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* A table of at least one piece is mapped, and given back piece by piece. A page of any kernel that
 * this runs on fits into a piece. */
enum { TABLE_PIECE_BYTES = 64 << 10 };

/* Chains of entries. */
struct table {
    struct entry **buckets; /* owned; NULL: no memory yet */
    size_t size;            /* number of buckets: a power of two, or 0 */
    size_t trimmed;         /* buckets before this one have no memory any more; only table.c uses
                               this */
};

/* Makes a table of `size` empty buckets. False: no memory, and the table has size 0. */
bool table_new(struct table *table, size_t size);

/* All buckets before bucket `end` are empty and stay so: gives their memory back, as far as there
 * are whole pieces. They can still be read. */
void table_trim(struct table *table, size_t end);

/* Gives the memory back that the table still has. The table has size 0 then. */
void table_free(struct table *table);

#endif
