/// What the subcommands of `tarn` share. Private to the tool: it may print and end the process.
#ifndef TARN_SERVER_TOOL_TOOL_H
#define TARN_SERVER_TOOL_TOOL_H

#include "kernels/device/device.h"
#include "kernels/tank.h"
#include "server/base/devices.h"
#include "server/scene/scene.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TOOL_STEPS_MAX = 100000000,
    TOOL_STEPS_RUN = 300,   ///< of `tarn run` where nobody says
    TOOL_STEPS_BENCH = 120, ///< of `tarn bench` where nobody says
    TOOL_EXIT_INTERRUPTED = 130,
};

/// The arguments after the subcommand's name; argv[0] is the name for messages ("tarn run"). @return the exit status
int tool_run(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_check(int argc, char **argv);
int tool_load(int argc, char **argv);
int tool_kinect(int argc, char **argv);
int tool_top(int argc, char **argv);
int tool_session(int argc, char **argv);
int tool_replay(int argc, char **argv);
int tool_token(int argc, char **argv);

/// Where a command is told to run.
typedef struct tool_device {
    tarn_device_word word;
    tarn_device_desc cpu; ///< its threads and instruction set
} tool_device;

/// --device, --threads, --isa: a child parser whose input is a tool_device.
extern const struct argp tool_device_argp;

/// --set: a child parser whose input is a tarn_scene_settings, zero at first.
extern const struct argp tool_settings_argp;

/// A scene, its device and its tank.
typedef struct tool_tank {
    tarn_scene scene;
    tarn_device *device;
    tarn_tank *tank;
} tool_tank;

/// Reads a scene by path or name and makes its tank. On failure a sentence went to stderr and nothing needs closing.
bool tool_tank_open(tool_tank *tank, const char *command, const char *scene, const tarn_scene_settings *settings,
                    const tool_device *device);

/// The same of a scene that was read already, whose memory becomes the tank's or is given back. @param origin  for
/// sentences
bool tool_tank_open_read(tool_tank *tank, const char *command, const char *origin, const tarn_scene *scene,
                         const tool_device *device);
void tool_tank_close(tool_tank *tank);

/// What a tank had to be remarked on (tarn_tank_remarks), each once; all zero: nothing yet.
typedef struct tool_remarks {
    tarn_remark of[64];
    uint32_t count, more; ///< more: that found no room
} tool_remarks;

/// Adds what there is to remark on now.
void tool_remarks_note(tool_remarks *remarks, const tarn_tank *tank);

/// A line for each, which begins with `before`.
void tool_remarks_print(const tool_remarks *remarks, FILE *file, const char *before);

/// Monotonic seconds.
double tool_now_s(void);

/// Whether standard output takes anything: to be asked before long work of which only its end is printed. @return
/// false: a sentence went to stderr
bool tool_output_is_open(const char *command);

/// SIGINT and SIGTERM set a flag once; a second signal ends the process as usual.
void tool_catch_interrupts(void);
bool tool_interrupted(void);

#endif
