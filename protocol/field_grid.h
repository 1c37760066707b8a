/// A scalar field that frames carry: levels of 8 bits of cells, in tiles of 8^3 cells (8 x 8 x 1 in a tank that is one
/// cell deep, a flat one). It comes in two parts: blocks of 2^3 cells (2 x 2 x 1), then cells. What is expected of
/// either comes along the frame's flow from where the reference has it. A decoder and every encoder compute the same
/// bits.
///
/// Places are in 1/1024 cell.
#ifndef TARN_PROTOCOL_FIELD_GRID_H
#define TARN_PROTOCOL_FIELD_GRID_H

#include "protocol/flow_grid.h"
#include "protocol/level_code.h"

enum {
    TARN_FIELD_GROUP = 1024, ///< levels that are one stream, less those outside the tank
    TARN_FIELD_FINE = 0,
    TARN_FIELD_COARSE = 1,
    TARN_FIELD_PARTS = 2,
};

/// A frame's field. `index` has one entry per tile of the tank, z-major: 1 + its place in both parts, or 0.
typedef struct tarn_field_grid {
    const uint32_t *index;
    const uint8_t *level[TARN_FIELD_PARTS]; ///< [tile][tarn_field_tile_levels]
    uint32_t tiles[3];                      ///< of the tank
    int32_t cells[3];
    int32_t rest, is_kinds; ///< as tarn_stream_field
} tarn_field_grid;

/// Levels of a tile in a part.
TARN_CODE_FN uint32_t tarn_field_tile_levels(uint32_t depth_cells, uint32_t part)
{
    return (depth_cells == 1 ? 64u >> 2 * part : 512u >> 3 * part);
}

/// Tiles that share a stream.
TARN_CODE_FN uint32_t tarn_field_group_tiles(uint32_t depth_cells, uint32_t part)
{
    return TARN_FIELD_GROUP / tarn_field_tile_levels(depth_cells, part);
}

/// How many cells, or blocks, there are along an axis.
TARN_CODE_FN int32_t tarn_field_extent(const tarn_field_grid *field, uint32_t part, int axis)
{
    return (field->cells[axis] + (int32_t)part) >> part;
}

/// The cell, or block, that a level of a tile is of. @return whether it is in the tank
TARN_CODE_FN int tarn_field_cell(const tarn_field_grid *field, uint32_t part, uint32_t dense, uint32_t level,
                                 int32_t at[3])
{
    const uint32_t edge = 3 - part, mask = (1u << edge) - 1;
    at[0] = (int32_t)((dense % field->tiles[0]) << edge | (level & mask));
    at[1] = (int32_t)((dense / field->tiles[0] % field->tiles[1]) << edge | (level >> edge & mask));
    at[2] = (int32_t)((dense / field->tiles[0] / field->tiles[1]) << edge | level >> 2 * edge);
    return at[0] < tarn_field_extent(field, part, 0) && at[1] < tarn_field_extent(field, part, 1) &&
           at[2] < tarn_field_extent(field, part, 2);
}

/// Its middle, moved into the tank.
TARN_CODE_FN void tarn_field_middle(const tarn_field_grid *field, uint32_t part, const int32_t at[3], int32_t place[4])
{
    for (int a = 0; a < 3; a++) {
        const int32_t last = (field->cells[a] << TARN_PLACE_BITS) - 1;
        const int32_t middle = (2 * at[a] + 1) << (TARN_PLACE_BITS - 1 + (int)part);
        place[a] = middle < last ? middle : last;
    }
    place[3] = 0;
}

/// The level of a cell, or block, of the tank.
TARN_CODE_FN int32_t tarn_field_level(const tarn_field_grid *field, uint32_t part, int32_t x, int32_t y, int32_t z)
{
    const uint32_t edge = 3 - part, mask = (1u << edge) - 1;
    const uint32_t i = (uint32_t)x, j = (uint32_t)y, k = (uint32_t)z;
    const uint32_t tile = field->index[((k >> edge) * field->tiles[1] + (j >> edge)) * field->tiles[0] + (i >> edge)];
    const uint32_t in = ((k & mask) << edge | (j & mask)) << edge | (i & mask);
    return tile > 0
               ? field->level[part][(uint64_t)(tile - 1) * tarn_field_tile_levels((uint32_t)field->cells[2], part) + in]
               : field->rest;
}

/// The level at a place in the tank: of kinds the nearest, of others trilinear between the nearest eight.
TARN_CODE_FN int32_t tarn_field_at(const tarn_field_grid *field, uint32_t part, const int32_t place[3])
{
    const int shift = TARN_PLACE_BITS + (int)part, weight_bits = TARN_FLOW_WEIGHT_BITS;
    int32_t at[2][3], weight[3];
    if (field->is_kinds) {
        return tarn_field_level(field, part, place[0] >> shift, place[1] >> shift, place[2] >> shift);
    }
    for (int a = 0; a < 3; a++) {
        const int32_t last = tarn_field_extent(field, part, a) - 1;
        const int32_t from = place[a] - (1 << (shift - 1)), most = last << shift;
        const int32_t in = from < 0 ? 0 : from < most ? from : most;
        at[0][a] = in >> shift;
        at[1][a] = at[0][a] < last ? at[0][a] + 1 : last;
        weight[a] = (in & ((1 << shift) - 1)) >> (shift - weight_bits);
    }
    int32_t sum = 1 << (3 * weight_bits - 1);
    for (int corner = 0; corner < 8; corner++) {
        const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
        const int32_t one = 1 << weight_bits;
        const int32_t share =
            (x ? weight[0] : one - weight[0]) * (y ? weight[1] : one - weight[1]) * (z ? weight[2] : one - weight[2]);
        if (share > 0) {
            sum += share * tarn_field_level(field, part, at[x][0], at[y][1], at[z][2]);
        }
    }
    return sum >> 3 * weight_bits;
}

/// Where what is at a place has come from, by the frame's flow.
TARN_CODE_FN void tarn_field_back(const tarn_field_grid *field, const tarn_flow *flow, const int32_t place[4],
                                  int32_t from[4])
{
    const tarn_flow_node *block = tarn_flow_block(flow, place);
    int32_t way[4] = {0, 0, 0, 0};
    if (block != (const tarn_flow_node *)0) {
        tarn_four_store(way, tarn_flow_distance(tarn_flow_sum(block, tarn_four_load(place)), flow->bits));
    }
    for (int a = 0; a < 3; a++) {
        const int32_t at = place[a] - way[a], last = (field->cells[a] << TARN_PLACE_BITS) - 1;
        from[a] = at < 0 ? 0 : at < last ? at : last;
    }
    from[3] = 0;
}

/// What is expected of a block, the levels before it apart; -1: nothing is known.
/// @param was   the reference's field; NULL: there is none
/// @param flow  of the frame
TARN_CODE_FN int32_t tarn_field_expect_block(const tarn_field_grid *was, const tarn_flow *flow, const int32_t at[3])
{
    int32_t place[4], from[4];
    if (was == (const tarn_field_grid *)0) {
        return -1;
    }
    tarn_field_middle(was, TARN_FIELD_COARSE, at, place);
    tarn_field_back(was, flow, place, from);
    return tarn_field_at(was, TARN_FIELD_COARSE, from);
}

/// What is expected of a cell: what the frame's blocks say there, and what the reference's cells had that its blocks
/// hadn't.
/// @param now  the frame's field, whose blocks are known
TARN_CODE_FN int32_t tarn_field_expect_cell(const tarn_field_grid *now, const tarn_field_grid *was,
                                            const tarn_flow *flow, const int32_t at[3])
{
    int32_t place[4], from[4];
    tarn_field_middle(now, TARN_FIELD_FINE, at, place);
    const int32_t base = tarn_field_at(now, TARN_FIELD_COARSE, place);
    if (was == (const tarn_field_grid *)0) {
        return base;
    }
    tarn_field_back(was, flow, place, from);
    const int32_t cell = tarn_field_at(was, TARN_FIELD_FINE, from), block = tarn_field_at(was, TARN_FIELD_COARSE, from);
    const int32_t level = now->is_kinds ? (block == base ? cell : base) : base + cell - block;
    return level < 0 ? 0 : level > TARN_LEVEL_MAX ? (int32_t)TARN_LEVEL_MAX : level;
}

#endif
