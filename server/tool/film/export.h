/// Particles of a run, or what is made of them, frame by frame, into files. A format is three functions behind
/// `export_format`; which one a file gets is chosen by the ending of its name. The number of particles may change from
/// frame to frame.
#ifndef TARN_SERVER_TOOL_FILM_EXPORT_H
#define TARN_SERVER_TOOL_FILM_EXPORT_H

#include "kernels/tank.h"
#include "protocol/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    EXPORT_WHY_BYTES = PATH_MAX + 256, ///< enough for every sentence of this module
    EXPORT_ATTRIBUTES_MAX = 5,
    EXPORT_TIME_BYTES = 32,
};

/// What pictures show the particles as.
typedef enum export_drawing { EXPORT_WATER, EXPORT_SMOKE, EXPORT_DYE } export_drawing;

/// What all frames of a run have in common. The strings live as long as the writer.
typedef struct export_info {
    const char *scene;    ///< the scene's name: [a-z0-9-]+
    float size_m[3];      ///< of the tank, which begins at the origin
    float reach_min_m[3]; ///< where the tank gets when it is turned and shaken; both zero: nowhere else
    float reach_max_m[3];
    uint32_t cells[3];
    float cell_m;
    float cell_particles;     ///< of a cell that is full, at rest
    bool is_flat;             ///< one cell deep: pictures show it from the front
    float spacing_m;          ///< between neighbouring particles at rest
    double frames_per_s;      ///< of simulated time, above 0
    uint32_t width, height;   ///< of pictures, in pixels
    uint32_t threads;         ///< for pictures and surfaces; 0: one per processor
    export_drawing drawing;   ///< of pictures
    uint32_t solid_count;     ///< for pictures and USD
    const tarn_solid *solids; ///< live as long as the writer, as do the fields of their shapes
    const tarn_distance_field *fields;
} export_info;

/// The particles, bodies and the tank of one moment; borrowed for the call.
typedef struct export_frame {
    uint32_t step;
    double time_s;
    uint32_t particle_count;
    const float *positions_m;    ///< x y z, y up
    const float *velocities_m_s; ///< x y z
    const uint32_t *ids;         ///< ascending, not necessarily dense; a particle keeps its id
    const uint8_t *liquids;      ///< which liquid each is of; NULL: there is one
    const uint8_t *colours;      ///< red green blue; NULL: none of their own
    const float *channel;        ///< values of the channel that was asked for; NULL: none was
    const char *channel_name;    ///< its name: [a-z_]+
    const uint8_t *scaled;       ///< colours of these values, as `colours`, for pictures; NULL: they don't show them
    uint32_t body_count;
    const tarn_body_state *bodies; ///< solids that are not where they were at the start
    tarn_pose pose;                ///< of the tank in the room, about its middle
    const float *pressure_pa;      ///< per cell, [z][y][x], 0 where there is no liquid; for export_vti, else NULL
    const uint8_t *solid_cells;    ///< per cell, 1 where its centre is in a solid; for export_vti, else NULL
    const float *amounts;          ///< per particle, what it brings to the cells around; for export_vti, else NULL
    const char *amount_name;       ///< its name: [a-z]+
    const struct mesh *surface;    ///< the liquid's (film/liquid.h), for surfaces, else NULL
} export_frame;

/// Values that go with the positions. A new one is one line in export_attributes().
typedef enum export_type { EXPORT_FLOAT32, EXPORT_UINT32, EXPORT_INT32, EXPORT_UINT8 } export_type;

typedef struct export_attribute {
    const char *name;
    export_type type;
    uint32_t components;
    const void *values;
} export_attribute;

/// A moment as all text files of a run name it, so that they say the same. @return text
const char *export_time_text(double time_s, char text[EXPORT_TIME_BYTES]);

/// What a file shows.
typedef enum export_kind { EXPORT_PARTICLES, EXPORT_PICTURE, EXPORT_SURFACE, EXPORT_KINDS } export_kind;

/// A format. All functions return TARN_OK, TARN_E_IO or TARN_E_MEMORY, and on failure a sentence in `why`
/// (EXPORT_WHY_BYTES) that names the file.
typedef struct export_format {
    const char *ending; ///< of file names, with the dot; NULL: never chosen by name
    export_kind kind;
    bool is_numbered; ///< a file for each frame, with the step in its name
    const char *unit; ///< what a frame becomes, in the plural
    /// On failure there is nothing to close.
    tarn_status (*open)(const char *path, const export_info *info, void **writer, char *why);
    tarn_status (*frame)(void *writer, const export_frame *frame, char *why);
    /// Frees the writer in any case. `keep`: makes the files whole; else removes what isn't.
    tarn_status (*close)(void *writer, bool keep, char *why);
} export_format;

extern const export_format export_ply;          ///< path is a folder that exists
extern const export_format export_vti;          ///< FILE-000000.vti and so on: the grid
extern const export_format export_usda;         ///< one file, text
extern const export_format export_usdc;         ///< one file, binary
extern const export_format export_usd;          ///< the same; readers of .usd look at what is inside
extern const export_format export_surface_obj;  ///< FILE-000000.obj and so on
extern const export_format export_surface_usda; ///< one file, text; usdc and usd: binary
extern const export_format export_surface_usdc;
extern const export_format export_surface_usd;
extern const export_format export_png;  ///< FILE-000000.png and so on
extern const export_format export_apng; ///< one animation
extern const export_format export_y4m;  ///< one video, uncompressed; "-" is standard output

/// The format for a file name. NULL: none has this ending; `allowed` then lists those that there are, for a sentence.
const export_format *export_format_find(const char *path, export_kind kind, char *allowed, size_t allowed_bytes);

/// Puts "PATH: what errno says" into `why`. @return TARN_E_IO
tarn_status export_why_errno(const char *path, char *why);

/// Puts "PATH: out of memory" there. @return TARN_E_MEMORY
tarn_status export_why_memory(const char *path, char *why);

// ---- files that are there once they are whole ----
// A file that is written under a name of its own and renamed when it is whole: who finds the name finds all of it.

typedef struct part_file {
    FILE *file; ///< to write to; NULL when closed
    char path[PATH_MAX];
    char part[PATH_MAX]; ///< empty: written in place, because it is a pipe or a device
} part_file;

/// Makes the folder that a path lies in, or is, unless it is there; not those above it. @return false: errno says why
bool part_file_make_folder(const char *path, bool is_folder);

/// Opens PATH.PID.part, or where that is taken PATH.PID-1.part and so on, for reading and writing. What exists and is
/// no regular file, such as a named pipe, is opened itself, for writing only; "-" is standard output.
/// @param why  EXPORT_WHY_BYTES; on failure the file's name and what went wrong
/// @return TARN_OK or TARN_E_IO; after a failure nothing needs closing
tarn_status part_file_open(part_file *file, const char *path, char *why);

/// The same for a format that goes back in its file: a pipe or a device is refused, and not waited for.
tarn_status part_file_open_whole(part_file *file, const char *path, char *why);

/// Whether part_file_open would have a file there, and its disk has room for a byte of it. To be asked before a long
/// way to what is written. Leaves nothing, and of a pipe knows nothing: its other end may come later. @param why,
/// @return as above
tarn_status part_file_try(const char *path, char *why);

/// Closes and renames. Closed in any case; on failure the part is gone.
tarn_status part_file_close(part_file *file, char *why);

/// Closes and removes the part. Does nothing to a closed file.
void part_file_drop(part_file *file);

/// Drops the file and says why, from errno. @return TARN_E_IO
tarn_status part_file_fail(part_file *file, char *why);

#endif
