/* Two rings: a read and its completion, and a read that is cancelled and completes nevertheless. */
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct io_uring ring;
static int ends[2]; /* of a pipe: [1] is written, [0] is read */
static char buffer[16];

static void begin_read(void)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
    io_uring_prep_read(entry, ends[0], buffer, sizeof buffer, 0);
    io_uring_sqe_set_data64(entry, 'R');
    printf("a read is begun: %d handed over,", io_uring_submit(&ring));
    printf(" %u completed\n", io_uring_cq_ready(&ring));
}

static void show_completions(int count)
{
    struct io_uring_cqe *cqe;
    for (; count > 0 && io_uring_wait_cqe(&ring, &cqe) == 0; count--) {
        const char *what = cqe->res > 0 ? buffer : strerror(-cqe->res);
        printf("  %c completes: %4d %s\n", (int)cqe->user_data, cqe->res, what);
        io_uring_cqe_seen(&ring, cqe);
    }
}

int main(void)
{
    if (pipe(ends) < 0 || io_uring_queue_init(8, &ring, 0) < 0)
        return 1;
    begin_read();
    if (write(ends[1], "hello", 5) == 5)
        show_completions(1);
    begin_read();
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
    io_uring_prep_cancel64(entry, 'R', 0);
    io_uring_sqe_set_data64(entry, 'C');
    printf("a cancel is begun: %d handed over\n", io_uring_submit(&ring));
    show_completions(2);
}
