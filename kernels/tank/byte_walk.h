/// Values as little-endian bytes, in one walk for both directions: `visit` writes a value, or reads it, or notes that
/// there is no room for it. Whoever walks looks at `failed` in the end; what is read after a failure is zero or as it
/// was.
#ifndef TARN_KERNELS_TANK_BYTE_WALK_H
#define TARN_KERNELS_TANK_BYTE_WALK_H

#include "kernels/tank.h"
#include "protocol/bytes.h"

#include <string.h>

typedef struct byte_walk {
    uint8_t *to;         ///< NULL: it reads
    const uint8_t *from; ///< NULL: it writes
    size_t at, end;
    bool failed;
} byte_walk;

/// Whether so many bytes more are there.
static inline bool room_for(byte_walk *w, size_t bytes)
{
    w->failed = w->failed || bytes > w->end - w->at;
    return !w->failed;
}

static inline void visit_u8(byte_walk *w, uint8_t *value)
{
    if (room_for(w, 1)) {
        if (w->to != NULL) {
            w->to[w->at] = *value;
        } else if (w->from != NULL) {
            *value = w->from[w->at];
        }
        w->at += 1;
    }
}

/// A number below 2^16.
static inline void visit_u16(byte_walk *w, uint32_t *value)
{
    if (room_for(w, 2)) {
        if (w->to != NULL) {
            put_u16(w->to + w->at, (uint16_t)*value);
        } else if (w->from != NULL) {
            *value = get_u16(w->from + w->at);
        }
        w->at += 2;
    }
}

static inline void visit_u32(byte_walk *w, uint32_t *value)
{
    if (room_for(w, 4)) {
        if (w->to != NULL) {
            put_u32(w->to + w->at, *value);
        } else if (w->from != NULL) {
            *value = get_u32(w->from + w->at);
        }
        w->at += 4;
    }
}

static inline void visit_u64(byte_walk *w, uint64_t *value)
{
    if (room_for(w, 8)) {
        if (w->to != NULL) {
            put_u64(w->to + w->at, *value);
        } else if (w->from != NULL) {
            *value = get_u64(w->from + w->at);
        }
        w->at += 8;
    }
}

/// Bytes that belong to somebody else: written from there, read where they lie.
static inline void visit_borrowed(byte_walk *w, const uint8_t **bytes, uint32_t count)
{
    if (room_for(w, count)) {
        if (w->to != NULL) {
            memcpy(w->to + w->at, *bytes, count);
        } else if (w->from != NULL) {
            *bytes = w->from + w->at;
        }
        w->at += count;
    }
}

static inline void visit_floats(byte_walk *w, float *values, int count)
{
    for (int i = 0; i < count && room_for(w, 4); i++, w->at += 4) {
        if (w->to != NULL) {
            put_f32(w->to + w->at, values[i]);
        } else if (w->from != NULL) {
            values[i] = get_f32(w->from + w->at);
        }
    }
}

static inline void visit_doubles(byte_walk *w, double *values, int count)
{
    for (int i = 0; i < count && room_for(w, 8); i++, w->at += 8) {
        if (w->to != NULL) {
            put_f64(w->to + w->at, values[i]);
        } else if (w->from != NULL) {
            values[i] = get_f64(w->from + w->at);
        }
    }
}

/// A number of an enumeration; one that there isn't is a failure.
static inline uint32_t visit_word(byte_walk *w, uint32_t value, uint32_t limit)
{
    uint8_t byte = (uint8_t)value;
    visit_u8(w, &byte);
    w->failed = w->failed || byte >= limit;
    return w->failed ? 0 : byte;
}

static inline void visit_bool(byte_walk *w, bool *value)
{
    *value = visit_word(w, *value, 2) != 0;
}

static inline void visit_colour(byte_walk *w, uint8_t *colour, int count)
{
    for (int i = 0; i < count; i++) {
        visit_u8(w, &colour[i]);
    }
}

static inline void visit_pose(byte_walk *w, tarn_pose *pose)
{
    visit_floats(w, pose->position_m, 3);
    visit_floats(w, pose->rotation, 4);
}

static inline void visit_solid(byte_walk *w, tarn_solid *solid)
{
    solid->shape.kind = (tarn_shape_kind)visit_word(w, (uint32_t)solid->shape.kind, TARN_SHAPE_COUNT);
    solid->motion = (tarn_motion)visit_word(w, (uint32_t)solid->motion, TARN_MOTION_COUNT);
    solid->shape.inverted = visit_word(w, solid->shape.inverted, 2);
    visit_colour(w, solid->colour, 3);
    visit_u16(w, &solid->shape.field);
    visit_floats(w, solid->shape.half_m, 3);
    visit_pose(w, &solid->pose);
    visit_floats(w, &solid->density_kg_m3, 1);
    visit_floats(w, solid->velocity_m_s, 3);
}

#endif
