/* An eventfd wakes a loop that waits, and a wake-up that comes too early is not lost. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>

static int wake_fd;

static void wait_and_read(void)
{
    eventfd_t count = 0;
    struct pollfd entry = {.fd = wake_fd, .events = POLLIN};
    poll(&entry, 1, -1); /* -1: without a time limit */
    eventfd_read(wake_fd, &count);
    printf("loop:    is awake, and reads %d\n", (int)count);
}

static void *other_thread(void *argument)
{
    poll(NULL, 0, 100); /* sleeps for 100 ms: by then the loop waits */
    printf("thread:  wakes the loop\n");
    eventfd_write(wake_fd, 1);
    return argument;
}

int main(void)
{
    pthread_t thread;
    wake_fd = eventfd(0, EFD_NONBLOCK);
    for (int i = 0; i < 3; i++)
        eventfd_write(wake_fd, 1);
    printf("loop:    was woken 3 times before it waits\n");
    wait_and_read();
    printf("loop:    waits again\n");
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
        return 1;
    wait_and_read();
    pthread_join(thread, NULL);
    return 0;
}
