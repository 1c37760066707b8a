// The channel that frames carry: its values from the tank's model, as levels of the particles' slots.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"
#include "protocol/channel.h"

#include <stdlib.h>

static uint32_t groups_max(const tarn_encoder *e)
{
    return e->room.slots / TARN_STREAM_GROUP + e->desc.layers + 1;
}

tarn_status tarn_encoder_carry(tarn_encoder *e, uint32_t channel)
{
    const tarn_model *model = tarn_tank_model(e->tank);
    if (channel > 0 &&
        (channel > model->channel_count || !tarn_channel_is_carried(model->channels[channel - 1].name))) {
        return TARN_E_ARGUMENT;
    }
    const tarn_status status = channel == 0      ? TARN_OK
                               : e->lacks_levels ? TARN_E_MEMORY
                                                 : encoder_carve_levels(e, groups_max(e));
    e->lacks_levels = status != TARN_OK;
    e->channel = status == TARN_OK ? channel : e->channel;
    return status;
}

void encoder_begin_levels(tarn_encoder *e)
{
    if (e->channel == 0) {
        return;
    }
    tank_channel channel;
    tank_view_channel(e->tank, e->channel - 1, e->args.w.value, &channel);
    const float range = channel.high - channel.low;
    e->args.value = channel.value;
    e->args.level_low = channel.low;
    e->args.level_scale = range > 0.0f ? (float)TARN_LEVEL_MAX / range : 0.0f;
    e->channel_low = channel.low;
    e->channel_high = channel.high;
}

/// A layer's slots in groups, as they are after the frame.
static void list_groups(tarn_encoder *e, const encoder_layer *layer)
{
    const uint32_t old = layer->slots - layer->born;
    for (uint32_t at = 0; at < layer->slots; at += TARN_STREAM_GROUP) {
        TARN_ASSERT(e->level_group_count < groups_max(e));
        const uint32_t count = tile_min_u32(layer->slots - at, TARN_STREAM_GROUP);
        e->level_groups[e->level_group_count++] =
            (stream_level_group){layer->first + at, count, old > at ? tile_min_u32(old - at, count) : 0};
    }
}

tarn_status encoder_code_levels(tarn_encoder *e)
{
    tarn_queue *queue = e->view.queue;
    e->level_group_count = 0;
    e->levels_bytes = 0;
    if (e->channel == 0) {
        return TARN_OK;
    }
    for (uint32_t l = 0; l < e->desc.layers; l++) {
        list_groups(e, &e->layers[l]);
    }
    if (TARN_VALIDATE) {
        encoder_validate_levels(e);
    }
    const uint32_t count = e->level_group_count;
    e->args.has_levels = !e->args.is_key && e->reference_channel == e->channel;
    tarn_status status =
        tarn_queue_upload(queue, e->args.w.level_group, e->level_groups, count * sizeof *e->level_groups);
    encoder_launch(e, stream_levels_id, e->now.occupied);
    encoder_launch(e, stream_level_groups_id, count);
    if (status == TARN_OK) {
        status = tarn_queue_download(queue, e->level_bytes, e->args.w.level_bytes, count * sizeof *e->level_bytes);
    }
    for (uint32_t g = 0; g < count && status == TARN_OK; g++) {
        e->levels_bytes += e->level_bytes[g];
    }
    return status;
}
