// How fast the flow turns where a decoder's particles are.
#include "protocol/stream.h"

/// The curl in a cell, in quanta per cell and interval, times 4 and squared: the differences along its twelve edges,
/// four along each axis.
static float curl_squared(const tarn_flow *flow, const int32_t place[3])
{
    const tarn_flow_node *block = tarn_flow_block(flow, place);
    if (block == NULL) {
        return 0.0f;
    }
    const uint32_t x = (uint32_t)place[0] >> TARN_PLACE_BITS & 7, y = (uint32_t)place[1] >> TARN_PLACE_BITS & 7,
                   z = (uint32_t)place[2] >> TARN_PLACE_BITS & 7;
    int32_t slope[3][3] = {{0}}; // [along][of]
    for (uint32_t corner = 0; corner < 8; corner++) {
        const tarn_flow_node *node =
            &block[tarn_flow_node_at(x + (corner & 1), y + (corner >> 1 & 1), z + (corner >> 2))];
        for (int along = 0; along < 3; along++) {
            for (int of = 0; of < 3; of++) {
                slope[along][of] += (corner >> along & 1) != 0 ? node->d[of] : -node->d[of];
            }
        }
    }
    float sum = 0.0f;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        const float turn = (float)(slope[b][c] - slope[c][b]);
        sum += turn * turn;
    }
    return sum;
}

/// The whole part of a root, 255 at most. Without libm.
static uint32_t root_byte(float square)
{
    const uint32_t number = square < 65025.0f ? (uint32_t)square : 65025;
    uint32_t root = 0;
    for (uint32_t bit = 128; bit > 0; bit >>= 1) {
        root |= (root | bit) * (root | bit) <= number ? bit : 0;
    }
    return root;
}

void tarn_stream_show_curl(const tarn_stream *stream, float levels, tarn_stream_particles *particles)
{
    tarn_flow flow;
    tarn_stream_flow(stream, &flow);
    const uint32_t shift = TARN_PLACE_BITS - particles->unit_bits;
    const float scale = levels / (float)(4u << flow.bits);
    for (uint32_t i = 0; i < particles->count; i++) {
        uint16_t *at = particles->positions + 4 * (size_t)i;
        const int32_t place[3] = {at[0] << shift, at[1] << shift, at[2] << shift};
        const uint32_t level = root_byte(scale * scale * curl_squared(&flow, place));
        at[3] = (uint16_t)((at[3] & 0xff) | level << 8);
    }
}
