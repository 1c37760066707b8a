// Decoding particles: positions widened to the tank, velocities interpolated from the tile's grid.
//
// All arithmetic is on integers, so every machine gives the same bits. Along one axis, in units of 1/64 cell, the byte
// p sits at 2p + 1 and node i at 128 i + 64; hence with s = clamp(2p - 63, 0, 384) the lower node is min(s / 128, 2)
// and the weight of the upper one (s - 128 * node) / 128. Three such lerps keep 21 fraction bits, rounded once at the
// end.
//
// u and v ride in the two halves of one 64-bit integer: biased by 128 they are not negative, and 255 * 2^21 < 2^32, so
// neither half reaches into the other. Differences may borrow in between; modulo 2^64 the sum comes out right.
#include "protocol/frame_layout.h"

enum {
    NODES = TARN_FRAME_VELOCITY_NODES,
    NODE_COUNT = NODES * NODES * NODES,
    CHUNK = 256, ///< particles whose indices and weights are computed at once, in loops that vectorise
    WEIGHT_ONE = 128,
    FRACTION_BITS = 21,
    BIAS = 128,
};

/// A node and its difference to the next one along x (unused at the last).
typedef struct velocity_node {
    uint64_t uv, uv_slope;
    uint32_t w, w_slope;
} velocity_node;

typedef struct particle_weights {
    uint8_t node[CHUNK]; ///< index of the lowest corner
    uint8_t fx[CHUNK], fy[CHUNK], fz[CHUNK];
} particle_weights;

static void load_nodes(const uint8_t *grid, velocity_node nodes[NODE_COUNT])
{
    for (int i = 0; i < NODE_COUNT; i++) {
        uint32_t u = grid[i] ^ 0x80u, v = grid[NODE_COUNT + i] ^ 0x80u;
        nodes[i].uv = u | (uint64_t)v << 32;
        nodes[i].w = grid[2 * NODE_COUNT + i] ^ 0x80u;
    }
    for (int i = 0; i < NODE_COUNT; i++) {
        int next = i % NODES == NODES - 1 ? i : i + 1;
        nodes[i].uv_slope = nodes[next].uv - nodes[i].uv;
        nodes[i].w_slope = nodes[next].w - nodes[i].w;
        nodes[i].uv *= WEIGHT_ONE;
        nodes[i].w *= WEIGHT_ONE;
    }
}

static inline uint8_t lower_node(uint8_t p)
{
    return (uint8_t)((p >= 96) + (p >= 160));
}

static inline uint8_t upper_weight(uint8_t p)
{
    int s = 2 * p - 63 - WEIGHT_ONE * lower_node(p);
    return (uint8_t)(s < 0 ? 0 : s > WEIGHT_ONE ? WEIGHT_ONE : s);
}

static void find_weights(const uint8_t *x, const uint8_t *y, const uint8_t *z, uint32_t count,
                         particle_weights *weights)
{
    for (uint32_t i = 0; i < count; i++) {
        weights->node[i] = (uint8_t)(lower_node(x[i]) + NODES * lower_node(y[i]) + NODES * NODES * lower_node(z[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        weights->fx[i] = upper_weight(x[i]);
        weights->fy[i] = upper_weight(y[i]);
        weights->fz[i] = upper_weight(z[i]);
    }
}

static inline uint64_t mix_u64(uint64_t a, uint64_t b, uint64_t weight)
{
    return a * WEIGHT_ONE + (b - a) * weight;
}

static inline uint32_t mix_u32(uint32_t a, uint32_t b, uint32_t weight)
{
    return a * WEIGHT_ONE + (b - a) * weight;
}

static inline int8_t round_component(uint32_t sum)
{
    return (int8_t)((int32_t)((sum + (1u << (FRACTION_BITS - 1))) >> FRACTION_BITS) - BIAS);
}

static inline void interpolate(const velocity_node *node, uint32_t fx, uint32_t fy, uint32_t fz, int8_t out[4])
{
    const velocity_node *n00 = node, *n10 = node + NODES;
    const velocity_node *n01 = node + NODES * NODES, *n11 = n01 + NODES;
    uint64_t uv0 = mix_u64(n00->uv + n00->uv_slope * fx, n10->uv + n10->uv_slope * fx, fy);
    uint64_t uv1 = mix_u64(n01->uv + n01->uv_slope * fx, n11->uv + n11->uv_slope * fx, fy);
    uint32_t w0 = mix_u32(n00->w + n00->w_slope * fx, n10->w + n10->w_slope * fx, fy);
    uint32_t w1 = mix_u32(n01->w + n01->w_slope * fx, n11->w + n11->w_slope * fx, fy);
    uint64_t uv = mix_u64(uv0, uv1, fz);
    out[0] = round_component((uint32_t)uv);
    out[1] = round_component((uint32_t)(uv >> 32));
    out[2] = round_component(mix_u32(w0, w1, fz));
}

static void decode_positions(const tarn_frame_tile *tile, const uint8_t *x, const uint8_t *y, const uint8_t *z,
                             const uint8_t *colours, uint32_t count, uint16_t *positions)
{
    const uint16_t x0 = (uint16_t)(tile->tile[0] << 8);
    const uint16_t y0 = (uint16_t)(tile->tile[1] << 8);
    const uint16_t z0 = (uint16_t)(tile->tile[2] << 8);
    for (uint32_t i = 0; i < count; i++) {
        positions[4 * (size_t)i + 0] = (uint16_t)(x0 | x[i]);
        positions[4 * (size_t)i + 1] = (uint16_t)(y0 | y[i]);
        positions[4 * (size_t)i + 2] = (uint16_t)(z0 | z[i]);
        positions[4 * (size_t)i + 3] = colours ? colours[i] : 0;
    }
}

static void decode_tile(const tarn_frame_tile *tile, const uint8_t *payload, uint16_t *positions, int8_t *velocities)
{
    velocity_node nodes[NODE_COUNT];
    particle_weights weights;
    load_nodes(payload, nodes);
    const uint8_t *x = payload + TARN_FRAME_VELOCITY_BYTES;
    const uint8_t *y = x + tile->particle_count;
    const uint8_t *z = y + tile->particle_count;
    const uint8_t *colours = tile->coding == TARN_FRAME_CODING_COLOURS ? z + tile->particle_count : NULL;
    decode_positions(tile, x, y, z, colours, tile->particle_count, positions);
    for (uint32_t done = 0; done < tile->particle_count; done += CHUNK) {
        uint32_t count = tile->particle_count - done;
        count = count < CHUNK ? count : CHUNK;
        find_weights(x + done, y + done, z + done, count, &weights);
        int8_t *out = velocities + 4 * (size_t)done;
        for (uint32_t i = 0; i < count; i++, out += 4) {
            interpolate(&nodes[weights.node[i]], weights.fx[i], weights.fy[i], weights.fz[i], out);
            out[3] = (int8_t)tile->layer;
        }
    }
}

tarn_status tarn_frame_decode(const tarn_frame *frame, uint16_t *positions, int8_t *velocities, uint32_t particles_max)
{
    if (frame->header.particle_count > particles_max) {
        return TARN_E_SPACE;
    }
    const uint8_t *payload = frame->payloads;
    for (uint32_t i = 0; i < frame->header.tile_count; i++) {
        tarn_frame_tile tile = tarn_frame_tile_at(frame, i);
        decode_tile(&tile, payload, positions, velocities);
        payload += tile.payload_bytes;
        positions += 4 * (size_t)tile.particle_count;
        velocities += 4 * (size_t)tile.particle_count;
    }
    return TARN_OK;
}
