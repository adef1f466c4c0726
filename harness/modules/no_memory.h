/* Memory that runs out. */
#ifndef GRADER_NO_MEMORY_H
#define GRADER_NO_MEMORY_H

/* From now on malloc(), calloc() and realloc() fail, in all threads. Not in a program with a
 * sanitizer or under valgrind, which have their own. */
void no_memory_begin(void);

/* They work again. Returns how many calls have failed. */
int no_memory_end(void);

#endif
