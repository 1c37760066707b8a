// A map may have thousands of entries that nobody knows, or few large ones, and a shape many fields: so all of these
// are found in one walk, whose cost doesn't rise with their number.
#include "protocol/message_find.h"
#include "protocol/assert.h"
#include "protocol/message_text.h"

#include <string.h>

bool tarn_key_equals(const tarn_item *item, const char *key)
{
    return item->type == TARN_ITEM_STRING && item->count == strlen(key) && memcmp(item->data, key, item->count) == 0;
}

static tarn_status refuse_name(const tarn_item *name, const char *message, tarn_text *why)
{
    char text[TARN_DESCRIPTION_BYTES];
    tarn_describe_item(name, text);
    tarn_sentence(why, "%s: a field's name is %s; allowed is a string", message, text);
    return TARN_E_MALFORMED;
}

static tarn_status refuse_second(const char *key, const char *message, tarn_text *why)
{
    tarn_sentence(why, "%s: %s is there twice; allowed is once", message, key);
    return TARN_E_MALFORMED;
}

tarn_status tarn_find_value(const tarn_map_view *map, const char *message, const char *key, tarn_cursor *value,
                            bool *found, tarn_text *why)
{
    tarn_cursor cursor = map->cursor;
    *found = false;
    for (uint32_t i = 0; i < map->pair_count; i++) {
        tarn_item name;
        tarn_cursor_next(&cursor, &name);
        if (name.type != TARN_ITEM_STRING) {
            return refuse_name(&name, message, why);
        }
        if (tarn_key_equals(&name, key)) {
            if (*found) {
                return refuse_second(key, message, why);
            }
            *found = true;
            *value = cursor;
        }
        tarn_cursor_skip(&cursor);
    }
    return TARN_OK;
}

/// @return the place of the field of that name; field_count: there is none
static uint32_t place_of(const tarn_shape *shape, const tarn_item *name)
{
    uint32_t f = name->count > 0 ? 0 : shape->field_count;
    while (f < shape->field_count &&
           (shape->fields[f].key[0] != (char)name->data[0] || !tarn_key_equals(name, shape->fields[f].key))) {
        f++;
    }
    return f;
}

void tarn_find_fields(const tarn_map_view *map, const tarn_shape *shape, tarn_found_fields *found)
{
    tarn_cursor cursor = map->cursor;
    TARN_ASSERT(shape->field_count <= TARN_SHAPE_FIELDS_MAX);
    memset(found->times, 0, sizeof found->times);
    found->has_wrong_name = false;
    for (uint32_t i = 0; i < map->pair_count; i++) {
        tarn_item name;
        tarn_cursor_next(&cursor, &name);
        if (name.type != TARN_ITEM_STRING) {
            found->wrong_name = name;
            found->has_wrong_name = true;
            return;
        }
        const uint32_t f = place_of(shape, &name);
        if (f < shape->field_count) {
            found->values[f] = cursor; // of one that is there again none is read
            found->times[f] = found->times[f] == 0 ? 1 : 2;
        }
        tarn_cursor_skip(&cursor);
    }
}

tarn_status tarn_found_check(const tarn_found_fields *found, const tarn_shape *shape, uint32_t field,
                             const char *message, tarn_text *why)
{
    TARN_ASSERT(field < shape->field_count);
    if (found->times[field] > 1) {
        return refuse_second(shape->fields[field].key, message, why);
    }
    return found->has_wrong_name ? refuse_name(&found->wrong_name, message, why) : TARN_OK;
}
