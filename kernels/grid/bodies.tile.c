// Bodies: solids that follow key frames or float.
//
// Water and free bodies are solved for together (Batty, Bertails & Bridson 2007): a body's velocity after the pressure
// p is V + M^-1 J^T p, where J gives the volume that moving it displaces in each cell, so that the solver's matrix gets
// J M^-1 J^T. It has rank six for each body, and is applied by gathering J^T p over the few tiles that the body covers:
//
//     gather (partial sums of a tile) ─ respond (M^-1 of their sum) ─ apply (J of that)
//
// What covers of faces leave out of a body's volume, the weight of that much liquid makes up for: lift. Like the drag
// of viscosity it is a force of its own, before the pressure acts.
//
//     drag or lift ─ respond ─ kick ─ flux (what the bodies push away, anew)
//
// A light body is then as stable as a heavy one. What a body touches is not part of that system; the push of the last
// substep's contacts stands in for it, or a body that lies on the floor would press water out from under it for ever.
//
// Contacts: points on the surface against the tank's walls and other solids' distances, one velocity constraint each,
// solved in turn (projected Gauss-Seidel). A point that isn't there yet may come as close as it is far.
#include "kernels/grid/lines.h"
#include "kernels/grid/poisson.h"
#include "kernels/grid/solids.h"

enum {
    BODY_LANES = 64,
    TILES_LANES = 256,
    CONTACT_KINDS = 5, ///< of a point: three walls, static solids, another body
    CONTACTS_MAX = BODY_POINTS_MAX * CONTACT_KINDS,
    CONTACT_ROUNDS = 8,
};

#define CONTACT_MARGIN 0.5f   ///< cells: what is farther than that beside the way of a substep is no contact
#define CONTACT_SLOP 0.02f    ///< cells that bodies may stand in each other
#define CONTACT_PUSH 0.2f     ///< share of the rest that a substep takes away
#define CONTACT_FRICTION 0.3f ///< Coulomb's

TILE_FN void normalize4(float *q)
{
    const float length = tile_sqrt_f32((q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]));
    for (int a = 0; a < 4; a++) {
        q[a] = length > 1e-6f ? q[a] / length : (a == 3 ? 1.0f : 0.0f);
    }
}

/// Spin that an impulse's moment gives.
TILE_FN void spin_of(const grid_body *body, const grid_body_state *state, const float *moment, float *spin)
{
    const float *k = body->inverse_inertia;
    float local[3], turned[3];
    turn_back(state->turn, moment, local);
    turned[0] = (k[0] * local[0] + k[5] * local[1]) + k[4] * local[2];
    turned[1] = (k[5] * local[0] + k[1] * local[1]) + k[3] * local[2];
    turned[2] = (k[4] * local[0] + k[3] * local[1]) + k[2] * local[2];
    turn_by(state->turn, turned, spin);
}

/// Velocity along n that an impulse of one along n gives the matter at r.
TILE_FN float yielding(const grid_body *body, const grid_body_state *state, const float *r, const float *n)
{
    float moment[3], spin[3], moved[3];
    cross3(r, n, moment);
    spin_of(body, state, moment, spin);
    cross3(spin, r, moved);
    return body->inverse_mass + dot3(moved, n);
}

TILE_FN void push_body(const grid_body *body, grid_body_state *state, const float *r, const float *n, float impulse)
{
    float moment[3], spin[3];
    cross3(r, n, moment);
    spin_of(body, state, moment, spin);
    for (int a = 0; a < 3; a++) {
        state->velocity[a] += impulse * body->inverse_mass * n[a];
        state->spin[a] += impulse * spin[a];
    }
}

TILE_FN void limit_speed(grid_body_state *state)
{
    for (int a = 0; a < 3; a++) {
        state->velocity[a] = tile_clamp_f32(state->velocity[a], -BODY_SPEED_MAX, BODY_SPEED_MAX);
        state->spin[a] = tile_clamp_f32(state->spin[a], -BODY_SPIN_MAX, BODY_SPIN_MAX);
    }
}

// ----------------------------------------------------------------------------------------------- before the projection

/// Position and rotation between the ends of the step.
TILE_FN void pose_between(const grid_body_control *control, uint32_t b, float share, float *pose)
{
    const float *from = control->from[b], *to = control->to[b];
    for (int i = 0; i < 7; i++) {
        pose[i] = from[i] + share * (to[i] - from[i]);
    }
    normalize4(pose + 3);
}

/// Takes a keyframed body to the beginning of the substep, with the velocity that leads to its end.
TILE_FN void follow_keyframes(const grid_body_control *control, uint32_t b, float frac, grid_body_state *state)
{
    const float done = (float)control->substep * frac;
    float now[7], next[7];
    pose_between(control, b, done, now);
    pose_between(control, b, done + frac, next);
    // Vector part of next * conjugate(now): half the angle's sine along the axis.
    const float *p = next + 3, *q = now + 3;
    const float turn[3] = {((q[3] * p[0] - p[3] * q[0]) + p[2] * q[1]) - p[1] * q[2],
                           ((q[3] * p[1] - p[3] * q[1]) + p[0] * q[2]) - p[2] * q[0],
                           ((q[3] * p[2] - p[3] * q[2]) + p[1] * q[0]) - p[0] * q[1]};
    for (int a = 0; a < 3; a++) {
        state->position[a] = now[a];
        state->velocity[a] = (next[a] - now[a]) / frac;
        state->spin[a] = 2.0f * turn[a] / frac;
    }
    for (int a = 0; a < 4; a++) {
        state->rotation[a] = now[3 + a];
    }
    limit_speed(state);
    set_turn(state);
}

/// A hand's pull: the held point shall make up its share of the way, as far as the hand's strength goes.
TILE_FN void pull(const grid_args *args, const grid_grab *grab, grid_bodies *bodies, float frac)
{
    const grid_body_control *control = args->m.body_control;
    const grid_body *body = &bodies->body[grab->body];
    grid_body_state *state = &bodies->state[grab->body];
    float r[3], velocity[3], at[3], wanted[3];
    turn_by(state->turn, grab->point, r);
    for (int a = 0; a < 3; a++) {
        at[a] = state->position[a] + r[a];
    }
    body_velocity(state, at, velocity);
    for (int a = 0; a < 3; a++) {
        wanted[a] = grab->strength * (grab->target[a] - at[a]) - velocity[a];
    }
    const float length = tile_sqrt_f32(dot3(wanted, wanted));
    if (length < 1e-6f) {
        return;
    }
    for (int a = 0; a < 3; a++) {
        wanted[a] /= length;
    }
    const float most = control->grab_limit * frac / tile_max2_f32(body->inverse_mass, 1e-12f);
    push_body(body, state, r, wanted, tile_min_f32(length / yielding(body, state, r, wanted), most));
}

/// What the frame of a turning tank adds in a substep to how a body moves (tank/motion.c). The spin turns with the
/// room: as a rotation by Cayley's transform, because an explicit step would let it grow.
TILE_FN void turn_with_room(const grid_control *control, grid_body_state *state)
{
    const float frac = control->frac;
    float velocity[3], at[3], half[3], once[3], twice[3];
    for (int a = 0; a < 3; a++) {
        velocity[a] = state->velocity[a];
        at[a] = state->position[a] - control->pivot[a];
        half[a] = -0.5f * frac * control->turn[a];
    }
    const float cayley = 2.0f / (1.0f + dot3(half, half));
    cross3(half, state->spin, once);
    cross3(half, once, twice);
    for (int a = 0; a < 3; a++) {
        state->velocity[a] = dot3(control->coriolis[a], velocity) + control->kick * dot3(control->force_slope[a], at);
        state->spin[a] += cayley * (once[a] + twice[a]) - control->kick * control->turn_change[a];
    }
}

/// Velocities of the bodies before the pressure acts. One tile.
TILE_KERNEL(grid_bodies_begin, BODY_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    grid_bodies *bodies = m->bodies;
    const float frac = m->control->frac, kick = m->control->kick;
    const uint32_t balances = m->control->balances; // a state may be of a tank that did
    FOR_RANGE (b, 0, bodies->count) {
        grid_body_state *state = &bodies->state[b];
        bodies->hold[b] = 1.0f;
        if (!bodies->body[b].is_free) {
            follow_keyframes(m->body_control, b, frac, state);
            continue;
        }
        if (m->control->is_turning) {
            turn_with_room(m->control, state);
        }
        for (int a = 0; a < 3; a++) {
            const float held = balances ? state->balance[a] : 0.0f, turned = balances ? state->balance[3 + a] : 0.0f;
            state->velocity[a] += (m->control->gravity[a] + (state->contact[a] + held)) * kick;
            state->spin[a] += (state->contact[3 + a] + turned) * kick;
        }
        set_turn(state);
    }
    TILE_BARRIER();
    if (TILE_SINGLE()) {
        for (uint32_t g = 0; g < m->body_control->grab_count; g++) {
            pull(args, &m->body_control->grab[g], bodies, frac);
        }
        m->body_control->substep++;
    }
}

typedef struct body_tiles_scratch {
    uint32_t rank[TILES_LANES];
    uint32_t total, base;
} body_tiles_scratch;

/// Lists the occupied tiles that free bodies may cover. One tile.
TILE_KERNEL(grid_body_tiles, TILES_LANES, grid_args, body_tiles_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t total = m->counters->occupied;
    if (TILE_SINGLE()) {
        s->base = 0;
    }
    for (uint32_t first = 0; first < total; first += TILES_LANES) {
        FOR_RANGE (i, 0, TILES_LANES) {
            s->rank[i] = first + i < total && free_near_tile(args, first + i) != 0;
        }
        tile_scan_u32(s->rank, TILES_LANES, &s->total);
        FOR_RANGE (i, 0, TILES_LANES) {
            if (first + i < total && free_near_tile(args, first + i) != 0) {
                m->body_tile[s->base + s->rank[i]] = first + i;
            }
        }
        TILE_BARRIER();
        if (TILE_SINGLE()) {
            s->base += s->total;
        }
    }
    if (TILE_SINGLE()) {
        m->bodies->tile_count = s->base;
    }
}

// --------------------------------------------------------------------------------------------------- in the projection

typedef struct body_gather_scratch {
    float value[6][TILE_CELLS];
    uint32_t owners;
} body_gather_scratch;

/// The bodies that own cells of a tile: s->owners. Most of those near a tile own none there, and have only zeros for
/// sums.
TILE_FN void find_owners(const grid_memory *m, uint32_t slot, body_gather_scratch *s)
{
    const uint8_t *owner = m->cover_owner + (uint64_t)slot * TILE_CELLS;
    if (TILE_SINGLE()) {
        s->owners = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (row, 0, TILE_ROWS) {
        uint64_t cells;
        memcpy(&cells, owner + row * TILE_EDGE, sizeof cells);
        uint32_t owners = 0;
        for (int x = 0; x < TILE_EDGE && cells != UINT64_MAX; x++) {
            const uint32_t b = cells >> 8 * x & 255;
            owners |= b != BODY_NONE ? 1u << b : 0u;
        }
        tile_or_u32(&s->owners, owners);
    }
    TILE_BARRIER();
}

/// Covered area of a cell and where the cell lies from a body's centre.
TILE_FN int cover_of(const grid_args *args, uint64_t cell, uint32_t c, tile_place place, uint32_t b, float *area,
                     float *r)
{
    const grid_memory *m = &args->m;
    const int owned = m->cover_owner[cell] == b;
    const float *position = m->bodies->state[b].position;
    const float at[3] = {(float)(place.x * TILE_EDGE + (int)(c & 7)) + 0.5f,
                         (float)(place.y * TILE_EDGE + (int)(c >> 3 & 7)) + 0.5f,
                         (float)(place.z * TILE_EDGE + (int)(c >> 6)) + 0.5f};
    for (int a = 0; a < 3; a++) {
        area[a] = owned ? (float)m->cover[a][cell] * (1.0f / 255.0f) : 0.0f;
        r[a] = at[a] - position[a];
    }
    return owned;
}

/// What a cell has for a body: a force, and its moment.
TILE_FN void put_force(body_gather_scratch *s, uint32_t c, const float *r, const float *force)
{
    float moment[3];
    cross3(r, force, moment);
    for (int a = 0; a < 3; a++) {
        s->value[a][c] = force[a];
        s->value[3 + a][c] = moment[a];
    }
}

/// J^T of what acts on them: force and moment on each body from a tile. One tile per listed tile.
TILE_KERNEL(grid_body_gather, CELL_LANES, grid_args, body_gather_scratch)
{
    const grid_memory *m = &args->m;
    if (args->is_first == 0 && m->counters->go == 0) {
        return;
    }
    const uint32_t o = m->body_tile[tile], dense = m->level[0].tile[o], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const line_values gathered = args->gathered != NULL ? values_of(args->gathered) : direction_of(args);
    find_owners(m, slot, s);
    const uint32_t near = free_near_tile(args, o) & s->owners;
    for (uint32_t b = 0; b < m->bodies->count; b++) {
        const int meets = (near >> b & 1) != 0;
        if (meets) {
            FOR_RANGE (c, 0, TILE_CELLS) {
                const float p = line_value(gathered, (uint64_t)o * TILE_CELLS + c);
                float area[3], r[3], force[3];
                const int owned = cover_of(args, (uint64_t)slot * TILE_CELLS + c, c, place, b, area, r);
                for (int a = 0; a < 3; a++) {
                    force[a] = owned ? p * area[a] : 0.0f;
                }
                put_force(s, c, r, force);
            }
            TILE_BARRIER();
        }
        gather_for_body(m, tile, b, s->value, meets ? BODY_GRIP : 0);
    }
}

enum { RESPOND_VALUES = BODIES_MAX * BODY_SUMS, RESPOND_PARTS = 8, RESPOND_LANES = RESPOND_PARTS * RESPOND_VALUES };

typedef struct respond_scratch {
    double part[RESPOND_PARTS][RESPOND_VALUES], sum[RESPOND_VALUES];
} respond_scratch;

/// What the listed tiles have gathered: s->sum.
TILE_FN void sum_gathered(const grid_memory *m, respond_scratch *s)
{
    const uint32_t values = m->bodies->count * BODY_SUMS;
    FOR_RANGE (i, 0, RESPOND_PARTS * values) {
        double sum = 0.0;
        for (uint32_t k = i / values; k < m->bodies->tile_count; k += RESPOND_PARTS) {
            sum += (double)m->body_partial[(uint64_t)k * RESPOND_VALUES + i % values];
        }
        s->part[i / values][i % values] = sum;
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, values) {
        double sum = 0.0;
        for (int part = 0; part < RESPOND_PARTS; part++) {
            sum += s->part[part][i];
        }
        s->sum[i] = sum;
    }
    TILE_BARRIER();
}

/// M^-1 of the gathered forces. One tile.
TILE_KERNEL(grid_body_respond, RESPOND_LANES, grid_args, respond_scratch)
{
    const grid_memory *m = &args->m;
    grid_bodies *bodies = m->bodies;
    if (args->is_first == 0 && m->counters->go == 0) {
        return;
    }
    sum_gathered(m, s);
    FOR_RANGE (b, 0, bodies->count) {
        const grid_body *body = &bodies->body[b];
        const double *sum = &s->sum[BODY_SUMS * b];
        const float moment[3] = {(float)sum[3], (float)sum[4], (float)sum[5]};
        float spin[3];
        spin_of(body, &bodies->state[b], moment, spin);
        for (int a = 0; a < 3; a++) {
            bodies->change[b][a] = body->inverse_mass * (float)sum[a];
            bodies->change[b][3 + a] = spin[a];
        }
    }
}

/// How much of the viscosity acts between the liquid and each body, for both alike. A body is no part of the implicit
/// solve, so that more than what takes it along with the liquid at once would throw it back. Liquid that a body grips
/// by a layer of links yields: a deep one by the share `yields` of what the links alone would do. One tile.
TILE_KERNEL(grid_body_hold, RESPOND_LANES, grid_args, respond_scratch)
{
    const grid_memory *m = &args->m;
    const float k = m->control->body_viscosity;
    const float yields = 2.0f / (1.0f + tile_sqrt_f32(1.0f + 4.0f * k));
    sum_gathered(m, s);
    FOR_RANGE (b, 0, m->bodies->count) {
        const float grip = (float)s->sum[BODY_SUMS * b + BODY_GRIP] * m->bodies->body[b].inverse_mass * yields;
        m->bodies->hold[b] = grip > 1.0f + yields ? yields / (grip - 1.0f) : 1.0f;
    }
}

/// Force that the hydrostatic pressure has on what the covers leave out of a body: the weight of the liquid that it
/// displaces. A pressure that lies at a cell's centre knows a surface in the cell only by the cell, so that a ball of 3
/// cells would displace 5 % too little, and a box half a layer too much or too little. Above the centres that are under
/// water the covers alone count: there the pressure goes on as it grows between them. One tile per listed tile.
TILE_KERNEL(grid_body_lift, CELL_LANES, grid_args, body_gather_scratch)
{
    const grid_memory *m = &args->m;
    const grid_control *control = m->control;
    const uint32_t o = m->body_tile[tile], dense = m->level[0].tile[o], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    find_owners(m, slot, s);
    const uint32_t near = free_near_tile(args, o) & s->owners;
    const uint32_t upper[3] = {upper_slot(args, place, 0), upper_slot(args, place, 1), upper_slot(args, place, 2)};
    for (uint32_t b = 0; b < m->bodies->count; b++) {
        const int meets = (near >> b & 1) != 0;
        if (meets) {
            FOR_RANGE (c, 0, TILE_CELLS) {
                const uint64_t cell = (uint64_t)slot * TILE_CELLS + c;
                float unused[3], r[3], from_pivot[3], force[3];
                const int owned = cover_of(args, cell, c, place, b, unused, r) && m->cell_type[cell] == CELL_LIQUID;
                for (int a = 0; a < 3; a++) {
                    from_pivot[a] = m->bodies->state[b].position[a] + r[a] - control->pivot[a];
                }
                for (int a = 0; a < 3; a++) {
                    const float pull = control->gravity[a] + dot3(control->force_slope[a], from_pivot);
                    const float mass = (float)m->lack[a][cell] * (1.0f / 510.0f) * density_along(m, slot, upper, c, a);
                    force[a] = owned ? -pull * control->kick * mass : 0.0f;
                }
                put_force(s, c, r, force);
            }
            TILE_BARRIER();
        }
        gather_for_body(m, tile, b, s->value, meets ? BODY_GRIP : 0);
    }
}

/// What the bodies' change pushes out of a cell.
TILE_FN float flux_of_change(const grid_args *args, uint64_t cell, uint32_t c, tile_place place)
{
    const grid_memory *m = &args->m;
    const uint32_t b = m->cover_owner[cell];
    float area[3], r[3], moved[3];
    if (b == BODY_NONE) {
        return 0.0f;
    }
    const float *change = m->bodies->change[b];
    cover_of(args, cell, c, place, b, area, r);
    cross3(change + 3, r, moved);
    for (int a = 0; a < 3; a++) {
        moved[a] += change[a];
    }
    return dot3(area, moved);
}

/// Brings what bodies push away up to date with the bodies' change. One tile per listed tile.
TILE_KERNEL(grid_body_flux, CELL_LANES, grid_args, tile_no_scratch)
{
    const grid_memory *m = &args->m;
    const uint32_t dense = m->level[0].tile[m->body_tile[tile]], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    FOR_RANGE (c, 0, TILE_CELLS) {
        const uint64_t cell = (uint64_t)slot * TILE_CELLS + c;
        m->solid_flux[cell] += flux_of_change(args, cell, c, place);
    }
}

typedef struct body_apply_scratch {
    float value[TILE_CELLS];
} body_apply_scratch;

/// product += J of the bodies' change, and its partial dot product anew. One tile per listed tile.
TILE_KERNEL(grid_body_apply, CELL_LANES, grid_args, body_apply_scratch)
{
    const grid_memory *m = &args->m;
    if (m->counters->go == 0) {
        return;
    }
    const uint32_t o = m->body_tile[tile], dense = m->level[0].tile[o], slot = m->slot[dense];
    const tile_place place = tile_place_of(&args->shape, 0, dense);
    const float *diagonal = m->level[0].diagonal + (uint64_t)o * TILE_CELLS;
    const line_values direction = direction_of(args);
    const uint32_t cells = tile_rows(&args->shape) * TILE_EDGE;
    FOR_RANGE (c, 0, cells) {
        const uint64_t at = (uint64_t)o * TILE_CELLS + c, cell = (uint64_t)slot * TILE_CELLS + c;
        const float value = m->product[at] + (diagonal[c] > 0.0f ? flux_of_change(args, cell, c, place) : 0.0f);
        m->product[at] = value;
        s->value[c] = value * line_value(direction, at);
    }
    TILE_BARRIER();
    tile_sum_f32(s->value, cells);
    if (TILE_SINGLE()) {
        m->partial[o] = s->value[0];
    }
}

/// Applies the bodies' change: what the solved pressure does to them, unless that failed. One tile.
TILE_KERNEL(grid_bodies_kick, BODY_LANES, grid_args, tile_no_scratch)
{
    grid_bodies *bodies = args->m.bodies;
    if (args->m.counters->failed != 0) {
        return;
    }
    FOR_RANGE (b, 0, bodies->count) {
        for (int a = 0; a < 3 && bodies->body[b].is_free; a++) {
            bodies->state[b].velocity[a] += bodies->change[b][a];
            bodies->state[b].spin[a] += bodies->change[b][3 + a];
        }
    }
}

/// Takes out again what the last pressure did to the free bodies, and notes what is left. One tile.
TILE_KERNEL(grid_bodies_unbalance, BODY_LANES, grid_args, tile_no_scratch)
{
    grid_bodies *bodies = args->m.bodies;
    const float kick = args->m.control->kick;
    FOR_RANGE (b, 0, bodies->count) {
        grid_body_state *state = &bodies->state[b];
        for (int a = 0; a < 6; a++) {
            float *moved = a < 3 ? &state->velocity[a] : &state->spin[a - 3];
            bodies->change[b][a] = bodies->body[b].is_free ? -kick * state->balance[a] : 0.0f;
            *moved += bodies->change[b][a];
            state->balance[a] = *moved;
        }
    }
}

// ------------------------------------------------------------------------------------------------------------ contacts

typedef struct contact {
    float distance, normal[3], r[3]; ///< r: from the centre of mass
    float pushed;                    ///< impulse so far
    uint32_t other;                  ///< body, or BODY_NONE
} contact;

typedef struct contacts_scratch {
    contact at[CONTACTS_MAX];
    uint32_t rank[CONTACTS_MAX], near[CONTACTS_MAX]; ///< near: those that a body may reach, in order
    uint32_t near_count;
} contacts_scratch;

TILE_FN void set_contact(contact *to, const float *r, float radius, float distance, const float *normal, uint32_t other)
{
    to->distance = distance - radius;
    to->other = other;
    to->pushed = 0.0f;
    for (int a = 0; a < 3; a++) {
        to->normal[a] = normal[a];
        to->r[a] = r[a] - radius * normal[a];
    }
}

TILE_FN void normalize3(float *n)
{
    const float length = tile_sqrt_f32(dot3(n, n));
    for (int a = 0; a < 3; a++) {
        n[a] = length > 1e-6f ? n[a] / length : (a == 1 ? 1.0f : 0.0f);
    }
}

/// The contact of a surface point with a solid that doesn't move.
TILE_FN void find_still(const grid_args *args, const grid_body_state *state, const float *r, float radius, contact *to)
{
    int32_t position[3];
    float normal[3];
    for (int a = 0; a < 3; a++) {
        const float at = tile_clamp_f32(state->position[a] + r[a], 0.0f, (float)args->shape.cells[a] - 0.001f);
        position[a] = (int32_t)(at * (1 << POSITION_BITS));
    }
    const float distance = solid_distance(args, position, normal);
    normalize3(normal);
    set_contact(to, r, radius, distance < (float)SOLID_NEAR_CELLS ? distance : 1e9f, normal, BODY_NONE);
}

/// A point on a round body is a first guess: what lies on the surface straight towards the solid touches first.
TILE_FN void find_round(const grid_args *args, const grid_body *body, const grid_body_state *state, const float *point,
                        contact *to)
{
    const float y = point[1] + body->center[1],
                axis[3] = {0.0f, tile_clamp_f32(y, -body->half[1], body->half[1]), 0.0f};
    float local[3], r[3];
    contact nearer;
    for (int a = 0; a < 3; a++) {
        local[a] = axis[a] - body->center[a];
    }
    turn_by(state->turn, local, r);
    for (int a = 0; a < 3; a++) {
        r[a] -= body->half[0] * to->normal[a];
    }
    find_still(args, state, r, 0.0f, &nearer);
    if (nearer.distance < to->distance) {
        *to = nearer;
    }
}

/// The contacts of one of a body's points.
TILE_FN void find_contacts(const grid_args *args, uint32_t b, uint32_t point, contact *to)
{
    const grid_bodies *bodies = args->m.bodies;
    const grid_body *body = &bodies->body[b];
    const grid_body_state *state = &bodies->state[b];
    const float radius = point < body->axis_points ? body->half[0] : 0.0f;
    float r[3], at[3], normal[3];
    turn_by(state->turn, body->point[point], r);
    for (int a = 0; a < 3; a++) {
        const float size = (float)args->shape.cells[a];
        at[a] = state->position[a] + r[a];
        normal[0] = normal[1] = normal[2] = 0.0f;
        normal[a] = at[a] < 0.5f * size ? 1.0f : -1.0f;
        set_contact(&to[a], r, radius, at[a] < 0.5f * size ? at[a] : size - at[a], normal, BODY_NONE);
    }
    find_still(args, state, r, radius, &to[3]);
    if (body->kind == BODY_ROUND && radius == 0.0f && to[3].distance < (float)SOLID_NEAR_CELLS) {
        find_round(args, body, state, body->point[point], &to[3]);
    }
    float least = 1e9f;
    uint32_t other = BODY_NONE;
    for (uint32_t i = 0; i < bodies->count; i++) {
        const float distance = i != b ? body_distance(bodies, i, at) : 1e9f;
        other = distance < least ? i : other;
        least = tile_min_f32(distance, least);
    }
    if (other != BODY_NONE) {
        body_gradient(bodies, other, at, normal);
    }
    normalize3(normal);
    set_contact(&to[4], r, radius, least, normal, other);
}

/// Velocity of a body seen from what it touches.
TILE_FN void seen_velocity(const grid_bodies *bodies, uint32_t b, const contact *c, float *velocity)
{
    const grid_body_state *state = &bodies->state[b];
    const float at[3] = {state->position[0] + c->r[0], state->position[1] + c->r[1], state->position[2] + c->r[2]};
    float of_other[3] = {0.0f, 0.0f, 0.0f};
    body_velocity(state, at, velocity);
    if (c->other != BODY_NONE) {
        body_velocity(&bodies->state[c->other], at, of_other);
    }
    for (int a = 0; a < 3; a++) {
        velocity[a] -= of_other[a];
    }
}

/// An impulse on a body, and its opposite on the other.
TILE_FN void push_pair(grid_bodies *bodies, uint32_t b, const contact *c, const float *n, float impulse)
{
    push_body(&bodies->body[b], &bodies->state[b], c->r, n, impulse);
    if (c->other == BODY_NONE || !bodies->body[c->other].is_free) {
        return;
    }
    const float *from = bodies->state[b].position, *to = bodies->state[c->other].position;
    const float r[3] = {from[0] + c->r[0] - to[0], from[1] + c->r[1] - to[1], from[2] + c->r[2] - to[2]};
    push_body(&bodies->body[c->other], &bodies->state[c->other], r, n, -impulse);
}

TILE_FN float pair_yielding(const grid_bodies *bodies, uint32_t b, const contact *c, const float *n)
{
    float sum = yielding(&bodies->body[b], &bodies->state[b], c->r, n);
    if (c->other != BODY_NONE && bodies->body[c->other].is_free) {
        const float *from = bodies->state[b].position, *to = bodies->state[c->other].position;
        const float r[3] = {from[0] + c->r[0] - to[0], from[1] + c->r[1] - to[1], from[2] + c->r[2] - to[2]};
        sum += yielding(&bodies->body[c->other], &bodies->state[c->other], r, n);
    }
    return sum;
}

/// One contact: no faster towards the other than the distance allows; friction along it.
TILE_FN void solve_contact(grid_bodies *bodies, uint32_t b, contact *c, float frac)
{
    float velocity[3], along[3];
    seen_velocity(bodies, b, c, velocity);
    const float away =
        c->distance > 0.0f
            ? -c->distance / frac
            : tile_min_f32(CONTACT_PUSH * tile_max2_f32(-c->distance - CONTACT_SLOP, 0.0f), 0.25f) / frac;
    const float wanted = (away - dot3(velocity, c->normal)) / pair_yielding(bodies, b, c, c->normal);
    const float sum = tile_max2_f32(c->pushed + wanted, 0.0f);
    push_pair(bodies, b, c, c->normal, sum - c->pushed);
    c->pushed = sum;
    seen_velocity(bodies, b, c, velocity);
    const float normal = dot3(velocity, c->normal);
    for (int a = 0; a < 3; a++) {
        along[a] = velocity[a] - normal * c->normal[a];
    }
    const float speed = tile_sqrt_f32(dot3(along, along));
    if (speed < 1e-7f || sum <= 0.0f) {
        return;
    }
    for (int a = 0; a < 3; a++) {
        along[a] /= speed;
    }
    const float stop = speed / pair_yielding(bodies, b, c, along);
    push_pair(bodies, b, c, along, -tile_min_f32(stop, CONTACT_FRICTION * sum / CONTACT_ROUNDS));
}

/// Lists the contacts that a body may reach in the substep.
TILE_FN void list_near(const grid_bodies *bodies, uint32_t b, contacts_scratch *s, float frac)
{
    const uint32_t count = bodies->body[b].point_count * CONTACT_KINDS;
    const grid_body_state *state = &bodies->state[b];
    const float speed = tile_sqrt_f32(dot3(state->velocity, state->velocity)) +
                        tile_sqrt_f32(dot3(state->spin, state->spin)) * bodies->body[b].reach;
    const float near = CONTACT_MARGIN + speed * frac;
    FOR_RANGE (i, 0, count) {
        s->rank[i] = s->at[i].distance < near;
    }
    tile_scan_u32(s->rank, count, &s->near_count);
    FOR_RANGE (i, 0, count) {
        if (s->at[i].distance < near) {
            s->near[s->rank[i]] = i;
        }
    }
    TILE_BARRIER();
}

TILE_FN void solve_contacts(grid_bodies *bodies, uint32_t b, contacts_scratch *s, float frac)
{
    for (int round = 0; round < CONTACT_ROUNDS; round++) {
        for (uint32_t i = 0; i < s->near_count; i++) {
            solve_contact(bodies, b, &s->at[s->near[i]], frac);
        }
    }
}

/// Moves a body by its velocities.
TILE_FN void move_body(grid_body_state *state, float frac)
{
    const float *w = state->spin, h = 0.5f * frac;
    float *q = state->rotation;
    const float turned[4] = {
        q[0] + h * ((w[0] * q[3] + w[1] * q[2]) - w[2] * q[1]), q[1] + h * ((w[1] * q[3] + w[2] * q[0]) - w[0] * q[2]),
        q[2] + h * ((w[2] * q[3] + w[0] * q[1]) - w[1] * q[0]), q[3] - h * ((w[0] * q[0] + w[1] * q[1]) + w[2] * q[2])};
    for (int a = 0; a < 4; a++) {
        q[a] = turned[a];
    }
    normalize4(q);
    for (int a = 0; a < 3; a++) {
        state->position[a] += frac * state->velocity[a];
    }
    set_turn(state);
}

/// Contacts, and the bodies' move. One tile.
TILE_KERNEL(grid_bodies_end, BODY_LANES, grid_args, contacts_scratch)
{
    const grid_memory *m = &args->m;
    grid_bodies *bodies = m->bodies;
    const float frac = m->control->frac, kick = m->control->kick;
    FOR_RANGE (b, 0, bodies->count) {
        grid_body_state *state = &bodies->state[b];
        for (int a = 0; a < 6; a++) {
            const float change = (a < 3 ? state->velocity[a] : state->spin[a - 3]) - state->balance[a];
            state->balance[a] = m->control->balances && bodies->body[b].is_free ? change / kick : 0.0f;
        }
    }
    // What stood in for the contacts goes, and becomes the velocity before them.
    FOR_RANGE (b, 0, bodies->count) {
        grid_body_state *state = &bodies->state[b];
        for (int a = 0; a < 3 && bodies->body[b].is_free; a++) {
            state->velocity[a] -= state->contact[a] * kick;
            state->spin[a] -= state->contact[3 + a] * kick;
            state->contact[a] = state->velocity[a];
            state->contact[3 + a] = state->spin[a];
        }
        limit_speed(state);
    }
    for (uint32_t b = 0; b < bodies->count; b++) {
        if (!bodies->body[b].is_free) {
            continue;
        }
        FOR_RANGE (i, 0, bodies->body[b].point_count) {
            find_contacts(args, b, i, &s->at[i * CONTACT_KINDS]);
        }
        TILE_BARRIER();
        list_near(bodies, b, s, frac);
        if (TILE_SINGLE()) {
            solve_contacts(bodies, b, s, frac);
        }
        TILE_BARRIER();
    }
    FOR_RANGE (b, 0, bodies->count) {
        grid_body_state *state = &bodies->state[b];
        for (int a = 0; a < 3 && bodies->body[b].is_free; a++) {
            state->contact[a] = (state->velocity[a] - state->contact[a]) / kick;
            state->contact[3 + a] = (state->spin[a] - state->contact[3 + a]) / kick;
        }
        if (bodies->body[b].is_free) {
            limit_speed(state);
        }
        move_body(state, frac);
        for (int a = 0; a < 3 && bodies->body[b].is_free; a++) {
            state->position[a] = tile_clamp_f32(state->position[a], 0.0f, (float)args->shape.cells[a]);
        }
    }
}
