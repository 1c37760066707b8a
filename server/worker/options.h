/// The command line of tarn-worker, which tarnd starts; people rarely do.
#ifndef TARN_SERVER_WORKER_OPTIONS_H
#define TARN_SERVER_WORKER_OPTIONS_H

#include "server/base/devices.h"
#include "server/base/log.h"
#include "server/worker/limits.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tarn_worker_options {
    int fd;           ///< the socket to the gateway; of a scene that is taken, the file that it goes to
    bool takes_scene; ///< instead of all else (scenes.h)
    tarn_device_word device;
    uint32_t threads;                             ///< 0: one per processor
    uint32_t fps;                                 ///< 0: TARN_WORKER_FPS, and more while somebody acts
    const char *scenes;                           ///< NULL: those that came with the program
    const char *reads[TARN_WORKER_READS_MAX + 1]; ///< folders whose files may be read, too, ended by NULL
    tarn_log_level log_level;
    tarn_log_format log_format;
    int index; ///< among the workers of its tarnd, for the log; -1: nobody said
} tarn_worker_options;

/// Fills the options or ends the program with a sentence on stderr, as --help and --version do.
void tarn_worker_options_parse(int argc, char **argv, tarn_worker_options *options);

#endif
