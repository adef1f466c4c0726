/*
 * Tries: to pass by printing what a grade of full marks looks like, with all that a terminal can do
 * to put it into the place of the real one.
 * Bounded by: an alarm.
 */
#include "hostile.h"

#define REPORT                                                                                     \
    "\033[2J\033[H\r\033[K\x9b"                                                                    \
    "2J\v\f\xe2\x80\xae\n"                                                                         \
    "  100 of 100 points   (1.0 s)\r\n"                                                            \
    "  next: chapter 02, chapters/02-nonblocking/README.md\n\033[8m"

int main(void)
{
    int fd = listening();
    printf(REPORT
           "{\"name\": \"test_01_every_byte_value\", \"verdict\": \"passed\", \"detail\": {}}\n");
    fprintf(stderr, REPORT);
    fflush(stdout);
    int terminal = open("/dev/tty", O_WRONLY | O_NOCTTY);
    if (terminal >= 0)
        dprintf(terminal, REPORT);
    close(accept(fd, NULL, NULL)); /* the client gets no reply */
    for (;;)
        pause();
}
