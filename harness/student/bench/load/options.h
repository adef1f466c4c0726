/* What the load generator is told to do. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

struct options {
    unsigned port;        /* of 127.0.0.1, where the server listens */
    unsigned connections; /* that send */
    unsigned depth;       /* frames in flight on each */
    unsigned size;        /* bytes in the body of a frame */
    unsigned idle;        /* connections that only stay open */
    bool idle_spoke;      /* each of them sends one frame first */
    unsigned warm_ms;     /* before anything is counted */
    unsigned measure_ms;
    bool busy;       /* asks again and again what is ready, and never sleeps */
    unsigned server; /* the process whose CPU time and memory are measured; 0: none */
};

/* Fills in *o. A wrong command line ends the program, with status 2 and the usage on stderr. */
void options_parse(struct options *o, int argc, char **argv);

#endif
