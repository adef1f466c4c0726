/* A loop on poll(), and tasks that note that they are run. */
#ifndef GRADER_LOOP_JOB_H
#define GRADER_LOOP_JOB_H

#include "check.h"
#include "loop.h"

/* From chapter 10 on a loop has coroutines, and loop.h includes their header. */
#ifdef CO_H
#define STACK_FOR_EACH , 64 << 10
#else
#define STACK_FOR_EACH
#endif

struct job {
    struct task task; /* the first member: a task is run with its address */
    int number;
    int runs;
    void (*then)(struct job *); /* what it does when it is run */
};

static inline void loop_begin(struct loop *loop, int index)
{
    check_step("calls loop_init()");
    CHECK(loop_init(loop, index, &backend_poll STACK_FOR_EACH), "module-refuses",
          "loop_init() returned false: %s", check_reason());
}

static inline void job_run(struct task *task)
{
    struct job *job = (struct job *)task;
    job->runs++;
    job->then(job);
}

static inline struct job job_new(int number, void (*then)(struct job *))
{
    return (struct job){.task = {.run = job_run}, .number = number, .then = then};
}

#endif
