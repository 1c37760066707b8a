/// The matrix of a Poisson equation as its kernels see it. Private to the liquid's kernels.
///
///     pressure            A p = -div u           then  u -= grad p
///     density correction  A q = density error    then  particles move by -grad q   (Kugelstadt et al. 2019)
///
/// A is the 7-point Laplacian of the liquid cells: the free surface is zero (Dirichlet), walls let nothing through
/// (Neumann).
///
/// Every sum here runs in pairs of opposite neighbours, and nothing depends on the order of tiles, so that a mirrored
/// tank gets the mirrored bits where its tiles pair up the same way on every level: along an axis whose number of tiles
/// is a power of two.
#ifndef TARN_KERNELS_GRID_POISSON_H
#define TARN_KERNELS_GRID_POISSON_H

#include "kernels/device/row.h"
#include "kernels/grid/halo.h"

/// Where the free surface lies between a liquid cell and an air cell, it is no nearer to the liquid cell's centre.
#define THETA_MIN 0.05f

/// Kinds of cells as numbers, so that the sum of two cells' tells what the face between them is.
#define KIND_SOLID (-8.0f)
#define KIND_AIR 0.0f
#define KIND_SURFACE 0.5f ///< over this the face touches liquid, and pressure moves what flows through it
#define KIND_INSIDE 1.5f  ///< over this it has liquid on both sides

/// A tile's cells with one cell of the six neighbours around it; edges and corners stay untouched.
typedef struct cell_rim {
    float kind[RIM_CELLS];
    float distance[RIM_CELLS]; ///< to the free surface, cells, positive in the liquid, -1..1
    uint32_t beside[6];
} cell_rim;

/// Distance of a cell's centre to a plane surface, from the smoothed density: the integral of the hat function that
/// smooths it, solved for the distance.
TILE_FN float surface_distance(float density)
{
    const float inside = 1.0f - density;
    const int deep = inside <= density;
    const float root = tile_sqrt_f32(2.0f * tile_clamp_f32(deep ? inside : density, 0.0f, 0.5f));
    return tile_select_f32(deep, 1.0f - root, root - 1.0f);
}

enum { ROOM_MIN = 32 }; ///< of 255: beside that much of a solid a density says nothing

/// Smoothed density over that at rest, of the part of a cell's surroundings that no solid covers.
TILE_FN float density_of(const grid_memory *m, uint64_t cell)
{
    const float density = m->density_error[cell] + 1.0f;
    return m->room != NULL ? density * 255.0f / (float)tile_max_i32(m->room[cell], ROOM_MIN) : density;
}

/// The same for a row of cells.
TILE_FN row_f32 densities_of(const grid_memory *m, uint64_t cell)
{
    const row_f32 density = row_load(m->density_error + cell) + 1.0f;
    if (m->room == NULL) {
        return density;
    }
    return density * 255.0f / row_max(row_load_u8(m->room + cell), row_all((float)ROOM_MIN));
}

TILE_FN float kind_of(uint8_t type)
{
    const int liquid = type & CELL_LIQUID, solid = type >> 1 & 1; // CELL_SOLID is 2
    return (float)(liquid - 8 * solid);
}

/// Functions that load a tile's cells with one cell of its neighbours; the rest of the rim stays untouched.
///
///     load_densities(args, place, slot, upper, density, beside)
///         smoothed densities over what solids leave of the room, and the six neighbours', or the three lower ones'
///         unless `upper`; ends without a barrier. A GPU notes in `beside` what find_beside says
///     load_cells(args, place, slot, to)
///         kinds, and distances to the free surface; ends with a barrier
#include TILE_FORM(rim)

/// By what the difference of two cells' pressures is to be multiplied for the gradient on the face between them: 1 in
/// the liquid; where the free surface crosses, one over the share of the way to the air cell's centre at which it does
/// (ghost fluid method, Gibou et al. 2002); 0 where pressure moves nothing.
TILE_FN float face_steepness(const cell_rim *cells, int a, int b)
{
    const float kind = cells->kind[a] + cells->kind[b];
    const int a_is_liquid = cells->kind[a] > KIND_SURFACE;
    const float inside = tile_select_f32(a_is_liquid, cells->distance[a], cells->distance[b]);
    const float outside = tile_select_f32(a_is_liquid, cells->distance[b], cells->distance[a]);
    const float deep = tile_max2_f32(inside, 1e-3f);
    const float steepness = tile_clamp_f32(1.0f - outside / deep, 1.0f, 1.0f / THETA_MIN);
    return tile_select_f32(kind > KIND_INSIDE, 1.0f, tile_select_f32(kind > KIND_SURFACE, steepness, 0.0f));
}

enum { FACE_ROWS = 9 * ROW_WORDS }; ///< for FOR_SET_ROWS

TILE_FN int face_row(int y, int z)
{
    return z * ROW_WORDS + y;
}

/// surface_distance of a row.
TILE_FN row_f32 row_distance(row_f32 density)
{
    const row_f32 inside = 1.0f - density;
    const row_i32 shallow = density < inside;
    const row_f32 nearer = row_select(shallow, density, inside);
    const row_f32 root = row_sqrt(2.0f * row_clamp(nearer, 0.0f, 0.5f));
    return row_select(shallow, root - 1.0f, 1.0f - root);
}

/// Lower faces of a tile as bits, and what their steepness comes from.
typedef struct face_plan {
    type_rows types;
    uint16_t touching[3][FACE_ROWS], inside[3][FACE_ROWS]; ///< [z][y], as row_faces; along y and z up to face 8
    float density[RIM_CELLS];                              ///< a GPU keeps the distances
    uint32_t surface;                                      ///< the free surface crosses some face
} face_plan;

/// plan_faces(args, place, slot, upper, to) makes one; `upper`: whether faces 8 are of interest too. Ends without a
/// barrier. plan_distance(plan, at): row_distance of the cells from one of the rim on.
#include TILE_FORM(plan)

/// face_steepness of the faces of a row from `x` on.
TILE_FN row_f32 row_steepness(const face_plan *plan, int axis, int x, int y, int z)
{
    const int r = face_row(y, z), at = rim_index(x, y, z);
    const uint32_t touching = (uint32_t)plan->touching[axis][r], inside = (uint32_t)plan->inside[axis][r];
    const row_f32 one = row_all(1.0f);
    if ((touching & ~inside) == 0) {
        return row_keep(row_bits_mask(touching >> x), one);
    }
    const int stride = axis == 0 ? 1 : axis == 1 ? RIM_EDGE : RIM_EDGE * RIM_EDGE;
    const row_f32 a = plan_distance(plan, at - stride), b = plan_distance(plan, at);
    const uint32_t liquid = plan->types.liquid[rim_row(y - (axis == 1), z - (axis == 2))];
    const row_i32 a_is_liquid = row_bits_mask((axis == 0 ? liquid << 1 : liquid) >> 1 >> x);
    const row_f32 in = row_select(a_is_liquid, a, b), out = row_select(a_is_liquid, b, a);
    const row_f32 deep = row_max(in, row_all(1e-3f));
    const row_f32 steepness = row_clamp(1.0f - out / deep, 1.0f, 1.0f / THETA_MIN);
    const row_f32 crossed = row_keep(row_bits_mask(touching >> x), steepness);
    return row_select(row_bits_mask(inside >> x), one, crossed);
}

/// Active index of the next tile along an axis, or TILE_NONE.
TILE_FN uint32_t upper_slot(const grid_args *args, tile_place place, int axis)
{
    const uint32_t dense = side_tile(args, 0, place, 2 * axis + 1);
    return dense != TILE_NONE ? args->m.slot[dense] : TILE_NONE;
}

/// Whether a lower face of a tile may touch liquid, which is in occupied tiles only.
TILE_FN int is_near_liquid(const grid_args *args, tile_place place, uint32_t dense)
{
    const uint32_t *index = args->m.level[0].index;
    int near = index[dense] != TILE_NONE;
    for (int side = 0; side < 6; side += 2) {
        const uint32_t lower = side_tile(args, 0, place, side);
        near |= lower != TILE_NONE && index[lower] != TILE_NONE;
    }
    return near;
}

#endif
