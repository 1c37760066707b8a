/// What tools that add solids put into a tank: the shapes of thrown bodies and of pieces of wall, and how viewers are
/// told of them. Pure geometry; no state.
#ifndef TARN_SERVER_WORKER_INPUT_SOLIDS_H
#define TARN_SERVER_WORKER_INPUT_SOLIDS_H

#include "kernels/tank.h"
#include "protocol/message.h"
#include "server/worker/input_tools.h"

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
