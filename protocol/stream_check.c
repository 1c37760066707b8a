// The rules that a frame's head obeys, applied to the values and not to the bytes, so that the writer and the reader
// share them.
#include "protocol/stream_layout.h"

#include <stdbool.h>

// Without libm: infinities and NaN are what no finite bound contains.
static bool is_finite(float value)
{
    return value >= -3.40282347e38f && value <= 3.40282347e38f;
}

static bool is_at_least_0(float value)
{
    return is_finite(value) && value >= 0.0f;
}

static bool is_unit(const float q[4])
{
    float sum = 0.0f;
    for (int i = 0; i < 4; i++) {
        sum += q[i] * q[i];
    }
    return sum >= 0.98f && sum <= 1.02f;
}

static tarn_status check_bodies(const tarn_stream_head *head)
{
    for (uint32_t i = 0; i < head->body_count; i++) {
        const tarn_frame_body *body = &head->bodies[i];
        float rotation[4];
        for (int k = 0; k < 4; k++) {
            rotation[k] = (float)body->rotation[k] / TARN_FRAME_ROTATION_ONE;
        }
        if ((i > 0 && body->solid <= head->bodies[i - 1].solid) || !is_unit(rotation)) {
            return TARN_E_MALFORMED;
        }
        for (int axis = 0; axis < 3; axis++) {
            if (!is_finite(body->position_m[axis])) {
                return TARN_E_MALFORMED;
            }
        }
    }
    return TARN_OK;
}

static tarn_status check_numbers(const tarn_stream_head *head)
{
    if (head->step > TARN_FRAME_INTEGER_MAX || head->server_time_us > TARN_FRAME_INTEGER_MAX) {
        return TARN_E_LIMIT;
    }
    if (!(head->sim_time_s >= 0.0 && head->sim_time_s <= 1.7976931348623157e308) ||
        !is_at_least_0(head->realtime_factor) || !is_at_least_0(head->cell_m) || head->cell_m <= 0.0f ||
        !is_at_least_0(head->interval_s) || !is_unit(head->orientation) || !is_finite(head->channel_low) ||
        !is_finite(head->channel_high) || head->channel_low > head->channel_high) {
        return TARN_E_MALFORMED;
    }
    for (int axis = 0; axis < 3; axis++) {
        if (!is_finite(head->gravity_m_s2[axis]) || head->cells[axis] == 0) {
            return TARN_E_MALFORMED;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        if (head->cells[axis] > TARN_FRAME_CELLS_MAX) {
            return TARN_E_LIMIT;
        }
    }
    return TARN_OK;
}

static tarn_status check_layers(const tarn_stream_head *head)
{
    uint64_t slots_max = 0;
    for (uint32_t i = 0; i < head->layer_count; i++) {
        const tarn_stream_layer *layer = &head->layers[i];
        const bool is_key = head->kind == TARN_STREAM_KEY;
        if (layer->particles > layer->slots || layer->slots > layer->slots_max ||
            (is_key && layer->particles != layer->slots)) {
            return TARN_E_MALFORMED;
        }
        slots_max += layer->slots_max;
    }
    return slots_max > TARN_FRAME_PARTICLES_MAX ? TARN_E_LIMIT : TARN_OK;
}

static tarn_status check_field(const tarn_stream_field *field)
{
    if (field->number > TARN_FRAME_FIELD_MAX || field->tiles_max > TARN_FRAME_FIELD_TILES_MAX) {
        return TARN_E_LIMIT;
    }
    const bool is_sound = field->is_kinds <= 1 && field->tiles <= field->tiles_max && is_finite(field->low) &&
                          is_finite(field->high) && field->low <= field->high;
    const bool is_none = field->tiles_max == 0 && field->coarse_bytes == 0 && field->fine_bytes == 0;
    return is_sound && (field->number != 0 ? field->tiles_max > 0 : is_none) ? TARN_OK : TARN_E_MALFORMED;
}

tarn_status tarn_stream_check_head(const tarn_stream_head *head)
{
    if (head->kind > TARN_STREAM_EXTRA) {
        return TARN_E_VERSION;
    }
    if (head->place_bits > TARN_SET_BITS_MAX || (head->flags & ~(uint32_t)TARN_FRAME_FLAGS_KNOWN) != 0 ||
        head->flow_tiles > head->flow_tiles_max || head->layer_count == 0 ||
        head->residual_step > TARN_STREAM_STEP_MAX) {
        return TARN_E_MALFORMED;
    }
    if (head->layer_count > TARN_STREAM_LAYERS_MAX || head->input_count > TARN_FRAME_INPUTS_MAX ||
        head->body_count > TARN_FRAME_BODIES_MAX || head->flow_tiles_max > TARN_FRAME_TILES_MAX ||
        head->channel > TARN_FRAME_CHANNEL_MAX) {
        return TARN_E_LIMIT;
    }
    if ((head->kind == TARN_STREAM_KEY) != (head->reference == head->number)) {
        return TARN_E_MALFORMED;
    }
    tarn_status status = check_numbers(head);
    if (status == TARN_OK) {
        status = check_bodies(head);
    }
    if (status == TARN_OK) {
        status = check_layers(head);
    }
    return status == TARN_OK ? check_field(&head->field) : status;
}
