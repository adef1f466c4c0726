/* Threads in every order: one of them runs at a time, and at each of its calls of
 * pthread_mutex_lock(), pthread_mutex_unlock(), write(), read() and poll() another one may go on in
 * its place. What such a program finds it finds in each run, and it can tell how it came to it.
 *
 * The number of orders grows fast with the number of calls. So a thread that could go on is put off
 * twice in an order at most; most mistakes need no more (M. Musuvathi and S. Qadeer, Iterative
 * context bounding, 2007). */
#ifndef GRADER_ORDERS_H
#define GRADER_ORDERS_H

struct orders_thread {
    const char *name; /* "the loop" */
    void (*work)(void *context);
    void *context;
};

/* Runs these threads again and again, each time in another order, from `prepare` to `finish`, which
 * are called by the thread that calls this. A poll() without an end, or with one, waits until a
 * descriptor is ready. If no thread can go on any more, and one waits in poll(), the module has
 * failed: `hint`, and `asleep` says what that means. Ends early if a thread waits for something
 * that is not known here, or after some thousand orders. Returns the number of orders. */
int orders_try(const struct orders_thread *threads, int count, void (*prepare)(void),
               void (*finish)(void), const char *hint, const char *asleep);

#endif
