/* What valgrind and ThreadSanitizer have to be told about coroutines. Without these tools it costs
 * next to nothing.
 *
 * valgrind sees the stack pointer jump, and would take that for one very large frame. So it is told
 * where the stacks are. ThreadSanitizer keeps the calls of each thread. So it is told of each
 * switch to another coroutine, which has other calls. */
#ifndef TOOLS_H
#define TOOLS_H

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) (0u)
#define VALGRIND_STACK_DEREGISTER(id)       ((void)(id))
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
