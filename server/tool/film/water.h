/// The front surface of the liquid as a camera sees it, from particles.
///
///     particles -> spheres in the picture -> nearest depth -> smoothed depth
///                                         -> thickness, spray, colour (at half the resolution)
///
/// Screen-space fluid rendering: van der Laan, Green, Sainz, "Screen space fluid rendering with curvature flow", 2009;
/// the smoothing follows the idea of Truong and Yuksel, "A narrow-range filter for screen-space fluid rendering", 2018.
#ifndef TARN_SERVER_TOOL_FILM_WATER_H
#define TARN_SERVER_TOOL_FILM_WATER_H

#include "protocol/status.h"
#include "server/tool/film/export.h"
#include "server/tool/film/render.h"

typedef struct surface surface;

/// @param width   of the depth, even
/// @param height  of the depth, even
/// @return TARN_OK or TARN_E_MEMORY
tarn_status surface_create(uint32_t width, uint32_t height, vec3 size_m, float spacing_m, uint32_t threads,
                           surface **out);

/// Takes NULL.
void surface_destroy(surface *s);

/// @param solid_depth  width x height, depth of what hides liquid behind it; NULL: nothing does
/// @return TARN_OK or TARN_E_MEMORY (more particles than ever before)
tarn_status surface_draw(surface *s, const camera *cam, const export_frame *frame, const float *solid_depth);

/// Where there is no liquid.
#define SURFACE_NO_DEPTH 1e30f

/// Smoothed depth, width x height, metres along the view; SURFACE_NO_DEPTH where there is no liquid.
const float *surface_depth(const surface *s);

/// What a ray through a pixel meets.
typedef struct surface_inside {
    float thickness_m; ///< of liquid, also behind solids
    float front_m;     ///< of liquid in front of solids
    float spray;       ///< 0..1: share of it that is lone drops
    float drop;        ///< 0..1: how much what is in front of all is a lone drop
    vec3 colour;       ///< 0..1, linear; mean over the liquid. Only where has_colour
    bool has_colour;
} surface_inside;

surface_inside surface_look(const surface *s, uint32_t x, uint32_t y);

#endif
