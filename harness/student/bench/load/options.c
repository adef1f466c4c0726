#include "options.h"

#include <arpa/inet.h>
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
    *o = (struct options){.connections = 1, .depth = 1, .size = 64};
    o->warm_ms = 300;
    o->measure_ms = 1000;
    unsigned port = 0;
    int option;
    while ((option = getopt(argc, argv, "p:c:d:s:i:ew:t:bP:")) != -1) {
        switch (option) {
        case 'p':
            port = number(optarg, 1, 65535);
            break;
        case 'c':
            o->connections = number(optarg, 1, 30000);
            break;
        case 'd':
            o->depth = number(optarg, 1, 1000000);
            break;
        case 's':
            o->size = number(optarg, 0, 32u << 20);
            break;
        case 'i':
            o->idle = number(optarg, 0, 30000);
            break;
        case 'e':
            o->idle_spoke = true;
            break;
        case 'w':
            o->warm_ms = number(optarg, 0, 60000);
            break;
        case 't':
            o->measure_ms = number(optarg, 1, 600000);
            break;
        case 'b':
            o->busy = true;
            break;
        case 'P':
            o->server = (pid_t)number(optarg, 1, 1u << 30);
            break;
        default:
            port = 0;
            optind = argc;
            break;
        }
    }
    if (port == 0 || optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    o->address.sin_family = AF_INET;
    o->address.sin_port = htons((uint16_t)port);
    o->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}
