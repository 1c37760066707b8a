/// A bounded cursor over msgpack bytes: no allocation, and no declared size is believed that the bytes left cannot
/// hold. Private to tarn_message.
#ifndef TARN_PROTOCOL_MESSAGE_SCAN_H
#define TARN_PROTOCOL_MESSAGE_SCAN_H

#include "protocol/message.h"

typedef enum tarn_item_type {
    TARN_ITEM_NIL,
    TARN_ITEM_BOOL,
    TARN_ITEM_UINT,
    TARN_ITEM_INT, ///< negative
    TARN_ITEM_FLOAT,
    TARN_ITEM_STRING,
    TARN_ITEM_BINARY,
    TARN_ITEM_EXTENSION,
    TARN_ITEM_ARRAY,
    TARN_ITEM_MAP,
} tarn_item_type;

/// One msgpack item without its children.
typedef struct tarn_item {
    tarn_item_type type;
    uint32_t count;      ///< bytes of a string, binary or extension; elements of an array; pairs of a map
    const uint8_t *data; ///< of a string, binary or extension
    union {
        uint64_t uint_value; ///< also of a bool
        int64_t int_value;
        double float_value;
    };
} tarn_item;

typedef struct tarn_cursor {
    const uint8_t *p, *end;
} tarn_cursor;

/// Reads the next item's head (and a string's bytes). @return TARN_OK, TARN_E_TRUNCATED or TARN_E_MALFORMED
tarn_status tarn_cursor_next(tarn_cursor *cursor, tarn_item *item);

/// Walks over a whole message: depth, number of objects, declared sizes, nothing left over, a map on top.
/// `why` receives a sentence on failure; may be NULL.
/// @return TARN_OK, TARN_E_TRUNCATED, TARN_E_MALFORMED or TARN_E_LIMIT
tarn_status tarn_scan_message(const uint8_t *bytes, size_t byte_count, tarn_text *why);

/// Skips one item with its children. Only over bytes that tarn_scan_message took.
void tarn_cursor_skip(tarn_cursor *cursor);

#endif
