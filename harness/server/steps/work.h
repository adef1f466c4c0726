/* How much work a program has done: see work.c, which is linked only with programs that count. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BYTES_A_STEP = 16,  /* as many as a register for vectors holds */
    CALL_STEPS = 100,   /* a system call takes as long as some hundred blocks */
    WATCHED_STEPS = 10, /* and for each descriptor that poll() is given some ten more */
    JOINED_STEPS = 10   /* for a free block of memory that is joined with its neighbours */
};

/* The steps of all threads, and of all processes, so far. In a program that does not count it is
 * NULL. */
uint64_t work_steps(void) __attribute__((weak));

#endif
