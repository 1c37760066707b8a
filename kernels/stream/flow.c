// The host's part of the grid: which tiles it has.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

#include <string.h>

/// Marks the neighbours of a tile that its particles reach.
static void mark_reached(tarn_encoder *e, const stream_tile *tile)
{
    TARN_ASSERT(tile->dense < e->room.tiles);
    TARN_ASSERT(tile->reach >> 27 == 0);
    const uint32_t *tiles = e->args.tiles;
    const uint32_t x = tile->dense % tiles[0], y = tile->dense / tiles[0] % tiles[1],
                   z = tile->dense / tiles[0] / tiles[1];
    for (uint32_t n = 0; n < 27; n++) {
        // One less where a coordinate is 0 wraps around and lies outside.
        const uint32_t at[3] = {x + n % 3 - 1, y + n / 3 % 3 - 1, z + n / 9 - 1};
        if ((tile->reach >> n & 1) == 0 || at[0] >= tiles[0] || at[1] >= tiles[1] || at[2] >= tiles[2]) {
            continue;
        }
        const uint32_t dense = (at[2] * tiles[1] + at[1]) * tiles[0] + at[0];
        TARN_ASSERT(dense < e->room.tiles);
        e->reached[dense / 64] |= (uint64_t)1 << dense % 64;
    }
}

tarn_status encoder_list_flow(tarn_encoder *e, uint32_t tiles)
{
    const tarn_status status = tarn_queue_download(e->view.queue, e->tiles, e->args.w.tile, tiles * sizeof *e->tiles);
    if (status != TARN_OK) {
        return status;
    }
    for (uint32_t t = 0; t < tiles; t++) {
        mark_reached(e, &e->tiles[t]);
    }
    e->flow_count = 0;
    for (uint32_t word = 0; word < (e->room.tiles + 63) / 64; word++) {
        for (uint64_t bits = e->reached[word]; bits != 0 && e->flow_count < e->room.flow; bits &= bits - 1) {
            e->flow_list[e->flow_count++] = 64 * word + (uint32_t)__builtin_ctzll(bits);
        }
        e->reached[word] = 0;
    }
    TARN_ASSERT(tiles <= e->room.occupied && e->flow_count <= e->room.flow);
    e->reference_tiles = tiles;
    e->flow_is_indexed = false;
    return TARN_OK;
}

void encoder_index(tarn_encoder *e, const uint32_t *list, uint32_t stride, uint32_t count, uint32_t *table, bool is_set)
{
    TARN_ASSERT(table != NULL && stride > 0);
    e->args.list = list;
    e->args.stride = stride;
    e->args.list_count = count;
    e->args.table = table;
    e->args.is_set = (uint32_t)is_set;
    encoder_launch(e, stream_index_id, (count + STREAM_LANES - 1) / STREAM_LANES);
}

/// The grid that isn't the reference's gets the list of tiles.
static tarn_status index_flow(tarn_encoder *e)
{
    const uint32_t now = e->args.flow_now;
    if (e->flow_is_indexed) {
        return TARN_OK;
    }
    encoder_index(e, e->flow_dense[now], 1, e->flow_listed[now], e->args.w.flow_index[now], false);
    const tarn_status status =
        tarn_queue_upload(e->view.queue, e->flow_dense[now], e->flow_list, e->flow_count * sizeof *e->flow_list);
    e->flow_listed[now] = e->flow_count;
    encoder_index(e, e->flow_dense[now], 1, e->flow_count, e->args.w.flow_index[now], true);
    e->flow_is_indexed = true;
    return status;
}

/// Whether the last base frame has left so little unsaid that a better fit wouldn't pay for its time.
static bool is_calm(const tarn_encoder *e)
{
    return e->base_bits > 0.0f && e->base_bits < 1.0f;
}

tarn_status encoder_code_flow(tarn_encoder *e)
{
    tarn_status status = index_flow(e);
    if (status != TARN_OK) {
        return status;
    }
    TARN_ASSERT(e->args.flow_now < 2 && e->flow_listed[e->args.flow_now] == e->flow_count);
    e->args.w.flow_dense = e->flow_dense[e->args.flow_now];
    e->args.reference_kept = tile_min_u32(e->reference_tiles, e->room.flow);
    e->args.is_guessed = 0;
    encoder_launch(e, stream_fit_id, e->args.reference_kept);
    if (!e->args.is_key && !is_calm(e)) {
        encoder_launch(e, stream_guess_id, e->flow_count);
        encoder_launch(e, stream_borders_id, e->flow_count);
        e->args.is_guessed = 1;
        encoder_launch(e, stream_fit_id, e->args.reference_kept);
    }
    encoder_launch(e, stream_nodes_id, e->flow_count);
    encoder_launch(e, stream_borders_id, e->flow_count);
    return tarn_queue_download(e->view.queue, e->flow_bytes, e->args.w.flow_bytes,
                               e->flow_count * sizeof *e->flow_bytes);
}
