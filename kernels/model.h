/// The models that a tank may hold, as what is outside of them needs to know: their parameters, what people may do to
/// them, what their particles can be coloured by, which fields of a scene they read. One table in each model's folder;
/// kernels/models.c lists them. Scenes, their schema, the protocol, the page and `tarn check` have it from there.
#ifndef TARN_KERNELS_MODEL_H
#define TARN_KERNELS_MODEL_H

#include "protocol/tool_list.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TARN_MODEL_PARAMETERS_MAX = 24,
    TARN_MODEL_CHANNELS_MAX = 8,
    TARN_MODEL_CARRIED_MAX = 8,
    TARN_MODEL_FIELDS_MAX = 8,
    TARN_MODEL_NAME_BYTES = 16,
};

/// What the tank's shell does with a parameter, whatever the model.
typedef enum tarn_parameter_role {
    TARN_PLAYS_NONE,     ///< the model's alone
    TARN_PLAYS_GRAVITY,  ///< m/s^2, along the description's gravity_direction
    TARN_PLAYS_CFL,      ///< cells that the fastest particle may cross in a substep
    TARN_PLAYS_SUBSTEPS, ///< cap on substeps in a step
    TARN_PLAYS_DYE,      ///< share of a cell's dye that mixes in a step
    TARN_PLAYS_COUNT
} tarn_parameter_role;

/// Traits of parameters: bits.
enum {
    TARN_PARAMETER_IS_WHOLE = 1 << 0,
    TARN_PARAMETER_HAS_MAGNITUDES = 1 << 1, ///< of its values the magnitude counts
    TARN_PARAMETER_IS_SOLVER = 1 << 2,      ///< in a scene it stands in "solver"
};

/// A parameter that may change while the tank runs. Its number is its place in the model's table, which only grows at
/// its end: numbers are in saved states and logs.
typedef struct tarn_parameter_spec {
    const char *name;
    const char *label; ///< for people
    const char *unit;  ///< the same; NULL: none
    float initial, min, max;
    tarn_parameter_role role;
    uint32_t traits;  ///< bits above
    const char *text; ///< sentences
} tarn_parameter_spec;

/// What each particle carries besides place and velocity. In a scene a block, a fluid's shape or an emitter may say it
/// by this name. Its number is its place in the model's table, which only grows at its end: it is in saved states.
typedef struct tarn_carried_spec {
    const char *name;
    const char *label;       ///< for people
    const char *unit;        ///< the same; NULL: none
    float initial, min, max; ///< initial: where a scene says nothing, and of what people pour
    const char *text;        ///< sentences
} tarn_carried_spec;

/// What particles can be coloured by. Its number is its place in the model's table, which only grows at its end.
/// Viewers have "colour", "speed", "height" and "vorticity" from every frame; any other one is carried
/// (protocol/channel.h).
typedef struct tarn_channel_spec {
    const char *name;
    const char *label; ///< for people
    const char *unit;  ///< the same; NULL: none
} tarn_channel_spec;

/// A scalar field of cells that frames carry for who asks. Its number is its place in the model's table, which only
/// grows at its end.
typedef struct tarn_field_spec {
    const char *name;
    const char *label; ///< for people
    const char *unit;  ///< the same; NULL: none
    const char *kinds; ///< the same: names of the kinds 0, 1, ..., with commas between them; NULL: it is of numbers
} tarn_field_spec;

/// What people may do to a tank besides pushing, and what a scene may say of it: bits.
enum {
    TARN_MODEL_POURS = 1 << 0,   ///< pours; emitters of a scene
    TARN_MODEL_DRAINS = 1 << 1,  ///< sinks; drains of a scene
    TARN_MODEL_DYES = 1 << 2,    ///< dyes; colours of blocks
    TARN_MODEL_SOLIDS = 1 << 3,  ///< throws, walls, erasures, grabs; solids of a scene
    TARN_MODEL_TURNS = 1 << 4,   ///< the tank may be turned and shaken, by hands and by its scene
    TARN_MODEL_LIQUIDS = 1 << 5, ///< a scene may name liquids
    TARN_MODEL_SOLVER = 1 << 6,  ///< a scene may choose solver, transfer, weights, reseeding
    TARN_MODEL_RUBS = 1 << 7,    ///< walls and solids may have friction
    TARN_MODEL_ALL = (1 << 8) - 1,
};

typedef struct tarn_model {
    const char *name, *text;
    uint32_t number; ///< place among the models
    uint32_t can;    ///< bits above
    uint32_t tools;  ///< that do something to it: TARN_TOOL_BIT; they need what it can
    uint32_t parameter_count;
    const tarn_parameter_spec *parameters;
    uint32_t channel_count;
    const tarn_channel_spec *channels;
    uint32_t carried_count;
    const tarn_carried_spec *carried;
    uint32_t field_count;
    const tarn_field_spec *fields;
} tarn_model;

#ifdef __cplusplus
extern "C" {
#endif

uint32_t tarn_model_count(void);

/// Static storage; NULL when there is no such number. Model 0 is the default.
const tarn_model *tarn_model_at(uint32_t number);

/// NULL: there is none of this name.
const tarn_model *tarn_model_find(const char *name);

/// NULL: the model has no such parameter.
const tarn_parameter_spec *tarn_model_parameter(const tarn_model *model, uint32_t id);

/// A parameter's number, or -1.
int tarn_model_parameter_find(const tarn_model *model, const char *name);

/// A carried channel's number, or -1.
int tarn_model_channel_find(const tarn_model *model, const char *name);

/// A field's number, or -1.
int tarn_model_field_find(const tarn_model *model, const char *name);

#ifdef __cplusplus
}
#endif
#endif
