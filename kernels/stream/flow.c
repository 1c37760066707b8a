// The host's part of the grid: what is launched for it.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"

void encoder_index(tarn_encoder *e, const uint32_t *list, uint32_t stride, uint32_t count, uint32_t *table, bool is_set,
                   uint32_t *copy)
{
    TARN_ASSERT(table != NULL && stride > 0);
    e->args.list = list;
    e->args.list_counter = NULL;
    e->args.stride = stride;
    e->args.list_count = count;
    e->args.table = table;
    e->args.is_set = (uint32_t)is_set;
    e->args.list_copy = copy;
    encoder_launch(e, stream_index_id, (count + STREAM_LANES - 1) / STREAM_LANES);
}

/// What a grid's table knows is forgotten, as long as the list is there that says what that is.
static void forget_flow(tarn_encoder *e, uint32_t which)
{
    e->args.list = e->args.w.flow_dense[which];
    e->args.list_counter = &e->args.w.plan->flow[which];
    e->args.stride = 1;
    e->args.table = e->args.w.flow_index[which];
    e->args.is_set = 0;
    e->args.list_copy = NULL;
    encoder_launch(e, stream_index_id, (e->room.flow + STREAM_LANES - 1) / STREAM_LANES);
}

void encoder_list_flow(tarn_encoder *e, const stream_tile *reference, uint32_t tiles, uint32_t made)
{
    TARN_ASSERT(tiles <= e->room.occupied);
    for (uint32_t i = 0; i < 2; i++) {
        if (made >> i & 1) {
            forget_flow(e, i);
        }
    }
    e->args.reference = reference;
    e->args.reference_count = tiles;
    e->args.flow_made = made;
    encoder_launch(e, stream_reach_id, (tiles + STREAM_LANES - 1) / STREAM_LANES);
    encoder_launch(e, stream_list_flow_id, 1);
}

/// Whether the last base frame has left so little unsaid that a better fit wouldn't pay for its time.
static bool is_calm(const tarn_encoder *e)
{
    return e->base_bits > 0.0f && e->base_bits < 1.0f;
}

static void launch_flow(tarn_encoder *e, stream_kernel_id kernel)
{
    TARN_ASSERT(e->args.flow_now < 2);
    encoder_launch_counted(e, kernel, &e->args.w.plan->flow[e->args.flow_now], e->room.flow);
}

void encoder_fit_flow(tarn_encoder *e)
{
    e->args.reference_kept = tile_min_u32(e->reference_tiles, e->room.flow);
    e->args.is_guessed = 0;
    encoder_launch(e, stream_fit_id, e->args.reference_kept);
    if (!e->args.is_key && !is_calm(e)) {
        launch_flow(e, stream_guess_id);
        launch_flow(e, stream_borders_id);
        e->args.is_guessed = 1;
        encoder_launch(e, stream_fit_id, e->args.reference_kept);
    }
}

void encoder_code_flow(tarn_encoder *e)
{
    launch_flow(e, stream_nodes_id);
    launch_flow(e, stream_borders_id);
}
