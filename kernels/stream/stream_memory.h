/// Device side of the encoder of frames (protocol/SPEC.md, section 9): memory and arguments of its kernels.
///
/// Particles have two orders. Their *places* are their order in the tank when the last key or base frame was made, the
/// reference, sorted by tile; what a viewer has of them stands there. The tank keeps moving them, and a particle's seat
/// names its place. Their *slots* are the viewers' order; residuals are put there and coded in groups.
///
///     key:         see ─ layers ─ lay_out ─ sets ─ fit ┄ reach ─ list_flow ─ nodes ─ borders ─ code_sets ─ lay_groups
///     base, extra: arrive ┄ fit ─ guess ─ borders ─ fit ─ nodes ─ borders ─ lay_groups ─ move ─ groups
///     a channel:   values ┄ levels ─ level_groups
///     a field:     field_levels ┄ field_groups, blocks then cells
///     all:         offsets ─ pack
///     base:        reseat ─ reach ─ list_flow
///
/// What stands before ┄ reads the tank, in the tank's queue; all else is done in the encoder's own, out of its own
/// memory, while the tank makes its next steps. The host waits for nothing in between: what it would have to know
/// stands in stream_plan.
#ifndef TARN_KERNELS_STREAM_STREAM_MEMORY_H
#define TARN_KERNELS_STREAM_STREAM_MEMORY_H

#include "kernels/device/tile.h"
#include "kernels/grid/grid.h"
#include "protocol/field_grid.h"
#include "protocol/stream.h"

enum {
    STREAM_LANES = 256,
    STREAM_FIT_EDGE = TARN_FLOW_EDGE, ///< nodes of a tile's sums, per axis
    STREAM_FIT_NODES = TARN_FLOW_BLOCK,
    STREAM_FIT_BITS = 11, ///< of a displacement, so that 4096 particles' sums fit 31 bits
    STREAM_WEIGHT_BITS = 8,
    STREAM_WEIGHT_LEAST = 96, ///< of a node that is told; lighter ones cost more than they tell, and are filled in
    STREAM_GROUP_BYTES =
        TARN_ANS_STATE_BYTES + 2 + 4 + 2 * TARN_STREAM_GROUP + TARN_STREAM_GROUP * TARN_RESIDUAL_BYTES_MAX,
    STREAM_COLOUR_BYTES = 3, ///< most of a particle's colour: 12 bits and 8
    STREAM_PART_BYTES =      ///< of a part without particles, at most
    TARN_ANS_STATE_BYTES + 2 + TARN_SET_CELLS * 12 / 8 + 1 + TARN_ANS_STATE_BYTES + 2,
    STREAM_LIST_BYTES = 4096, ///< of a list that are brought into the frame at once
    STREAM_LEVEL_BYTES = TARN_ANS_STATE_BYTES + 2 + TARN_STREAM_GROUP + TARN_RESIDUAL_BYTES_MAX,
    STREAM_LEVEL_FORM = 4, ///< coarsest steps of levels: of 8
    STREAM_LEVEL_WILD = 4, ///< steps are no larger than so many times what levels are off on average
    STREAM_AXIS_BITS = 21, ///< of a packed place
    STREAM_FILLED = TILE_CELLS / 32,
    STREAM_CELL_SORTED_MAX = 128, ///< particles of a cell that lanes sort by counting
    STREAM_SAMPLE_SHARE = 2,      ///< sixteenths of all particles that the first layer has
    STREAM_SEEN_SHARE = 11,       ///< of what may be seen, that the first two have
};

/// What a particle adds to its part at most.
#define STREAM_POINT_BYTES(bits) ((3 * (bits) + 2 + 7) / 8 + 1 + STREAM_COLOUR_BYTES)
#define STREAM_DRAW_16TH (1u << 28) ///< a sixteenth of the numbers that particles draw
#define STREAM_BORN 0x80000000u     ///< of a seat: born since; the other bits are its slot
#define STREAM_NOWHERE ~0ull        ///< packed place of a particle that isn't there

/// A particle of the reference, in the order of places.
typedef struct stream_pair {
    uint64_t kept;       ///< packed place in 1/1024 cell that viewers have: x | y << 21 | z << 42
    uint64_t true_place; ///< packed, where it is now; STREAM_NOWHERE: not seen yet
} stream_pair;

typedef enum stream_slot_state { SLOT_EMPTY, SLOT_ALIVE, SLOT_DIED } stream_slot_state;

/// A slot: a residual, or of a slot that is being born the place in quanta.
typedef union stream_slot {
    struct {
        int16_t residual[3];
        int16_t state; ///< stream_slot_state
    } old;
    struct {
        uint32_t low, high; ///< x | y << 18 | z << 36, and the colour << 54
    } born;
} stream_slot;

/// A group of slots that make one stream.
typedef struct stream_group {
    uint32_t slot, count, is_born;
} stream_group;

/// A group of slots whose levels make one stream; of the first `old` the slot says whether they are alive, the others
/// are being born.
typedef struct stream_level_group {
    uint32_t slot, count, old;
} stream_level_group;

/// A tile's part in a layer of a key frame: its first slot, how many particles, the first of their keys.
typedef struct stream_part {
    uint32_t slot, count, first;
} stream_part;

/// A stream on its way into the frame.
typedef struct stream_chunk {
    uint64_t from, to;
    uint32_t bytes;
    uint32_t source; ///< STREAM_FROM_*
} stream_chunk;

enum {
    STREAM_FROM_CODED,
    STREAM_FROM_LEVELS,
    STREAM_FROM_FIELD,
    STREAM_FROM_PLAN,
    STREAM_FROM_FLOW_LIST, ///< tiles of the frame's grid
    STREAM_FROM_TILES,     ///< of a key frame
    STREAM_FROM_COUNTS,    ///< particles of these, by layer
    STREAM_FROM_BYTES,     ///< of groups
    STREAM_FROM_FIELD_LIST,
};

/// A tile of the reference.
typedef struct stream_tile {
    uint32_t dense, first, count;
    uint32_t reach; ///< bit per neighbour (0..26, x fastest): has nodes that its particles lie between
} stream_tile;

/// A layer's slots.
typedef struct stream_layer {
    uint32_t first, slots, slots_max, particles;
    uint32_t born; ///< in the frame in hand
} stream_layer;

/// What the device finds out about a frame. The host has it when the frame is done.
typedef struct stream_plan {
    // zeroed before each frame
    uint32_t farthest;   ///< the bits of all displacements along an axis, 1/1024 cell, or'ed
    uint32_t is_crowded; ///< a tile of a key frame has more particles of a layer than receivers take: nothing is coded
    uint32_t is_full;    ///< more were born than the key frame has slots for
    uint32_t is_large;   ///< there is no room for all of it
    // since the frame began
    uint32_t tiles, set_streams;                                              ///< of a key frame that are coded
    stream_layer layer[TARN_STREAM_LAYERS_MAX];                               ///< slots: without those born
    uint32_t groups, group_end[TARN_STREAM_LAYERS_MAX];                       ///< all; those up to a layer's last
    uint32_t level_groups, level_group_end[TARN_STREAM_LAYERS_MAX];           ///< the same of levels
    uint32_t deaths[TARN_STREAM_LAYERS_MAX];                                  ///< particles
    uint32_t chunks;                                                          ///< streams and lists
    uint64_t flow_bytes, coarse_bytes, fine_bytes, levels_bytes, lists_bytes; ///< in the frame
    uint64_t layer_bytes[TARN_STREAM_LAYERS_MAX];                             ///< with its levels
    // longer than a frame
    uint32_t flow[2]; ///< tiles of the two grids
} stream_plan;

typedef struct stream_memory {
    stream_plan *plan;
    stream_pair *pair, *pair_next; ///< [place]
    uint32_t *place_slot, *place_slot_next;
    stream_slot *slot;             ///< [slot]
    uint32_t *key;                 ///< [place] keys of sets, sorted by layer and tile
    uint32_t *key_order;           ///< [place] the particles they are of
    stream_tile *tile, *tile_next; ///< [t] of the reference
    uint32_t *tile_index;          ///< [dense]: 1 + t, or 0
    int32_t *sum;                  ///< [t][STREAM_FIT_NODES][4] displacements and weights
    uint32_t *filled;              ///< [o][STREAM_FILLED] a bit per cell with particles
    uint8_t *layer;                ///< [place] of a key frame; then the colours in the order of the keys
    uint32_t *layer_count;         ///< [o][layers]: of a tank's tile, particles or births
    stream_part *part;             ///< [o][layers]
    uint32_t *seat_was;            ///< [particle] seats as the frame found them
    uint32_t *reached;             ///< a bit per tile of the tank; zero between frames
    uint32_t *flow_dense[2];       ///< [g] tiles of the two grids, ascending
    uint32_t *flow_index[2];       ///< [dense]: 1 + g, or 0
    tarn_flow_node *node[2];       ///< [g][TARN_FLOW_BLOCK]
    stream_group *group;
    uint32_t *flow_bytes; ///< [g] of each stream of the grid
    uint32_t *bytes; ///< of a key frame's parts: [2 part] set, [2 part + 1] colours; else [group] bytes | deaths << 16
    uint8_t *coded;  ///< room for all streams
    stream_chunk *chunk;
    // while a channel is asked for
    float *value;               ///< [particle] room for the tank's model
    uint8_t *level_seen;        ///< [particle] as the frame found it
    uint8_t *level, *level_now; ///< [slot] that viewers have after the reference; of the tank now
    stream_level_group *level_group;
    uint32_t *level_bytes; ///< [level group]
    uint8_t *level_coded;  ///< [level group][STREAM_LEVEL_BYTES]
    // while a field is asked for
    float *field_room;                         ///< [tile][512] for the tank's model
    uint32_t *field_index[2];                  ///< [dense]: 1 + tile, or 0
    uint8_t *field_level[2][TARN_FIELD_PARTS]; ///< [tile][levels] that viewers have
    uint8_t *field_true[TARN_FIELD_PARTS];     ///< of the tank now
    uint32_t *field_bytes;                     ///< [group] of blocks, then of cells
    uint8_t *field_coded;                      ///< [group][STREAM_LEVEL_BYTES]
    tarn_code_tables *tables;
} stream_memory;

/// The argument of every kernel of the encoder.
typedef struct stream_args {
    stream_memory w;
    // of the tank
    uint32_t *position[3], *id, *attribute, *seat;
    float *velocity[3];
    uint32_t *tank_tile, *tank_index, *tile_first, *tile_count; ///< index: [dense] o or TILE_NONE
    uint32_t tiles[3], tile_total;
    int32_t end[4]; ///< last place in it, 1/1024 cell, and the largest number
    // of the frame
    uint32_t bits, layers;
    uint32_t is_key, is_base, has_colours;
    uint32_t occupied;                          ///< tiles that hold particles
    uint32_t had_births, has_births;            ///< in the tank so far; in the frame: places of the newborn are known
    uint32_t has_channel, points_max;           ///< points: that a key frame's tile may have of a layer
    stream_layer layer[TARN_STREAM_LAYERS_MAX]; ///< before the frame; not of a key frame
    const stream_tile *tile_now;                ///< [o] the tank's tiles as the frame found them
    uint32_t reference_kept;                    ///< tiles of the reference whose sums there is room for
    uint32_t flow_now;                          ///< which of the two grids is the frame's
    uint32_t ratio;                             ///< of intervals; 0: nothing is expected
    float steps;                                ///< that the flow spans
    uint32_t is_guessed;                        ///< the frame's grid holds what stream_fit has found already
    int32_t dead_zone;                          ///< what may be left unsaid of a place, 1/1024 cell
    uint32_t residual_step, residual_inverse;   ///< 1/1024 cell; 2^31 / step, rounded up
    int32_t flow_shift;                         ///< a node's step is 2^flow_shift quanta
    const float *value;                         ///< [particle] of the channel
    float level_low, level_scale;               ///< what level 0 stands for; levels of a unit
    uint32_t has_levels;                        ///< viewers have levels of it after the reference
    const float *field_value;                   ///< [tile][512]
    const uint32_t *field_tile;                 ///< dense
    uint32_t field_tiles, field_now;            ///< how many; which of the two is the frame's
    float field_low, field_scale;               ///< as level_low and level_scale
    int32_t field_rest, field_is_kinds;
    uint32_t field_part, field_group; ///< of the launch; the first of its groups
    uint8_t *to;                      ///< the frame
    // of stream_index: table[list[i * stride]] becomes 1 + i, or 0
    const uint32_t *list;
    uint32_t *table;
    uint32_t *list_copy;          ///< receives what is listed; NULL: nothing does
    const uint32_t *list_counter; ///< where the count is; NULL: it is list_count
    uint32_t list_count, stride, is_set;
    // of stream_reach and stream_list_flow
    const stream_tile *reference;                   ///< its tiles
    uint32_t reference_count, flow_made, flow_room; ///< flow_made: a bit for each grid that gets the list
    // of stream_offsets
    uint32_t field_groups[TARN_FIELD_PARTS];
    uint64_t frame_room;
    uint64_t groups_at; ///< where in `coded` the groups begin
} stream_args;

/// Kernels, in the order of a frame.
#define STREAM_KERNEL_LIST(K)                                                                                          \
    K(stream_see)                                                                                                      \
    K(stream_layers)                                                                                                   \
    K(stream_lay_out)                                                                                                  \
    K(stream_sets)                                                                                                     \
    K(stream_code_sets)                                                                                                \
    K(stream_arrive)                                                                                                   \
    K(stream_lay_births)                                                                                               \
    K(stream_births)                                                                                                   \
    K(stream_fit)                                                                                                      \
    K(stream_guess)                                                                                                    \
    K(stream_index)                                                                                                    \
    K(stream_nodes)                                                                                                    \
    K(stream_borders)                                                                                                  \
    K(stream_lay_groups)                                                                                               \
    K(stream_move)                                                                                                     \
    K(stream_groups)                                                                                                   \
    K(stream_values)                                                                                                   \
    K(stream_levels)                                                                                                   \
    K(stream_field_levels)                                                                                             \
    K(stream_field_groups)                                                                                             \
    K(stream_level_groups)                                                                                             \
    K(stream_offsets)                                                                                                  \
    K(stream_pack)                                                                                                     \
    K(stream_reseat)                                                                                                   \
    K(stream_reach)                                                                                                    \
    K(stream_list_flow)

TILE_FN uint64_t stream_pack_place(tarn_four place)
{
    int32_t at[4];
    tarn_four_store(at, place);
    return (uint64_t)(uint32_t)at[0] | (uint64_t)(uint32_t)at[1] << STREAM_AXIS_BITS |
           (uint64_t)(uint32_t)at[2] << 2 * STREAM_AXIS_BITS;
}

TILE_FN tarn_four stream_unpack_place(uint64_t packed)
{
    const uint32_t mask = (1u << STREAM_AXIS_BITS) - 1;
    return tarn_four_of((int32_t)(packed & mask), (int32_t)(packed >> STREAM_AXIS_BITS & mask),
                        (int32_t)(packed >> 2 * STREAM_AXIS_BITS & mask), 0);
}

/// The bits of how far that is along the axes, or'ed.
TILE_FN uint32_t stream_farthest(tarn_four way)
{
    int32_t size[4];
    const tarn_four sign = tarn_four_right(way, 31);
    tarn_four_store(size, tarn_four_sub(tarn_four_xor(way, sign), sign));
    return (uint32_t)(size[0] | size[1] | size[2]);
}

/// Whether the tank is one cell deep.
TILE_FN int stream_is_flat(const stream_args *args)
{
    return args->end[2] < 1 << TARN_PLACE_BITS;
}

/// Where a particle of the tank is, in 1/1024 cell. Along z a flat tank says nothing: all of it is in the middle of the
/// first quantum, where the second plane of the flow's nodes hardly counts.
TILE_FN tarn_four stream_place_of(const stream_args *args, uint32_t particle)
{
    const int shift = POSITION_BITS - TARN_PLACE_BITS;
    const int32_t z = stream_is_flat(args) ? 1 << (TARN_PLACE_BITS - args->bits) >> 1
                                           : (int32_t)(args->position[2][particle] >> shift);
    const tarn_four place = tarn_four_of((int32_t)(args->position[0][particle] >> shift),
                                         (int32_t)(args->position[1][particle] >> shift), z, 0);
    return tarn_four_min(tarn_four_max(place, tarn_four_all(0)), tarn_four_load(args->end));
}

/// Where a viewer has it after a key frame or its birth: in the middle of its quantum.
TILE_FN tarn_four stream_keep_place(const stream_args *args, tarn_four place)
{
    const int32_t quantum = 1 << (TARN_PLACE_BITS - args->bits);
    const tarn_four lowest = tarn_four_and(place, tarn_four_all(-quantum));
    return tarn_four_min(tarn_four_add(lowest, tarn_four_all(quantum >> 1)), tarn_four_load(args->end));
}

/// Which layer a particle is in until the next key frame. The first is a fair sample of all, which says how much water
/// is where. Of what may be seen the second has so much that the water looks right, the third the rest. Of what is
/// hidden the second has none, the last one half, and each one before that half of what is left.
TILE_FN uint32_t stream_layer_of(const stream_args *args, uint32_t id, int is_visible)
{
    const uint32_t draw = (uint32_t)(tile_mix_u64(id + 0x9e3779b97f4a7c15ull) >> 32), last = args->layers - 1;
    if (draw < STREAM_DRAW_16TH * STREAM_SAMPLE_SHARE) {
        return 0;
    }
    if (is_visible) {
        return tile_min_u32(draw < STREAM_DRAW_16TH * STREAM_SEEN_SHARE ? 1 : 2, last);
    }
    const uint32_t zeros = tile_leading_zeros_u32(draw);
    return zeros + 2 < last ? last - zeros : tile_min_u32(2, last);
}

/// Nearest of `steps` + 1 levels to one of 256.
TILE_FN uint32_t stream_level_of(uint32_t component, uint32_t steps)
{
    return ((component & 0xffu) * steps + 127) / 255;
}

/// Nearest of 256 levels from `low` on, `scale` a unit; what is no number has the lowest.
TILE_FN uint8_t stream_level_at(float value, float low, float scale)
{
    const float at = (value - low) * scale;
    return (uint8_t)(at >= (float)TARN_LEVEL_MAX ? (uint32_t)TARN_LEVEL_MAX : at > 0.0f ? (uint32_t)(at + 0.5f) : 0u);
}

/// A particle's dye as red << 5 | green << 2 | blue.
TILE_FN uint32_t stream_colour_of(const stream_args *args, uint32_t particle)
{
    const uint32_t dye = args->attribute[particle];
    return stream_level_of(dye >> 8, 7) << 5 | stream_level_of(dye >> 16, 7) << 2 | stream_level_of(dye >> 24, 3);
}

TILE_FN void stream_tile_at(const stream_args *args, uint32_t dense, uint32_t *at)
{
    at[0] = dense % args->tiles[0];
    at[1] = dense / args->tiles[0] % args->tiles[1];
    at[2] = dense / args->tiles[0] / args->tiles[1];
}

/// Where a part's stream of sets ends, behind those of all parts before it; coded_bytes has room for that.
TILE_FN uint64_t stream_set_end(const stream_args *args, uint32_t number)
{
    const stream_part *part = &args->w.part[number];
    return args->groups_at + (uint64_t)number * STREAM_PART_BYTES +
           (uint64_t)part->first * STREAM_POINT_BYTES(args->bits) + tarn_set_bytes_max(args->bits, part->count);
}

/// And that of its colours, behind it.
TILE_FN uint64_t stream_colours_end(const stream_args *args, uint32_t number)
{
    return stream_set_end(args, number) + TARN_ANS_STATE_BYTES + 2 +
           (uint64_t)args->w.part[number].count * STREAM_COLOUR_BYTES;
}

/// The neighbours of a tile that have a node which a place near the tile lies next to: a bit each.
TILE_FN uint32_t stream_reach_of(const uint32_t *tile_at, tarn_four place)
{
    const tarn_four before =
        tarn_four_of(8 * (int32_t)tile_at[0] - 8, 8 * (int32_t)tile_at[1] - 8, 8 * (int32_t)tile_at[2] - 8, 0);
    const tarn_four cell = tarn_four_sub(tarn_four_right(place, TARN_PLACE_BITS), before);
    const tarn_four next = tarn_four_add(cell, tarn_four_all(1)), first = tarn_four_all(0), last = tarn_four_all(2);
    const tarn_four lower = tarn_four_min(tarn_four_max(tarn_four_right(cell, 3), first), last),
                    upper = tarn_four_min(tarn_four_max(tarn_four_right(next, 3), first), last);
    uint32_t axis[4];
    tarn_four_store((int32_t *)axis, tarn_four_add(lower, upper));
    for (int a = 0; a < 3; a++) {
        axis[a] = 0x46231u >> 4 * axis[a] & 7; // tiles 0; 0 and 1; 1; 1 and 2; 2
    }
    const uint32_t nine = axis[0] * ((axis[1] & 1) | (axis[1] & 2) << 2 | (axis[1] & 4) << 4);
    return nine * ((axis[2] & 1) | (axis[2] & 2) << 8 | (axis[2] & 4) << 16);
}

/// A frame's grid, as decoders see it.
TILE_FN void stream_flow_of(const stream_args *args, uint32_t which, tarn_flow *flow)
{
    flow->index = args->w.flow_index[which];
    flow->nodes = args->w.node[which];
    flow->bits = args->bits;
    for (int a = 0; a < 3; a++) {
        flow->tiles[a] = args->tiles[a];
    }
}

#endif
