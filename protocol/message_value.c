// Single values of a message, and arrays of numbers: their types, ranges and texts, and the sentence where one is
// wrong.
#include "protocol/message_value.h"
#include "protocol/message_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_BYTES = 64 };

/// The field that is being read: "versions[2]".
static const char *place(const tarn_reader *r, char text[PLACE_BYTES])
{
    if (r->index < 0) {
        return r->key;
    }
    snprintf(text, PLACE_BYTES, "%s[%d]", r->key, r->index);
    return text;
}

tarn_status tarn_refuse_item(const tarn_reader *r, tarn_status status, const tarn_item *item, const char *allowed)
{
    char found[TARN_DESCRIPTION_BYTES], where[PLACE_BYTES];
    tarn_describe_item(item, found);
    tarn_sentence(r->why, "%s: %s is %s; allowed is %s", r->message, place(r, where), found, allowed);
    return status;
}

enum { INTEGER_DIGITS = 16, FLOAT_DIGITS = 9 };

/// @param digits  of the bounds: as many as they have
static tarn_status refuse_range(const tarn_reader *r, const tarn_item *item, const char *what, int digits, double min,
                                double max)
{
    char found[TARN_DESCRIPTION_BYTES], where[PLACE_BYTES];
    tarn_describe_item(item, found);
    tarn_sentence(r->why, "%s: %s is %s; allowed is %s from %.*g to %.*g", r->message, place(r, where), found, what,
                  digits, min, digits, max);
    return TARN_E_LIMIT;
}

// ---- single values ----

tarn_status tarn_read_integer(const tarn_reader *r, const tarn_item *item, const tarn_field *field, uint64_t *value)
{
    if (item->type != TARN_ITEM_UINT && item->type != TARN_ITEM_INT) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "an integer");
    }
    if (item->type == TARN_ITEM_INT || item->uint_value < (uint64_t)field->min ||
        item->uint_value > (uint64_t)field->max) {
        return refuse_range(r, item, "an integer", INTEGER_DIGITS, field->min, field->max);
    }
    *value = item->uint_value;
    return TARN_OK;
}

tarn_status tarn_read_number(const tarn_reader *r, const tarn_item *item, const tarn_field *field, double *value)
{
    switch (item->type) {
    case TARN_ITEM_UINT:
        *value = (double)item->uint_value;
        break;
    case TARN_ITEM_INT:
        *value = (double)item->int_value;
        break;
    case TARN_ITEM_FLOAT:
        *value = item->float_value;
        break;
    default:
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "a number");
    }
    // Bounds such as 0.001 are no binary fractions: a float32 on the bound must pass, so that bound is rounded too.
    bool low = *value < field->min && !((float)*value >= (float)field->min);
    bool high = *value > field->max && !((float)*value <= (float)field->max);
    if (isnan(*value) || isinf(*value) || fabs(*value) > 1e300 || low || high) {
        return refuse_range(r, item, "a number", FLOAT_DIGITS, field->min, field->max);
    }
    return TARN_OK;
}

tarn_status tarn_read_f32(const tarn_reader *r, const tarn_item *item, const tarn_field *field, float *value)
{
    double number;
    tarn_status status = tarn_read_number(r, item, field, &number);
    if (status == TARN_OK) {
        *value = (float)number;
    }
    return status;
}

tarn_status tarn_read_string(const tarn_reader *r, const tarn_item *item, const tarn_field *field, char *text)
{
    if (item->type != TARN_ITEM_STRING) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "a string");
    }
    if (item->count < (uint32_t)field->min || item->count > (uint32_t)field->max) {
        tarn_sentence(r->why, "%s: %s has %u bytes; allowed are %u to %u", r->message, r->key, (unsigned)item->count,
                      (unsigned)field->min, (unsigned)field->max);
        return TARN_E_LIMIT;
    }
    const char *fault = tarn_text_fault(item->data, item->count);
    if (fault != NULL) {
        tarn_sentence(r->why, "%s: %s %s; allowed is printable UTF-8", r->message, r->key, fault);
        return TARN_E_MALFORMED;
    }
    memcpy(text, item->data, item->count);
    text[item->count] = 0;
    return TARN_OK;
}

tarn_status tarn_read_word(const tarn_reader *r, const tarn_item *item, const char *const *words, int *value)
{
    tarn_text allowed = "one of";
    size_t used = strlen(allowed);
    for (int i = 0; words[i] != NULL; i++) {
        if (tarn_key_equals(item, words[i])) {
            *value = i;
            return TARN_OK;
        }
        size_t bytes = strlen(words[i]);
        if (bytes + 2 < sizeof allowed - used) {
            allowed[used++] = ' ';
            memcpy(allowed + used, words[i], bytes + 1);
            used += bytes;
        }
    }
    return tarn_refuse_item(r, item->type == TARN_ITEM_STRING ? TARN_E_UNKNOWN_KIND : TARN_E_MALFORMED, item, allowed);
}

// ---- arrays of numbers ----

tarn_status tarn_open_array(const tarn_reader *r, const tarn_item *item, uint32_t min, uint32_t max)
{
    if (item->type != TARN_ITEM_ARRAY) {
        return tarn_refuse_item(r, TARN_E_MALFORMED, item, "an array");
    }
    if (item->count < min || item->count > max) {
        tarn_sentence(r->why, "%s: %s has %u entries; allowed are %u to %u", r->message, r->key, (unsigned)item->count,
                      (unsigned)min, (unsigned)max);
        return min == max ? TARN_E_MALFORMED : TARN_E_LIMIT;
    }
    return TARN_OK;
}

tarn_status tarn_read_vector(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                             float *values)
{
    tarn_status status = tarn_open_array(r, array, field->count, field->count);
    for (uint32_t i = 0; status == TARN_OK && i < field->count; i++) {
        tarn_item item;
        tarn_cursor_next(cursor, &item);
        r->index = (int)i;
        status = tarn_read_f32(r, &item, field, &values[i]);
    }
    r->index = -1;
    return status;
}

tarn_status tarn_make_unit(const tarn_reader *r, float *values, uint32_t count)
{
    double square = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        square += (double)values[i] * values[i];
    }
    if (square < 1e-6) {
        tarn_sentence(r->why, "%s: %s has the length %.9g; allowed is 0.001 or more", r->message, r->key, sqrt(square));
        return TARN_E_LIMIT;
    }
    if (fabs(square - 1.0) > 1e-5) {
        double scale = 1.0 / sqrt(square);
        for (uint32_t i = 0; i < count; i++) {
            values[i] = (float)(values[i] * scale);
        }
    }
    return TARN_OK;
}
