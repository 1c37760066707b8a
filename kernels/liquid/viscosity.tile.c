// Implicit viscosity: (1 - nu dt L) u = u* for each component on the faces that touch liquid, between the forces and
// the pressure. L is the 7-point Laplacian: no stress at the free surface, no slip at the tank's walls, which hold
// still, nor at solids, which have the velocity of their matter. In a tank that is one cell deep nothing rubs at the
// walls in front and behind.
//
// A solid holds the faces that it covers by a quarter or more: of the open rest the velocity goes to the solid's as
// that of a film does. From the other faces the solid is as far away as that rest is thick, and half a cell.
//
// Solved by Chebyshev's semi-iteration (Golub & Varga 1961), which needs bounds of the spectrum but no dot products:
// rows are diagonally dominant with at most six links of weight k = nu dt / dx^2, so that all eigenvalues lie in
// 1..1 + 12 k, with liquids of different density, see below, in 1..1 + 24 k. From u* on, n iterations multiply a mode
// of eigenvalue e by 1/e + p(e) (1 - 1/e) with |p| <= 1: no mode grows, however few they are.
//
//     x(j + 1) = x(j) + alpha(j) (u* - A x(j)) + gamma(j) (x(j) - x(j - 1)),  alpha and gamma from liquid_model.c
//
// x(j) lies in u, u_ext, shift, u_ext, shift ... and the last one in u again; the two fields are free at this time.
#include "kernels/grid/halo.h"
#include "kernels/grid/solids.h"
#include "kernels/liquid/liquid.h"

enum {
    VISCOUS = 1,           ///< the face's value is sought; shifted by the component
    WALL = 8,              ///< the face lies in or beside something that holds still
    HELD = VISCOUS | WALL, ///< a solid holds the face: the field has its velocity
    WALLS = 7 * WALL,
};

#define FILM_MIN (1.0f / 8.0f) ///< cells: thickness of a film that is taken for a thinner one's

typedef struct viscous_faces_scratch {
    uint8_t type[RIM_CELLS];
    float viscosity[RIM_CELLS]; ///< of the cells, in a tank of several liquids
} viscous_faces_scratch;

TILE_FN void face_middle(const int *cell, int c, float *middle)
{
    for (int a = 0; a < 3; a++) {
        middle[a] = (float)cell[a] + (a == c ? 0.0f : 0.5f);
    }
}

/// A face's viscosity from the cells beside it, which have -1 where they are empty.
TILE_FN float between_cells(float below, float above)
{
    return below < 0.0f ? tile_max2_f32(above, 0.0f) : above < 0.0f ? below : 0.5f * (below + above);
}

/// The share of the way to a solid's velocity that the film goes which the solid leaves open of a face of viscosity k.
/// Of a light body's, the part that doesn't throw it back.
TILE_FN float film_share(const liquid_args *args, uint32_t owner, uint32_t open, float k)
{
    const grid_memory *grid = &args->tank.grid.m;
    const float film = tile_max2_f32((float)open * (1.0f / 255.0f), FILM_MIN), grip = 2.0f * k / (film * film);
    return (owner != BODY_NONE ? grid->bodies->body[owner].film : 1.0f) * (grip / (1.0f + grip));
}

/// Takes a face along with the solid that covers it; k: its viscosity.
TILE_FN void hold_face(const liquid_args *args, const int *cell, int c, uint64_t at, float k)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t open = grid->open[c][at];
    const uint32_t owner = grid->cover_owner != NULL ? grid->cover_owner[at] : (uint32_t)BODY_NONE;
    float middle[3], of_solid[3] = {0.0f, 0.0f, 0.0f};
    face_middle(cell, c, middle);
    if (owner != BODY_NONE) {
        body_velocity(&grid->bodies->state[owner], middle, of_solid);
    }
    const float u = grid->u[c][at], share = film_share(args, owner, open, k);
    grid->u[c][at] = open > 0 ? u + share * (of_solid[c] - u) : of_solid[c];
}

/// The same in a tank with solids.
TILE_FN uint32_t viscous_beside_solids(const liquid_args *args, const int *cell, int c, uint64_t at, int liquid,
                                       float k)
{
    if (face_is_outside(&args->tank.grid.shape, cell, c)) {
        return WALL;
    }
    if (255u - args->tank.grid.m.open[c][at] < HELD_COVER) {
        return liquid ? VISCOUS : 0;
    }
    hold_face(args, cell, c, at, k);
    return HELD;
}

/// Which faces take part, kept in face_kind. One tile per active tile.
TILE_KERNEL(liquid_viscous_faces, CELL_LANES, liquid_args, viscous_faces_scratch)
{
    const uint8_t *type = s->type;
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    uint8_t *to = args->m.face_kind + (uint64_t)tile * TILE_CELLS;
    load_types(&args->tank.grid, place, tile, s->type);
    if (args->m.viscosity != NULL) {
        load_sides_f32(&args->tank.grid, place, tile, args->m.viscosity, s->viscosity, 0.0f, 0.0f);
    }
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z);
        const int cell[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
        const uint64_t face = (uint64_t)tile * TILE_CELLS + cell_index(x, y, z);
        const int below[3] = {at - 1, at - RIM_EDGE, at - RIM_EDGE * RIM_EDGE};
        uint32_t faces = 0;
        for (int c = 0; c < 3; c++) {
            const uint8_t a = type[below[c]], b = type[at];
            const int solid = a == CELL_SOLID || b == CELL_SOLID, liquid = a == CELL_LIQUID || b == CELL_LIQUID;
            const uint32_t plain = solid ? WALL : liquid ? VISCOUS : 0;
            const float k = args->m.viscosity != NULL ? between_cells(s->viscosity[below[c]], s->viscosity[at])
                                                      : args->m.control->viscosity[0];
            faces |= (args->tank.grid.m.open[c] != NULL ? viscous_beside_solids(args, cell, c, face, liquid, k) : plain)
                     << c;
        }
        to[cell_index(x, y, z)] = (uint8_t)faces;
    }
}

typedef struct viscous_cells_scratch {
    uint32_t count[TILE_CELLS][LIQUIDS_MAX];
} viscous_cells_scratch;

/// Mean viscosity of each cell's particles in tanks with several liquids; -1 where there are none. One tile per active
/// tile.
TILE_KERNEL(liquid_viscous_cells, PARTICLE_LANES, liquid_args, viscous_cells_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const store_memory *store = &args->tank.store;
    const liquid_memory *m = &args->m;
    const uint32_t dense = grid->active_tile[tile];
    // Of tiles without particles the table still says what they had last.
    const uint32_t first = store->tile_first[dense];
    const uint32_t end = first + (grid->level[0].index[dense] != TILE_NONE ? store->tile_count[dense] : 0);
    const float *k = m->control->viscosity;
    float *to = m->viscosity + (uint64_t)tile * TILE_CELLS;
    FOR_RANGE (i, 0, TILE_CELLS * LIQUIDS_MAX) {
        s->count[i / LIQUIDS_MAX][i % LIQUIDS_MAX] = 0;
    }
    TILE_BARRIER();
    FOR_RANGE_ATOMIC (i, first, end) {
        const uint32_t cell = particle_cell(store, i);
        tile_add_u32(&s->count[cell][store->attribute[i] & (LIQUIDS_MAX - 1)], 1);
    }
    TILE_BARRIER();
    FOR_RANGE (i, 0, TILE_CELLS) {
        const uint32_t *n = s->count[i];
        const uint32_t total = n[0] + n[1] + n[2] + n[3];
        const float sum = ((float)n[0] * k[0] + (float)n[1] * k[1]) + ((float)n[2] * k[2] + (float)n[3] * k[3]);
        to[i] = total > 0 ? sum / (float)total : -1.0f;
    }
}

enum {
    DEEP_BORDER = 2, ///< cells around a tile that its faces and those next to them lie between
    DEEP_EDGE = TILE_EDGE + 2 * DEEP_BORDER,
    DEEP_CELLS = DEEP_EDGE * DEEP_EDGE * DEEP_EDGE,
};

typedef struct viscosity_scratch {
    float u[RIM_CELLS];
    float link[RIM_CELLS]; ///< of a face to its neighbours: one over its distance from them, 0 where it is none's
    uint8_t faces[RIM_CELLS], open[RIM_CELLS], owner[RIM_CELLS];
    uint32_t viscous; ///< faces of the tile
} viscosity_scratch;

typedef struct viscosity_mixed_scratch {
    viscosity_scratch v;
    float deep[DEEP_CELLS];   ///< the cells' viscosities
    float dynamic[RIM_CELLS]; ///< the faces' viscosity times density
    float beta[RIM_CELLS];
    uint32_t neighbour[27];
} viscosity_mixed_scratch;

/// Whether the tile has any face to solve for; the same for all lanes.
TILE_FN int load_faces(const liquid_args *args, viscosity_scratch *s, tile_place place, uint32_t tile)
{
    if (TILE_SINGLE()) {
        s->viscous = 0;
    }
    load_sides_u8(&args->tank.grid, place, tile, args->m.face_kind, s->faces, 0, WALLS);
    if (args->tank.grid.m.cover_owner != NULL) {
        load_sides_u8(&args->tank.grid, place, tile, args->tank.grid.m.cover_owner, s->owner, BODY_NONE, BODY_NONE);
    }
    FOR_RANGE_ATOMIC (i, 0, TILE_EDGE * TILE_EDGE) {
        uint32_t any = 0;
        for (int x = 0; x < TILE_EDGE; x++) {
            any |= s->faces[rim_index(x, (int)i & 7, (int)i >> 3)];
        }
        tile_add_u32(&s->viscous, (any & 7 * VISCOUS) != 0);
    }
    TILE_BARRIER();
    return s->viscous > 0;
}

TILE_FN uint32_t face_kind(const viscosity_scratch *s, int at, int c)
{
    return (uint32_t)s->faces[at] >> c & HELD;
}

/// The share of viscosity that acts on a face that a solid holds.
TILE_FN float hold_of(const liquid_args *args, const viscosity_scratch *s, int at)
{
    const uint32_t owner = args->tank.grid.m.cover_owner != NULL ? s->owner[at] : (uint32_t)BODY_NONE;
    return owner < BODIES_MAX ? args->tank.grid.m.bodies->hold[owner] : 1.0f; // the rim's edges hold anything
}

/// The values of component c, zero where they are neither sought nor held, and the links to them.
TILE_FN void load_component(const liquid_args *args, viscosity_scratch *s, tile_place place, uint32_t tile,
                            const float *field, int c)
{
    load_sides_f32(&args->tank.grid, place, tile, field, s->u, 0.0f, 0.0f);
    FOR_RANGE (i, 0, RIM_CELLS) {
        const uint32_t kind = face_kind(s, (int)i, c);
        s->link[i] = kind == VISCOUS ? 1.0f : kind != 0 ? 2.0f : 0.0f;
        s->u[i] = (kind & VISCOUS) != 0 ? s->u[i] : 0.0f;
    }
    TILE_BARRIER();
    if (args->tank.grid.m.open[c] != NULL) {
        load_sides_u8(&args->tank.grid, place, tile, args->tank.grid.m.open[c], s->open, 0, 0);
        FOR_RANGE (i, 0, RIM_CELLS) {
            if (face_kind(s, (int)i, c) == HELD) {
                s->link[i] = hold_of(args, s, (int)i) / (0.5f + (float)s->open[i] * (1.0f / 255.0f));
            }
        }
        TILE_BARRIER();
    }
}

/// The vectors of an iteration: which field x(j) and x(j - 1) lie in, and where x(j + 1) goes.
typedef struct viscosity_vectors {
    const float *now, *before;
    float *next;
} viscosity_vectors;

TILE_FN viscosity_vectors vectors_of(const liquid_args *args, int c)
{
    const grid_memory *grid = &args->tank.grid.m;
    const uint32_t j = args->iteration;
    viscosity_vectors v;
    v.now = j == 0 ? grid->u[c] : j % 2 == 1 ? grid->u_ext[c] : grid->shift[c];
    v.before = j <= 1 ? grid->u[c] : j % 2 == 1 ? grid->shift[c] : grid->u_ext[c];
    v.next = j + 1 == args->iteration_count ? grid->u[c] : j % 2 == 0 ? grid->u_ext[c] : grid->shift[c];
    return v;
}

/// Links of a face to its two neighbours along an axis: along its own axis a wall is a whole cell away.
TILE_FN float link_of(float link, int own)
{
    return own ? tile_min_f32(link, 1.0f) : link;
}

/// What of u flows to a face's neighbours, in a tank with one viscosity.
TILE_FN float even_flow(const viscosity_scratch *s, int at, int c, float depth)
{
    const float u = s->u[at];
    const int step[3] = {1, RIM_EDGE, RIM_EDGE * RIM_EDGE};
    float part[3];
    for (int a = 0; a < 3; a++) {
        const int lower = at - step[a], upper = at + step[a];
        part[a] =
            link_of(s->link[lower], a == c) * (u - s->u[lower]) + link_of(s->link[upper], a == c) * (u - s->u[upper]);
    }
    return (part[0] + part[1]) + depth * part[2];
}

TILE_FN void finish_viscosity(const liquid_args *args, const viscosity_vectors *v, uint32_t tile, int c,
                              const viscosity_scratch *s, uint32_t cell, int at, float flow)
{
    const uint32_t j = args->iteration;
    const float alpha = args->m.control->viscosity_alpha[j], gamma = args->m.control->viscosity_gamma[j];
    const uint64_t face = (uint64_t)tile * TILE_CELLS + cell;
    const float now = s->u[at], forced = args->tank.grid.m.u[c][face];
    const float next = now + (alpha * (forced - (now + flow)) + gamma * (now - v->before[face]));
    v->next[face] = face_kind(s, at, c) == VISCOUS ? next : forced;
}

/// One iteration, args->iteration, in a tank of one liquid. One tile per active tile.
TILE_KERNEL(liquid_viscosity, CELL_LANES, liquid_args, viscosity_scratch)
{
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    const float k = args->m.control->viscosity[0], depth = args->tank.grid.shape.cells[2] > 1 ? 1.0f : 0.0f;
    if (!load_faces(args, s, place, tile)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        const viscosity_vectors v = vectors_of(args, c);
        load_component(args, s, place, tile, v.now, c);
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const int at = rim_index(x, y, z);
            finish_viscosity(args, &v, tile, c, s, cell_index(x, y, z), at, k * even_flow(s, at, c, depth));
        }
        TILE_BARRIER();
    }
}

/// A face's viscosity in a tank of several liquids; x, y, z of -1..8.
TILE_FN float deep_viscosity(const viscosity_mixed_scratch *s, int x, int y, int z, int c)
{
    const int step = c == 0 ? 1 : c == 1 ? DEEP_EDGE : DEEP_EDGE * DEEP_EDGE;
    const int at = ((z + DEEP_BORDER) * DEEP_EDGE + y + DEEP_BORDER) * DEEP_EDGE + x + DEEP_BORDER;
    return between_cells(s->deep[at - step], s->deep[at]);
}

/// A face's viscosity times its density over that of the lightest liquid.
TILE_FN void load_dynamic(const liquid_args *args, viscosity_mixed_scratch *s, tile_place place, uint32_t tile, int c)
{
    if (args->tank.grid.m.beta[c] != NULL) {
        load_sides_f32(&args->tank.grid, place, tile, args->tank.grid.m.beta[c], s->beta, 1.0f, 1.0f);
    } else {
        FOR_RANGE (i, 0, RIM_CELLS) {
            s->beta[i] = 1.0f;
        }
        TILE_BARRIER();
    }
    FOR_BOX (x, y, z, RIM_EDGE, RIM_EDGE, RIM_EDGE) {
        const int to = rim_index(x - 1, y - 1, z - 1);
        const float k = deep_viscosity(s, x - 1, y - 1, z - 1, c);
        const int inner = (x == 0 || x == 9) + (y == 0 || y == 9) + (z == 0 || z == 9) < 2; // no edges, no corners
        s->dynamic[to] = inner ? k / s->beta[to] : 0.0f;
    }
    TILE_BARRIER();
}

/// The flow to one neighbour: the harmonic mean of both faces' dynamic viscosities, at most twice the smaller one,
/// hence 24 k above; at a wall the face's own.
TILE_FN float mixed_flow_to(const viscosity_mixed_scratch *s, int at, int other, int c, int own)
{
    const float mine = s->dynamic[at], theirs = s->dynamic[other];
    const int viscous = face_kind(&s->v, other, c) == VISCOUS;
    const float mean = 2.0f * mine * theirs / tile_max2_f32(mine + theirs, 1e-20f);
    return (viscous ? mean : mine) * link_of(s->v.link[other], own) * (s->v.u[at] - s->v.u[other]);
}

/// One iteration in a tank of several liquids. One tile per active tile.
TILE_KERNEL(liquid_viscosity_mixed, CELL_LANES, liquid_args, viscosity_mixed_scratch)
{
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, args->tank.grid.m.active_tile[tile]);
    const float depth = args->tank.grid.shape.cells[2] > 1 ? 1.0f : 0.0f;
    halo_neighbours(&args->tank.grid, place, s->neighbour);
    if (!load_faces(args, &s->v, place, tile)) {
        return;
    }
    halo_load_f32(s->deep, DEEP_BORDER, args->m.viscosity, s->neighbour);
    for (int c = 0; c < 3; c++) {
        const viscosity_vectors v = vectors_of(args, c);
        load_component(args, &s->v, place, tile, v.now, c);
        load_dynamic(args, s, place, tile, c);
        FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
            const int at = rim_index(x, y, z);
            const int step[3] = {1, RIM_EDGE, RIM_EDGE * RIM_EDGE};
            float part[3];
            for (int a = 0; a < 3; a++) {
                part[a] = mixed_flow_to(s, at, at - step[a], c, a == c) + mixed_flow_to(s, at, at + step[a], c, a == c);
            }
            const float flow = ((part[0] + part[1]) + depth * part[2]) * s->beta[at];
            finish_viscosity(args, &v, tile, c, &s->v, cell_index(x, y, z), at, flow);
        }
        TILE_BARRIER();
    }
}

// ------------------------------------------------------------------------------------------ what bodies feel of it

typedef struct body_drag_scratch {
    viscosity_mixed_scratch m;
    float value[BODY_SUMS][TILE_CELLS];
} body_drag_scratch;

/// What flows from a tile's face to a body, and by what mass that grips the body.
typedef struct drag_flow {
    float force, grip;
} drag_flow;

/// Out of the film that the body leaves open of a face. The mass that goes with such a face is that of the particles
/// which it weighs on: up to a cell from its middle.
TILE_FN drag_flow film_drag(const liquid_args *args, const body_drag_scratch *s, uint32_t b, const int *cell, int c,
                            int at, float k)
{
    const uint32_t open = s->m.v.open[at];
    float middle[3], of_body[3];
    face_middle(cell, c, middle);
    body_velocity(&args->tank.grid.m.bodies->state[b], middle, of_body);
    const float share = film_share(args, b, open, k), reach = 0.5f + (float)open * (1.0f / 255.0f);
    const float mass = 0.5f * reach * reach / (args->m.viscosity != NULL ? s->m.beta[at] : 1.0f);
    const drag_flow flow = {mass * share / (1.0f - share) * (s->m.v.u[at] - of_body[c]), 0.0f};
    return flow;
}

/// From a face whose value was sought to those beside it that the body holds.
TILE_FN drag_flow side_drag(const liquid_args *args, const body_drag_scratch *s, uint32_t b, int c, int at)
{
    const int step[3] = {1, RIM_EDGE, RIM_EDGE * RIM_EDGE};
    drag_flow flow = {0.0f, 0.0f};
    for (int side = 0; side < 6; side++) {
        const int axis = side / 2, other = side % 2 == 0 ? at - step[axis] : at + step[axis];
        if (face_kind(&s->m.v, other, c) != HELD || s->m.v.owner[other] != b) {
            continue;
        }
        const float k = args->m.viscosity != NULL ? s->m.dynamic[at] : args->m.control->viscosity[0];
        const float grip = k * link_of(s->m.v.link[other], axis == c);
        flow.grip += grip;
        flow.force += grip * (s->m.v.u[at] - s->m.v.u[other]);
    }
    return flow;
}

/// Adds what flows from a tile's faces of component c to a body: force, moment and grip of each cell.
TILE_FN void add_drag(const liquid_args *args, body_drag_scratch *s, tile_place place, uint32_t b, int c)
{
    const float *position = args->tank.grid.m.bodies->state[b].position;
    FOR_BOX (x, y, z, TILE_EDGE, TILE_EDGE, TILE_EDGE) {
        const int at = rim_index(x, y, z);
        const uint32_t i = cell_index(x, y, z), kind = face_kind(&s->m.v, at, c);
        const int cell[3] = {place.x * TILE_EDGE + x, place.y * TILE_EDGE + y, place.z * TILE_EDGE + z};
        drag_flow flow = {0.0f, 0.0f};
        const float k = args->m.viscosity != NULL ? deep_viscosity(&s->m, x, y, z, c) : args->m.control->viscosity[0];
        if (kind == HELD && s->m.v.owner[at] == b && s->m.v.open[at] > 0) {
            flow = film_drag(args, s, b, cell, c, at, k);
        }
        if (kind == VISCOUS) {
            flow = side_drag(args, s, b, c, at);
        }
        float r[3], moment[3], force[3] = {0.0f, 0.0f, 0.0f};
        face_middle(cell, c, r);
        for (int a = 0; a < 3; a++) {
            r[a] -= position[a];
        }
        force[c] = flow.force;
        cross3(r, force, moment);
        for (int a = 0; a < 3; a++) {
            s->value[a][i] += force[a];
            s->value[3 + a][i] += moment[a];
        }
        s->value[BODY_GRIP][i] += flow.grip;
    }
    TILE_BARRIER();
}

/// What viscosity takes from the liquid beside free bodies, for these: force, moment, and by what mass the liquid grips
/// them. One tile per listed tile.
TILE_KERNEL(liquid_body_drag, CELL_LANES, liquid_args, body_drag_scratch)
{
    const grid_memory *grid = &args->tank.grid.m;
    const liquid_memory *m = &args->m;
    const uint32_t o = grid->body_tile[tile], dense = grid->level[0].tile[o], slot = grid->slot[dense];
    const tile_place place = tile_place_of(&args->tank.grid.shape, 0, dense);
    const uint32_t near = free_near_tile(&args->tank.grid, o);
    halo_neighbours(&args->tank.grid, place, s->m.neighbour);
    const int any = load_faces(args, &s->m.v, place, slot);
    if (m->viscosity != NULL) {
        halo_load_f32(s->m.deep, DEEP_BORDER, m->viscosity, s->m.neighbour);
    }
    for (uint32_t b = 0; b < grid->bodies->count; b++) {
        const int meets = any && (near >> b & 1) != 0;
        FOR_RANGE (i, 0, TILE_CELLS) {
            for (int k = 0; k < BODY_SUMS && meets; k++) {
                s->value[k][i] = 0.0f;
            }
        }
        TILE_BARRIER();
        for (int c = 0; c < 3 && meets; c++) {
            load_component(args, &s->m.v, place, slot, grid->u[c], c);
            if (m->viscosity != NULL) {
                load_dynamic(args, &s->m, place, slot, c);
            }
            add_drag(args, s, place, b, c);
        }
        gather_for_body(grid, tile, b, s->value, meets ? BODY_SUMS : 0);
    }
}
