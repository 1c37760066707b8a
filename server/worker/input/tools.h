/// Tools at work: a tool's way through the tank in a step becomes pushes, pours, sinks, dyes, bodies that are thrown
/// in, and walls; and the shapes of what they put into the tank. Pure geometry; all state is the caller's.
#ifndef TARN_SERVER_WORKER_INPUT_TOOLS_H
#define TARN_SERVER_WORKER_INPUT_TOOLS_H

#include "kernels/tank.h"
#include "protocol/message.h"
#include "server/worker/limits.h"

#include <math.h>
#include <stdbool.h>

static inline float tarn_tool_length(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// What a press has done so far that adds solids.
typedef struct tarn_tool_trail {
    bool begun;        ///< a body was thrown in, or a wall begins at
    float anchor_m[3]; ///< the end of what stands of it
    bool drawn;        ///< some of it stands
} tarn_tool_trail;

/// A tool in one step.
typedef struct tarn_tool_stroke {
    tarn_tool tool;
    float from_m[3], to_m[3]; ///< its way in the step
    float velocity_m_s[3];    ///< at most TARN_TANK_PUSH_SPEED_MAX_M_S
    float axis[3];            ///< unit length; a vortex turns about it by the right hand
    float radius_m, strength;
    uint32_t colour;         ///< as in tarn_input_pointer
    uint32_t source, press;  ///< whose it is: index, and number of the press
    uint32_t viewer_id;      ///< and who that is
    bool is_pointer, stands; ///< stands: walls do so, on the floor below
    bool ends;               ///< with this step
    tarn_tool_trail *trail;
} tarn_tool_stroke;

/// A body that is thrown in.
typedef struct tarn_tool_throw {
    uint32_t source, press; ///< who holds it
    uint32_t viewer_id;
    float center_m[3], velocity_m_s[3], radius_m;
} tarn_tool_throw;

/// A piece of wall.
typedef struct tarn_tool_wall {
    uint32_t viewer_id; ///< who draws it
    float from_m[3], to_m[3], radius_m;
    float height_m; ///< from the floor on; 0: it doesn't stand there, but is round
} tarn_tool_wall;

/// Everything that tools do in one step.
typedef struct tarn_step_tools {
    uint32_t push_count;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_tank_tools tank;
    uint32_t throw_count, wall_count, erase_count;
    tarn_tool_throw throws[TARN_INPUT_THROWS_MAX];
    tarn_tool_wall walls[TARN_INPUT_WALLS_MAX];
    tarn_sink erases[TARN_INPUT_ERASES_MAX];
} tarn_step_tools;

/// Adds one tool's doings. A fast push or dye leaves several spheres along its way, as far as there is room.
/// @param up       unit length, in the tank: against gravity
/// @param waiting  tools that come after this one, and want a sphere each
void tarn_tool_act(const tarn_tool_stroke *stroke, const float up[3], const float size_m[3], uint32_t waiting,
                   tarn_step_tools *step);

/// How many of a tool may act in a step. @return TARN_INPUT_SOURCES_MAX where that is as many as there may be
uint32_t tarn_tool_most(tarn_tool tool);

// ---- what is put into the tank ----
// The shapes of thrown bodies and of pieces of wall, and how viewers are told of them.

/// Why nothing can be thrown into such a tank, for people. @return NULL: it can
const char *tarn_throw_refusal(const tarn_tank_desc *desc);

/// A body that is thrown in: like the first one of the scene that floats and has a shape from a file; else a ball of
/// about the tool's size, bounded by the cells and the tank. It weighs two fifths of the lightest liquid.
void tarn_thrown_solid(const tarn_tank_desc *desc, const tarn_tool_throw *thrown, tarn_solid *solid);

/// A piece of wall: a box that stands on the floor, or a capsule; in a tank one cell deep a box as deep as that.
void tarn_wall_solid(const tarn_tank_desc *desc, const tarn_tool_wall *wall, tarn_solid *solid);

/// With what radius a tool acts that asks for one: as much of it as cells and tank allow.
float tarn_tool_radius_m(const tarn_tank_desc *desc, tarn_tool tool, float radius_m);

/// The list for viewers.
/// @param added  as tarn_tank_added fills it
/// @return how many, at most TARN_ADDED_MAX
uint32_t tarn_added_infos(const tarn_tank_desc *desc, const tarn_added_solid *added, uint32_t added_count,
                          tarn_added_info infos[TARN_ADDED_MAX]);

#endif
