/// What the simulation calls of the gateway, whose own names are hidden in its library.
#ifndef TARN_TESTS_SIM_SIM_ENTRY_H
#define TARN_TESTS_SIM_SIM_ENTRY_H

#include <sys/types.h>

typedef struct sim_entry {
    int (*main)(int argc, char **argv);
    ssize_t (*recv)(int fd, void *bytes, size_t byte_count, int flags); ///< net/socket_reads.h
} sim_entry;

/// Of the library that is loaded now.
extern const sim_entry *sim_entry_now;

int tarnd_main(int argc, char **argv);

#endif
