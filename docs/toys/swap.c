/* Two queues and a mutex: the loop swaps them under the lock, and runs the tasks outside it. */
#include <pthread.h>
#include <stdio.h>

static struct queue {
    int count, tasks[16];
} queues[2], *filling = &queues[0];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `filling` and what is in it */

static void *put(void *task)
{
    pthread_mutex_lock(&lock);
    filling->tasks[filling->count++] = *(int *)task;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void put_from_a_thread(int task)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, put, &task) == 0)
        pthread_join(thread, NULL); /* waits until the task is in the queue */
}

int main(void)
{
    put_from_a_thread(1);
    put_from_a_thread(2);
    do {
        pthread_mutex_lock(&lock);
        struct queue *mine = filling;
        filling = mine == &queues[0] ? &queues[1] : &queues[0];
        pthread_mutex_unlock(&lock);
        printf("a batch of %d:", mine->count);
        for (int i = 0; i < mine->count; i++) {
            printf(" %d", mine->tasks[i]);
            if (mine->tasks[i] < 100)
                put_from_a_thread(mine->tasks[i] * 10);
        }
        mine->count = 0;
        printf("\n");
    } while (filling->count > 0); /* no other thread is left here */
    return 0;
}
