#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char usage[] = "usage: load -p PORT [options]\n"
                            "  -c N   connections that send, 1 to 30000 (1)\n"
                            "  -d N   frames in flight on each, 1 to 1000000 (1)\n"
                            "  -s N   bytes in a frame's body, 0 to 33554432 (64)\n"
                            "  -i N   connections that only stay open, 0 to 30000 (0)\n"
                            "  -e     each of these sends one frame first\n"
                            "  -w MS  before anything is counted, 0 to 60000 (300)\n"
                            "  -t MS  for which it is counted, 1 to 600000 (1000)\n"
                            "  -b     never sleeps\n"
                            "  -P PID the server's process: its CPU time and memory are measured\n";

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "load: %s is not a number from %u to %u\n%s", text, least, most, usage);
        exit(2);
    }
    return (unsigned)value;
}

void options_parse(struct options *o, int argc, char **argv)
{
    const struct {
        int letter;
        unsigned *value, least, most;
    } numbers[] = {
        {'p', &o->port, 1, 65535},        {'c', &o->connections, 1, 30000},
        {'d', &o->depth, 1, 1000000},     {'s', &o->size, 0, 32u << 20},
        {'i', &o->idle, 0, 30000},        {'w', &o->warm_ms, 0, 60000},
        {'t', &o->measure_ms, 1, 600000}, {'P', &o->server, 1, 1u << 30},
    };
    *o = (struct options){.connections = 1, .depth = 1, .size = 64, .warm_ms = 300};
    o->measure_ms = 1000;
    int option;
    bool known = true;
    while (known && (option = getopt(argc, argv, "p:c:d:s:i:ew:t:bP:")) != -1) {
        known = option != '?';
        o->idle_spoke |= option == 'e';
        o->busy |= option == 'b';
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            if (numbers[i].letter == option)
                *numbers[i].value = number(optarg, numbers[i].least, numbers[i].most);
        }
    }
    if (!known || o->port == 0 || optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
}
