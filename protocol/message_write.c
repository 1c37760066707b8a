// Writing a message with msgpack-c's packer into the caller's buffer. The same tables as for reading say what to write;
// afterwards the result is read back, so that nothing leaves that the other end would refuse.
#include "protocol/assert.h"
#include "protocol/message_fields.h"
#include "protocol/motion_code.h"

#include <msgpack/pack.h>
#include <string.h>

typedef struct fixed_buffer {
    uint8_t *bytes;
    size_t bytes_max, byte_count;
    bool full;
} fixed_buffer;

/// The packer, and whether a value was one that has no form on the wire.
typedef struct writer {
    msgpack_packer packer;
    fixed_buffer buffer;
    bool wrong;
} writer;

static int append(void *data, const char *bytes, size_t byte_count)
{
    fixed_buffer *buffer = data;
    if (buffer->full || byte_count > buffer->bytes_max - buffer->byte_count) {
        buffer->full = true;
        return -1;
    }
    TARN_ASSERT(buffer->byte_count <= buffer->bytes_max);
    memcpy(buffer->bytes + buffer->byte_count, bytes, byte_count);
    buffer->byte_count += byte_count;
    return 0;
}

static void write_bytes(writer *w, const char *text, size_t byte_count)
{
    msgpack_pack_str(&w->packer, byte_count);
    msgpack_pack_str_body(&w->packer, text, byte_count);
}

static void write_word(writer *w, const char *word)
{
    write_bytes(w, word, strlen(word));
}

/// A NUL-terminated string in a field of max + 1 bytes.
static void write_string(writer *w, const char *text, size_t max)
{
    size_t byte_count = strnlen(text, max + 1);
    if (byte_count > max) {
        w->wrong = true;
    } else {
        write_bytes(w, text, byte_count);
    }
}

static void write_floats(writer *w, const float *values, uint32_t count)
{
    msgpack_pack_array(&w->packer, count);
    for (uint32_t i = 0; i < count; i++) {
        msgpack_pack_float(&w->packer, values[i]);
    }
}

/// Opens an array of up to `max` entries; 0 where there are more.
static bool open_array(writer *w, uint32_t count, uint32_t max)
{
    if (count > max) {
        w->wrong = true;
        return false;
    }
    msgpack_pack_array(&w->packer, count);
    return true;
}

static void write_enum(writer *w, const tarn_field *field, const void *from)
{
    int value, count = 0;
    memcpy(&value, from, sizeof value);
    while (field->words[count] != NULL) {
        count++;
    }
    if (value < 0 || value >= count) {
        w->wrong = true;
    } else {
        write_word(w, field->words[value]);
    }
}

static void write_versions(writer *w, const tarn_hello *hello)
{
    if (open_array(w, hello->version_count, TARN_VERSIONS_MAX)) {
        for (uint32_t i = 0; i < hello->version_count; i++) {
            msgpack_pack_uint32(&w->packer, hello->versions[i]);
        }
    }
}

static void write_scenes(writer *w, const tarn_welcome *welcome)
{
    if (open_array(w, welcome->scene_count, TARN_SCENES_MAX)) {
        for (uint32_t i = 0; i < welcome->scene_count; i++) {
            write_string(w, welcome->scenes[i], TARN_NAME_BYTES_MAX);
        }
    }
}

static void write_joints(writer *w, const tarn_input_hand *hand)
{
    if (hand->joint_count != 0 && hand->joint_count != TARN_HAND_JOINTS) {
        w->wrong = true;
    } else {
        write_floats(w, &hand->joints_m[0][0], 3 * hand->joint_count);
    }
}

static void write_cells(writer *w, const tarn_input_motion *motion)
{
    if (motion->cell_bytes > TARN_MOTION_CODE_BYTES_MAX) {
        w->wrong = true;
        return;
    }
    msgpack_pack_bin(&w->packer, motion->cell_bytes);
    if (motion->cell_bytes > 0) {
        msgpack_pack_bin_body(&w->packer, motion->cells, motion->cell_bytes);
    }
}

static void write_fields(writer *w, const tarn_shape *shape, const void *base);

/// Whether a field is one that is written, and says something where it may be left out.
static bool is_written(const tarn_field *field, const void *base)
{
    const tarn_session_state *state = base;
    const char *from = (const char *)base + field->offset;
    if (field->need != TARN_FIELD_SPARSE) {
        return true;
    }
    switch (field->type) {
    case TARN_FIELD_REMARKS:
        return ((const tarn_session_state *)from)->remark_count > 0;
    case TARN_FIELD_ADDED:
        return state->added_count != 0;
    case TARN_FIELD_TOOLS:
        return state->model[0] != 0; // none at all is worth saying, too
    case TARN_FIELD_CHANNELS:
        return state->channel_count != 0;
    case TARN_FIELD_FIELDS:
        return state->field_count != 0;
    case TARN_FIELD_COLOUR:
    case TARN_FIELD_LOCKED:
        return *(const uint32_t *)from != 0;
    case TARN_FIELD_U64:
        return *(const uint64_t *)from != 0;
    case TARN_FIELD_F32:
        return *(const float *)from != 0.0f;
    default:
        return *from != 0; // texts and flags
    }
}

static uint32_t written_count(const tarn_shape *shape, const void *base)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->field_count; i++) {
        count += (uint32_t)is_written(&shape->fields[i], base);
    }
    return count;
}

static void write_colour(writer *w, uint32_t colour)
{
    w->wrong |= (colour & ~(TARN_COLOUR_GIVEN - 1)) != TARN_COLOUR_GIVEN;
    msgpack_pack_uint32(&w->packer, colour & (TARN_COLOUR_GIVEN - 1));
}

static void write_map(writer *w, const tarn_shape *shape, const void *base)
{
    msgpack_pack_map(&w->packer, written_count(shape, base));
    write_fields(w, shape, base);
}

static void write_parameters(writer *w, const tarn_session_state *state)
{
    if (open_array(w, state->parameter_count, TARN_PARAMETERS_MAX)) {
        for (uint32_t i = 0; i < state->parameter_count; i++) {
            write_map(w, &tarn_parameter_shape, &state->parameters[i]);
        }
    }
}

static void write_tools(writer *w, uint32_t tools)
{
    uint32_t count = 0;
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        count += tools >> tool & 1;
    }
    w->wrong |= (tools & ~TARN_TOOLS_ALL) != 0;
    msgpack_pack_array(&w->packer, count);
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        if ((tools >> tool & 1) != 0) {
            write_word(w, tarn_tool_name((tarn_tool)tool));
        }
    }
}

static void write_locked(writer *w, uint32_t locked)
{
    uint32_t count = 0, known = 0;
    for (int bit = 0; bit < TARN_LOCK_BITS; bit++) {
        known |= tarn_lock_word(bit) != NULL ? 1u << bit : 0;
        count += locked >> bit & 1;
    }
    w->wrong |= (locked & ~known) != 0;
    msgpack_pack_array(&w->packer, count);
    for (int bit = 0; bit < TARN_LOCK_BITS && !w->wrong; bit++) {
        if ((locked >> bit & 1) != 0) {
            write_word(w, tarn_lock_word(bit));
        }
    }
}

static void write_channels(writer *w, const tarn_channel_info *channels, uint32_t count, uint32_t max)
{
    if (open_array(w, count, max)) {
        for (uint32_t i = 0; i < count; i++) {
            write_map(w, &tarn_channel_shape, &channels[i]);
        }
    }
}

/// In the order in which SPEC.md has them.
static void write_added(writer *w, const tarn_session_state *state)
{
    if (!open_array(w, state->added_count, TARN_ADDED_MAX)) {
        return;
    }
    for (uint32_t i = 0; i < state->added_count; i++) {
        const tarn_added_info *info = &state->added[i];
        const float head[3] = {(float)info->number, (float)(int)info->shape, (float)info->like};
        float values[TARN_ADDED_VALUES];
        memcpy(values, head, sizeof head);
        memcpy(values + 3, info->half_m, sizeof info->half_m);
        memcpy(values + 6, info->position_m, sizeof info->position_m);
        memcpy(values + 9, info->rotation, sizeof info->rotation);
        values[13] = (float)info->colour;
        write_floats(w, values, TARN_ADDED_VALUES);
    }
}

static void write_viewers(writer *w, const tarn_viewers *viewers)
{
    if (open_array(w, viewers->viewer_count, TARN_VIEWERS_MAX)) {
        for (uint32_t i = 0; i < viewers->viewer_count; i++) {
            write_map(w, &tarn_viewer_shape, &viewers->viewers[i]);
        }
    }
}

static void write_points(writer *w, const tarn_shape *shape, const tarn_presence_point *points, uint32_t count,
                         uint32_t max)
{
    if (open_array(w, count, max)) {
        for (uint32_t i = 0; i < count; i++) {
            write_map(w, shape, &points[i]);
        }
    }
}

static void write_probes(writer *w, const tarn_probe_list *list)
{
    if (open_array(w, list->probe_count, TARN_LIVE_PROBES_MAX)) {
        for (uint32_t i = 0; i < list->probe_count; i++) {
            write_map(w, &tarn_probe_shape, &list->probes[i]);
        }
    }
}

static void write_columns(writer *w, const tarn_probe_info *info)
{
    if (open_array(w, info->column_count, TARN_PROBE_VALUES_MAX)) {
        for (uint32_t i = 0; i < info->column_count; i++) {
            write_string(w, info->columns[i], TARN_NAME_BYTES_MAX);
        }
    }
}

static void write_remarks(writer *w, const tarn_session_state *state)
{
    if (open_array(w, state->remark_count, TARN_REMARKS_MAX)) {
        for (uint32_t i = 0; i < state->remark_count; i++) {
            write_string(w, state->remarks[i], TARN_REMARK_BYTES_MAX);
        }
    }
}

static void write_values(writer *w, const tarn_readings *readings)
{
    if (readings->byte_count > TARN_READINGS_BYTES_MAX) {
        w->wrong = true;
        return;
    }
    msgpack_pack_bin(&w->packer, readings->byte_count);
    if (readings->byte_count > 0) {
        msgpack_pack_bin_body(&w->packer, readings->values, readings->byte_count);
    }
}

static void write_list(writer *w, const tarn_field *field, const void *from)
{
    switch (field->type) {
    case TARN_FIELD_VERSIONS:
        write_versions(w, from);
        break;
    case TARN_FIELD_SCENES:
        write_scenes(w, from);
        break;
    case TARN_FIELD_JOINTS:
        write_joints(w, from);
        break;
    case TARN_FIELD_CELLS:
        write_cells(w, from);
        break;
    case TARN_FIELD_PARAMETERS:
        write_parameters(w, from);
        break;
    case TARN_FIELD_TOOLS:
        write_tools(w, ((const tarn_session_state *)from)->tools);
        break;
    case TARN_FIELD_CHANNELS:
        write_channels(w, ((const tarn_session_state *)from)->channels,
                       ((const tarn_session_state *)from)->channel_count, TARN_CHANNELS_MAX);
        break;
    case TARN_FIELD_FIELDS:
        write_channels(w, ((const tarn_session_state *)from)->fields, ((const tarn_session_state *)from)->field_count,
                       TARN_FIELDS_MAX);
        break;
    case TARN_FIELD_ADDED:
        write_added(w, from);
        break;
    case TARN_FIELD_REMARKS:
        write_remarks(w, from);
        break;
    case TARN_FIELD_LOCKED:
        write_locked(w, *(const uint32_t *)from);
        break;
    case TARN_FIELD_VIEWERS:
        write_viewers(w, from);
        break;
    case TARN_FIELD_PROBES:
        write_probes(w, from);
        break;
    case TARN_FIELD_COLUMNS:
        write_columns(w, from);
        break;
    case TARN_FIELD_VALUES:
        write_values(w, from);
        break;
    case TARN_FIELD_STATE:
        write_map(w, &tarn_state_shape, from);
        break;
    case TARN_FIELD_POINTS:
        write_points(w, &tarn_point_shape, ((const tarn_presence *)from)->points,
                     ((const tarn_presence *)from)->point_count, TARN_PRESENCE_POINTS_MAX);
        break;
    case TARN_FIELD_PRESENCES:
        write_points(w, &tarn_presence_shape, ((const tarn_presences *)from)->points,
                     ((const tarn_presences *)from)->point_count, TARN_PRESENCES_MAX);
        break;
    default:
        write_floats(w, from, field->count);
        break;
    }
}

static void write_field(writer *w, const tarn_field *field, const void *from)
{
    switch (field->type) {
    case TARN_FIELD_U32:
        msgpack_pack_uint32(&w->packer, *(const uint32_t *)from);
        break;
    case TARN_FIELD_COLOUR:
        write_colour(w, *(const uint32_t *)from);
        break;
    case TARN_FIELD_U64:
        msgpack_pack_uint64(&w->packer, *(const uint64_t *)from);
        break;
    case TARN_FIELD_F32:
        msgpack_pack_float(&w->packer, *(const float *)from);
        break;
    case TARN_FIELD_F64:
        msgpack_pack_double(&w->packer, *(const double *)from);
        break;
    case TARN_FIELD_BOOL:
        *(const uint8_t *)from ? msgpack_pack_true(&w->packer) : msgpack_pack_false(&w->packer);
        break;
    case TARN_FIELD_WORD:
        write_enum(w, field, from);
        break;
    case TARN_FIELD_STRING:
        write_string(w, from, (size_t)field->max);
        break;
    default:
        write_list(w, field, from);
        break;
    }
}

static void write_fields(writer *w, const tarn_shape *shape, const void *base)
{
    for (uint32_t i = 0; i < shape->field_count; i++) {
        if (is_written(&shape->fields[i], base)) {
            write_word(w, shape->fields[i].key);
            write_field(w, &shape->fields[i], (const char *)base + shape->fields[i].offset);
        }
    }
}

static const tarn_shape *shape_of(tarn_message_kind kind)
{
    for (uint32_t i = 0; i < tarn_message_shape_count; i++) {
        if (tarn_message_shapes[i].value == (int)kind) {
            return &tarn_message_shapes[i];
        }
    }
    return NULL;
}

static void write_message(writer *w, const tarn_message *message, const tarn_shape *shape, const tarn_shape *input)
{
    msgpack_pack_map(&w->packer,
                     1 + written_count(shape, message) + (input != NULL ? 1 + written_count(input, message) : 0));
    write_word(w, "t");
    write_word(w, shape->word);
    write_fields(w, shape, message);
    if (input != NULL) {
        write_word(w, "k");
        write_word(w, input->word);
        write_fields(w, input, message);
    }
}

tarn_status tarn_message_write(const tarn_message *message, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    const tarn_shape *shape = shape_of(message->kind), *input = NULL;
    if (shape == NULL) {
        return TARN_E_ARGUMENT;
    }
    if (message->kind == TARN_MESSAGE_INPUT) {
        if ((unsigned)message->input.kind >= TARN_INPUT_COUNT) {
            return TARN_E_ARGUMENT;
        }
        input = &tarn_input_shapes[message->input.kind];
    }
    writer w = {.buffer = {.bytes = bytes, .bytes_max = bytes_max}};
    msgpack_packer_init(&w.packer, &w.buffer, append);
    write_message(&w, message, shape, input);
    if (w.wrong) {
        return TARN_E_ARGUMENT;
    }
    if (w.buffer.full) {
        return TARN_E_SPACE;
    }
    tarn_message check;
    if (tarn_message_read(bytes, w.buffer.byte_count, &check, NULL)) {
        return TARN_E_ARGUMENT;
    }
    *byte_count = w.buffer.byte_count;
    return TARN_OK;
}
