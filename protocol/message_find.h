/// Where in a map its fields are. Private to tarn_message.
#ifndef TARN_PROTOCOL_MESSAGE_FIND_H
#define TARN_PROTOCOL_MESSAGE_FIND_H

#include "protocol/message_fields.h"
#include "protocol/message_scan.h"

#include <stdbool.h>

/// A map whose children are still to be looked at, of bytes that tarn_scan_message took.
typedef struct tarn_map_view {
    tarn_cursor cursor; ///< behind the head
    uint32_t pair_count;
} tarn_map_view;

/// Where the values of a shape's fields are, as far as the walk came.
typedef struct tarn_found_fields {
    tarn_cursor values[TARN_SHAPE_FIELDS_MAX];
    uint8_t times[TARN_SHAPE_FIELDS_MAX]; ///< that a field is there: 2 stands for more, too
    tarn_item wrong_name;                 ///< that ended the walk, where it did
    bool has_wrong_name;
} tarn_found_fields;

bool tarn_key_equals(const tarn_item *item, const char *key);

/// Looks one key up. A missing one leaves *found false.
/// @param message  its kind, for the sentence in `why`, which may be NULL
/// @return TARN_OK, or TARN_E_MALFORMED: it is there twice, or a name in front of that is no string
tarn_status tarn_find_value(const tarn_map_view *map, const char *message, const char *key, tarn_cursor *value,
                            bool *found, tarn_text *why);

/// Looks all of a shape's fields up in one walk.
void tarn_find_fields(const tarn_map_view *map, const tarn_shape *shape, tarn_found_fields *found);

/// Whether a field, those before it having been checked, may be read if it is there.
/// @return as tarn_find_value
tarn_status tarn_found_check(const tarn_found_fields *found, const tarn_shape *shape, uint32_t field,
                             const char *message, tarn_text *why);

#endif
