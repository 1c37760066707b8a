/// Particles of a run, or what is made of them, frame by frame, into files. A format is three functions behind
/// `export_format`; which one a file gets is chosen by the ending of its name. The number of particles may change from
/// frame to frame.
#ifndef TARN_SERVER_TOOL_EXPORT_EXPORT_H
#define TARN_SERVER_TOOL_EXPORT_EXPORT_H

#include "kernels/tank.h"
#include "protocol/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    const struct mesh *surface;    ///< the liquid's (mesh/mesh_liquid.h), for surfaces, else NULL
} export_frame;

/// Values that go with the positions. A new one is one line in export_attributes().
typedef enum export_type { EXPORT_FLOAT32, EXPORT_UINT32, EXPORT_INT32, EXPORT_UINT8 } export_type;

typedef struct export_attribute {
    const char *name;
    export_type type;
    uint32_t components;
    const void *values;
} export_attribute;

/// The attributes that a frame has: velocity, id, and where present liquid, colour and a channel. @return their number
uint32_t export_attributes(const export_frame *frame, export_attribute attributes[EXPORT_ATTRIBUTES_MAX]);

size_t export_type_bytes(export_type type);

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
extern const export_format export_vtk;          ///< FILE.pvd and a folder FILE with a .vtp for each frame
extern const export_format export_vti;          ///< FILE-000000.vti and so on: the grid
extern const export_format export_usda;         ///< one file, text
extern const export_format export_usdc;         ///< one file, binary
extern const export_format export_usd;          ///< the same; readers of .usd look at what is inside
extern const export_format export_surface_obj;  ///< FILE-000000.obj and so on
extern const export_format export_surface_ply;  ///< FILE-000000.ply and so on
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

#endif
