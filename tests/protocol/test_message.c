// Messages: what a reader takes, what it refuses, with which status, and that the sentence names the field.
#include "protocol/message.h"
#include "protocol/message_scan.h"
#include "protocol/motion_code.h"
#include "tests/protocol/golden_messages.h"
#include "tests/protocol/msgpack_text.h"
#include "tests/protocol/test_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 65536 };

static tarn_status read_text(const char *text, tarn_message *message, tarn_text *why)
{
    static uint8_t bytes[BYTES_MAX];
    size_t byte_count = msgpack_from_text(text, bytes, sizeof bytes);
    (*why)[0] = 0;
    return tarn_message_read(bytes, byte_count, message, why);
}

static tarn_message taken(const char *text)
{
    tarn_message message;
    tarn_text why;
    tarn_status status = read_text(text, &message, &why);
    if (status) {
        fail_msg("%s\n  gives %s: %s", text, tarn_status_name(status), why);
    }
    return message;
}

static void refused(const char *text, tarn_status expected, const char *sentence)
{
    tarn_message message, before;
    tarn_text why;
    memset(&message, 0x5a, sizeof message);
    memcpy(&before, &message, sizeof before);
    tarn_status status = read_text(text, &message, &why);
    if (status != expected || strstr(why, sentence) == NULL) {
        fail_msg("%s\n  gives %s: \"%s\"\n  not %s with \"%s\"", text, tarn_status_name(status), why,
                 tarn_status_name(expected), sentence);
    }
    assert_memory_equal(&message, &before, sizeof message);
}

#define POINTER(id, phase, tool, origin, direction, radius, strength)                                                  \
    "{'t':'input','seq':1,'k':'pointer','id':" id ",'phase':" phase ",'tool':" tool ",'origin_m':" origin              \
    ",'direction':" direction ",'radius_m':" radius ",'strength':" strength "}"
#define CONTROLLER(rest)                                                                                               \
    "{'t':'input','seq':1,'k':'controller','side':'left','tracked':true,'tool':'push','position_m':[0,0,0],"           \
    "'orientation':[0,0,0,1],'radius_m':0.1,'strength':0.5" rest "}"
#define HAND(rest)                                                                                                     \
    "{'t':'input','seq':1,'k':'hand','side':'left','tracked':true,'tool':'push','position_m':[0,0,0],"                 \
    "'orientation':[0,0,0,1],'radius_m':0.1,'strength':0.5" rest "}"
#define STATE(scene, size, parameters)                                                                                 \
    "{'scene':" scene ",'paused':false,'worker_ready':true,'size_m':" size                                             \
    ",'cell_m':0.1,'dt_s':0.01,'parameters':" parameters "}"

static void numbers_are_taken_in_every_form_that_holds_them(void **context)
{
    (void)context;
    tarn_message m = taken(POINTER("3", "'down'", "'push'", "[1,-2.5,0]", "[0,0,-1]", "1", "1"));
    assert_int_equal(m.kind, TARN_MESSAGE_INPUT);
    assert_int_equal(m.input.kind, TARN_INPUT_POINTER);
    assert_true(m.input.pointer.origin_m[0] == 1.0f && m.input.pointer.origin_m[1] == -2.5f);
    m = taken("{'t':'ack','epoch':<cd0007>,'step':<d300000000000000ff>}");
    assert_int_equal(m.ack.epoch, 7);
    assert_int_equal(m.ack.step, 255);
    m = taken("{'t':'ping','id':<d105dc>,'client_time_ms':<ca3fc00000>}");
    assert_int_equal(m.ping.id, 1500);
    assert_true(m.ping.client_time_ms == 1.5);
    m = taken("{'t':'ping','id':1,'client_time_ms':-7}");
    assert_true(m.ping.client_time_ms == -7.0);
}

static void bounds_themselves_are_inside(void **context)
{
    (void)context;
    taken(POINTER("15", "'up'", "'drain'", "[-1000,1000,0]", "[0,0.001,0]", "0.001", "0"));
    // The float32 next to 0.001 lies above or below it; both ways of writing the bound must pass.
    taken(POINTER("0", "'up'", "'drain'", "[0,0,0]", "[0,1,0]", "<ca3a83126f>", "1"));
    taken(CONTROLLER(",'velocity_m_s':[100,-100,0],'thumbstick':[1,-1],'buttons':4294967295,'grip':1"));
    taken("{'t':'ack','epoch':4294967295,'step':9007199254740991}");
    taken("{'t':'hello','versions':[1,2,3,4,5,6,7,4294967295]}");
    taken("{'t':'input','seq':4294967295,'k':'parameter','name':'x','value':3.4028234663852886e38}");
    tarn_message m = taken("{'t':'join','viewer':'123456789012345678901234567890123456789012345678901234567890123'}");
    assert_int_equal(strlen(m.join.viewer), TARN_NAME_BYTES_MAX);
    assert_string_equal(m.join.session, "");
}

static void numbers_outside_their_range_are_refused_by_name(void **context)
{
    (void)context;
    const tarn_status limit = TARN_E_LIMIT;
    refused(POINTER("16", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "1", "1"), limit,
            "input: id is 16; allowed is an integer from 0 to 15");
    refused("{'t':'ping','id':4294967296,'client_time_ms':0}", limit,
            "ping: id is 4294967296; allowed is an integer from 0 to 4294967295");
    refused("{'t':'ack','epoch':1,'step':9007199254740992}", limit, "an integer from 0 to 9007199254740991");
    refused(POINTER("-1", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "1", "1"), limit, "id is -1");
    refused(POINTER("0", "'up'", "'push'", "[0,0,-1000.1]", "[0,1,0]", "1", "1"), limit,
            "input: origin_m[2] is -1000.1; allowed is a number from -1000 to 1000");
    refused(POINTER("0", "'up'", "'push'", "[nan,0,0]", "[0,1,0]", "1", "1"), limit, "origin_m[0] is");
    refused(POINTER("0", "'up'", "'push'", "[0,inf,0]", "[0,1,0]", "1", "1"), limit, "origin_m[1] is inf");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,0.0009,0]", "1", "1"), limit, "direction has the length");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,0,0]", "1", "1"), limit, "direction has the length 0");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "0.00099", "1"), limit, "radius_m is 0.00099");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "10.001", "1"), limit, "radius_m is 10.001");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "1", "1.0001"), limit, "strength is 1.0001");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "1", "nan"), limit, "strength is");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,1,0]", "1", "1e300"), limit, "strength is 1e+300");
    refused(CONTROLLER(",'velocity_m_s':[0,100.1,0]"), limit, "velocity_m_s[1] is 100.1");
    refused(CONTROLLER(",'angular_velocity_rad_s':[0,0,-101]"), limit, "angular_velocity_rad_s[2] is -101");
    refused(CONTROLLER(",'grip':-0.1"), limit, "grip is -0.1");
    refused(CONTROLLER(",'trigger':2"), limit, "trigger is 2");
    refused(CONTROLLER(",'thumbstick':[0,1.5]"), limit, "thumbstick[1] is 1.5");
    refused(CONTROLLER(",'buttons':4294967296"), limit, "buttons is 4294967296");
    refused(HAND(",'pinch':1.5"), limit, "pinch is 1.5");
    refused("{'t':'input','seq':0,'k':'parameter','name':'x','value':1}", limit, "input: seq is 0");
    refused("{'t':'input','seq':1,'k':'parameter','name':'x','value':1e39}", limit, "value is 1e+39");
    refused("{'t':'control','seq':4294967296,'action':'pause'}", limit, "control: seq is 4294967296");
    refused("{'t':'control','seq':1,'action':'speed','speed':0.04}", limit, "control: speed is 0.04; allowed are 0.05");
    refused("{'t':'control','seq':1,'action':'speed','speed':4.01}", limit, "control: speed is 4.01");
    refused("{'t':'ack','epoch':1,'step':9007199254740992}", limit, "ack: step is 9007199254740992");
    refused("{'t':'ping','id':1,'client_time_ms':1e16}", limit, "client_time_ms is 1e+16");
    refused("{'t':'hello','versions':[1,0]}", limit, "hello: versions[1] is 0");
    refused("{'t':'error','code':1000,'text':''}", limit, "error: code is 1000");
}

static void wrong_types_and_missing_fields_are_refused_by_name(void **context)
{
    (void)context;
    const tarn_status malformed = TARN_E_MALFORMED;
    refused("{'seq':1}", malformed, "message: the field t is missing");
    refused("{'t':7}", malformed, "message: t is 7");
    refused("{'t':'hello'}", malformed, "hello: the field versions is missing");
    refused("{'t':'hello','versions':1}", malformed, "hello: versions is 1; allowed is an array");
    refused("{'t':'hello','versions':[1.0]}", malformed, "versions[0] is 1; allowed is an integer");
    refused("{'t':'hello','versions':[1],'client':1}", malformed, "client is 1; allowed is a string");
    refused("{'t':'ack','epoch':true,'step':1}", malformed, "ack: epoch is true");
    refused("{'t':'ack','epoch':1,'step':'1'}", malformed, "ack: step is \"1\"");
    refused("{'t':'ping','id':1,'client_time_ms':nil}", malformed, "ping: client_time_ms is nil");
    refused("{'t':'input','seq':1}", malformed, "input: the field k is missing");
    refused("{'t':'input','seq':1,'k':3}", malformed, "input: k is 3");
    refused(POINTER("0", "1", "'push'", "[0,0,0]", "[0,1,0]", "1", "1"), malformed,
            "phase is 1; allowed is one of down move up");
    refused(POINTER("0", "'up'", "'push'", "[0,0]", "[0,1,0]", "1", "1"), malformed, "origin_m has 2 entries");
    refused(POINTER("0", "'up'", "'push'", "[0,0,0,0]", "[0,1,0]", "1", "1"), malformed, "origin_m has 4 entries");
    refused(POINTER("0", "'up'", "'push'", "[0,'x',0]", "[0,1,0]", "1", "1"), malformed, "origin_m[1] is \"x\"");
    refused(POINTER("0", "'up'", "'push'", "{}", "[0,1,0]", "1", "1"), malformed, "origin_m is a map of 0");
    refused(CONTROLLER(",'grip':<c40101>"), malformed, "grip is binary data of 1 bytes");
    refused(CONTROLLER(",'grip':<d40101>"), malformed, "grip is an extension type");
    refused("{'t':'input','seq':1,'k':'hand','side':'left','tracked':1}", malformed, "tracked is 1; allowed is true");
    refused(HAND(",'joints_m':[0,0,0]"), malformed, "joints_m has 3 entries; allowed are 75 to 75");
    refused("{'t':'control','seq':1,'action':'load'}", malformed, "control: the field scene is missing or empty");
    refused("{'t':'control','seq':1,'action':'speed'}", malformed, "control: the field speed is missing or 0");
    refused("{'t':'joined','session':'a','viewer_id':1,'viewer':'','state':[]}", malformed, "state is an array of 0");
    refused("{'t':'state','state':" STATE("'s'", "[1,1,1]", "[{'name':'x'}]") "}", malformed,
            "state: the field value is missing");
    refused("{'t':'viewers','viewers':[{'viewer_id':1}]}", malformed, "viewers: the field name is missing");
    refused("{'t':'viewers','viewers':[7]}", malformed, "viewers is 7; allowed is a map");
}

static void text_is_bounded_printable_utf8(void **context)
{
    (void)context;
    const tarn_status malformed = TARN_E_MALFORMED;
    assert_string_equal(taken("{'t':'join','viewer':'Łukasz 🌊'}").join.viewer, "Łukasz 🌊");
    refused("{'t':'join','viewer':'1234567890123456789012345678901234567890123456789012345678901234'}", TARN_E_LIMIT,
            "join: viewer has 64 bytes; allowed are 0 to 63");
    refused("{'t':'input','seq':1,'k':'parameter','name':'','value':1}", TARN_E_LIMIT, "name has 0 bytes");
    static const char *const bad[] = {
        "<a100>",                   // NUL
        "<a10a>",                   // line feed
        "<a17f>",                   // delete
        "<a2c285>",                 // a C1 control
        "<a2c2ad>",                 // a soft hyphen
        "<a3e2808b>",               // no width
        "<a2d89c>",                 // a mark of direction
        "<a3e281a0>",               // a word joiner
        "<a3efbbbf>",               // a byte order mark
        "<a3e280ae>",               // right-to-left override
        "<a180>",                   // a continuation byte alone
        "<a2c0af>",                 // overlong
        "<a3e08080>",               // overlong
        "<a3eda080>",               // surrogate
        "<a4f4908080>",             // above U+10FFFF
        "<a4f0808080>",             // overlong
        "<a1e2>",       "<a2e282>", // cut
        "<a2c341>",                 // no continuation
        "<a1ff>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64] = "{'t':'join','viewer':";
        strcat(strcat(text, bad[i]), "}");
        refused(text, malformed, "join: viewer ");
    }
    // In fields that nobody reads anything goes.
    taken("{'t':'join','unknown':<a1ff>}");
}

static void unknown_kinds_words_and_fields_are_told_apart(void **context)
{
    (void)context;
    refused("{'t':'dance','seq':1}", TARN_E_UNKNOWN_KIND, "message: t is \"dance\"");
    refused("{'t':'input','seq':1,'k':'depth','data':[1,2]}", TARN_E_UNKNOWN_KIND, "input: k is \"depth\"");
    refused("{'t':'control','seq':1,'action':'rewind'}", TARN_E_UNKNOWN_KIND, "action is \"rewind\"");
    refused(POINTER("0", "'up'", "'freeze'", "[0,0,0]", "[0,1,0]", "1", "1"), TARN_E_UNKNOWN_KIND,
            "tool is \"freeze\"; allowed is one of push pull vortex pour drain dye");
    tarn_message m = taken("{'extra':{'a':[1,{'b':nil}]},'step':5,'bin':<c403010203>,'ext':<c7020500ff>,"
                           "'epoch':9,'t':'ack','f':1.5}");
    assert_int_equal(m.ack.epoch, 9);
    assert_int_equal(m.ack.step, 5);
}

/// A colour that wasn't given isn't black, and isn't written.
static void colours_are_told_from_none(void **context)
{
    (void)context;
    tarn_message m = taken(POINTER("0", "'down'", "'dye'", "[0,0,0]", "[0,1,0]", "1", "1"));
    assert_int_equal(m.input.pointer.tool, TARN_TOOL_DYE);
    assert_int_equal(m.input.pointer.colour, 0);
    m = taken("{'t':'input','seq':1,'k':'pointer','id':0,'phase':'down','tool':'dye','origin_m':[0,0,0],"
              "'direction':[0,1,0],'radius_m':1,'strength':1,'colour':0}");
    assert_int_equal(m.input.pointer.colour, TARN_COLOUR_GIVEN);
    uint8_t bytes[512];
    size_t with = 0, without = 0;
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &with), TARN_OK);
    m.input.pointer.colour = 0;
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &without), TARN_OK);
    assert_int_equal(with - without, 8); // the word, and one byte
    m.input.pointer.colour = 0xffffff;   // not said to be given
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &with), TARN_E_ARGUMENT);
    refused("{'t':'input','seq':1,'k':'pointer','id':0,'phase':'down','tool':'dye','origin_m':[0,0,0],"
            "'direction':[0,1,0],'radius_m':1,'strength':1,'colour':16777216}",
            TARN_E_LIMIT, "colour is 16777216; allowed is an integer from 0 to 16777215");
    refused("{'t':'input','seq':1,'k':'pointer','id':0,'phase':'down','tool':'dye','origin_m':[0,0,0],"
            "'direction':[0,1,0],'radius_m':1,'strength':1,'colour':1.5}",
            TARN_E_MALFORMED, "colour is");
}

static void ambiguous_maps_are_refused(void **context)
{
    (void)context;
    refused("{'t':'ack','epoch':1,'step':2,'step':3}", TARN_E_MALFORMED, "ack: step is there twice");
    refused("{'t':'ack','t':'ping','epoch':1,'step':2}", TARN_E_MALFORMED, "t is there twice");
    refused("{'t':'presence','points':[{'part':'head','part':'head',7:1,'position_m':[0,0,0]}]}", TARN_E_MALFORMED,
            "part is there twice");
    refused("{'t':'presence','points':[{'part':'head',7:1,'part':'head','position_m':[0,0,0]}]}", TARN_E_MALFORMED,
            "a field's name is 7; allowed is a string");
    refused("{'t':'ack','epoch':1,'step':2,7:1}", TARN_E_MALFORMED, "a field's name is 7; allowed is a string");
}

void __real_tarn_cursor_skip(tarn_cursor *cursor);
void __wrap_tarn_cursor_skip(tarn_cursor *cursor);

static uint64_t skips;

void __wrap_tarn_cursor_skip(tarn_cursor *cursor)
{
    skips++;
    __real_tarn_cursor_skip(cursor);
}

/// Whoever fills a message with fields that nobody knows, to cost a server time, is told apart in few walks.
static void walks_do_not_grow_with_the_number_of_fields(void **context)
{
    enum { UNKNOWN = 2000, WALKS_MAX = 5 }; // for "t", "k", and each table's fields, and one to spare
    static uint8_t bytes[BYTES_MAX];
    tarn_message message;
    tarn_text why;
    (void)context;
    size_t byte_count = msgpack_from_text(HAND(",'velocity_m_s':[0,0,0],'pinch':1"), bytes, sizeof bytes);
    assert_int_equal(bytes[0], 0xde); // a map whose count has two bytes
    const uint32_t pairs = UNKNOWN + bytes[2];
    bytes[1] = (uint8_t)(pairs >> 8);
    bytes[2] = (uint8_t)pairs;
    for (uint32_t i = 0; i < UNKNOWN; i++) {
        const uint8_t pair[4] = {0xa2, (uint8_t)('a' + i % 26), (uint8_t)('a' + i / 26 % 26), 0xc0};
        memcpy(bytes + byte_count, pair, sizeof pair);
        byte_count += sizeof pair;
    }
    skips = 0;
    assert_int_equal(tarn_message_read(bytes, byte_count, &message, &why), TARN_OK);
    assert_true(skips >= pairs && skips <= WALKS_MAX * (uint64_t)pairs);
}

static void structure_is_bounded_before_anything_is_believed(void **context)
{
    (void)context;
    refused("", TARN_E_TRUNCATED, "empty");
    refused("[1,2]", TARN_E_MALFORMED, "the message is an array of 2; allowed is a msgpack map");
    refused("'t'", TARN_E_MALFORMED, "allowed is a msgpack map");
    refused("{'t':'ping','id':1,'client_time_ms':1} 7", TARN_E_MALFORMED, "1 bytes follow after the message's end");
    refused("{'t':'ping','x':<c1>}", TARN_E_MALFORMED, "0xc1");
    taken("{'t':'ack','epoch':1,'step':2,'a':[[[1]]]}");
    refused("{'t':'ack','epoch':1,'step':2,'a':[[[[1]]]]}", TARN_E_LIMIT, "nested deeper than 4");
    refused("<df40000000>", TARN_E_LIMIT, "more than 4096 objects");         // a map of 2^30
    refused("<81a174ddffffffff>", TARN_E_LIMIT, "more than 4096 objects");   // an array of 2^32 - 1
    refused("<81a174db40000000>", TARN_E_TRUNCATED, "ends in the middle");   // a string of 1 GiB
    refused("<81a174c9ffffffff01>", TARN_E_TRUNCATED, "ends in the middle"); // an extension of 4 GiB
    refused("<81a174dc0400>", TARN_E_TRUNCATED, "a container of 1024 entries, but only 0 bytes follow");
}

/// {"t": "ack", "epoch": 1, "step": 2, "pad": <binary>} of exactly so many bytes.
static size_t padded_ack(uint8_t *bytes, size_t byte_count)
{
    size_t head = msgpack_from_text("<84> 't' 'ack' 'epoch' 1 'step' 2 'pad' <c50000>", bytes, BYTES_MAX);
    size_t padding = byte_count - head;
    bytes[head - 2] = (uint8_t)(padding >> 8);
    bytes[head - 1] = (uint8_t)padding;
    memset(bytes + head, 0, padding);
    return byte_count;
}

static void the_largest_message_is_taken_and_one_byte_more_refused(void **context)
{
    (void)context;
    static uint8_t bytes[BYTES_MAX];
    tarn_message message;
    tarn_text why;
    assert_int_equal(tarn_message_read(bytes, padded_ack(bytes, TARN_MESSAGE_BYTES_MAX), &message, &why), TARN_OK);
    assert_int_equal(tarn_message_read(bytes, padded_ack(bytes, TARN_MESSAGE_BYTES_MAX + 1), &message, &why),
                     TARN_E_LIMIT);
    assert_string_equal(why, "ack: the message has 16385 bytes; allowed are up to 16384");
    assert_int_equal(tarn_message_read(bytes, padded_ack(bytes, TARN_MESSAGE_SERVER_BYTES_MAX + 1), &message, &why),
                     TARN_E_LIMIT);
    assert_string_equal(why, "the message has 32769 bytes; allowed are up to 32768");
}

static void the_number_of_objects_is_bounded(void **context)
{
    (void)context;
    // The map, four keys, three values and the array make 9; the rest are nils.
    for (uint32_t extra = 0; extra < 2; extra++) {
        uint8_t bytes[2 * TARN_MESSAGE_OBJECTS_MAX];
        uint32_t nils = TARN_MESSAGE_OBJECTS_MAX - 9 + extra;
        size_t head = msgpack_from_text("<84> 't' 'ack' 'epoch' 1 'step' 2 'pad' <dc0000>", bytes, sizeof bytes);
        bytes[head - 2] = (uint8_t)(nils >> 8);
        bytes[head - 1] = (uint8_t)nils;
        memset(bytes + head, 0xc0, nils);
        tarn_message message;
        assert_int_equal(tarn_message_read(bytes, head + nils, &message, NULL), extra ? TARN_E_LIMIT : TARN_OK);
    }
}

static void directions_and_orientations_come_out_with_unit_length(void **context)
{
    (void)context;
    tarn_message m = taken(POINTER("0", "'up'", "'push'", "[0,0,0]", "[0,-30,40]", "1", "1"));
    assert_true(m.input.pointer.direction[1] == -0.6f && m.input.pointer.direction[2] == 0.8f);
    m = taken("{'t':'input','seq':1,'k':'orientation','orientation':[0,0,0,-5]}");
    assert_true(m.input.orientation.orientation[3] == -1.0f);
    assert_true(m.input.orientation.angular_velocity_rad_s[1] == 0.0f);
    // What is unit length to 1e-5 stays bit for bit.
    m = taken("{'t':'input','seq':1,'k':'orientation','orientation':[0.5,0.5,0.5,0.500001]}");
    assert_true(m.input.orientation.orientation[3] == 0.500001f);
    refused("{'t':'input','seq':1,'k':'orientation','orientation':[0,0,0,0]}", TARN_E_LIMIT, "orientation has the");
}

static void absent_optional_fields_are_zero(void **context)
{
    (void)context;
    tarn_message m = taken(CONTROLLER(""));
    assert_true(m.input.controller.grip == 0.0f && m.input.controller.velocity_m_s[2] == 0.0f);
    assert_int_equal(m.input.controller.buttons, 0);
    assert_int_equal(m.input.controller.tracked, 1);
    m = taken(HAND(",'joints_m':[]"));
    assert_int_equal(m.input.hand.joint_count, 0);
    m = taken("{'t':'control','seq':5,'action':'speed','speed':0.05}");
    assert_true(m.control.action == TARN_CONTROL_SPEED && m.control.speed == TARN_SPEED_MIN);
    m = taken("{'t':'control','seq':5,'action':'step'}");
    assert_int_equal(m.control.action, TARN_CONTROL_STEP);
    assert_string_equal(m.control.scene, "");
}

static void the_state_is_checked_in_depth(void **context)
{
    (void)context;
    tarn_message m = taken("{'t':'state','state':" STATE("'s'", "[1,2,3]",
                                                         "[{'name':'a','value':1,'min':0,'max':2},"
                                                         "{'max':5,'min':5,'value':5,'name':'b','x':nil}]") "}");
    assert_int_equal(m.state.parameter_count, 2);
    assert_string_equal(m.state.parameters[1].name, "b");
    assert_true(m.state.parameters[1].max == 5.0f && m.state.size_m[2] == 3.0f);
    refused("{'t':'state','state':" STATE("'s'", "[1,2,-3]", "[]") "}", TARN_E_LIMIT, "state: size_m[2] is -3");
    refused("{'t':'state','state':" STATE("'s'", "[1,2,3]", "[{'name':'a','value':1,'min':3,'max':2}]") "}",
            TARN_E_LIMIT, "the parameter a has min 3 above max 2");
}

static void the_largest_viewer_list_fits_and_comes_back(void **context)
{
    (void)context;
    static tarn_viewer_info viewers[TARN_VIEWERS_MAX + 1], read[TARN_VIEWERS_MAX];
    static uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t byte_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= TARN_VIEWERS_MAX; i++) {
        viewers[i].viewer_id = UINT32_MAX - i;
        memset(viewers[i].name, 'a' + (int)(i % 26), TARN_NAME_BYTES_MAX);
        viewers[i].colour = TARN_COLOUR_MAX;
        viewers[i].role = TARN_ROLE_WATCH;
    }
    tarn_message message = {.kind = TARN_MESSAGE_VIEWERS, .viewers = {TARN_VIEWERS_MAX, viewers}};
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_OK);
    assert_int_equal(tarn_message_read_viewers(bytes, byte_count, read, TARN_VIEWERS_MAX, &count, NULL), TARN_OK);
    assert_int_equal(count, TARN_VIEWERS_MAX);
    assert_memory_equal(read, viewers, sizeof read);
    assert_int_equal(tarn_message_read_viewers(bytes, byte_count, read, TARN_VIEWERS_MAX - 1, &count, NULL),
                     TARN_E_SPACE);
    message.viewers.viewer_count = TARN_VIEWERS_MAX + 1;
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_E_ARGUMENT);
    byte_count = msgpack_from_text("{'t':'ack','epoch':1,'step':2}", bytes, sizeof bytes);
    assert_int_equal(tarn_message_read_viewers(bytes, byte_count, read, 1, &count, NULL), TARN_E_ARGUMENT);
}

static void the_largest_list_of_points_fits_and_comes_back(void **context)
{
    (void)context;
    static tarn_presence_point points[TARN_PRESENCES_MAX + 1], read[TARN_PRESENCES_MAX];
    static uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    size_t byte_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= TARN_PRESENCES_MAX; i++) {
        points[i] = (tarn_presence_point){.viewer_id = UINT32_MAX - i,
                                          .part = TARN_PART_HAND_RIGHT,
                                          .position_m = {-1000.0f, 0.1f * (float)i, 1000.0f},
                                          .orientation = {0.0f, -1.0f, 0.0f, 0.5f},
                                          .pressed = 1,
                                          .tool = TARN_TOOL_VORTEX};
    }
    tarn_message message = {.kind = TARN_MESSAGE_PRESENCES, .presences = {TARN_PRESENCES_MAX, points}};
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_OK);
    assert_int_equal(tarn_message_read_presences(bytes, byte_count, read, TARN_PRESENCES_MAX, &count, NULL), TARN_OK);
    assert_int_equal(count, TARN_PRESENCES_MAX);
    assert_memory_equal(read, points, sizeof read);
    assert_int_equal(tarn_message_read_presences(bytes, byte_count, read, TARN_PRESENCES_MAX - 1, &count, NULL),
                     TARN_E_SPACE);
    message.presences.point_count = TARN_PRESENCES_MAX + 1;
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &byte_count), TARN_E_ARGUMENT);
}

#define POINT(part, position) "{'part':" part ",'position_m':" position "}"
#define PRESENCE(points) "{'t':'presence','points':[" points "]}"

static void what_viewers_say_of_themselves_is_checked(void **context)
{
    (void)context;
    tarn_message m = taken(PRESENCE(POINT("'head'", "[0,1,2]")));
    assert_int_equal(m.presence.point_count, 1);
    assert_int_equal(m.presence.points[0].part, TARN_PART_HEAD);
    assert_true(m.presence.points[0].position_m[2] == 2.0f && m.presence.points[0].orientation[3] == 0.0f);
    assert_int_equal(taken(PRESENCE("")).presence.point_count, 0);
    refused(PRESENCE(POINT("'head'", "[0,1,1001]")), TARN_E_LIMIT, "position_m[2]");
    refused(PRESENCE(POINT("'head'", "[0,1]")), TARN_E_MALFORMED, "position_m");
    refused(PRESENCE(POINT("'foot'", "[0,1,2]")), TARN_E_UNKNOWN_KIND, "part");
    refused(PRESENCE("5"), TARN_E_MALFORMED, "a map");
#define FOUR                                                                                                           \
    POINT("'head'", "[0,1,2]")                                                                                         \
    "," POINT("'cursor'", "[0,1,2]") "," POINT("'cursor'", "[0,1,2]") "," POINT("'cursor'", "[0,1,2]")
    assert_int_equal(taken(PRESENCE(FOUR)).presence.point_count, TARN_PRESENCE_POINTS_MAX);
    refused(PRESENCE(FOUR "," POINT("'head'", "[0,1,2]")), TARN_E_LIMIT, "points");
    m = taken("{'t':'profile','name':'Ada'}");
    assert_string_equal(m.profile.name, "Ada");
    assert_int_equal(m.profile.colour, 0);
    refused("{'t':'profile','colour':16777216}", TARN_E_LIMIT, "colour");
#define PASS_OF_256                                                                                                    \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef"
    assert_int_equal(strlen(taken("{'t':'join','key':'" PASS_OF_256 PASS_OF_256 "'}").join.key), TARN_PASS_BYTES_MAX);
    refused("{'t':'join','key':'" PASS_OF_256 PASS_OF_256 "0'}", TARN_E_LIMIT, "key");
}

#define SOLID(number, shape, like, half, colour)                                                                       \
    "[" number "," shape "," like "," half ",0.5,0.5,-1,2,3,0,0,0,1," colour "]"
#define ADDED(list) "{'t':'state','state':" STATE("'s'", "[1,2,3]", "[],'added':[" list "]") "}"

static void added_solids_are_checked(void **context)
{
    (void)context;
    tarn_message m = taken(ADDED(SOLID("64", "1", "0", "0.25", "255") "," SOLID("0", "4", "63", "1", "0")));
    assert_int_equal(m.state.added_count, 2);
    assert_int_equal(m.state.added[0].number, 64);
    assert_int_equal(m.state.added[0].shape, TARN_ADDED_SPHERE);
    assert_int_equal(m.state.added[0].colour, 255);
    assert_true(m.state.added[0].half_m[0] == 0.25f && m.state.added[0].position_m[2] == 3.0f);
    assert_true(m.state.added[0].rotation[3] == 1.0f);
    assert_int_equal(m.state.added[1].like, 63);
    assert_int_equal(taken(ADDED("")).state.added_count, 0);
    refused(ADDED(SOLID("63", "1", "0", "0.25", "0")), TARN_E_LIMIT, "number");
    refused(ADDED(SOLID("65536", "1", "0", "0.25", "0")), TARN_E_LIMIT, "added[0]");
    refused(ADDED(SOLID("64.5", "1", "0", "0.25", "0")), TARN_E_MALFORMED, "whole");
    refused(ADDED(SOLID("0", "5", "0", "0.25", "0")), TARN_E_LIMIT, "added[1]");
    refused(ADDED(SOLID("0", "1", "64", "0.25", "0")), TARN_E_LIMIT, "added[2]");
    refused(ADDED(SOLID("0", "1", "0", "-1", "0")), TARN_E_LIMIT, "added[3]");
    refused(ADDED(SOLID("0", "1", "0", "1", "16777216")), TARN_E_LIMIT, "added[13]");
    refused(ADDED(SOLID("0", "1", "0", "'a'", "0")), TARN_E_MALFORMED, "added[3]");
    refused(ADDED("[1,2,3]"), TARN_E_MALFORMED, "14");
    refused(ADDED("7"), TARN_E_MALFORMED, "an array");
}

#define READINGS(rows, rest)                                                                                           \
    "{'t':'readings','list':1,'epoch':2,'step':3,'dt_s':0.01,'rows':" rows ",'values':" rest "}"
#define PROBE_OF(rest) "{'t':'probes','list':1,'probes':[{'id':1,'kind':'point'," rest "}]}"

static tarn_status write_status(const tarn_message *message);

static void probes_and_readings_are_checked(void **context)
{
    (void)context;
    tarn_message m = taken("{'t':'probe','action':'move','id':7,'at_m':[0.5,1,2]}");
    assert_true(m.probe.action == TARN_PROBE_ACT_MOVE && m.probe.id == 7 && m.probe.at_m[2] == 2.0f);
    refused("{'t':'probe','action':'move','at_m':[0,1,1001]}", TARN_E_LIMIT, "at_m[2]");
    refused("{'t':'probe','action':'place','kind':'thermometer'}", TARN_E_UNKNOWN_KIND, "kind");
    refused("{'t':'probe','action':'look'}", TARN_E_UNKNOWN_KIND, "action");
    refused("{'t':'probe','id':1}", TARN_E_MALFORMED, "action");
    m = taken(PROBE_OF("'at_m':[0,1,2],'to_m':[0,1,2],'columns':['pressure_pa','x']"));
    assert_int_equal(m.probes.probe_count, 1);
    assert_int_equal(m.probes.probes[0].column_count, 2);
    assert_string_equal(m.probes.probes[0].columns[1], "x");
    refused(PROBE_OF("'at_m':[-1,1,2],'to_m':[0,1,2],'columns':[]"), TARN_E_LIMIT, "at_m[0]");
    refused(PROBE_OF("'at_m':[0,1,2],'to_m':[0,1,2],'columns':['']"), TARN_E_LIMIT, "columns");
    refused(PROBE_OF("'at_m':[0,1,2],'to_m':[0,1,2],'columns':[1]"), TARN_E_MALFORMED, "columns");
    refused(PROBE_OF("'at_m':[0,1,2],'to_m':[0,1,2]"), TARN_E_MALFORMED, "columns");
    refused(READINGS("1", "1"), TARN_E_MALFORMED, "values");
    refused(READINGS("0", "''"), TARN_E_LIMIT, "rows");
    static uint8_t values[TARN_READINGS_BYTES_MAX + 4];
    m = (tarn_message){.kind = TARN_MESSAGE_READINGS};
    m.readings = (tarn_readings){.row_count = 3, .byte_count = 24, .values = values};
    assert_int_equal(write_status(&m), TARN_OK);
    m.readings.row_count = 4;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT); // no whole rows
    m.readings = (tarn_readings){.row_count = 1, .byte_count = sizeof values, .values = values};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    const float nan_f32 = NAN;
    memcpy(values + 4, &nan_f32, sizeof nan_f32);
    m.readings = (tarn_readings){.row_count = 1, .byte_count = 8, .values = values};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
}

static void the_largest_server_messages_fit_their_buffer(void **context)
{
    (void)context;
    static uint8_t bytes[TARN_MESSAGE_SERVER_BYTES_MAX];
    static tarn_message m;
    size_t byte_count;
    m.kind = TARN_MESSAGE_WELCOME;
    m.welcome.version = 1;
    m.welcome.scene_count = TARN_SCENES_MAX;
    for (uint32_t i = 0; i < TARN_SCENES_MAX; i++) {
        memset(m.welcome.scenes[i], 's', TARN_NAME_BYTES_MAX);
    }
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &byte_count), TARN_OK);
    memset(&m, 0, sizeof m);
    m.kind = TARN_MESSAGE_JOINED;
    m.joined.viewer_id = 1;
    strcpy(m.joined.session, "s");
    m.joined.state.parameter_count = TARN_PARAMETERS_MAX;
    for (uint32_t i = 0; i < TARN_PARAMETERS_MAX; i++) {
        memset(m.joined.state.parameters[i].name, 'p', TARN_NAME_BYTES_MAX);
    }
    m.joined.state.added_count = TARN_ADDED_MAX;
    for (uint32_t i = 0; i < TARN_ADDED_MAX; i++) {
        m.joined.state.added[i].number = TARN_ADDED_NUMBER_MIN + i;
    }
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &byte_count), TARN_OK);
    memset(&m, 0, sizeof m);
    m.kind = TARN_MESSAGE_PROBES;
    m.probes.probe_count = TARN_LIVE_PROBES_MAX;
    for (uint32_t i = 0; i < TARN_LIVE_PROBES_MAX; i++) {
        tarn_probe_info *info = &m.probes.probes[i];
        info->id = UINT32_MAX - i;
        memset(info->label, 'l', TARN_NAME_BYTES_MAX);
        info->column_count = TARN_PROBE_VALUES_MAX;
        for (uint32_t k = 0; k < TARN_PROBE_VALUES_MAX; k++) {
            memset(info->columns[k], 'c', TARN_NAME_BYTES_MAX);
        }
    }
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &byte_count), TARN_OK);
    static const uint8_t values[TARN_READINGS_BYTES_MAX];
    memset(&m, 0, sizeof m);
    m.kind = TARN_MESSAGE_READINGS;
    m.readings = (tarn_readings){.row_count = 1, .byte_count = sizeof values, .values = values};
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &byte_count), TARN_OK);
}

static void the_writer_needs_room_for_every_byte(void **context)
{
    (void)context;
    for (int i = 0; i < golden_message_count(); i++) {
        tarn_message message;
        uint8_t bytes[1024];
        size_t full, byte_count;
        golden_message(i, &message);
        assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &full), TARN_OK);
        for (size_t room = 0; room < full; room++) {
            uint8_t *alone = malloc(room ? room : 1);
            assert_int_equal(tarn_message_write(&message, alone, room, &byte_count), TARN_E_SPACE);
            free(alone);
        }
    }
}

static tarn_status write_status(const tarn_message *message)
{
    uint8_t bytes[4096];
    size_t byte_count;
    return tarn_message_write(message, bytes, sizeof bytes, &byte_count);
}

static void the_writer_refuses_what_a_reader_would_refuse(void **context)
{
    (void)context;
    tarn_message m = {.kind = TARN_MESSAGE_NONE};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = (tarn_message){.kind = TARN_MESSAGE_HELLO};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT); // no versions
    m.hello.version_count = TARN_VERSIONS_MAX + 1;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = (tarn_message){.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(write_status(&m), TARN_OK);
    memset(m.join.viewer, 'x', sizeof m.join.viewer); // not terminated
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = (tarn_message){.kind = TARN_MESSAGE_INPUT, .input = {.sequence = 1, .kind = TARN_INPUT_COUNT}};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m.input.kind = TARN_INPUT_PARAMETER;
    strcpy(m.input.parameter.name, "x");
    assert_int_equal(write_status(&m), TARN_OK);
    m.input.parameter.value = NAN;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = (tarn_message){.kind = TARN_MESSAGE_CONTROL, .control = {.sequence = 1, .action = TARN_CONTROL_COUNT}};
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m.control.action = TARN_CONTROL_LOAD; // without a scene
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m.control.action = TARN_CONTROL_SPEED; // without one
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
}

/// A motion that is sound, with a grid of 2 x 2.
static tarn_message motion_message(void)
{
    static const uint8_t cells[] = {241, 7};
    return (tarn_message){.kind = TARN_MESSAGE_INPUT,
                          .input = {.sequence = 1,
                                    .kind = TARN_INPUT_MOTION,
                                    .motion = {.columns = 2,
                                               .rows = 2,
                                               .across_m = {1.0f, 0.0f, 0.0f},
                                               .up_m = {0.0f, 1.0f, 0.0f},
                                               .speed_m_s = 1.0f,
                                               .cell_bytes = sizeof cells,
                                               .cells = cells}}};
}

static void motion_that_gives_no_grid_is_refused(void **context)
{
    (void)context;
    static const uint8_t many[TARN_MOTION_CODE_BYTES_MAX + 1];
    uint8_t bytes[1024];
    size_t byte_count;
    tarn_message message, m = motion_message();
    tarn_text why;
    assert_int_equal(tarn_message_write(&m, bytes, sizeof bytes, &byte_count), TARN_OK);
    assert_int_equal(tarn_message_read(bytes, byte_count, &message, &why), TARN_OK);
    assert_true(message.input.motion.cells > bytes && message.input.motion.cells < bytes + byte_count);
    assert_int_equal(message.input.motion.cell_bytes, 2);
    uint8_t *head = bytes + (message.input.motion.cells - bytes);
    for (int change = 1; change <= 2; change++) { // one byte less, and one more
        head[0] = (uint8_t)(241 + (change == 1 ? 1 : -1));
        assert_int_equal(tarn_message_read(bytes, byte_count, &message, &why), TARN_E_MALFORMED);
        assert_string_equal(why, "input: cells is no run-length code of 16 bytes, which a grid of 2 x 2 has");
    }
    m.input.motion.columns = 3; // than the cells have
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = motion_message();
    m.input.motion.cell_bytes = 0;
    assert_int_equal(write_status(&m), TARN_OK);
    m.input.motion.cell_bytes = sizeof many;
    m.input.motion.cells = many;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
    m = motion_message();
    m.input.motion.up_m[0] = 2.0f;
    m.input.motion.up_m[1] = 0.0f;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT); // no area
    m = motion_message();
    m.input.motion.rows = TARN_MOTION_ROWS_MAX + 1;
    assert_int_equal(write_status(&m), TARN_E_ARGUMENT);
}

static void sentences_stay_inside_their_array_and_are_printable(void **context)
{
    (void)context;
    static char text[1200] = "{'t':'";
    memset(text + 6, 'z', 1000);
    text[6] = '\x01';
    text[7] = '\xff';
    strcpy(text + 1006, "'}");
    tarn_message message;
    struct {
        tarn_text why;
        char guard[8];
    } room = {.guard = "guard"};
    assert_int_equal(read_text(text, &message, &room.why), TARN_E_UNKNOWN_KIND);
    assert_string_equal(room.guard, "guard");
    assert_non_null(strstr(room.why, "t is \"??zzz"));
    for (const char *p = room.why; *p; p++) {
        assert_true(*p >= 0x20 && *p < 0x7f);
    }
}

static void kinds_know_their_name_and_direction(void **context)
{
    (void)context;
    assert_string_equal(tarn_message_kind_name(TARN_MESSAGE_HELLO), "hello");
    assert_string_equal(tarn_message_kind_name(TARN_MESSAGE_STATE), "state");
    assert_null(tarn_message_kind_name(TARN_MESSAGE_NONE));
    assert_true(tarn_message_from_client(TARN_MESSAGE_PING));
    assert_false(tarn_message_from_client(TARN_MESSAGE_PONG));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_taken_in_every_form_that_holds_them),
        cmocka_unit_test(bounds_themselves_are_inside),
        cmocka_unit_test(numbers_outside_their_range_are_refused_by_name),
        cmocka_unit_test(wrong_types_and_missing_fields_are_refused_by_name),
        cmocka_unit_test(text_is_bounded_printable_utf8),
        cmocka_unit_test(unknown_kinds_words_and_fields_are_told_apart),
        cmocka_unit_test(colours_are_told_from_none),
        cmocka_unit_test(ambiguous_maps_are_refused),
        cmocka_unit_test(walks_do_not_grow_with_the_number_of_fields),
        cmocka_unit_test(structure_is_bounded_before_anything_is_believed),
        cmocka_unit_test(the_largest_message_is_taken_and_one_byte_more_refused),
        cmocka_unit_test(the_number_of_objects_is_bounded),
        cmocka_unit_test(directions_and_orientations_come_out_with_unit_length),
        cmocka_unit_test(absent_optional_fields_are_zero),
        cmocka_unit_test(the_state_is_checked_in_depth),
        cmocka_unit_test(the_largest_viewer_list_fits_and_comes_back),
        cmocka_unit_test(the_largest_list_of_points_fits_and_comes_back),
        cmocka_unit_test(what_viewers_say_of_themselves_is_checked),
        cmocka_unit_test(probes_and_readings_are_checked),
        cmocka_unit_test(added_solids_are_checked),
        cmocka_unit_test(the_largest_server_messages_fit_their_buffer),
        cmocka_unit_test(the_writer_needs_room_for_every_byte),
        cmocka_unit_test(the_writer_refuses_what_a_reader_would_refuse),
        cmocka_unit_test(motion_that_gives_no_grid_is_refused),
        cmocka_unit_test(sentences_stay_inside_their_array_and_are_printable),
        cmocka_unit_test(kinds_know_their_name_and_direction),
    };
    return cmocka_run_group_tests_name("protocol messages", tests, NULL, NULL);
}
