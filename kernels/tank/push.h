/// What people and emitters do to the velocities of faces, whatever flows: apply_hands. Private to kernels.
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

/// The mean velocity of who is at a place of a motion field, in bytes' units, and how much of it is somebody (0..255).
/// Between the cells' middles both go over evenly. @return 0: there is nobody, and no velocity
TILE_FN float sample_motion(const tank_motion_field *field, const uint32_t *cells, const float *at, float *velocity)
{
    float place[3];
    const float d[3] = {at[0] - field->corner[0], at[1] - field->corner[1], at[2] - field->corner[2]};
    for (int i = 0; i < 3; i++) {
        place[i] = field->to_grid[i][0] * d[0] + (field->to_grid[i][1] * d[1] + field->to_grid[i][2] * d[2]);
    }
    if (!(place[0] >= 0.0f && place[0] <= (float)field->columns && place[1] >= 0.0f && place[1] <= (float)field->rows &&
          tile_abs_f32(place[2]) <= field->depth)) {
        return 0.0f;
    }
    const float x = tile_clamp_f32(place[0] - 0.5f, 0.0f, (float)(field->columns - 1)),
                y = tile_clamp_f32(place[1] - 0.5f, 0.0f, (float)(field->rows - 1));
    const uint32_t column = (uint32_t)x, row = (uint32_t)y;
    uint32_t cell[4];
    float weight[4], sum = 0.0f;
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t i = tile_min_u32(column + (k & 1), field->columns - 1),
                       j = tile_min_u32(row + (k >> 1), field->rows - 1);
        cell[k] = cells[field->first + j * field->columns + i];
        const float across = (k & 1) != 0 ? x - (float)column : 1.0f - (x - (float)column),
                    up = (k >> 1) != 0 ? y - (float)row : 1.0f - (y - (float)row);
        weight[k] = across * up * (float)(cell[k] & 255);
        sum += weight[k];
    }
    for (int c = 0; c < 3 && sum > 0.0f; c++) {
        velocity[c] = 0.0f;
        for (uint32_t k = 0; k < 4; k++) {
            velocity[c] += weight[k] * (float)((int)((cell[k] >> (8 * c + 8) & 255) ^ 128) - 128);
        }
        velocity[c] /= sum;
    }
    return sum;
}

/// Drags a face's velocity along with who moves at its place.
TILE_FN float apply_motion(const tank_args *args, const float *at, int axis, float velocity)
{
    const tank_control *control = args->store.control;
    for (uint32_t f = 0; f < control->motion_field_count; f++) {
        const tank_motion_field *field = &control->motion_fields[f];
        float bytes[3], wanted[3], square = 0.0f;
        int inside = 1;
        for (int a = 0; a < 3; a++) {
            inside &= at[a] > field->low[a] && at[a] < field->high[a];
        }
        if (!inside) {
            continue;
        }
        const float there = sample_motion(field, args->store.motion, at, bytes);
        if (there > 0.0f) {
            for (int a = 0; a < 3; a++) {
                const float *to = field->to_speed[a];
                wanted[a] = to[0] * bytes[0] + (to[1] * bytes[1] + to[2] * bytes[2]);
                square += wanted[a] * wanted[a];
            }
            const float most = field->speed_max, limit = square > most * most ? most / tile_sqrt_f32(square) : 1.0f;
            velocity += field->strength * (there * (1.0f / 255.0f)) * (limit * wanted[axis] - velocity);
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

/// All of it, in its order.
TILE_FN float apply_hands(const tank_args *args, const float *at, int axis, float velocity)
{
    const tank_control *control = args->store.control;
    const float carried = apply_emitters(control, at[0], at[1], at[2], axis, velocity);
    return apply_motion(args, at, axis, apply_pushes(control, at[0], at[1], at[2], axis, carried));
}

/// Whether somebody acts in the cells of a motion field that are looked up in a tile, or up to `margin` cells around
/// it.
/// @param corner  of the tile, cells
TILE_FN int motion_meets(const tank_motion_field *field, const uint32_t *cells, const float *corner, float margin)
{
    const float half = 4.5f + margin, most[2] = {(float)(field->columns - 1), (float)(field->rows - 1)};
    uint32_t first[2], last[2], any = 0;
    for (int a = 0; a < 3; a++) {
        if (!(field->high[a] > corner[a] - margin && field->low[a] < corner[a] + 9.0f + margin)) {
            return 0;
        }
    }
    for (int k = 0; k < 2; k++) {
        float middle = -0.5f, reach = 1.0f; // to the next cell's middle
        for (int a = 0; a < 3; a++) {
            middle += field->to_grid[k][a] * (corner[a] + 4.5f - field->corner[a]);
            reach += tile_abs_f32(field->to_grid[k][a]) * half;
        }
        first[k] = (uint32_t)tile_clamp_f32(middle - reach, 0.0f, most[k]);
        last[k] = (uint32_t)tile_clamp_f32(middle + reach, 0.0f, most[k]);
    }
    for (uint32_t row = first[1]; row <= last[1]; row++) {
        for (uint32_t column = first[0]; column <= last[0]; column++) {
            any |= cells[field->first + row * field->columns + column];
        }
    }
    return any != 0;
}

/// Whether a push, a motion field or an emitter reaches faces of a tile, or what lies up to `margin` cells around it.
TILE_FN int in_reach_within(const tank_args *args, tile_place place, float margin)
{
    const tank_control *control = args->store.control;
    const float corner[3] = {(float)(place.x * TILE_EDGE), (float)(place.y * TILE_EDGE), (float)(place.z * TILE_EDGE)};
    for (uint32_t i = 0; i < control->push_count; i++) {
        const tank_push *push = &control->pushes[i];
        int inside = 1;
        for (int a = 0; a < 3; a++) {
            inside &= push->center[a] + push->radius > corner[a] - margin &&
                      push->center[a] - push->radius < corner[a] + 9.0f + margin;
        }
        if (inside) {
            return 1;
        }
    }
    for (uint32_t f = 0; f < control->motion_field_count; f++) {
        if (motion_meets(&control->motion_fields[f], args->store.motion, corner, margin)) {
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

TILE_FN int in_reach(const tank_args *args, tile_place place)
{
    return in_reach_within(args, place, 0.0f);
}

#endif
