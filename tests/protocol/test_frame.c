// Frames: layout, decoding against SPEC.md's formula written out plainly, and what is refused with which status.
#include "tests/protocol/golden_frames.h"
#include "tests/protocol/test_support.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 16384 };

/// SPEC.md 5.4, as it stands there: slow, wide, without tricks.
static int reference_velocity(const int8_t *component, const uint8_t p[3])
{
    int node[3], upper[3];
    for (int axis = 0; axis < 3; axis++) {
        int s = 2 * p[axis] - 63;
        s = s < 0 ? 0 : s > 384 ? 384 : s;
        node[axis] = s / 128 < 2 ? s / 128 : 2;
        upper[axis] = s - 128 * node[axis];
    }
    int64_t sum = 1 << 20;
    for (int corner = 0; corner < 8; corner++) {
        int64_t weight = 1;
        int at[3];
        for (int axis = 0; axis < 3; axis++) {
            int up = corner >> axis & 1;
            weight *= up ? upper[axis] : 128 - upper[axis];
            at[axis] = node[axis] + up;
        }
        sum += weight * component[16 * at[2] + 4 * at[1] + at[0]];
    }
    return (int)(sum >= 0 ? sum / (1 << 21) : -((-sum + (1 << 21) - 1) / (1 << 21)));
}

typedef struct decoded {
    tarn_frame frame;
    uint16_t *positions;
    int8_t *velocities;
} decoded;

static decoded decode(const uint8_t *bytes, size_t byte_count)
{
    decoded d;
    assert_int_equal(tarn_frame_open(bytes, byte_count, &d.frame), TARN_OK);
    uint32_t count = d.frame.header.particle_count;
    d.positions = malloc((count + 1) * 4 * sizeof *d.positions);
    d.velocities = malloc((count + 1) * 4 * sizeof *d.velocities);
    assert_int_equal(tarn_frame_decode(&d.frame, d.positions, d.velocities, count), TARN_OK);
    return d;
}

static void release(decoded *d)
{
    free(d->positions);
    free(d->velocities);
}

static void check_tile(const decoded *d, const tarn_frame_tile *tile, const uint8_t *payload, size_t first)
{
    const int8_t *grid = (const int8_t *)payload;
    for (uint32_t i = 0; i < tile->particle_count; i++) {
        const uint16_t *q = d->positions + 4 * (first + i);
        const int8_t *v = d->velocities + 4 * (first + i);
        uint8_t p[3];
        for (int axis = 0; axis < 3; axis++) {
            p[axis] = payload[192 + (uint32_t)axis * tile->particle_count + i];
            assert_int_equal(q[axis], 256 * tile->tile[axis] + p[axis]);
        }
        for (int component = 0; component < 3; component++) {
            assert_int_equal(v[component], reference_velocity(grid + 64 * component, p));
        }
        assert_int_equal(q[3], tile->coding ? payload[192 + 3 * tile->particle_count + i] : 0);
        assert_int_equal(v[3], tile->layer);
    }
}

static void check_all(const uint8_t *bytes, size_t byte_count)
{
    decoded d = decode(bytes, byte_count);
    const uint8_t *payload = d.frame.payloads;
    size_t first = 0;
    int coloured = 0;
    for (uint32_t i = 0; i < d.frame.header.tile_count; i++) {
        tarn_frame_tile tile = tarn_frame_tile_at(&d.frame, i);
        check_tile(&d, &tile, payload, first);
        coloured |= tile.coding == TARN_FRAME_CODING_COLOURS;
        first += tile.particle_count;
        payload += tile.payload_bytes;
    }
    assert_int_equal(d.frame.has_colours, coloured);
    assert_int_equal(first, d.frame.header.particle_count);
    assert_ptr_equal(payload, bytes + byte_count);
    release(&d);
}

static void decoding_follows_the_formula_of_the_specification(void **context)
{
    (void)context;
    uint8_t bytes[BYTES_MAX], *dense;
    for (int i = 0; i < golden_frame_count; i++) {
        check_all(bytes, golden_frame_encode(&golden_frames[i], bytes, sizeof bytes));
    }
    size_t byte_count = golden_frame_dense(3, 2000, &dense);
    assert_true(byte_count > 0);
    check_all(dense, byte_count);
    free(dense);
}

/// One tile with particles at p, p, p for all 256 bytes p.
static size_t diagonal_frame(const int8_t *grid, uint8_t *bytes)
{
    uint8_t ramp[256];
    for (int i = 0; i < 256; i++) {
        ramp[i] = (uint8_t)i;
    }
    tarn_frame_tile tile = {.particle_count = 256, .payload_bytes = 192 + 3 * 256};
    tarn_frame_header header = {.frame_bytes = 136 + 16 + 192 + 3 * 256,
                                .particle_count = 256,
                                .tile_count = 1,
                                .cells = {8, 8, 8},
                                .position_bits = 8,
                                .layer_count = 1,
                                .cell_m = 1.0f,
                                .orientation = {0, 0, 0, 1}};
    assert_int_equal(tarn_frame_write_head(&header, NULL, &tile, bytes, BYTES_MAX), TARN_OK);
    assert_int_equal(tarn_frame_write_payload(grid, ramp, ramp, ramp, NULL, 256, bytes + 152, BYTES_MAX - 152),
                     TARN_OK);
    return header.frame_bytes;
}

static void a_uniform_grid_gives_its_value_everywhere(void **context)
{
    (void)context;
    static const int8_t values[3] = {-128, 127, -1};
    int8_t grid[TARN_FRAME_VELOCITY_BYTES];
    uint8_t bytes[BYTES_MAX];
    for (int i = 0; i < TARN_FRAME_VELOCITY_BYTES; i++) {
        grid[i] = values[i / 64];
    }
    decoded d = decode(bytes, diagonal_frame(grid, bytes));
    for (int i = 0; i < 256; i++) {
        assert_memory_equal(d.velocities + 4 * i, values, 3);
    }
    release(&d);
}

static void a_linear_grid_is_interpolated_linearly_and_clamped_at_the_border(void **context)
{
    (void)context;
    int8_t grid[TARN_FRAME_VELOCITY_BYTES];
    uint8_t bytes[BYTES_MAX];
    for (int i = 0; i < 64; i++) {
        grid[i] = (int8_t)(-96 + 64 * (i % 4));         // u rises along x: 32 per cell
        grid[64 + i] = (int8_t)(96 - 64 * (i / 4 % 4)); // v falls along y
        grid[128 + i] = (int8_t)(-96 + 64 * (i / 16));  // w rises along z
    }
    decoded d = decode(bytes, diagonal_frame(grid, bytes));
    for (int p = 0; p < 256; p++) {
        // At (p + 0.5)/32 cells a velocity of 32 per cell from -128 at cell 0 is p + 0.5 - 128, rounded up.
        int rising = p - 127 < -96 ? -96 : p - 127 > 96 ? 96 : p - 127;
        int falling = 128 - p > 96 ? 96 : 128 - p < -96 ? -96 : 128 - p;
        assert_int_equal(d.velocities[4 * p], rising);
        assert_int_equal(d.velocities[4 * p + 1], falling);
        assert_int_equal(d.velocities[4 * p + 2], rising);
    }
    release(&d);
}

static void decoding_refuses_arrays_that_are_too_small(void **context)
{
    (void)context;
    uint8_t bytes[BYTES_MAX];
    uint16_t positions[4];
    int8_t velocities[4];
    tarn_frame frame;
    size_t byte_count = golden_frame_encode(&golden_frames[2], bytes, sizeof bytes);
    assert_int_equal(tarn_frame_open(bytes, byte_count, &frame), TARN_OK);
    assert_int_equal(tarn_frame_decode(&frame, positions, velocities, 1), TARN_E_SPACE);
    assert_int_equal(tarn_frame_decode(&frame, positions, velocities, 255), TARN_E_SPACE);
}

/// A change to a good frame, and what it must give.
typedef struct damage {
    const char *what;
    size_t offset;
    const char *bytes;
    size_t byte_count;
    tarn_status status;
} damage;

#define DAMAGE(what, offset, bytes, status)                                                                            \
    {                                                                                                                  \
        what, offset, bytes, sizeof bytes - 1, status                                                                  \
    }

/// Changes to a good frame of six tiles.
static const damage frame_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("magic", 0, "TRNG", TARN_E_MALFORMED),
    DAMAGE("version 2", 4, "\2\0", TARN_E_VERSION),
    DAMAGE("version 0", 4, "\0\0", TARN_E_VERSION),
    DAMAGE("header of 128 bytes", 6, "\x80\0", TARN_E_MALFORMED),
    DAMAGE("header of 137 bytes", 6, "\x89\0", TARN_E_MALFORMED),
    DAMAGE("header of 1032 bytes", 6, "\x08\4", TARN_E_LIMIT),
    DAMAGE("frame_bytes 0", 8, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("frame_bytes 2^32 - 1", 8, "\xff\xff\xff\xff", TARN_E_TRUNCATED),
    DAMAGE("delta frame", 12, "\1", TARN_E_VERSION),
    DAMAGE("9 position bits", 13, "\x09", TARN_E_VERSION),
    DAMAGE("no layers", 14, "\0", TARN_E_VERSION),
    DAMAGE("two layers", 14, "\2", TARN_E_VERSION),
    DAMAGE("8 velocity nodes", 15, "\x08", TARN_E_VERSION),
    DAMAGE("reserved flag", 16, "\2", TARN_E_MALFORMED),
    DAMAGE("highest reserved flag", 19, "\x80", TARN_E_MALFORMED),
    DAMAGE("paused", 16, "\1", TARN_OK),
    DAMAGE("step 2^53", 24, "\0\0\0\0\0\0\x20\0", TARN_E_LIMIT),
    DAMAGE("step 2^53 - 1", 24, "\xff\xff\xff\xff\xff\xff\x1f\0", TARN_OK),
    DAMAGE("sim_time_s NaN", 32, "\0\0\0\0\0\0\xf8\x7f", TARN_E_MALFORMED),
    DAMAGE("sim_time_s -1", 32, "\0\0\0\0\0\0\xf0\xbf", TARN_E_MALFORMED),
    DAMAGE("sim_time_s infinite", 32, "\0\0\0\0\0\0\xf0\x7f", TARN_E_MALFORMED),
    DAMAGE("server_time_us 2^53", 40, "\0\0\0\0\0\0\x20\0", TARN_E_LIMIT),
    DAMAGE("realtime_factor -1", 48, "\0\0\x80\xbf", TARN_E_MALFORMED),
    DAMAGE("realtime_factor infinite", 48, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("one particle more than the tiles have", 52, "\x96\0\0\0", TARN_E_MALFORMED),
    DAMAGE("one particle less than the tiles have", 52, "\x94\0\0\0", TARN_E_MALFORMED),
    DAMAGE("2^24 + 1 particles", 52, "\1\0\0\1", TARN_E_LIMIT),
    DAMAGE("2^20 + 1 tiles", 56, "\1\0\x10\0", TARN_E_LIMIT),
    DAMAGE("2^20 tiles", 56, "\0\0\x10\0", TARN_E_MALFORMED),
    DAMAGE("a tile less", 56, "\5\0\0\0", TARN_E_MALFORMED),
    DAMAGE("65 inputs", 60, "\x41\0\0\0", TARN_E_LIMIT),
    DAMAGE("2^32 - 1 inputs", 60, "\xff\xff\xff\xff", TARN_E_LIMIT),
    DAMAGE("no cells", 64, "\0\0", TARN_E_MALFORMED),
    DAMAGE("2049 cells", 66, "\1\x08", TARN_E_LIMIT),
    DAMAGE("tiles of 16 cells", 70, "\4", TARN_E_VERSION),
    DAMAGE("tile table of 24 bytes an entry", 71, "\x18", TARN_E_VERSION),
    DAMAGE("cell_m 0", 72, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("cell_m NaN", 72, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("orientation too long", 76, "\0\0\x80\x3f", TARN_E_MALFORMED),
    DAMAGE("orientation NaN", 88, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("gravity NaN", 96, "\0\0\xc0\xff", TARN_E_MALFORMED),
    DAMAGE("gravity infinite", 100, "\0\0\x80\xff", TARN_E_MALFORMED),
    DAMAGE("velocity_scale_m_s -1", 104, "\0\0\x80\xbf", TARN_E_MALFORMED),
    DAMAGE("first reserved byte", 108, "\1", TARN_E_MALFORMED),
    DAMAGE("last reserved byte", 119, "\1", TARN_E_MALFORMED),
    DAMAGE("a body without room for it", 120, "\1", TARN_E_MALFORMED),
    DAMAGE("17 bodies", 120, "\x11", TARN_E_LIMIT),
    DAMAGE("2^32 - 1 bodies", 120, "\xff\xff\xff\xff", TARN_E_LIMIT),
    DAMAGE("first unused byte", 124, "\1", TARN_OK),
    DAMAGE("last unused byte", 135, "\xff", TARN_OK),
    DAMAGE("header that takes the input table for more of itself", 6, "\x90\0", TARN_E_MALFORMED),
    // The tile table begins at 136 + 3 * 8 = 160.
    DAMAGE("tile outside along x", 160, "\3", TARN_E_MALFORMED),
    DAMAGE("tile outside along y", 162, "\3", TARN_E_MALFORMED),
    DAMAGE("last tile outside along z", 160 + 5 * 16 + 4, "\5", TARN_E_MALFORMED),
    DAMAGE("second tile at the first one's place", 176, "\0", TARN_E_MALFORMED),
    DAMAGE("third tile before the second", 192 + 2, "\0", TARN_E_MALFORMED),
    DAMAGE("layer 1", 166, "\1", TARN_E_MALFORMED),
    DAMAGE("coding 2", 167, "\2", TARN_E_VERSION),
    DAMAGE("coding 255", 167, "\xff", TARN_E_VERSION),
    DAMAGE("coding 1 with the payload of coding 0", 167, "\1", TARN_E_MALFORMED),
    DAMAGE("a particle more than the payload holds", 168, "\x29", TARN_E_MALFORMED),
    DAMAGE("2^32 - 1 particles in a tile", 168, "\xff\xff\xff\xff", TARN_E_MALFORMED),
    DAMAGE("payload of no bytes", 172, "\0\0", TARN_E_MALFORMED),
    DAMAGE("payload that wraps around", 172, "\xff\xff\xff\xff", TARN_E_MALFORMED),
};

/// Changes to frame-bodies-and-colours: bodies from 136 on, the tile table from 136 + 16 * 24 + 16 + 2 * 8 = 552 on, of
/// tiles of 9 and 4 particles.
static const damage body_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("a body less", 120, "\x0f", TARN_OK),
    DAMAGE("no bodies", 120, "\0", TARN_OK),
    DAMAGE("17 bodies", 120, "\x11", TARN_E_LIMIT),
    DAMAGE("header too short for its bodies", 6, "\x00\2", TARN_E_MALFORMED),
    DAMAGE("first body after the second", 136, "\x08", TARN_E_MALFORMED),
    DAMAGE("second body is the first's solid", 160, "\0", TARN_E_MALFORMED),
    DAMAGE("reserved word of the first", 138, "\1", TARN_E_MALFORMED),
    DAMAGE("reserved word of the last", 136 + 15 * 24 + 3, "\x80", TARN_E_MALFORMED),
    DAMAGE("position NaN", 140, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("position of the last infinite", 136 + 15 * 24 + 12, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("position negative", 140, "\0\0\x80\xbf", TARN_OK),
    DAMAGE("rotation of no length", 158, "\0\0", TARN_E_MALFORMED),
    DAMAGE("rotation 2 % short", 158, "\x6f\x7d", TARN_E_MALFORMED),
    DAMAGE("rotation 0.5 % short", 158, "\x5b\x7f", TARN_OK),
    DAMAGE("rotation too long", 152, "\xff\x7f", TARN_E_MALFORMED),
    DAMAGE("coding 0 with the payload of coding 1", 552 + 7, "\0", TARN_E_MALFORMED),
    DAMAGE("first tile of coding 0", 552 + 7, "\0\x09\0\0\0\xdb", TARN_E_MALFORMED),
    DAMAGE("second tile of coding 0", 568 + 7, "\0\4\0\0\0\xcc", TARN_E_MALFORMED),
    DAMAGE("a particle more than the payload holds", 552 + 8, "\x0a", TARN_E_MALFORMED),
    DAMAGE("payload a byte short", 552 + 12, "\xe3", TARN_E_MALFORMED),
};
#undef DAMAGE

static void refuse_damages(const golden_frame *frame, const damage *damages, size_t damage_count)
{
    uint8_t good[BYTES_MAX], bytes[BYTES_MAX];
    size_t byte_count = golden_frame_encode(frame, good, sizeof good);
    assert_true(byte_count > 0);
    for (size_t i = 0; i < damage_count; i++) {
        memcpy(bytes, good, byte_count);
        memcpy(bytes + damages[i].offset, damages[i].bytes, damages[i].byte_count);
        tarn_status status = test_decode_frame(bytes, byte_count);
        if (status != damages[i].status) {
            fail_msg("%s, %s: %s instead of %s", frame->name, damages[i].what, tarn_status_name(status),
                     tarn_status_name(damages[i].status));
        }
    }
}

static void damaged_frames_are_refused_with_their_status(void **context)
{
    (void)context;
    refuse_damages(&golden_frames[3], frame_damages, sizeof frame_damages / sizeof frame_damages[0]);
    refuse_damages(&golden_frames[8], body_damages, sizeof body_damages / sizeof body_damages[0]);
}

/// A frame whose tiles have different codings and whose sums are right all the same.
static void codings_are_not_mixed(void **context)
{
    (void)context;
    int8_t grid[TARN_FRAME_VELOCITY_BYTES] = {0};
    uint8_t column[4] = {0}, bytes[1024];
    tarn_frame_tile tiles[2] = {
        {.coding = 1, .particle_count = 4, .payload_bytes = 208},
        {.tile = {1, 0, 0}, .coding = 1, .particle_count = 3, .payload_bytes = 204},
    };
    tarn_frame_header header = {.frame_bytes = 168 + 208 + 204,
                                .particle_count = 7,
                                .tile_count = 2,
                                .cells = {16, 8, 8},
                                .position_bits = 8,
                                .layer_count = 1,
                                .cell_m = 1.0f,
                                .orientation = {0, 0, 0, 1}};
    tarn_frame frame;
    assert_int_equal(tarn_frame_write_head(&header, NULL, tiles, bytes, sizeof bytes), TARN_OK);
    assert_int_equal(tarn_frame_write_payload(grid, column, column, column, column, 4, bytes + 168, 208), TARN_OK);
    assert_int_equal(tarn_frame_write_payload(grid, column, column, column, column, 3, bytes + 376, 204), TARN_OK);
    assert_int_equal(tarn_frame_open(bytes, header.frame_bytes, &frame), TARN_OK);
    assert_int_equal(frame.has_colours, 1);
    // The second as four particles of coding 0: 192 + 3 * 4 = 204.
    tiles[1].coding = 0;
    tiles[1].particle_count = 4;
    header.particle_count = 8;
    assert_int_equal(tarn_frame_write_head(&header, NULL, tiles, bytes, sizeof bytes), TARN_E_ARGUMENT);
    bytes[52] = 8;
    bytes[152 + 7] = 0;
    bytes[152 + 8] = 4;
    assert_int_equal(tarn_frame_open(bytes, header.frame_bytes, &frame), TARN_E_MALFORMED);
}

static void bodies_are_read_as_they_were_written(void **context)
{
    (void)context;
    uint8_t bytes[BYTES_MAX];
    tarn_frame frame;
    size_t byte_count = golden_frame_encode(&golden_frames[6], bytes, sizeof bytes);
    assert_int_equal(tarn_frame_open(bytes, byte_count, &frame), TARN_OK);
    const tarn_frame_body *bodies = frame.header.bodies;
    assert_int_equal(frame.header.body_count, 3);
    assert_int_equal(bodies[0].solid, 0);
    assert_int_equal(bodies[1].solid, 7);
    assert_int_equal(bodies[2].solid, 10);
    assert_true(bodies[1].position_m[0] == -0.25f && bodies[1].position_m[1] == 1e3f);
    assert_int_equal(bodies[0].rotation[3], 32767);
    assert_int_equal(bodies[1].rotation[0], -32767);
    assert_int_equal(bytes[6], 136 + 3 * 24);
    assert_int_equal(bodies[3].solid, 0); // behind the last nothing is left of anything
    assert_int_equal(bodies[3].rotation[3], 0);
}

static void a_failed_open_leaves_the_frame_alone(void **context)
{
    (void)context;
    tarn_frame frame, before;
    memset(&frame, 0x5a, sizeof frame);
    memcpy(&before, &frame, sizeof frame);
    uint8_t bytes[BYTES_MAX];
    size_t byte_count = golden_frame_encode(&golden_frames[3], bytes, sizeof bytes);
    bytes[167] = 2;
    assert_int_equal(tarn_frame_open(bytes, byte_count, &frame), TARN_E_VERSION);
    assert_memory_equal(&frame, &before, sizeof frame);
}

static void the_writer_refuses_what_would_not_open(void **context)
{
    (void)context;
    uint8_t bytes[256];
    tarn_frame_tile good_tile = {.particle_count = 2, .payload_bytes = 198}, tile = good_tile;
    tarn_frame_header good = {.frame_bytes = 136 + 16 + 198,
                              .particle_count = 2,
                              .tile_count = 1,
                              .cells = {8, 8, 8},
                              .position_bits = 8,
                              .layer_count = 1,
                              .cell_m = 0.1f,
                              .orientation = {0, 0, 0, 1}};
    tarn_frame_header header = good;
    assert_int_equal(tarn_frame_write_head(&header, NULL, &tile, bytes, 152), TARN_OK);
    assert_int_equal(tarn_frame_write_head(&header, NULL, &tile, bytes, 151), TARN_E_SPACE);
#define REFUSED(change)                                                                                                \
    header = good;                                                                                                     \
    tile = good_tile;                                                                                                  \
    change;                                                                                                            \
    assert_int_equal(tarn_frame_write_head(&header, NULL, &tile, bytes, sizeof bytes), TARN_E_ARGUMENT)
    REFUSED(header.frame_bytes++);
    REFUSED(header.frame_bytes = 0);
    REFUSED(header.particle_count++);
    REFUSED(header.kind = TARN_FRAME_DELTA);
    REFUSED(header.flags = 2);
    REFUSED(header.cells[1] = 0);
    REFUSED(header.cell_m = 0);
    REFUSED(header.orientation[3] = 0);
    REFUSED(header.step = TARN_FRAME_INTEGER_MAX + 1);
    REFUSED(header.tile_count = 0);
    REFUSED(tile.tile[0] = 1);
    REFUSED(tile.layer = 1);
    REFUSED(tile.coding = 1);
    REFUSED(tile.coding = 2);
    REFUSED(header.body_count = 1);
    REFUSED(header.body_count = TARN_FRAME_BODIES_MAX + 1);
    REFUSED(tile.payload_bytes--);
#undef REFUSED
}

static void sizes_are_what_the_specification_says(void **context)
{
    (void)context;
    const tarn_frame_coding raw = TARN_FRAME_CODING_RAW, colours = TARN_FRAME_CODING_COLOURS;
    const uint32_t most = TARN_FRAME_PARTICLES_MAX;
    assert_int_equal(tarn_frame_head_bytes(0, 0, 0), 136);
    assert_int_equal(tarn_frame_head_bytes(0, 3, 6), 136 + 24 + 96);
    assert_int_equal(tarn_frame_head_bytes(16, 3, 6), 136 + 384 + 24 + 96);
    assert_int_equal(tarn_frame_payload_bytes(raw, 0), 192);
    assert_int_equal(tarn_frame_payload_bytes(raw, most), 192 + 3 * (size_t)most);
    assert_int_equal(tarn_frame_payload_bytes(colours, 0), 192);
    assert_int_equal(tarn_frame_payload_bytes(colours, most), 192 + 4 * (size_t)most);
    assert_int_equal(tarn_frame_bound(raw, 3, 6, 149), 136 + 384 + 24 + 96 + 6 * 192 + 3 * 149);
    assert_int_equal(tarn_frame_bound(colours, 3, 6, 149), 136 + 384 + 24 + 96 + 6 * 192 + 4 * 149);
    int8_t grid[TARN_FRAME_VELOCITY_BYTES] = {0};
    uint8_t one[1] = {0}, bytes[196];
    assert_int_equal(tarn_frame_write_payload(grid, one, one, one, NULL, 1, bytes, 195), TARN_OK);
    assert_int_equal(tarn_frame_write_payload(grid, one, one, one, NULL, 1, bytes, 194), TARN_E_SPACE);
    assert_int_equal(tarn_frame_write_payload(grid, one, one, one, one, 1, bytes, 196), TARN_OK);
    assert_int_equal(tarn_frame_write_payload(grid, one, one, one, one, 1, bytes, 195), TARN_E_SPACE);
}

static void every_status_has_a_name_and_a_text(void **context)
{
    (void)context;
    assert_string_equal(tarn_status_name(TARN_E_LIMIT), "TARN_E_LIMIT");
    assert_string_equal(tarn_status_text(TARN_OK), "success");
    assert_non_null(tarn_status_name((tarn_status)-1000));
    assert_non_null(tarn_status_text((tarn_status)1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_follows_the_formula_of_the_specification),
        cmocka_unit_test(a_uniform_grid_gives_its_value_everywhere),
        cmocka_unit_test(a_linear_grid_is_interpolated_linearly_and_clamped_at_the_border),
        cmocka_unit_test(decoding_refuses_arrays_that_are_too_small),
        cmocka_unit_test(damaged_frames_are_refused_with_their_status),
        cmocka_unit_test(codings_are_not_mixed),
        cmocka_unit_test(bodies_are_read_as_they_were_written),
        cmocka_unit_test(a_failed_open_leaves_the_frame_alone),
        cmocka_unit_test(the_writer_refuses_what_would_not_open),
        cmocka_unit_test(sizes_are_what_the_specification_says),
        cmocka_unit_test(every_status_has_a_name_and_a_text),
    };
    return cmocka_run_group_tests_name("protocol frames", tests, NULL, NULL);
}
