/// The solids of a tank as rays find them: signed distances marched along ("sphere tracing": Hart, "Sphere tracing: a
/// geometric method for the antialiased ray tracing of implicit surfaces", 1996). Points are in the tank's frame.
#ifndef TARN_SERVER_TOOL_RENDER_RENDER_SOLIDS_H
#define TARN_SERVER_TOOL_RENDER_RENDER_SOLIDS_H

#include "protocol/status.h"
#include "server/tool/export/export.h"
#include "server/tool/render/render_math.h"

#include <stdbool.h>

typedef struct solids solids;

typedef struct solids_hit {
    float way_m; ///< along the ray
    vec3 normal; ///< unit vector, outwards
    vec3 colour; ///< linear
} solids_hit;

/// Uses the tank's size, the solids and their fields, which live as long as this.
/// @param fine_m  what is nearer than this is hit
/// @return TARN_OK or TARN_E_MEMORY
tarn_status solids_create(const export_info *info, float fine_m, solids **out);

/// Takes NULL.
void solids_destroy(solids *s);

/// Puts the bodies where a frame has them; the other solids are where they were at the start.
void solids_place(solids *s, const export_frame *frame);

/// Whether there are solids that trace finds, and containers that solids_glass finds.
bool solids_any(const solids *s);
bool solids_any_glass(const solids *s);

/// The first solid along a ray (unit vector), at most far_m away; none that is a container. Only bodies that float are
/// seen beyond the tank's walls: the others are cut there.
bool solids_trace(const solids *s, vec3 from, vec3 direction, float far_m, solids_hit *hit);

/// Whether anything is in the way; cheaper.
bool solids_block(const solids *s, vec3 from, vec3 direction);

/// How much of what a ray brings is hidden by the sides of containers: those that it enters, and those that it leaves,
/// at most far_m away.
typedef struct solids_glass_seen {
    float entered, left; ///< 0..1
    vec3 entered_colour, left_colour;
} solids_glass_seen;

solids_glass_seen solids_glass(const solids *s, vec3 from, vec3 direction, float far_m);

#endif
