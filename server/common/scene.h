/// Scenes: JSON files that describe a tank. `server/scenes/scene.schema.json` is the published schema.
/// A scene is read whole or not at all: on failure nothing is written but the sentence.
///
/// Two kinds of mistakes are told apart: TARN_E_MALFORMED is what the schema refuses too (syntax, names, types, the
/// range of a single field), TARN_E_LIMIT is what no schema can see (fields that don't fit together: cells, blocks,
/// particles).
#ifndef TARN_SERVER_COMMON_SCENE_H
#define TARN_SERVER_COMMON_SCENE_H

#include "kernels/tank.h"
#include "protocol/message.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>

#define TARN_SCENE_SPEED_MAX_M_S 20.0 ///< of a block's liquid at the start, per axis
#define TARN_SCENE_CELL_M_MIN 1e-4
#define TARN_SCENE_CELL_M_MAX 10.0
#define TARN_SCENE_DT_S_MIN 1e-4
#define TARN_SCENE_DT_S_MAX 0.1

enum {
    TARN_SCENE_BYTES_MAX = 1 << 20, ///< of a scene file
    TARN_SCENE_TITLE_MAX = 120,     ///< characters
    TARN_SCENE_SIZE_M_MAX = 10240,  ///< per axis
    TARN_SCENE_PER_AXIS_MAX = 4,    ///< particles per cell and axis
    TARN_SCENE_WHY_BYTES = 512,     ///< enough for every sentence of this module
};

typedef struct tarn_scene {
    tarn_name name;  ///< the file's name without ".json": [a-z0-9-]+
    tarn_text title; ///< for people
    tarn_tank_desc tank;
} tarn_scene;

/// Reads a scene file. `why` names the file, the field's path, what was found and what is allowed.
/// @return TARN_OK, TARN_E_IO, TARN_E_NOT_FOUND, TARN_E_MALFORMED or TARN_E_LIMIT
tarn_status tarn_scene_read_file(const char *path, tarn_scene *scene, char *why, size_t why_bytes);

/// The same from memory; `origin` stands for the file's name in sentences, `name` becomes scene->name.
tarn_status tarn_scene_read_text(const char *origin, const char *name, const char *text, size_t text_bytes,
                                 tarn_scene *scene, char *why, size_t why_bytes);

/// Whether a name is one that a scene may have: [a-z0-9-]+, at most TARN_NAME_BYTES_MAX bytes.
bool tarn_scene_name_valid(const char *name);

/// What a person's argument means: a path to a scene file, or the name of a scene ("dam-break") in `directory`; NULL
/// means the scenes that came with the program.
/// @return TARN_OK or TARN_E_NOT_FOUND, with the names there are in `why`
tarn_status tarn_scene_resolve(const char *argument, const char *directory, char *path, size_t path_bytes, char *why,
                               size_t why_bytes);

/// The directory with the scenes that came with the program: $TARN_SCENES, else ../share/tarn/scenes from the
/// executable's directory; an install prefix and a build tree look the same. @return TARN_OK or TARN_E_NOT_FOUND
tarn_status tarn_scene_directory(char *path, size_t path_bytes);

/// Names of the scenes in a directory, sorted; at most TARN_SCENES_MAX.
tarn_status tarn_scene_list(const char *directory, tarn_name *names, uint32_t names_max, uint32_t *name_count);

#endif
