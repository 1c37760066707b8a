/// Scenes: JSON files that describe a tank. `server/scenes/scene.schema.json` is the published schema.
/// A scene is read whole or not at all: on failure nothing is written but the sentence.
///
/// Two kinds of mistakes are told apart: TARN_E_MALFORMED is what the schema refuses too (syntax, names, types, the
/// range of a single field), TARN_E_LIMIT is what no schema can see (fields that don't fit together: cells, blocks,
/// liquids, particles; files that the scene names and that can't be used).
#ifndef TARN_SERVER_SCENE_SCENE_H
#define TARN_SERVER_SCENE_SCENE_H

#include "kernels/step_input.h"
#include "protocol/message.h"
#include "protocol/status.h"
#include "server/scene/probe.h"

#include <stdbool.h>
#include <stddef.h>

#define TARN_SCENE_SPEED_MAX_M_S 20.0             ///< of liquid and bodies at the start, and of taps, per axis
#define TARN_SCENE_PARTICLE_SPEED_MAX_M_S 1000.0f ///< of a particle that a file has, per axis; a step limits it further
#define TARN_SCENE_SPIN_MAX_RAD_S 100.0           ///< of a free solid at the start, about an axis
#define TARN_SCENE_CELL_M_MIN 1e-4
#define TARN_SCENE_CELL_M_MAX 10.0
#define TARN_SCENE_DT_S_MIN 1e-4
#define TARN_SCENE_DT_S_MAX 0.1
#define TARN_SCENE_LENGTH_M_MIN 2e-4 ///< of a shape: edges, radii, lengths
#define TARN_SCENE_LENGTH_M_MAX 1e4
#define TARN_SCENE_SCALE_MIN 1e-4 ///< of a mesh
#define TARN_SCENE_SCALE_MAX 1e4
#define TARN_SCENE_TIME_S_MAX 1e5 ///< of key frames and taps
/// Between two key frames of a solid that are given in degrees more are put in, so that none turns further than this.
#define TARN_SCENE_KEYFRAME_TURN_DEG 30.0

enum {
    TARN_SCENE_BYTES_MAX = 1 << 20,      ///< of a scene file
    TARN_SCENE_TITLE_MAX = 120,          ///< characters
    TARN_SCENE_DESCRIPTION_MAX = 500,    ///< characters
    TARN_SCENE_FILE_NAME_MAX = 120,      ///< bytes of the name of a file in a scene
    TARN_SCENE_FILE_BYTES_MAX = 8 << 20, ///< of a file that a scene names
    TARN_SCENE_HEIGHTS_MAX = 256,        ///< of a heightfield, per axis
    TARN_SCENE_PARTICLE_FILES_MAX = 4,
    TARN_SCENE_CROWD_MAX = 64,     ///< particles of files in a cell, for each that it would be seeded with
    TARN_SCENE_SIZE_M_MAX = 10240, ///< per axis
    TARN_SCENE_PER_AXIS_MAX = 4,   ///< particles per cell and axis
    TARN_SCENE_WHY_BYTES = 512,    ///< enough for every sentence of this module
};

/// Where the tank itself is at a time. Position and angles change evenly between key frames, so that from 0 to 360
/// degrees is one turn.
typedef struct tarn_scene_keyframe {
    double time_s; ///< ascending
    double position_m[3];
    double rotation_deg[3]; ///< about x, then y, then z
} tarn_scene_keyframe;

/// How a scene moves its tank. Without key frames it doesn't.
typedef struct tarn_scene_motion {
    uint32_t keyframe_count;
    bool is_loop; ///< from the last key frame's time on it starts again
    tarn_scene_keyframe keyframes[TARN_TANK_KEYFRAMES_MAX];
} tarn_scene_motion;

/// What a tank is there to teach, for people; all empty: nothing.
typedef struct tarn_scene_lesson {
    char text[TARN_SCENE_DESCRIPTION_MAX * 4 + 1];   ///< what stands beside the tank
    char task[TARN_SCENE_DESCRIPTION_MAX * 4 + 1];   ///< to be done with it
    char answer[TARN_SCENE_DESCRIPTION_MAX * 4 + 1]; ///< that is to be found
} tarn_scene_lesson;

typedef struct tarn_scene {
    tarn_name name;                                       ///< the file's name without ".json": [a-z0-9-]+
    tarn_text title;                                      ///< for people
    char description[TARN_SCENE_DESCRIPTION_MAX * 4 + 1]; ///< for people; may be empty
    tarn_scene_lesson lesson;
    tarn_name liquid_names[TARN_TANK_LIQUIDS_MAX]; ///< empty: it has none
    tarn_scene_motion tank_motion;
    uint32_t probe_count; ///< with names that differ; they can be in the tank
    tarn_probe_spec probes[TARN_PROBES_MAX];
    /// Of the scene's JSON and the files that it names (FNV-1a): whether two lead to the same water. What only people
    /// read or measure with isn't in it, nor how the JSON is laid out.
    uint64_t fingerprint;
    tarn_tank_desc tank; ///< the memory of its fields and particles is the scene's
} tarn_scene;

/// Reads a scene file and the files that it names, which lie in its folder or below. `why` names the file, the field's
/// path, what was found and what is allowed.
/// @param scene  what was in it is not freed
/// @return TARN_OK: give it to tarn_scene_free at the end; TARN_E_IO, TARN_E_NOT_FOUND, TARN_E_MALFORMED,
///     TARN_E_LIMIT or TARN_E_MEMORY: there is nothing to free
tarn_status tarn_scene_read_file(const char *path, tarn_scene *scene, char *why, size_t why_bytes);

enum { TARN_SCENE_SETTINGS_MAX = 32 };

/// Fields that are to be otherwise than a file says: "solver.cfl=2", "blocks[0].max_m=[1, 0.5, 1]", "title=Deep". A
/// field goes by the path that sentences name it by; behind the '=' stands JSON, or a word. What isn't there is added,
/// to a list at its end.
typedef struct tarn_scene_settings {
    uint32_t count;
    const char *text[TARN_SCENE_SETTINGS_MAX]; ///< the caller's
} tarn_scene_settings;

/// What a sentence says of such texts.
#define TARN_SCENE_SETTING_FORM                                                                                        \
    "a field's path, '=' and JSON or a word, such as solver.cfl=2 or blocks[0].max_m=[1,0.5,1]"

/// Whether a text has this form, whatever the scene.
bool tarn_scene_setting_is_well_formed(const char *text);

/// The same with such fields. @param settings  NULL: none
tarn_status tarn_scene_read_file_set(const char *path, const tarn_scene_settings *settings, tarn_scene *scene,
                                     char *why, size_t why_bytes);

struct tarn_scene_pack;

/// The same as it is, and keeps what was read. @param pack  zero; receives the JSON and the files (archive.h), which
/// the caller frees on failure too
tarn_status tarn_scene_read_file_to_keep(const char *path, tarn_scene *scene, struct tarn_scene_pack *pack, char *why,
                                         size_t why_bytes);

/// Reads a scene that was kept so, and nothing from any folder.
tarn_status tarn_scene_read_kept(struct tarn_scene_pack *pack, tarn_scene *scene, char *why, size_t why_bytes);

/// The same from memory; `origin` stands for the file's name in sentences, `name` becomes scene->name.
/// @param folder  where the files lie that the scene names; NULL: nowhere, so that it can't name any
tarn_status tarn_scene_read_text(const char *origin, const char *folder, const char *name, const char *text,
                                 size_t text_bytes, tarn_scene *scene, char *why, size_t why_bytes);

/// Gives back the memory of a scene that was read, whose distance fields and particles are gone then. Takes NULL, a
/// scene that was zeroed, and one that was freed before.
void tarn_scene_free(tarn_scene *scene);

/// Whether the scene turns or shakes its tank.
bool tarn_scene_moves_tank(const tarn_scene *scene);

/// Where the scene puts its tank at a time, for the step that ends then. The rotation is about the tank's centre, and
/// the position is how far that has moved. The same bits on every machine.
/// @param time_s  since the start, >= 0
void tarn_scene_tank_pose(const tarn_scene *scene, double time_s, tarn_pose *pose);

/// What the scene does in a step: where it puts its tank, if nobody else does in this input.
/// @param step  steps that the tank has made since its start
void tarn_scene_drive(const tarn_scene *scene, uint64_t step, tarn_step_input *input);

/// Whether a name is one that a scene may have: [a-z0-9-]+, at most TARN_NAME_BYTES_MAX bytes.
bool tarn_scene_name_valid(const char *name);

/// What a person's argument means: a path to a scene file, or the name of a scene ("dam-break") in `directory`; NULL
/// means the scenes that came with the program.
/// @return TARN_OK: reading it says the rest; or TARN_E_NOT_FOUND, with the names there are in `why`, or what is wrong
/// with the directory
tarn_status tarn_scene_resolve(const char *argument, const char *directory, char *path, size_t path_bytes, char *why,
                               size_t why_bytes);

/// The directory with the scenes: the one that --scenes names, else $TARN_SCENES, else ../share/tarn/scenes from the
/// executable's directory; an install prefix and a build tree look the same.
/// @param option  what --scenes names; NULL: nothing
/// @return TARN_OK or TARN_E_NOT_FOUND, with a sentence in `why`
tarn_status tarn_scene_directory(const char *option, char *path, size_t path_bytes, char *why, size_t why_bytes);

/// Names of the scenes in a directory, sorted; at most TARN_SCENES_MAX.
tarn_status tarn_scene_list(const char *directory, tarn_name *names, uint32_t names_max, uint32_t *name_count);

#endif
