#include "options.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_PORT = 1234, MAX_PORT = 65535 };

/* strtol() alone would accept " 80", "+80" and "80x". A port number has digits only. */
static bool parse_port(const char *text, in_port_t *port)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || value > MAX_PORT)
        return false;
    *port = htons((uint16_t)value);
    return true;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){
        .address = {.sin_family = AF_INET,
                    .sin_port = htons(DEFAULT_PORT),
                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
    };
    int option;
    while ((option = getopt(argc, argv, "a:p:v")) != -1) {
        switch (option) {
        case 'a':
            if (inet_pton(AF_INET, optarg, &options->address.sin_addr) != 1)
                return false;
            break;
        case 'p':
            if (!parse_port(optarg, &options->address.sin_port))
                return false;
            break;
        case 'v':
            options->verbose = true;
            break;
        default:
            return false;
        }
    }
    return optind == argc;
}

void options_usage(const char *program)
{
    fprintf(stderr, "usage: %s [-a ADDR] [-p PORT] [-v]\n", program);
}
