/// Smoke in air, or dye in clear liquid, as a camera sees it. A particle is a soft puff that takes from the light of
/// what is behind it (Beer and Lambert) and scatters some of the light that falls in; puffs are laid over each other
/// from the front to the back.
///
///     particles -> density of the tank, coarse -> light that reaches each puff -+
///               -> puffs in the picture, by distance ---------------------------+-> light, what is let through
///
/// How large puffs are and how much they take is as on the page (web-client/src/render/gas).
#ifndef TARN_SERVER_TOOL_FILM_GAS_H
#define TARN_SERVER_TOOL_FILM_GAS_H

#include "protocol/status.h"
#include "server/tool/film/export.h"
#include "server/tool/film/render.h"

typedef struct gas gas;

/// @param info     `drawing` is one of the two, which see
/// @param width    of the maps, as of the camera's picture over `coarse`
/// @param coarse   pixels of the camera's picture along one of the maps'
/// @return TARN_OK or TARN_E_MEMORY
tarn_status gas_create(const export_info *info, uint32_t width, uint32_t height, uint32_t coarse, uint32_t threads,
                       gas **out);

/// Takes NULL.
void gas_destroy(gas *g);

/// @param towards_light  unit vector, in the tank's frame
/// @param solid_depth    of the camera's picture, depth of what hides puffs behind it; NULL: nothing does
/// @return TARN_OK or TARN_E_MEMORY (more particles than ever before)
tarn_status gas_draw(gas *g, const camera *cam, const export_frame *frame, vec3 towards_light,
                     const float *solid_depth);

/// What is between the eye and what is behind: that one's light times `through`, and `light`.
typedef struct gas_seen {
    vec3 through; ///< 0..1
    vec3 light;
} gas_seen;

gas_seen gas_look(const gas *g, uint32_t x, uint32_t y);

/// What a metre of the liquid around dye takes from red, green and blue; 0 for smoke.
vec3 gas_clear_per_m(const gas *g);

/// Of the frame that was drawn: the section of a particle times its optical depth, for the shadow that it casts.
float gas_shadow_m2(const gas *g);

#endif
