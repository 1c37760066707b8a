// Streams that are none: what is refused with which status, in heads and in sections, and that the next key frame is
// decoded as if nothing had been.
#include "protocol/stream_layout.h"
#include "tests/protocol/golden_streams.h"
#include "tests/protocol/golden_vectors.h"
#include "tests/protocol/stream_receiver.h"
#include "tests/protocol/stream_swarm.h"
#include "tests/protocol/stream_text.h"
#include "tests/protocol/test_support.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES_MAX = 4096, SLOTS_MAX = 70000 };

static tarn_code_tables tables;

// --------------------------------------------------------------------------------------------------------------- heads

/// A change to a good frame, and what it must give.
typedef struct head_damage {
    const char *what;
    size_t offset;
    const char *bytes;
    size_t byte_count;
    tarn_status status;
} head_damage;

#define DAMAGE(what, offset, bytes, status)                                                                            \
    {                                                                                                                  \
        what, offset, bytes, sizeof bytes - 1, status                                                                  \
    }

/// Changes to the second frame of stream-bodies: a base frame, bodies from 136 on, inputs from 184 on, the layer table
/// from 208 on, of 20 slots and particles, slots_max 20.
static const head_damage head_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("magic", 0, "TRNG", TARN_E_MALFORMED),
    DAMAGE("version 1", 4, "\1\0", TARN_E_VERSION),
    DAMAGE("version 2", 4, "\2\0", TARN_OK),
    DAMAGE("version 4 without a channel", 4, "\4\0", TARN_E_MALFORMED),
    DAMAGE("version 6", 4, "\6\0", TARN_E_VERSION),
    DAMAGE("header of 128 bytes", 6, "\x80\0", TARN_E_MALFORMED),
    DAMAGE("header of 185 bytes", 6, "\xb9\0", TARN_E_MALFORMED),
    DAMAGE("header too short for its bodies", 6, "\xb0\0", TARN_E_MALFORMED),
    DAMAGE("header of 1032 bytes", 6, "\x08\4", TARN_E_LIMIT),
    DAMAGE("header longer than the frame", 6, "\x00\4", TARN_E_TRUNCATED),
    DAMAGE("frame_bytes 0", 8, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("frame_bytes 2^32 - 1", 8, "\xff\xff\xff\xff", TARN_E_MALFORMED),
    DAMAGE("kind 3", 12, "\3", TARN_E_VERSION),
    DAMAGE("kind 255", 12, "\xff", TARN_E_VERSION),
    DAMAGE("key frame that has a reference", 12, "\0", TARN_E_MALFORMED),
    DAMAGE("8 place bits", 13, "\x08", TARN_E_MALFORMED),
    DAMAGE("no layers", 14, "\0", TARN_E_MALFORMED),
    DAMAGE("nine layers", 14, "\x09", TARN_E_LIMIT),
    DAMAGE("tiles of 16 cells", 15, "\4", TARN_E_VERSION),
    DAMAGE("reserved flag", 16, "\4", TARN_E_MALFORMED),
    DAMAGE("highest reserved flag", 19, "\x80", TARN_E_MALFORMED),
    DAMAGE("paused", 16, "\1", TARN_OK),
    DAMAGE("colours of a chain that has none", 16, "\2", TARN_E_STATE),
    DAMAGE("another epoch", 20, "\x08", TARN_E_STATE),
    DAMAGE("step 2^53", 24, "\0\0\0\0\0\0\x20\0", TARN_E_LIMIT),
    DAMAGE("step 2^53 - 1", 24, "\xff\xff\xff\xff\xff\xff\x1f\0", TARN_OK),
    DAMAGE("sim_time_s NaN", 32, "\0\0\0\0\0\0\xf8\x7f", TARN_E_MALFORMED),
    DAMAGE("sim_time_s -1", 32, "\0\0\0\0\0\0\xf0\xbf", TARN_E_MALFORMED),
    DAMAGE("sim_time_s infinite", 32, "\0\0\0\0\0\0\xf0\x7f", TARN_E_MALFORMED),
    DAMAGE("server_time_us 2^53", 40, "\0\0\0\0\0\0\x20\0", TARN_E_LIMIT),
    DAMAGE("realtime_factor -1", 48, "\0\0\x80\xbf", TARN_E_MALFORMED),
    DAMAGE("realtime_factor infinite", 48, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("another number", 52, "\x63", TARN_OK),
    DAMAGE("its own reference", 56, "\2", TARN_E_MALFORMED),
    DAMAGE("a reference that never was", 56, "\x63", TARN_E_STATE),
    DAMAGE("no cells", 64, "\0\0", TARN_E_MALFORMED),
    DAMAGE("2049 cells", 66, "\1\x08", TARN_E_LIMIT),
    DAMAGE("2049 cells, and none", 64, "\1\x08\0\0", TARN_E_MALFORMED),
    DAMAGE("another tank", 64, "\7", TARN_E_STATE),
    DAMAGE("65 inputs", 70, "\x41\0", TARN_E_LIMIT),
    DAMAGE("2^16 - 1 inputs", 70, "\xff\xff", TARN_E_LIMIT),
    DAMAGE("64 inputs", 70, "\x40\0", TARN_E_TRUNCATED),
    DAMAGE("cell_m 0", 72, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("cell_m -1", 72, "\0\0\x80\xbf", TARN_E_MALFORMED),
    DAMAGE("cell_m NaN", 72, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("orientation too long", 76, "\0\0\x80\x3f", TARN_E_MALFORMED),
    DAMAGE("orientation NaN", 88, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("gravity NaN", 96, "\0\0\xc0\xff", TARN_E_MALFORMED),
    DAMAGE("gravity infinite", 100, "\0\0\x80\xff", TARN_E_MALFORMED),
    DAMAGE("interval_s -1", 104, "\0\0\x80\xbf", TARN_E_MALFORMED),
    DAMAGE("interval_s NaN", 104, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("more flow_tiles than flow_tiles_max", 108, "\2", TARN_E_MALFORMED),
    DAMAGE("more flow_tiles than the key frame promised", 108, "\2\0\0\0", TARN_E_MALFORMED),
    DAMAGE("flow_bytes 2^32 - 1", 112, "\xff\xff\xff\xff", TARN_E_TRUNCATED),
    DAMAGE("flow_bytes 0", 112, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("2^20 + 1 flow tiles", 116, "\1\0\x10\0", TARN_E_LIMIT),
    DAMAGE("2^20 flow tiles", 116, "\0\0\x10\0", TARN_OK),
    DAMAGE("17 bodies", 120, "\x11", TARN_E_LIMIT),
    DAMAGE("2^32 - 1 bodies", 120, "\xff\xff\xff\xff", TARN_E_LIMIT),
    DAMAGE("three bodies without room for the third", 120, "\3", TARN_E_MALFORMED),
    DAMAGE("a body less", 120, "\1", TARN_OK),
    DAMAGE("residual_step", 124, "\1\x40", TARN_E_MALFORMED),
    DAMAGE("a channel in version 3", 127, "\1", TARN_E_MALFORMED),
    DAMAGE("first unused byte", 128, "\1", TARN_OK),
    DAMAGE("last unused byte", 135, "\xff", TARN_OK),
    DAMAGE("first body after the second", 136, "\x08", TARN_E_MALFORMED),
    DAMAGE("second body is the first's solid", 160, "\0", TARN_E_MALFORMED),
    DAMAGE("reserved word of the first", 138, "\1", TARN_E_MALFORMED),
    DAMAGE("reserved word of the second", 163, "\x80", TARN_E_MALFORMED),
    DAMAGE("position NaN", 140, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("position infinite", 144, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("position negative", 140, "\0\0\x80\xbf", TARN_OK),
    DAMAGE("rotation of no length", 152, "\0\0\0\0\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("rotation too long", 158, "\xff\x7f", TARN_E_MALFORMED),
    DAMAGE("layer of more bytes than are there", 208, "\xff\xff\xff\xff", TARN_E_MALFORMED),
    DAMAGE("layer of no bytes", 208, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("more particles than slots", 216, "\x15", TARN_E_MALFORMED),
    DAMAGE("another number of particles", 216, "\x13", TARN_E_MALFORMED),
    DAMAGE("more slots than slots_max", 220, "\x13", TARN_E_MALFORMED),
    DAMAGE("more slots_max than particles of a frame", 220, "\1\0\0\1", TARN_E_LIMIT),
    DAMAGE("as many slots_max as particles of a frame", 220, "\0\0\0\1", TARN_OK),
};

/// Changes to the first frame of stream-layers, a key frame without bodies and inputs whose layer table begins at 136.
static const head_damage key_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("a base frame that is its own reference", 12, "\1", TARN_E_MALFORMED),
    DAMAGE("an extra frame that is its own reference", 12, "\2", TARN_E_MALFORMED),
    DAMAGE("dead particles in a key frame", 144, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("slots_max that add up to more than the particles of a frame", 148, "\0\0\0\1", TARN_E_LIMIT),
    DAMAGE("slots_max that wrap around", 148, "\xff\xff\xff\xff", TARN_E_LIMIT),
};
/// Changes to the second frame of stream-levels, a base frame that carries channel 5.
static const head_damage level_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("version 3", 4, "\3\0", TARN_E_MALFORMED),
    DAMAGE("no channel", 127, "\0", TARN_E_MALFORMED),
    DAMAGE("another channel", 127, "\x08", TARN_OK),
    DAMAGE("channel 9", 127, "\x09", TARN_E_LIMIT),
    DAMAGE("channel_low NaN", 128, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("channel_high infinite", 132, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("channel_high below channel_low", 132, "\0\0\x80\xff", TARN_E_MALFORMED),
    DAMAGE("channel_high as channel_low", 132, "\0\0\x48\xc1", TARN_OK),
};

/// Changes to the first frame of stream-field, a key frame whose header, with a body, has 160 bytes; behind two layers'
/// entries there is the field's, at 192.
static const head_damage field_damages[] = {
    DAMAGE("nothing", 0, "", TARN_OK),
    DAMAGE("version 6", 4, "\6\0", TARN_E_VERSION),
    DAMAGE("version 4", 4, "\4\0", TARN_E_MALFORMED),
    DAMAGE("version 3", 4, "\3\0", TARN_E_MALFORMED),
    DAMAGE("no field", 192, "\0", TARN_E_MALFORMED),
    DAMAGE("another field", 192, "\x08", TARN_OK),
    DAMAGE("field 9", 192, "\x09", TARN_E_LIMIT),
    DAMAGE("another rest", 193, "\xff", TARN_OK),
    DAMAGE("is_kinds", 194, "\2", TARN_E_MALFORMED),
    DAMAGE("is_kinds, above", 195, "\1", TARN_E_MALFORMED),
    DAMAGE("no tile promised", 204, "\0\0\0\0\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("field_low NaN", 196, "\0\0\xc0\x7f", TARN_E_MALFORMED),
    DAMAGE("field_high infinite", 200, "\0\0\x80\x7f", TARN_E_MALFORMED),
    DAMAGE("field_high below field_low", 200, "\0\0\x80\xff", TARN_E_MALFORMED),
    DAMAGE("more tiles than promised", 204, "\x0d", TARN_E_MALFORMED),
    DAMAGE("fewer tiles", 204, "\1", TARN_E_MALFORMED),
    DAMAGE("a promise of too many tiles", 208, "\1\0\2\0", TARN_E_LIMIT),
    DAMAGE("a promise of more than there is room for", 208, "\0\0\2\0", TARN_E_SPACE),
    DAMAGE("no coarse part", 212, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("a coarse part beyond the end", 212, "\xff\xff\xff\xff", TARN_E_TRUNCATED),
    DAMAGE("no fine part", 216, "\0\0\0\0", TARN_E_MALFORMED),
    DAMAGE("a fine part beyond the end", 216, "\xff\xff\xff\xff", TARN_E_MALFORMED),
};
#undef DAMAGE

/// Frame `number` of a golden sequence.
static size_t golden_frame_of(const golden_vector *vector, int number, const uint8_t **frame)
{
    size_t used = 0, frame_bytes = 0;
    for (int i = 0; i <= number; i++) {
        *frame = golden_stream_next(vector->bytes, vector->byte_count, &used, &frame_bytes);
    }
    assert_non_null(*frame);
    return frame_bytes;
}

static void find_golden(const char *name, golden_vector *vector)
{
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, vector));
        if (strcmp(vector->name, name) == 0) {
            return;
        }
    }
    fail_msg("no golden vector is named %s", name);
}

/// Takes the frames before number `at`, which must be good.
static void take_before(stream_receiver *receiver, const golden_vector *vector, int at)
{
    const uint8_t *frame;
    for (int i = 0; i < at; i++) {
        const size_t frame_bytes = golden_frame_of(vector, i, &frame);
        assert_int_equal(stream_receiver_take(receiver, frame, frame_bytes), TARN_OK);
    }
}

static void refuse_head_damages(const char *name, int number, const head_damage *damages, size_t damage_count)
{
    static golden_vector vector;
    find_golden(name, &vector);
    const uint8_t *key, *frame;
    const size_t key_bytes = golden_frame_of(&vector, 0, &key), frame_bytes = golden_frame_of(&vector, number, &frame);
    uint8_t *bytes = malloc(frame_bytes);
    stream_receiver receiver;
    assert_true(stream_receiver_make_for(&receiver, key, key_bytes));
    for (size_t i = 0; i < damage_count; i++) {
        memcpy(bytes, frame, frame_bytes);
        memcpy(bytes + damages[i].offset, damages[i].bytes, damages[i].byte_count);
        take_before(&receiver, &vector, number);
        const tarn_status status = stream_receiver_take(&receiver, bytes, frame_bytes);
        if (status != damages[i].status) {
            fail_msg("%s, %s: %s instead of %s", name, damages[i].what, tarn_status_name(status),
                     tarn_status_name(damages[i].status));
        }
        assert_int_equal(stream_receiver_take(&receiver, key, key_bytes), TARN_OK);
    }
    stream_receiver_free(&receiver);
    free(bytes);
}

static void damaged_heads_are_refused_with_their_status(void **context)
{
    (void)context;
    refuse_head_damages("stream-bodies", 1, head_damages, sizeof head_damages / sizeof *head_damages);
    refuse_head_damages("stream-layers", 0, key_damages, sizeof key_damages / sizeof *key_damages);
    refuse_head_damages("stream-levels", 1, level_damages, sizeof level_damages / sizeof *level_damages);
    refuse_head_damages("stream-field", 0, field_damages, sizeof field_damages / sizeof *field_damages);
}

static void the_writer_refuses_what_would_not_open(void **context)
{
    (void)context;
    uint8_t bytes[512];
    tarn_stream_head good = stream_model_head(8, 8, 8, 5, 2, 10, 1), head;
    good.frame_bytes = 136 + 32;
    assert_int_equal(tarn_stream_write_head(&good, NULL, bytes, 168), TARN_OK);
    assert_int_equal(tarn_stream_write_head(&good, NULL, bytes, 167), TARN_E_SPACE);
#define REFUSED(change)                                                                                                \
    head = good;                                                                                                       \
    change;                                                                                                            \
    assert_int_equal(tarn_stream_write_head(&head, NULL, bytes, sizeof bytes), TARN_E_ARGUMENT)
    REFUSED(head.frame_bytes++);
    REFUSED(head.flow_bytes++);
    REFUSED(head.layers[1].bytes++);
    REFUSED(head.kind = 3);
    REFUSED(head.reference = 1);
    REFUSED(head.place_bits = 8);
    REFUSED(head.layer_count = 0);
    REFUSED(head.layer_count = TARN_STREAM_LAYERS_MAX + 1);
    REFUSED(head.flags = 4);
    REFUSED(head.cells[2] = 0);
    REFUSED(head.cell_m = 0);
    REFUSED(head.interval_s = -1);
    REFUSED(head.orientation[3] = 0);
    REFUSED(head.step = TARN_FRAME_INTEGER_MAX + 1);
    REFUSED(head.flow_tiles = 2);
    REFUSED(head.layers[0].slots = 1);
    REFUSED(head.layers[0].slots = head.layers[0].particles = 11);
    REFUSED(head.input_count = TARN_FRAME_INPUTS_MAX + 1);
    REFUSED(head.body_count = 1);
    REFUSED(head.body_count = TARN_FRAME_BODIES_MAX + 1);
#undef REFUSED
}

static void what_version_3_added_is_reserved_in_version_2(void **context)
{
    (void)context;
    static golden_vector vector;
    tarn_stream_frame frame;
    const uint8_t *bytes;
    find_golden("stream-bodies", &vector);
    const size_t frame_bytes = golden_frame_of(&vector, 1, &bytes);
    uint8_t *changed = malloc(frame_bytes);
    memcpy(changed, bytes, frame_bytes);
    put_u16(changed + STREAM_AT_VERSION, 2);
    for (int at = STREAM_AT_RESIDUAL_STEP; at < STREAM_AT_CHANNEL_LOW; at++) {
        changed[at] = 1;
        assert_int_equal(tarn_stream_open(changed, frame_bytes, &frame), TARN_E_MALFORMED);
        changed[at] = 0;
    }
    assert_int_equal(tarn_stream_open(changed, frame_bytes, &frame), TARN_OK);
    free(changed);
}

static void a_failed_open_leaves_the_frame_alone(void **context)
{
    (void)context;
    static golden_vector vector;
    const uint8_t *key;
    tarn_stream_frame frame, before;
    find_golden("stream-key", &vector);
    const size_t byte_count = golden_frame_of(&vector, 0, &key);
    memset(&frame, 0x5a, sizeof frame);
    memcpy(&before, &frame, sizeof frame);
    assert_int_equal(tarn_stream_open(key, byte_count - 1, &frame), TARN_E_TRUNCATED);
    assert_memory_equal(&frame, &before, sizeof frame);
}

// ------------------------------------------------------------------------------------------------------------ sections

/// A frame of one layer in a tank of 12 x 8 x 8 cells, two tiles, 2 place bits, behind a good key frame with two
/// particles in the tank's first cell. Sections are texts: stream_text.h.
typedef struct section_case {
    const char *what;
    char kind; ///< k, b, e; in capitals: with colours, and so is its key frame
    uint32_t slots, particles;
    const char *layer;
    uint32_t flow_tiles;
    const char *flow;
    tarn_status status;
} section_case;

#define TILE " s15:1 s13:1*63 r24:0 r25:0*511;"

static const section_case key_cases[] = {
    {"two particles", 'k', 2, 2, "c1 g0 c2; n0:2 h2:1 b5:0 b5:31;", 0, ";", TARN_OK},
    {"none", 'k', 0, 0, "c0;", 0, ";", TARN_OK},
    {"none, and no section", 'k', 0, 0, "", 0, ";", TARN_OK},
    {"a tile without particles", 'k', 2, 2, "c2 g0 c0 g0 c2; ; n0:2 h2:1 b5:0 b5:31;", 0, ";", TARN_OK},
    {"one in each tile", 'k', 2, 2, "c2 g0 c1 g0 c1; n0:1 b6:9; n0:1 b6:9;", 0, ";", TARN_OK},
    {"no section for one particle", 'k', 1, 1, "", 0, ";", TARN_E_MALFORMED},
    {"more tiles than the tank's", 'k', 3, 3, "c3 g0 c1 g0 c1 g0 c1; n0:1 b6:9; n0:1 b6:9; n0:1 b6:9;", 0, ";",
     TARN_E_MALFORMED},
    {"more tiles than particles", 'k', 1, 1, "c2 g0 c1 g0 c1; n0:1 b6:9; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"a tile behind the last", 'k', 1, 1, "c1 g2 c1; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"a tile far behind the last", 'k', 1, 1, "c1 g16777215 c1; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"a second tile behind the last", 'k', 2, 2, "c2 g0 c1 g1 c1; n0:1 b6:9; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"more particles in a tile than there are", 'k', 1, 1, "c1 g0 c2; n0:2 h2:1 b5:0 b5:31;", 0, ";", TARN_E_MALFORMED},
    {"fewer particles than there are", 'k', 2, 2, "c1 g0 c1; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"2^16 particles in a place", 'k', 65536, 65536, "c1 g0 c65536; n0:15 b5:15 b15:32754 b17:65536*6;", 0, ";",
     TARN_OK},
    {"2^16 + 1 particles in a tile", 'k', 65537, 65537, "c1 g0 c65537; n0:15 b5:15 b15:32755 b17:65537*6;", 0, ";",
     TARN_E_MALFORMED},
    {"a list that isn't whole", 'k', 1, 1, "c1 g0 c1 b1:1; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"no list", 'k', 1, 1, "x3", 0, ";", TARN_E_MALFORMED},
    {"no set", 'k', 1, 1, "c1 g0 c1;", 0, ";", TARN_E_MALFORMED},
    {"a set that isn't whole", 'k', 1, 1, "c1 g0 c1; n0:1 b6:9 b2:3;", 0, ";", TARN_E_MALFORMED},
    {"a set without its last word", 'k', 1, 1, "c1 g0 c1; n0:1 b6:9; y2", 0, ";", TARN_E_MALFORMED},
    {"more particles in a cell than in the tile", 'k', 1, 1, "c1 g0 c1; n0:2 h2:1 b5:0 b5:31;", 0, ";",
     TARN_E_MALFORMED},
    {"33 particles in a cell", 'k', 33, 33, "c1 g0 c33; n0:15 b5:4 b4:3 b6:33*6;", 0, ";", TARN_OK},
    {"34 of 33 in a half", 'k', 33, 33, "c1 g0 c33; n0:15 b5:4 b4:3 b6:34*6;", 0, ";", TARN_E_MALFORMED},
    {"a count of 17 bits", 'k', 1, 1, "c1 g0 c1; n0:15 b5:17;", 0, ";", TARN_E_MALFORMED},
    {"bytes behind the sets", 'k', 1, 1, "c1 g0 c1; n0:1 b6:9; x2", 0, ";", TARN_E_MALFORMED},
    {"colours", 'K', 2, 2, "c1 g0 c2; n0:2 h2:1 b5:0 b5:31; w0:1 b8:255 w0:0;", 0, ";", TARN_OK},
    {"colours of a tank without", 'k', 1, 1, "c1 g0 c1; n0:1 b6:9; w0:0;", 0, ";", TARN_E_MALFORMED},
    {"no colours", 'K', 1, 1, "c1 g0 c1; n0:1 b6:9;", 0, ";", TARN_E_MALFORMED},
    {"colours that aren't whole", 'K', 1, 1, "c1 g0 c1; n0:1 b6:9; w0:0 b2:3;", 0, ";", TARN_E_MALFORMED},
    {"bytes behind the colours", 'K', 1, 1, "c1 g0 c1; n0:1 b6:9; w0:0; x2", 0, ";", TARN_E_MALFORMED},
};

static const section_case moved_cases[] = {
    {"nothing is left", 'b', 2, 2, "b1:0;", 0, ";", TARN_OK},
    {"a group of zeros", 'b', 2, 2, "b1:1; d0 r0:0*2;", 0, ";", TARN_OK},
    {"an extra frame", 'e', 2, 2, "b1:1; d0 r0:1 r10:0;", 0, ";", TARN_OK},
    {"a death", 'b', 2, 1, "b1:1; d1 b10:0 r0:0;", 0, ";", TARN_OK},
    {"all die", 'b', 2, 0, "b1:1; d2 b10:1 b10:0;", 0, ";", TARN_OK},
    {"one dies twice", 'b', 2, 1, "b1:1; d2 b10:1 b10:1 r0:0;", 0, ";", TARN_OK},
    {"a death that the head keeps quiet", 'b', 2, 2, "b1:1; d1 b10:0 r0:0;", 0, ";", TARN_E_MALFORMED},
    {"more deaths than slots", 'b', 2, 0, "b1:1; d3 b10:0 b10:1 b10:1;", 0, ";", TARN_E_MALFORMED},
    {"the death of a slot that isn't", 'b', 2, 2, "b1:1; d1 b10:2 r0:0*2;", 0, ";", TARN_E_MALFORMED},
    {"a death in an extra frame", 'e', 2, 1, "b1:1; d1 b10:0 r0:0;", 0, ";", TARN_E_MALFORMED},
    {"fewer slots", 'b', 1, 1, "b1:0;", 0, ";", TARN_E_MALFORMED},
    {"a birth", 'b', 3, 3, "b1:0; b6:47 b5:31 b5:0;", 0, ";", TARN_OK},
    {"a birth beyond the tank", 'b', 3, 3, "b1:0; b6:48 b5:31 b5:0;", 0, ";", TARN_E_MALFORMED},
    {"a birth in an extra frame", 'e', 3, 3, "b1:0; b6:47 b5:31 b5:0;", 0, ";", TARN_E_MALFORMED},
    {"a birth that isn't there", 'b', 3, 3, "b1:0;", 0, ";", TARN_E_MALFORMED},
    {"a birth that isn't asked for", 'b', 2, 2, "b1:0; b6:47 b5:31 b5:0;", 0, ";", TARN_E_MALFORMED},
    {"births that aren't whole", 'b', 3, 3, "b1:0; b6:47 b5:31 b5:0 b1:1;", 0, ";", TARN_E_MALFORMED},
    {"births beyond slots_max", 'b', SLOTS_MAX + 1, SLOTS_MAX + 1, "b1:0;", 0, ";", TARN_E_MALFORMED},
    {"a birth with its colour", 'B', 3, 3, "b1:0; b6:47 b5:31 b5:0 b8:200;", 0, ";", TARN_OK},
    {"a birth without its colour", 'B', 3, 3, "b1:0; b6:47 b5:31 b5:0;", 0, ";", TARN_E_MALFORMED},
    {"no flags", 'b', 2, 2, "", 0, ";", TARN_E_MALFORMED},
    {"flags that aren't whole", 'b', 2, 2, "b1:0 b1:1;", 0, ";", TARN_E_MALFORMED},
    {"a group that isn't there", 'b', 2, 2, "b1:1;", 0, ";", TARN_E_MALFORMED},
    {"a group that isn't whole", 'b', 2, 2, "b1:1; d0 r0:0*2 b1:1;", 0, ";", TARN_E_MALFORMED},
    {"a group without its last word", 'b', 2, 2, "b1:1; d0 r0:0*2; y2", 0, ";", TARN_E_MALFORMED},
    {"bytes behind the groups", 'b', 2, 2, "b1:0; x2", 0, ";", TARN_E_MALFORMED},
    {"a grid's tile", 'b', 2, 2, "b1:0;", 1, "g0;" TILE, TARN_OK},
    {"a grid of all tiles", 'b', 2, 2, "b1:0;", 2, "g0 g0;" TILE TILE, TARN_OK},
    {"a grid that says nothing", 'b', 2, 2, "b1:0;", 1, "g0; s15:0 s12:0*63;", TARN_OK},
    {"a grid of 63 rows", 'b', 2, 2, "b1:0;", 1, "g0; s15:0 s12:0*62;", TARN_E_MALFORMED},
    {"a grid of 65 rows", 'b', 2, 2, "b1:0;", 1, "g0; s15:0 s12:0*63 s12:0;", TARN_E_MALFORMED},
    {"a grid in a key frame", 'k', 0, 0, "c0;", 1, "g1;" TILE, TARN_OK},
    {"no list of tiles", 'b', 2, 2, "b1:0;", 0, "", TARN_E_MALFORMED},
    {"a tile behind the last", 'b', 2, 2, "b1:0;", 1, "g2;" TILE, TARN_E_MALFORMED},
    {"a second tile behind the last", 'b', 2, 2, "b1:0;", 2, "g1 g0;" TILE TILE, TARN_E_MALFORMED},
    {"a list of tiles that isn't whole", 'b', 2, 2, "b1:0;", 1, "g0 b1:1;" TILE, TARN_E_MALFORMED},
    {"a tile less", 'b', 2, 2, "b1:0;", 2, "g0 g0;" TILE, TARN_E_MALFORMED},
    {"a tile more", 'b', 2, 2, "b1:0;", 1, "g0;" TILE TILE, TARN_E_MALFORMED},
    {"a tile of 511 nodes", 'b', 2, 2, "b1:0;", 1, "g0; s15:1 s13:1*63 r24:0 r25:0*510;", TARN_E_MALFORMED},
    {"a tile of 513 nodes", 'b', 2, 2, "b1:0;", 1, "g0; s15:1 s13:1*63 r24:0 r25:0*512;", TARN_E_MALFORMED},
    {"a tile without its last word", 'b', 2, 2, "b1:0;", 1, "g0;" TILE " y2", TARN_E_MALFORMED},
    {"more tiles than the key frame promised", 'b', 2, 2, "b1:0;", 3, "g0 g0 g0;" TILE TILE TILE, TARN_E_MALFORMED},
};

/// Writes a frame of a case. @return its bytes
static size_t write_case(const section_case *s, uint32_t number, uint8_t bytes[FRAME_BYTES_MAX])
{
    static uint8_t flow[STREAM_TEXT_BYTES_MAX], layer[STREAM_TEXT_BYTES_MAX];
    const size_t flow_bytes = stream_text_write(&tables, s->flow, flow);
    const size_t layer_bytes = stream_text_write(&tables, s->layer, layer);
    tarn_stream_head head = stream_model_head(12, 8, 8, 2, 1, SLOTS_MAX + 1, s->flow_tiles > 2 ? s->flow_tiles : 2);
    const char kind = (char)(s->kind | 0x20);
    head.kind = kind == 'k' ? TARN_STREAM_KEY : kind == 'b' ? TARN_STREAM_BASE : TARN_STREAM_EXTRA;
    head.flags = kind != s->kind ? TARN_FRAME_FLAG_COLOURS : 0;
    head.number = number;
    head.reference = kind == 'k' ? number : number - 1;
    head.interval_steps = 1;
    head.flow_tiles = s->flow_tiles;
    head.flow_bytes = (uint32_t)flow_bytes;
    head.layers[0] = (tarn_stream_layer){(uint32_t)layer_bytes, s->slots, s->particles, SLOTS_MAX};
    if (s->slots > SLOTS_MAX) {
        head.layers[0].slots_max = s->slots; // it promises more than its key frame did
    }
    const size_t head_bytes = tarn_stream_head_bytes(&head);
    head.frame_bytes = (uint32_t)(head_bytes + flow_bytes + layer_bytes);
    assert_true(head.frame_bytes <= FRAME_BYTES_MAX);
    assert_int_equal(tarn_stream_write_head(&head, NULL, bytes, FRAME_BYTES_MAX), TARN_OK);
    memcpy(bytes + head_bytes, flow, flow_bytes);
    memcpy(bytes + head_bytes + flow_bytes, layer, layer_bytes);
    return head.frame_bytes;
}

/// A frame of the kind of a case's chain: with its colours or without.
static section_case like(const section_case *s, char kind, const char *layer, const char *with_colours)
{
    const bool has_colours = s->kind >= 'A' && s->kind <= 'Z';
    const section_case other = {
        "", (char)(kind & (has_colours ? ~0x20 : ~0)), 2, 2, has_colours ? with_colours : layer, 0, ";", TARN_OK};
    return other;
}

static void take_case(stream_receiver *receiver, const section_case *s)
{
    uint8_t bytes[FRAME_BYTES_MAX];
    const section_case key =
        like(s, 'k', "c1 g0 c2; n0:2 h2:1 b5:0 b5:31;", "c1 g0 c2; n0:2 h2:1 b5:0 b5:31; w0:1 b8:255 w0:0;");
    const section_case still = like(s, 'b', "b1:0;", "b1:0;");
    assert_int_equal(stream_receiver_take(receiver, bytes, write_case(&key, 1, bytes)), TARN_OK);
    const uint64_t expected = stream_receiver_hash(receiver);
    const tarn_status status = stream_receiver_take(receiver, bytes, write_case(s, 2, bytes));
    if (status != s->status) {
        fail_msg("%s: %s instead of %s", s->what, tarn_status_name(status), tarn_status_name(s->status));
    }
    if (status != TARN_OK) { // whatever comes now, it is the next key frame that is waited for
        for (uint32_t number = 2; number <= 3; number++) {
            assert_int_equal(stream_receiver_take(receiver, bytes, write_case(&still, number, bytes)), TARN_E_STATE);
        }
    }
    assert_int_equal(stream_receiver_take(receiver, bytes, write_case(&key, 4, bytes)), TARN_OK);
    assert_true(stream_receiver_hash(receiver) == expected);
    assert_int_equal(stream_receiver_take(receiver, bytes, write_case(&still, 5, bytes)), TARN_OK);
    assert_true(stream_receiver_hash(receiver) == expected);
}

/// A receiver that is asked for no more than the cases' key frames do, but could show more.
static void make_case_receiver(stream_receiver *receiver)
{
    const tarn_stream_size size = {.slots = SLOTS_MAX, .tiles = 2, .flow_tiles = 2};
    stream_receiver_make(receiver, &size);
    free(receiver->particles.positions);
    free(receiver->particles.velocities);
    receiver->particles.particles_max = SLOTS_MAX + 10;
    receiver->particles.positions = malloc((size_t)8 * (SLOTS_MAX + 10));
    receiver->particles.velocities = malloc((size_t)4 * (SLOTS_MAX + 10));
}

static void damaged_sections_are_refused_and_the_next_key_frame_is_taken(void **context)
{
    (void)context;
    stream_receiver receiver;
    make_case_receiver(&receiver);
    for (size_t i = 0; i < sizeof key_cases / sizeof *key_cases; i++) {
        take_case(&receiver, &key_cases[i]);
    }
    for (size_t i = 0; i < sizeof moved_cases / sizeof *moved_cases; i++) {
        take_case(&receiver, &moved_cases[i]);
    }
    stream_receiver_free(&receiver);
}

/// Takes a good case in steps of its own. @return the first particle's position
static const uint16_t *place_after(stream_receiver *receiver, uint32_t number, const section_case *s,
                                   uint16_t residual_step, uint8_t flow_step)
{
    uint8_t bytes[FRAME_BYTES_MAX];
    const size_t byte_count = write_case(s, number, bytes);
    put_u16(bytes + STREAM_AT_RESIDUAL_STEP, residual_step);
    bytes[STREAM_AT_FLOW_STEP] = flow_step;
    assert_int_equal(stream_receiver_take(receiver, bytes, byte_count), TARN_OK);
    assert_int_equal(receiver->particles.unit_bits, TARN_PLACE_BITS);
    return receiver->particles.positions;
}

static void what_leaves_the_tank_stays_at_its_walls(void **context)
{
    (void)context;
    // The second tile reaches beyond the tank by four cells: there x is 12 cells less 1/1024.
    static const section_case beyond = {"", 'k', 1, 1, "c1 g1 c1; n0:0 n1:0*5 n1:1 b6:63;", 0, ";", TARN_OK};
    // Residuals of 65552 quanta, one way and the other.
    static const section_case up = {"", 'b', 1, 1, "b1:1; d0 r0:3 e0:15 b16:65535 b1:0;", 0, ";", TARN_OK};
    static const section_case down = {"",
                                      'b',
                                      1,
                                      1,
                                      "b1:1; d0 r0:63 e0:15 b16:65535 b1:1 e0:15 b16:65535 b1:1 "
                                      "e0:15 b16:65535 b1:0;",
                                      0,
                                      ";",
                                      TARN_OK};
    // A grid whose first node along x goes as far as nodes go: 32767 quanta, and no more.
    static const section_case flow = {"",
                                      'k',
                                      1,
                                      1,
                                      "c1 g0 c1; n0:1 b6:0;",
                                      1,
                                      "g0; s15:1 s13:1*63 r24:3 e24:15 b16:65535 b1:0 r35:0 r25:0*6 "
                                      "r35:0 r25:0*55 r35:0 r25:0*447;",
                                      TARN_OK};
    stream_receiver receiver;
    make_case_receiver(&receiver);
    const uint16_t *place = place_after(&receiver, 1, &beyond, 0, 0);
    assert_int_equal(place[0], 12 * 1024 - 1);
    assert_int_equal(place[1], 3 * 256 + 128);
    for (uint32_t largest = 0; largest <= 1; largest++) { // steps of a quantum, and the largest
        const uint16_t step = largest ? TARN_STREAM_STEP_MAX : 0;
        place = place_after(&receiver, 2 + 2 * largest, &down, step, 0);
        assert_int_equal(place[0], 0);
        assert_int_equal(place[1], 0);
        assert_int_equal(place[2], 8 * 1024 - 1);
        place = place_after(&receiver, 3 + 2 * largest, &up, step, 0);
        assert_int_equal(place[0], 12 * 1024 - 1);
        assert_int_equal(place[1], 0);
    }
    for (uint32_t largest = 0; largest <= 1; largest++) {
        place_after(&receiver, 6 + largest, &flow, 0, largest ? UINT8_MAX : 0);
        tarn_flow grid;
        tarn_stream_flow(receiver.stream, &grid);
        assert_int_equal(grid.nodes[0].d[0], TARN_FLOW_MAX);
        assert_int_equal(grid.nodes[TARN_FLOW_BLOCK - 1].d[0], grid.nodes[tarn_flow_node_at(7, 7, 7)].d[0]);
    }
    stream_receiver_free(&receiver);
}

/// What a grid doesn't say is filled in: one node fills its tile, none leaves it at rest.
static void nodes_that_nothing_is_said_of_are_filled_in(void **context)
{
    (void)context;
    static const section_case one = {"",
                                     'k',
                                     1,
                                     1,
                                     "c1 g0 c1; n0:1 b6:0;",
                                     2,
                                     "g0 g0; s15:2 m35:1 m31:0 m27:0*6 s14:0 s12:0*6 s14:0 s12:0*55 r24:1;"
                                     "s15:0 s12:0*63;",
                                     TARN_OK};
    stream_receiver receiver;
    make_case_receiver(&receiver);
    place_after(&receiver, 1, &one, 0, 0);
    tarn_flow grid;
    tarn_stream_flow(receiver.stream, &grid);
    for (uint32_t n = 0; n < TARN_FLOW_NODES; n++) {
        const uint32_t at = tarn_flow_node_at(n & 7, n >> 3 & 7, n >> 6);
        assert_int_equal(grid.nodes[at].d[0], 1);
        assert_int_equal(grid.nodes[at].d[1], 0);
        assert_int_equal(grid.nodes[TARN_FLOW_BLOCK + at].d[0], 0);
    }
    stream_receiver_free(&receiver);
}

/// A flat tank has two planes of nodes: of the others none is known.
static void a_node_outside_the_tank_is_refused(void **context)
{
    (void)context;
    char flow[120];
    const section_case all = {"", 'k', 1, 1, "c1 g0 c1; n0:1 b6:0;", 1, flow, TARN_OK};
    static const section_case two = {
        "",     'k', 1, 1, "c1 g0 c1; n0:1 b6:0;", 1, "g0; s15:1 s13:1*15 s13:0 s14:0*7 s12:0*40 r24:0 r25:0*127;",
        TARN_OK};
    stream_receiver receiver;
    uint8_t bytes[FRAME_BYTES_MAX];
    make_case_receiver(&receiver);
    for (uint16_t depth = 1; depth <= 8; depth++) {
        // All nodes are known, and the values are those of the nodes inside alone.
        snprintf(flow, sizeof flow, "g0; s15:1 s13:1*63 r24:0 r25:0*%d;", depth < 7 ? 64 * (depth + 1) - 1 : 511);
        size_t byte_count = write_case(&all, depth, bytes);
        put_u16(bytes + STREAM_AT_CELLS + 4, depth);
        assert_int_equal(stream_receiver_take(&receiver, bytes, byte_count), depth < 7 ? TARN_E_MALFORMED : TARN_OK);
        byte_count = write_case(&two, depth, bytes);
        put_u16(bytes + STREAM_AT_CELLS + 4, depth);
        assert_int_equal(stream_receiver_take(&receiver, bytes, byte_count), TARN_OK);
    }
    stream_receiver_free(&receiver);
}

// ----------------------------------------------------------------------------------------------- cut and changed bytes

/// A frame may end where one of its layers does, and nowhere else.
static void every_other_truncation_is_refused(void **context)
{
    (void)context;
    static golden_vector vector;
    tarn_stream_frame frame;
    for (int i = 0; i < golden_count(); i++) {
        const uint8_t *bytes;
        size_t used = 0, frame_bytes;
        assert_true(golden_make(i, &vector));
        while (vector.kind == GOLDEN_STREAM &&
               (bytes = golden_stream_next(vector.bytes, vector.byte_count, &used, &frame_bytes)) != NULL) {
            assert_int_equal(tarn_stream_open(bytes, frame_bytes, &frame), TARN_OK);
            const tarn_stream_head head = frame.head;
            for (size_t cut = 0; cut < frame_bytes; cut++) {
                bool is_end = false;
                uint8_t *alone = malloc(cut + 1);
                memcpy(alone, bytes, cut);
                for (uint32_t layers = 0; layers < head.layer_count + (head.field.number != 0 ? 1u : 0u); layers++) {
                    is_end |= cut == tarn_stream_cut_bytes(&head, layers);
                }
                if (tarn_stream_open(alone, cut, &frame) != (is_end ? TARN_OK : TARN_E_TRUNCATED)) {
                    fail_msg("%s cut to %zu bytes", vector.name, cut);
                }
                free(alone);
            }
            assert_int_equal(tarn_stream_open(bytes, frame_bytes, &frame), TARN_OK);
            if (frame.layers_present == head.layer_count && (head.field.number == 0 || frame.fine != NULL)) {
                uint8_t *longer = calloc(1, frame_bytes + 1);
                memcpy(longer, bytes, frame_bytes);
                assert_int_equal(tarn_stream_open(longer, frame_bytes + 1, &frame), TARN_E_MALFORMED);
                free(longer);
            }
        }
    }
}

/// Changes a byte of a frame in the midst of its sequence, goes on with those behind it, and begins again.
static uint32_t change_byte(stream_receiver *receiver, const golden_vector *vector, int number, size_t at, int change)
{
    const uint8_t *frame;
    uint32_t refused;
    size_t frame_bytes = golden_frame_of(vector, number, &frame);
    uint8_t *changed = malloc(frame_bytes);
    memcpy(changed, frame, frame_bytes);
    changed[at] = (uint8_t)(changed[at] ^ change);
    take_before(receiver, vector, number);
    refused = stream_receiver_take(receiver, changed, frame_bytes) != TARN_OK;
    free(changed);
    size_t used = 0;
    for (int i = 0; (frame = golden_stream_next(vector->bytes, vector->byte_count, &used, &frame_bytes)) != NULL; i++) {
        if (i > number) {
            stream_receiver_take(receiver, frame, frame_bytes);
        }
    }
    return refused;
}

static void every_changed_byte_is_harmless(void **context)
{
    (void)context;
    static golden_vector vector;
    uint32_t changes = 0, refused = 0;
    for (int i = 0; i < golden_count(); i++) {
        assert_true(golden_make(i, &vector));
        const uint8_t *frame;
        size_t used = 0, frame_bytes;
        stream_receiver receiver = {0};
        for (int number = 0; vector.kind == GOLDEN_STREAM; number++) {
            frame = golden_stream_next(vector.bytes, vector.byte_count, &used, &frame_bytes);
            if (frame == NULL) {
                break;
            }
            if (number == 0) {
                assert_true(stream_receiver_make_for(&receiver, frame, frame_bytes));
            }
            for (size_t at = 0; at < frame_bytes; at += number < 2 && at < 220 ? 1 : 37) {
                refused += change_byte(&receiver, &vector, number, at, 1 << at % 8);
                changes++;
            }
        }
        if (receiver.memory != NULL) {
            stream_receiver_free(&receiver);
        }
    }
    print_message("%u of %u refused\n", refused, changes);
    assert_true(refused > changes / 2 && refused < changes);
}

static int make_tables(void **context)
{
    (void)context;
    tarn_code_tables_make(&tables);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_heads_are_refused_with_their_status),
        cmocka_unit_test(the_writer_refuses_what_would_not_open),
        cmocka_unit_test(what_version_3_added_is_reserved_in_version_2),
        cmocka_unit_test(a_failed_open_leaves_the_frame_alone),
        cmocka_unit_test(damaged_sections_are_refused_and_the_next_key_frame_is_taken),
        cmocka_unit_test(what_leaves_the_tank_stays_at_its_walls),
        cmocka_unit_test(nodes_that_nothing_is_said_of_are_filled_in),
        cmocka_unit_test(a_node_outside_the_tank_is_refused),
        cmocka_unit_test(every_other_truncation_is_refused),
        cmocka_unit_test(every_changed_byte_is_harmless),
    };
    return cmocka_run_group_tests_name("protocol streams that are none", tests, make_tables, NULL);
}
