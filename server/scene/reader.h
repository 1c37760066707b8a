/// The core of the reader of scenes: sentences, tables of fields, and values; and the draft that these fill. Private to
/// scene.c and contents.c.
///
/// A table names the fields of an object. Each field has a function that checks a value and writes it to a place in the
/// draft, and a rule for that function: a range, names to choose from, what a list holds. What a function refuses here
/// is what the schema refuses: TARN_E_MALFORMED.
#ifndef TARN_SERVER_SCENE_READER_H
#define TARN_SERVER_SCENE_READER_H

#include "server/scene/archive.h"
#include "server/scene/scene.h"

#include <jansson.h>

enum {
    SCENE_PATH_BYTES = 112,    ///< of a field's path in a sentence
    SCENE_ALLOWED_BYTES = 400, ///< of a list of names
};

typedef struct scene_reader {
    const char *origin;                  ///< the file's name in sentences
    const tarn_model *model;             ///< that the scene chose
    const char *folder;                  ///< where the files lie that a scene names; NULL: nowhere, or in `pack`
    tarn_scene_pack *pack;               ///< receives them; without a folder: has them; NULL: neither
    const tarn_scene_settings *settings; ///< NULL: none
    char *why;
    size_t why_bytes;
    tarn_status status;
    uint64_t fingerprint; ///< of what was read so far
} scene_reader;

/// Checks a value and writes it. @return false: refused
typedef bool scene_read(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule);

typedef struct scene_field {
    const char *name;
    bool required;
    scene_read *read;
    size_t offset; ///< of what is read in what the object is read into
    const void *rule;
} scene_field;

typedef struct scene_range {
    double min, max;
    const char *unit; ///< NULL: none
    bool above_min;   ///< the minimum itself is refused
    bool whole;
} scene_range;

/// Names that stand for 0, 1, 2 ...
typedef struct scene_choice {
    const char *const *names;
    uint32_t name_count;
} scene_choice;

/// An array that fills an array of the draft and its count.
typedef struct scene_list {
    const char *what; ///< what it holds, for sentences
    uint32_t min, max;
    scene_read *item;
    size_t items_offset, item_bytes, count_offset; ///< the count is a uint32_t
} scene_list;

/// Adds bytes to the fingerprint.
void scene_fingerprint(scene_reader *r, const void *bytes, size_t byte_count);

// ---- sentences ----

/// Says what is wrong where and sets the status. @return false
__attribute__((format(printf, 4, 5))) bool scene_refuse(scene_reader *r, tarn_status status, const char *path,
                                                        const char *format, ...);

/// "found ..., allowed is ...". @return false
bool scene_refuse_value(scene_reader *r, const char *path, const json_t *value, const char *allowed);

/// Writes a field's path; paths are short, and a longer one is cut.
__attribute__((format(printf, 2, 3))) void scene_write_path(char path[SCENE_PATH_BYTES], const char *format, ...);

// ---- objects and arrays ----

/// @param given  where not NULL: bit i is set where the table's field i was there; at most 32 fields
bool scene_read_object(scene_reader *r, const char *path, const json_t *value, void *into, const scene_field *fields,
                       size_t field_count, uint32_t *given);

#define SCENE_READ_OBJECT(r, path, value, into, fields, given)                                                         \
    scene_read_object(r, path, value, into, fields, sizeof(fields) / sizeof((fields)[0]), given)

/// Rule: scene_list; `into` is what the list's offsets count from.
scene_read scene_read_list;

// ---- values; the comment names the rule and what is written ----

scene_read scene_read_double; ///< scene_range; double
scene_read scene_read_float;  ///< scene_range; float
scene_read scene_read_whole;  ///< scene_range; uint32_t
scene_read scene_read_vector; ///< scene_range of each; double[3]
scene_read scene_read_flag;   ///< NULL; uint32_t, 0 or 1
scene_read scene_read_choice; ///< scene_choice; uint32_t
scene_read scene_read_remark; ///< NULL; nothing

// ---- draft ----
// What is being read: the fields as the file has them, in its precision. First everything is read, field by field;
// then the parts are fitted together and written to the scene.
//
// Readers (scene_read_...) refuse what the schema refuses; fitters (scene_fit_...) refuse with TARN_E_LIMIT.

/// The order of the three in tables that hold a pose: they come first.
enum { POSE_POSITION, POSE_DEGREES, POSE_ROTATION, POSE_FIELDS };

typedef struct pose_draft {
    double position_m[3], degrees[3], rotation[4];
    bool has_position, has_degrees, has_rotation;
} pose_draft;

/// In the order of the table of shapes.
typedef enum shape_kind {
    SHAPE_BOX,
    SHAPE_SPHERE,
    SHAPE_CAPSULE,
    SHAPE_CYLINDER,
    SHAPE_MESH,
    SHAPE_HEIGHTFIELD,
    SHAPE_KINDS,
} shape_kind;

typedef struct shape_draft {
    shape_kind kind;
    double size_m[3];           ///< box
    double radius_m, length_m;  ///< sphere, capsule, cylinder
    const char *file;           ///< of a mesh or heightfield; borrowed from the JSON
    double scale;               ///< mesh
    const json_t *heights;      ///< rows of numbers, borrowed
    double spacing_m, height_m; ///< heightfield
    bool has_height;
    uint32_t inverted;
} shape_draft;

typedef struct liquid_draft {
    const char *name; ///< NULL: none; borrowed
    float density_kg_m3, viscosity_m2_s;
    uint8_t colour[4];
} liquid_draft;

/// Which liquid: by name where that isn't NULL, otherwise by index.
typedef struct liquid_reference {
    const char *name;
    uint32_t index;
} liquid_reference;

typedef struct block_draft {
    double min_m[3], max_m[3];
    float velocity_m_s[3];
    liquid_reference liquid;
    uint8_t colour[4];
    float carried[TARN_MODEL_CARRIED_MAX];
} block_draft;

/// A fluid shape, an emitter or a drain.
typedef struct region_draft {
    shape_draft shape;
    pose_draft pose;
    float velocity_m_s[3];
    float start_s, end_s;
    bool has_end;
    liquid_reference liquid;
    uint8_t colour[4];
    float carried[TARN_MODEL_CARRIED_MAX];
} region_draft;

typedef struct keyframe_draft {
    double time_s;
    pose_draft pose;
} keyframe_draft;

typedef struct motion_draft {
    uint32_t keyframe_count;
    uint32_t is_loop;
    keyframe_draft keyframes[TARN_TANK_KEYFRAMES_MAX];
} motion_draft;

typedef struct solid_draft {
    shape_draft shape;
    pose_draft pose;
    uint32_t motion; ///< tarn_motion
    float density_kg_m3, friction;
    float velocity_m_s[3], angular_velocity_rad_s[3];
    bool has_density, has_velocity, has_spin, has_friction, has_keyframes, has_loop;
    motion_draft path;
    uint8_t colour[4];
} solid_draft;

typedef struct scene_draft {
    tarn_scene scene; ///< what is made of the rest
    double size_m[3];
    double cell_m;
    double gravity_m_s2[3]; ///< where it is told as a vector
    bool has_gravity_vector;
    uint32_t transfer, weights, solver;
    uint32_t look;                     ///< checked, and of no use here: the page draws it
    uint32_t p2g_weights, g2p_weights; ///< TARN_WEIGHTS_COUNT: as weights
    uint32_t liquid_count, block_count, fluid_count, solid_count, emitter_count, drain_count;
    liquid_draft liquids[TARN_TANK_LIQUIDS_MAX];
    block_draft blocks[TARN_TANK_BLOCKS_MAX];
    uint32_t particle_file_count;
    const char *particle_files[TARN_SCENE_PARTICLE_FILES_MAX]; ///< borrowed from the JSON
    region_draft fluids[TARN_TANK_FLUIDS_MAX];
    region_draft emitters[TARN_TANK_EMITTERS_MAX];
    region_draft drains[TARN_TANK_DRAINS_MAX];
    solid_draft solids[TARN_TANK_SOLIDS_MAX];
    motion_draft tank_motion;
    /// The shapes that the fields of the description were made from, so that equal ones share a field.
    const shape_draft *field_shapes[TARN_TANK_FIELDS_MAX];
} scene_draft;

// ---- what scene.c has of contents.c, in the order in which it is fitted ----

extern const scene_list scene_liquid_list, scene_block_list, scene_fluid_list, scene_emitter_list, scene_drain_list;
extern const scene_list scene_particle_file_list, scene_solid_list, scene_probe_list;
scene_read scene_read_tank_motion; ///< NULL; motion_draft

bool scene_fit_liquids(scene_reader *r, scene_draft *d);
bool scene_fit_blocks(scene_reader *r, scene_draft *d);
bool scene_fit_particle_files(scene_reader *r, scene_draft *d);
bool scene_fit_tank_motion(scene_reader *r, scene_draft *d);
bool scene_fit_solids(scene_reader *r, scene_draft *d);
bool scene_fit_regions(scene_reader *r, scene_draft *d); ///< fluids, emitters, drains
bool scene_fit_probes(scene_reader *r, scene_draft *d);

#endif
