/* What the load generator is told to do. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
    struct sockaddr_in address;
    unsigned connections; /* that send */
    unsigned depth;       /* frames in flight on each */
    uint32_t size;        /* bytes in the body of a frame */
    unsigned idle;        /* connections that only stay open */
    bool idle_spoke;      /* each of them sends one frame first */
    unsigned warm_ms;     /* before anything is counted */
    unsigned measure_ms;
    bool busy;    /* asks again and again what is ready, and never sleeps */
    pid_t server; /* whose CPU time and memory are measured; 0: nobody's */
};

/* Fills in *o. A wrong command line ends the program, with status 2 and the usage on stderr. */
void options_parse(struct options *o, int argc, char **argv);

#endif
