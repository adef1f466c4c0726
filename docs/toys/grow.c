/* A hash table that grows: all keys move in one call, or those of one bucket with each call. */
#include <stdio.h>
#include <stdlib.h>

struct key {
    struct key *next; /* in the same bucket */
    unsigned hash;
};

static struct key **before, **buckets;
static unsigned before_size, size, at, count; /* of `before`, the buckets up to `at` are empty */

static void put_in(struct key *key)
{
    key->next = buckets[key->hash % size];
    buckets[key->hash % size] = key;
}

static int put(struct key *key, unsigned most)
{
    int moved = 0;
    if (count++ == size) {
        before = buckets, before_size = size, at = 0;
        buckets = calloc(size *= 2, sizeof *buckets);
    }
    for (; most > 0 && at < before_size; most--, at++)
        for (struct key *k = before[at], *next; k != NULL; k = next, moved++)
            next = k->next, put_in(k);
    put_in(key);
    return moved;
}

int main(void)
{
    for (unsigned most = 1000; most > 0; most /= 1000) {
        static struct key keys[18];
        buckets = calloc(size = 4, sizeof *buckets), before_size = count = 0;
        printf(most > 1 ? "at once  " : "in steps ");
        for (unsigned i = 0; i < 18; i++) {
            keys[i].hash = i * 2654435769 >> 8;
            printf("%3d", put(&keys[i], most));
        }
        printf("\n");
    }
}
