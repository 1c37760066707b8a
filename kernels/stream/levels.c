// The channel that frames carry: its values from the tank's model, as levels of the particles' slots.
#include "kernels/stream/encoder_internal.h"
#include "protocol/assert.h"
#include "protocol/channel.h"

tarn_status tarn_encoder_carry(tarn_encoder *e, uint32_t channel)
{
    const tarn_model *model = tarn_tank_model(e->tank);
    TARN_ASSERT(!e->is_begun);
    if (channel > 0 &&
        (channel > model->channel_count || !tarn_channel_is_carried(model->channels[channel - 1].name))) {
        return TARN_E_ARGUMENT;
    }
    const tarn_status status = channel == 0 ? TARN_OK : e->lacks_levels ? TARN_E_MEMORY : encoder_carve_levels(e);
    e->lacks_levels = status != TARN_OK;
    e->channel = status == TARN_OK ? channel : e->channel;
    return status;
}

void encoder_begin_levels(tarn_encoder *e)
{
    e->args.has_channel = e->channel > 0;
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
    encoder_launch(e, stream_values_id, e->now.occupied);
}

void encoder_code_levels(tarn_encoder *e)
{
    if (e->channel == 0) {
        return;
    }
    e->args.has_levels = !e->args.is_key && e->reference_channel == e->channel;
    encoder_launch(e, stream_levels_id, e->now.occupied);
    encoder_launch_counted(e, stream_level_groups_id, &e->args.w.plan->level_groups, encoder_level_groups_max(e));
}
