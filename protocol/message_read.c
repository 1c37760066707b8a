// Reading a message: a bounded walk over the whole of it first (message_scan.c), then each field that the kind's table
// names is looked up in the map, checked and stored. Fields that no table names are never looked at.
//
//     bytes -> scan -> "t" -> shape of the kind -> fields -> ("k" -> shape of the input kind -> fields) -> message
#include "protocol/assert.h"
#include "protocol/message_text.h"
#include "protocol/message_value.h"
#include "protocol/motion_code.h"

#include <math.h>
#include <string.h>

static tarn_status read_versions(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                                 tarn_hello *hello)
{
    tarn_status status = tarn_open_array(r, array, 1, TARN_VERSIONS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_item item;
        uint64_t version = 0;
        tarn_cursor_next(cursor, &item);
        r->index = (int)i;
        status = tarn_read_integer(r, &item, field, &version);
        hello->versions[i] = (uint32_t)version;
    }
    r->index = -1;
    hello->version_count = array->count;
    return status;
}

static tarn_status read_joints(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                               tarn_input_hand *hand)
{
    if (array->type == TARN_ITEM_ARRAY && array->count == 0) {
        return TARN_OK;
    }
    hand->joint_count = TARN_HAND_JOINTS;
    return tarn_read_vector(r, cursor, array, field, &hand->joints_m[0][0]);
}

/// What comes out is what the sender's grid holds, whole: nobody behind the reader has to look again.
static tarn_status read_cells(const tarn_reader *r, const tarn_item *item, const tarn_field *field,
                              tarn_input_motion *motion)
{
    if (item->type != TARN_ITEM_BINARY) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "bytes");
    }
    if (item->count > (uint32_t)field->max) {
        tarn_sentence(r->why, "%s: %s has %u bytes; allowed are up to %u", r->message, r->key, (unsigned)item->count,
                      (unsigned)field->max);
        return TARN_E_LIMIT;
    }
    const size_t count = (size_t)TARN_MOTION_PLANES * motion->columns * motion->rows;
    if (item->count > 0 && tarn_motion_decode(item->data, item->count, NULL, count) != TARN_OK) {
        tarn_sentence(r->why, "%s: %s is no run-length code of %zu bytes, which a grid of %u x %u has", r->message,
                      r->key, count, (unsigned)motion->columns, (unsigned)motion->rows);
        return TARN_E_MALFORMED;
    }
    motion->cell_bytes = item->count;
    motion->cells = item->count > 0 ? item->data : NULL;
    return TARN_OK;
}

static tarn_status read_names(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                              uint32_t count_max, tarn_name *names, uint32_t *count)
{
    tarn_status status = tarn_open_array(r, array, 0, count_max);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_item item;
        tarn_cursor_next(cursor, &item);
        status = tarn_read_string(r, &item, field, names[i]);
    }
    *count = array->count;
    return status;
}

// ---- maps ----

static tarn_status read_fields(tarn_reader *r, const tarn_map_view *map, const tarn_shape *shape, void *base);

static tarn_status open_map(const tarn_reader *r, const tarn_cursor *cursor, const tarn_item *item, tarn_map_view *map)
{
    if (item->type != TARN_ITEM_MAP) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "a map");
    }
    *map = (tarn_map_view){*cursor, item->count};
    return TARN_OK;
}

/// Reads one map of an array and goes on behind it.
static tarn_status read_entry(tarn_reader *r, tarn_cursor *cursor, const tarn_shape *shape, void *base)
{
    tarn_item item;
    tarn_cursor at = *cursor;
    tarn_map_view map;
    tarn_cursor_next(&at, &item);
    tarn_cursor_skip(cursor);
    tarn_status status = open_map(r, &at, &item, &map);
    return status ? status : read_fields(r, &map, shape, base);
}

static tarn_status read_parameter(tarn_reader *r, tarn_cursor *cursor, tarn_parameter_info *info)
{
    tarn_status status = read_entry(r, cursor, &tarn_parameter_shape, info);
    if (status == TARN_OK && !(info->min <= info->max)) {
        tarn_sentence(r->why, "%s: the parameter %s has min %.9g above max %.9g", r->message, info->name,
                      (double)info->min, (double)info->max);
        status = TARN_E_LIMIT;
    }
    return status;
}

static tarn_status read_parameters(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array,
                                   tarn_session_state *state)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_PARAMETERS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        status = read_parameter(r, cursor, &state->parameters[i]);
    }
    state->parameter_count = array->count;
    return status;
}

/// A set of those that are known; a newer end may know more.
static tarn_status read_tools(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                              tarn_session_state *state)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_TOOLS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_item item;
        tarn_name word;
        tarn_cursor_next(cursor, &item);
        status = tarn_read_string(r, &item, field, word);
        for (int tool = 0; status == TARN_OK && tool < TARN_TOOL_COUNT; tool++) {
            state->tools |= strcmp(word, tarn_tool_name((tarn_tool)tool)) == 0 ? 1u << tool : 0;
        }
    }
    return status;
}

/// The same of what is locked.
static tarn_status read_locked(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                               uint32_t *locked)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_LOCKS_MAX);
    *locked = 0;
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_item item;
        tarn_name word;
        tarn_cursor_next(cursor, &item);
        status = tarn_read_string(r, &item, field, word);
        for (int bit = 0; status == TARN_OK && bit < TARN_LOCK_BITS; bit++) {
            const char *known = tarn_lock_word(bit);
            *locked |= known != NULL && strcmp(word, known) == 0 ? 1u << bit : 0;
        }
    }
    return status;
}

static tarn_status read_channels(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, uint32_t max,
                                 tarn_channel_info *channels, uint32_t *count)
{
    tarn_status status = tarn_open_array(r, array, 0, max);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        status = read_entry(r, cursor, &tarn_channel_shape, &channels[i]);
    }
    *count = array->count;
    return status;
}

/// What each number of an added solid may be; whole ones are no fractions.
static const struct {
    double min, max;
    bool is_whole;
} added_ranges[TARN_ADDED_VALUES] = {
    {0, 65535, true},       {0, TARN_ADDED_SHAPE_COUNT - 1, true},
    {0, 63, true},          {0, 20480, false},
    {0, 20480, false},      {0, 20480, false},
    {-20480, 20480, false}, {-20480, 20480, false},
    {-20480, 20480, false}, {-1.01, 1.01, false},
    {-1.01, 1.01, false},   {-1.01, 1.01, false},
    {-1.01, 1.01, false},   {0, TARN_COLOUR_MAX, true},
};

static tarn_status read_added_values(tarn_reader *r, tarn_cursor *cursor, float *values)
{
    tarn_item item;
    tarn_cursor_next(cursor, &item);
    tarn_status status = tarn_open_array(r, &item, TARN_ADDED_VALUES, TARN_ADDED_VALUES);
    for (int i = 0; status == TARN_OK && i < TARN_ADDED_VALUES; i++) {
        const tarn_field range = {.min = added_ranges[i].min, .max = added_ranges[i].max};
        tarn_cursor_next(cursor, &item);
        r->index = i;
        status = tarn_read_f32(r, &item, &range, &values[i]);
        if (status == TARN_OK && added_ranges[i].is_whole && values[i] != floorf(values[i])) {
            status = tarn_refuse_item(r, TARN_E_MALFORMED, &item, "a whole number");
        }
    }
    r->index = -1;
    return status;
}

static tarn_status read_added(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, tarn_session_state *state)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_ADDED_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        float values[TARN_ADDED_VALUES] = {0};
        tarn_added_info *info = &state->added[i];
        status = read_added_values(r, cursor, values);
        info->number = (uint32_t)values[0];
        info->shape = (tarn_added_shape)values[1];
        info->like = (uint32_t)values[2];
        memcpy(info->half_m, values + 3, sizeof info->half_m);
        memcpy(info->position_m, values + 6, sizeof info->position_m);
        memcpy(info->rotation, values + 9, sizeof info->rotation);
        info->colour = (uint32_t)values[13];
        if (status == TARN_OK && info->number > 0 && info->number < TARN_ADDED_NUMBER_MIN) {
            tarn_sentence(r->why, "%s: %s has the number %u; allowed is 0 and %d to 65535", r->message, r->key,
                          (unsigned)info->number, TARN_ADDED_NUMBER_MIN);
            status = TARN_E_LIMIT;
        }
    }
    state->added_count = array->count;
    return status;
}

static tarn_status read_viewers(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, tarn_viewers *viewers)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_VIEWERS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_viewer_info info;
        status = read_entry(r, cursor, &tarn_viewer_shape, &info);
    }
    viewers->viewer_count = array->count;
    viewers->viewers = NULL;
    return status;
}

static tarn_status read_points(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, tarn_presence *presence)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_PRESENCE_POINTS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        status = read_entry(r, cursor, &tarn_point_shape, &presence->points[i]);
    }
    presence->point_count = array->count;
    return status;
}

static tarn_status read_presences(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array,
                                  tarn_presences *presences)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_PRESENCES_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_presence_point point;
        status = read_entry(r, cursor, &tarn_presence_shape, &point);
    }
    presences->point_count = array->count;
    presences->points = NULL;
    return status;
}

static tarn_status read_probes(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, tarn_probe_list *list)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_LIVE_PROBES_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        status = read_entry(r, cursor, &tarn_probe_shape, &list->probes[i]);
    }
    list->probe_count = array->count;
    return status;
}

/// What comes out has whole rows of finite numbers; how many a row has the list says.
static tarn_status read_values(const tarn_reader *r, const tarn_item *item, const tarn_field *field,
                               tarn_readings *readings)
{
    if (item->type != TARN_ITEM_BINARY) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "bytes");
    }
    if (item->count > (uint32_t)field->max) {
        tarn_sentence(r->why, "%s: %s has %u bytes; allowed are up to %u", r->message, r->key, (unsigned)item->count,
                      (unsigned)field->max);
        return TARN_E_LIMIT;
    }
    if (item->count % (sizeof(float) * readings->row_count) != 0) {
        tarn_sentence(r->why, "%s: %s has %u bytes; allowed is a multiple of 4 for each of %u rows", r->message, r->key,
                      (unsigned)item->count, (unsigned)readings->row_count);
        return TARN_E_MALFORMED;
    }
    for (uint32_t i = 0; i < item->count; i += sizeof(float)) {
        float value;
        memcpy(&value, item->data + i, sizeof value);
        if (!isfinite(value)) {
            tarn_sentence(r->why, "%s: %s has a number at %u that isn't finite", r->message, r->key, (unsigned)i);
            return TARN_E_LIMIT;
        }
    }
    readings->byte_count = item->count;
    readings->values = item->data;
    return TARN_OK;
}

static tarn_status read_remarks(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                                tarn_session_state *state)
{
    tarn_status status = tarn_open_array(r, array, 0, TARN_REMARKS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < array->count; i++) {
        tarn_item item;
        tarn_cursor_next(cursor, &item);
        status = tarn_read_string(r, &item, field, state->remarks[i]);
    }
    state->remark_count = array->count;
    return status;
}

static tarn_status read_state(tarn_reader *r, tarn_cursor *cursor, const tarn_item *item, tarn_session_state *state)
{
    tarn_map_view map;
    tarn_status status = open_map(r, cursor, item, &map);
    return status ? status : read_fields(r, &map, &tarn_state_shape, state);
}

// ---- fields ----

static tarn_status read_scalar(tarn_reader *r, const tarn_item *item, const tarn_field *field, void *to)
{
    tarn_status status = TARN_OK;
    uint64_t integer = 0;
    double number = 0;
    int word = 0;
    switch (field->type) {
    case TARN_FIELD_U32:
        status = tarn_read_integer(r, item, field, &integer);
        *(uint32_t *)to = (uint32_t)integer;
        return status;
    case TARN_FIELD_COLOUR:
        status = tarn_read_integer(r, item, field, &integer);
        *(uint32_t *)to = (uint32_t)integer | TARN_COLOUR_GIVEN;
        return status;
    case TARN_FIELD_U64:
        status = tarn_read_integer(r, item, field, &integer);
        *(uint64_t *)to = integer;
        return status;
    case TARN_FIELD_F64:
        status = tarn_read_number(r, item, field, &number);
        *(double *)to = number;
        return status;
    case TARN_FIELD_F32:
        return tarn_read_f32(r, item, field, to);
    case TARN_FIELD_BOOL:
        *(uint8_t *)to = item->uint_value != 0;
        return item->type == TARN_ITEM_BOOL ? TARN_OK : tarn_refuse_item(r, TARN_E_MALFORMED, item, "true or false");
    case TARN_FIELD_WORD:
        status = tarn_read_word(r, item, field->words, &word);
        memcpy(to, &word, sizeof word);
        return status;
    default:
        return tarn_read_string(r, item, field, to);
    }
}

static tarn_status read_field(tarn_reader *r, tarn_cursor *cursor, const tarn_field *field, void *to)
{
    tarn_item item;
    tarn_cursor_next(cursor, &item);
    tarn_status status;
    switch (field->type) {
    case TARN_FIELD_VECTOR:
        return tarn_read_vector(r, cursor, &item, field, to);
    case TARN_FIELD_DIRECTION:
    case TARN_FIELD_QUATERNION:
        status = tarn_read_vector(r, cursor, &item, field, to);
        return status ? status : tarn_make_unit(r, to, field->count);
    case TARN_FIELD_VERSIONS:
        return read_versions(r, cursor, &item, field, to);
    case TARN_FIELD_SCENES:
        return read_names(r, cursor, &item, field, TARN_SCENES_MAX, ((tarn_welcome *)to)->scenes,
                          &((tarn_welcome *)to)->scene_count);
    case TARN_FIELD_JOINTS:
        return read_joints(r, cursor, &item, field, to);
    case TARN_FIELD_CELLS:
        return read_cells(r, &item, field, to);
    case TARN_FIELD_PARAMETERS:
        return read_parameters(r, cursor, &item, to);
    case TARN_FIELD_TOOLS:
        return read_tools(r, cursor, &item, field, to);
    case TARN_FIELD_CHANNELS:
        return read_channels(r, cursor, &item, TARN_CHANNELS_MAX, ((tarn_session_state *)to)->channels,
                             &((tarn_session_state *)to)->channel_count);
    case TARN_FIELD_FIELDS:
        return read_channels(r, cursor, &item, TARN_FIELDS_MAX, ((tarn_session_state *)to)->fields,
                             &((tarn_session_state *)to)->field_count);
    case TARN_FIELD_ADDED:
        return read_added(r, cursor, &item, to);
    case TARN_FIELD_REMARKS:
        return read_remarks(r, cursor, &item, field, to);
    case TARN_FIELD_LOCKED:
        return read_locked(r, cursor, &item, field, to);
    case TARN_FIELD_VIEWERS:
        return read_viewers(r, cursor, &item, to);
    case TARN_FIELD_POINTS:
        return read_points(r, cursor, &item, to);
    case TARN_FIELD_PRESENCES:
        return read_presences(r, cursor, &item, to);
    case TARN_FIELD_PROBES:
        return read_probes(r, cursor, &item, to);
    case TARN_FIELD_COLUMNS:
        return read_names(r, cursor, &item, field, TARN_PROBE_VALUES_MAX, ((tarn_probe_info *)to)->columns,
                          &((tarn_probe_info *)to)->column_count);
    case TARN_FIELD_VALUES:
        return read_values(r, &item, field, to);
    case TARN_FIELD_STATE:
        return read_state(r, cursor, &item, to);
    default:
        return read_scalar(r, &item, field, to);
    }
}

static tarn_status read_fields(tarn_reader *r, const tarn_map_view *map, const tarn_shape *shape, void *base)
{
    tarn_found_fields found;
    tarn_find_fields(map, shape, &found);
    for (uint32_t i = 0; i < shape->field_count; i++) {
        const tarn_field *field = &shape->fields[i];
        tarn_status status = tarn_found_check(&found, shape, i, r->message, r->why);
        if (status == TARN_OK && found.times[i] > 0) {
            r->key = field->key;
            r->index = -1;
            status = read_field(r, &found.values[i], field, (char *)base + field->offset);
        } else if (status == TARN_OK && field->need == TARN_FIELD_REQUIRED) {
            tarn_sentence(r->why, "%s: the field %s is missing", r->message, field->key);
            status = TARN_E_MALFORMED;
        }
        if (status) {
            return status;
        }
    }
    return TARN_OK;
}

/// Finds which of `shapes` the word under `key` names.
static tarn_status find_shape(tarn_reader *r, const tarn_map_view *map, const char *key, const tarn_shape *shapes,
                              uint32_t shape_count, const tarn_shape **shape)
{
    tarn_cursor value;
    tarn_item item;
    bool found;
    tarn_status status = tarn_find_value(map, r->message, key, &value, &found, r->why);
    if (status) {
        return status;
    }
    if (!found) {
        tarn_sentence(r->why, "%s: the field %s is missing", r->message, key);
        return TARN_E_MALFORMED;
    }
    tarn_cursor_next(&value, &item);
    for (uint32_t i = 0; i < shape_count; i++) {
        if (tarn_key_equals(&item, shapes[i].word)) {
            *shape = &shapes[i];
            return TARN_OK;
        }
    }
    r->key = key;
    r->index = -1;
    return tarn_refuse_item(r, item.type == TARN_ITEM_STRING ? TARN_E_UNKNOWN_KIND : TARN_E_MALFORMED, &item,
                            "a kind that SPEC.md lists");
}

#define MOTION_AREA_MIN_M2 1e-6

static tarn_status check_rectangle(const tarn_reader *r, const tarn_input_motion *motion)
{
    double square = 0.0;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        const double normal = (double)motion->across_m[b] * (double)motion->up_m[c] -
                              (double)motion->across_m[c] * (double)motion->up_m[b];
        square += normal * normal;
    }
    if (square < MOTION_AREA_MIN_M2 * MOTION_AREA_MIN_M2) {
        tarn_sentence(r->why, "%s: across_m and up_m span %.9g m2; allowed are %g or more", r->message, sqrt(square),
                      MOTION_AREA_MIN_M2);
        return TARN_E_LIMIT;
    }
    return TARN_OK;
}

static tarn_status read_input_kind(tarn_reader *r, const tarn_map_view *map, tarn_message *message)
{
    const tarn_shape *shape = NULL;
    tarn_status status = find_shape(r, map, "k", tarn_input_shapes, TARN_INPUT_COUNT, &shape);
    if (status) {
        return status;
    }
    TARN_ASSERT(shape != NULL);
    message->input.kind = (tarn_input_kind)shape->value;
    status = read_fields(r, map, shape, message);
    return status == TARN_OK && message->input.kind == TARN_INPUT_MOTION ? check_rectangle(r, &message->input.motion)
                                                                         : status;
}

/// What an action needs besides.
static tarn_status check_control(const tarn_reader *r, const tarn_control *control)
{
    if (control->action == TARN_CONTROL_LOAD && control->scene[0] == 0) {
        tarn_sentence(r->why, "control: the field scene is missing or empty; the action load needs a scene's name");
        return TARN_E_MALFORMED;
    }
    if (control->action == TARN_CONTROL_SPEED && control->speed == 0.0f) {
        tarn_sentence(r->why, "control: the field speed is missing or 0; the action speed needs a number from %g to %g",
                      (double)TARN_SPEED_MIN, (double)TARN_SPEED_MAX);
        return TARN_E_MALFORMED;
    }
    if (control->action == TARN_CONTROL_SPEED && control->speed < TARN_SPEED_MIN) {
        tarn_sentence(r->why, "control: speed is %g; allowed are %g to %g", (double)control->speed,
                      (double)TARN_SPEED_MIN, (double)TARN_SPEED_MAX);
        return TARN_E_LIMIT;
    }
    return TARN_OK;
}

static tarn_status read_kind(tarn_reader *r, const tarn_map_view *map, size_t byte_count, tarn_message *message)
{
    const tarn_shape *shape = NULL;
    tarn_status status = find_shape(r, map, "t", tarn_message_shapes, tarn_message_shape_count, &shape);
    if (status) {
        return status;
    }
    TARN_ASSERT(shape != NULL);
    r->message = shape->word;
    message->kind = (tarn_message_kind)shape->value;
    if (tarn_message_from_client(message->kind) && byte_count > TARN_MESSAGE_BYTES_MAX) {
        tarn_sentence(r->why, "%s: the message has %zu bytes; allowed are up to %d", r->message, byte_count,
                      TARN_MESSAGE_BYTES_MAX);
        return TARN_E_LIMIT;
    }
    if ((status = read_fields(r, map, shape, message))) {
        return status;
    }
    if (message->kind == TARN_MESSAGE_INPUT) {
        return read_input_kind(r, map, message);
    }
    return message->kind == TARN_MESSAGE_CONTROL ? check_control(r, &message->control) : TARN_OK;
}

/// Scans the bytes and opens the map on top.
static tarn_status open_message(const uint8_t *bytes, size_t byte_count, tarn_map_view *map, tarn_text *why)
{
    tarn_status status = tarn_scan_message(bytes, byte_count, why);
    if (status) {
        return status;
    }
    tarn_item item;
    tarn_cursor cursor = {bytes, bytes + byte_count};
    tarn_cursor_next(&cursor, &item);
    *map = (tarn_map_view){cursor, item.count};
    return TARN_OK;
}

tarn_status tarn_message_read(const uint8_t *bytes, size_t byte_count, tarn_message *message, tarn_text *why)
{
    tarn_map_view map;
    tarn_status status = open_message(bytes, byte_count, &map, why);
    if (status) {
        return status;
    }
    tarn_message read;
    memset(&read, 0, sizeof read);
    tarn_reader r = {.why = why, .message = "message", .key = "t", .index = -1};
    status = read_kind(&r, &map, byte_count, &read);
    if (status == TARN_OK) {
        *message = read;
    }
    return status;
}

/// A message whose only list of maps is wanted: which, and where its entries go.
typedef struct list_reading {
    tarn_message_kind kind;
    const char *key;
    const tarn_shape *shape;
    uint8_t *entries;
    size_t entry_bytes;
    uint32_t entries_max;
} list_reading;

static uint32_t list_count(const tarn_message *message)
{
    return message->kind == TARN_MESSAGE_VIEWERS ? message->viewers.viewer_count : message->presences.point_count;
}

static tarn_status read_list(const uint8_t *bytes, size_t byte_count, const list_reading *list, uint32_t *count,
                             tarn_text *why)
{
    tarn_message message;
    tarn_status status = tarn_message_read(bytes, byte_count, &message, why);
    const char *name = tarn_message_kind_name(list->kind);
    if (status) {
        return status;
    }
    if (message.kind != list->kind) {
        tarn_sentence(why, "the message is %s, not %s", tarn_message_kind_name(message.kind), name);
        return TARN_E_ARGUMENT;
    }
    if (list_count(&message) > list->entries_max) {
        tarn_sentence(why, "%s: there are %u, the array holds %u", name, (unsigned)list_count(&message),
                      (unsigned)list->entries_max);
        return TARN_E_SPACE;
    }
    tarn_reader r = {.why = why, .message = name, .key = list->key, .index = -1};
    tarn_map_view map;
    tarn_cursor cursor;
    tarn_item item;
    bool found;
    // Everything was read once above, so nothing here can fail.
    open_message(bytes, byte_count, &map, why);
    tarn_find_value(&map, name, list->key, &cursor, &found, why);
    tarn_cursor_next(&cursor, &item);
    for (uint32_t i = 0; i < item.count; i++) {
        memset(list->entries + i * list->entry_bytes, 0, list->entry_bytes);
        read_entry(&r, &cursor, list->shape, list->entries + i * list->entry_bytes);
    }
    *count = item.count;
    return TARN_OK;
}

tarn_status tarn_message_read_viewers(const uint8_t *bytes, size_t byte_count, tarn_viewer_info *viewers,
                                      uint32_t viewers_max, uint32_t *viewer_count, tarn_text *why)
{
    const list_reading list = {.kind = TARN_MESSAGE_VIEWERS,
                               .key = "viewers",
                               .shape = &tarn_viewer_shape,
                               .entries = (uint8_t *)viewers,
                               .entry_bytes = sizeof *viewers,
                               .entries_max = viewers_max};
    return read_list(bytes, byte_count, &list, viewer_count, why);
}

tarn_status tarn_message_read_presences(const uint8_t *bytes, size_t byte_count, tarn_presence_point *points,
                                        uint32_t points_max, uint32_t *point_count, tarn_text *why)
{
    const list_reading list = {.kind = TARN_MESSAGE_PRESENCES,
                               .key = "points",
                               .shape = &tarn_presence_shape,
                               .entries = (uint8_t *)points,
                               .entry_bytes = sizeof *points,
                               .entries_max = points_max};
    return read_list(bytes, byte_count, &list, point_count, why);
}
