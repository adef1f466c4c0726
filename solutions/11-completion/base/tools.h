/* What valgrind and ThreadSanitizer have to be told about coroutines. Without these tools it costs
 * next to nothing. ring.c asks whether valgrind runs the program.
 *
 * valgrind sees the stack pointer jump, and would take that for one very large frame. So it is told
 * where the stacks are. It does not see what the kernel writes into memory for an operation. So it
 * is told that, too. ThreadSanitizer keeps the calls of each thread. So it is told of each switch
 * to another coroutine, which has other calls. */
#ifndef TOOLS_H
#define TOOLS_H

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) (0u)
#define VALGRIND_STACK_DEREGISTER(id)       ((void)(id))
#define VALGRIND_MAKE_MEM_DEFINED(at, size) ((void)(at))
#define RUNNING_ON_VALGRIND                 0
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ /* as gcc has it */
#endif
#endif

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define FIBER_SELF()        __tsan_get_current_fiber()
#define FIBER_NEW()         __tsan_create_fiber(0)
#define FIBER_FREE(fiber)   __tsan_destroy_fiber(fiber)
#define FIBER_SWITCH(fiber) __tsan_switch_to_fiber(fiber, 0)
#else
#define FIBER_SELF()        NULL
#define FIBER_NEW()         NULL
#define FIBER_FREE(fiber)   ((void)(fiber))
#define FIBER_SWITCH(fiber) ((void)(fiber))
#endif

#endif
