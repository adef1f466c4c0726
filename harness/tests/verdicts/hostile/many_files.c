/*
 * Tries: to use up the names of the disk: empty files in directories that lie ever deeper and that
 * it closes to everybody.
 * Bounded by: MOST files; an alarm.
 */
#include "hostile.h"

#define MOST        15000
#define A_DIRECTORY 100

int main(void)
{
    int fd = listening();
    for (int number = 0; number < MOST; number++) {
        char name[32];
        snprintf(name, sizeof name, "file%d", number);
        close(open(name, O_WRONLY | O_CREAT, 0));
        if (number % A_DIRECTORY == 0 && (mkdir("deeper", 0700) < 0 || chdir("deeper") < 0))
            perror("deeper");
    }
    chmod(".", 0);
    serve(fd, NULL);
}
