/// What people and emitters do to the velocities of faces, whatever flows. Private to kernels.
#ifndef TARN_KERNELS_TANK_PUSH_H
#define TARN_KERNELS_TANK_PUSH_H

#include "kernels/tank/region.h"

#define SWIRL_CORE 0.25f ///< of a pull's radius, within which its way in slows down

/// What a sphere that turns liquid or draws it in adds to its own velocity, at a distance from its centre. The way in
/// slows down near the centre, where it would have no direction.
TILE_FN float swirl(const tank_push *push, const float *d, float distance, int axis)
{
    const int b = axis == 2 ? 0 : axis + 1, c = axis == 0 ? 2 : axis - 1;
    const float turning = push->spin[b] * d[c] - push->spin[c] * d[b];
    const float core = tile_max2_f32(SWIRL_CORE * push->radius, 1.0f);
    return turning - push->inward * (d[axis] / tile_max2_f32(distance, core));
}

/// A person's push: drags a face's velocity towards the sphere's, fully inside half the radius, fading to its rim.
TILE_FN float apply_pushes(const tank_control *control, float x, float y, float z, int axis, float velocity)
{
    for (uint32_t i = 0; i < control->push_count; i++) {
        const tank_push *push = &control->pushes[i];
        const float dx = x - push->center[0], dy = y - push->center[1], dz = z - push->center[2];
        const float distance2 = dx * dx + (dy * dy + dz * dz), radius2 = push->radius * push->radius;
        if (distance2 < radius2) {
            const float fade = tile_min_f32(1.0f, 2.0f * (1.0f - tile_sqrt_f32(distance2 / radius2)));
            float wanted = push->velocity[axis];
            if (push->swirls) {
                const float d[3] = {dx, dy, dz};
                wanted += swirl(push, d, tile_sqrt_f32(distance2), axis);
            }
            velocity += push->strength * fade * (wanted - velocity);
        }
    }
    return velocity;
}

/// An emitter gives the liquid in it its own velocity.
TILE_FN float apply_emitters(const tank_control *control, float x, float y, float z, int axis, float velocity)
{
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        if (region_holds(&control->emitters[e], x, y, z)) {
            return control->emitters[e].velocity[axis];
        }
    }
    return velocity;
}

/// Whether a push or an emitter reaches faces of a tile, or what lies up to `margin` cells around it.
TILE_FN int in_reach_within(const tank_control *control, tile_place place, float margin)
{
    for (uint32_t i = 0; i < control->push_count; i++) {
        const tank_push *push = &control->pushes[i];
        const float corner[3] = {(float)(place.x * TILE_EDGE), (float)(place.y * TILE_EDGE),
                                 (float)(place.z * TILE_EDGE)};
        int inside = 1;
        for (int a = 0; a < 3; a++) {
            inside &= push->center[a] + push->radius > corner[a] - margin &&
                      push->center[a] - push->radius < corner[a] + 9.0f + margin;
        }
        if (inside) {
            return 1;
        }
    }
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        if (region_meets(&control->emitters[e], place)) {
            return 1;
        }
    }
    return 0;
}

TILE_FN int in_reach(const tank_control *control, tile_place place)
{
    return in_reach_within(control, place, 0.0f);
}

#endif
