// Why a walk of our own stands before everything else: msgpack libraries believe declared sizes, so that ten bytes can
// ask for gigabytes. Here a container may declare no more children than there are bytes left, and every object counts.
#include "protocol/message_scan.h"

#include "protocol/message_text.h"

static uint64_t big_endian(const uint8_t *p, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

static double float_value(uint64_t bits, size_t bytes)
{
    union {
        uint32_t bits;
        float value;
    } f32 = {.bits = (uint32_t)bits};
    union {
        uint64_t bits;
        double value;
    } f64 = {.bits = bits};
    return bytes == 4 ? (double)f32.value : f64.value;
}

static void set_int(tarn_item *item, uint64_t bits, size_t bytes)
{
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    if (bits & sign) {
        item->type = TARN_ITEM_INT;
        // Sign extension without shifting a negative number: -(2^n - bits), which fits also for the smallest.
        item->int_value = -(int64_t)(sign - (bits - sign) - 1) - 1;
    } else {
        item->type = TARN_ITEM_UINT;
        item->uint_value = bits;
    }
}

/// Items of 0xc0..0xdf, whose head is followed by `bytes` bytes of a number or a length.
static const struct {
    uint8_t type, bytes;
} wide_items[32] = {
    [0x00] = {TARN_ITEM_NIL, 0},       [0x02] = {TARN_ITEM_BOOL, 0},      [0x03] = {TARN_ITEM_BOOL, 0},
    [0x04] = {TARN_ITEM_BINARY, 1},    [0x05] = {TARN_ITEM_BINARY, 2},    [0x06] = {TARN_ITEM_BINARY, 4},
    [0x07] = {TARN_ITEM_EXTENSION, 1}, [0x08] = {TARN_ITEM_EXTENSION, 2}, [0x09] = {TARN_ITEM_EXTENSION, 4},
    [0x0a] = {TARN_ITEM_FLOAT, 4},     [0x0b] = {TARN_ITEM_FLOAT, 8},     [0x0c] = {TARN_ITEM_UINT, 1},
    [0x0d] = {TARN_ITEM_UINT, 2},      [0x0e] = {TARN_ITEM_UINT, 4},      [0x0f] = {TARN_ITEM_UINT, 8},
    [0x10] = {TARN_ITEM_INT, 1},       [0x11] = {TARN_ITEM_INT, 2},       [0x12] = {TARN_ITEM_INT, 4},
    [0x13] = {TARN_ITEM_INT, 8},       [0x14] = {TARN_ITEM_EXTENSION, 0}, [0x15] = {TARN_ITEM_EXTENSION, 0},
    [0x16] = {TARN_ITEM_EXTENSION, 0}, [0x17] = {TARN_ITEM_EXTENSION, 0}, [0x18] = {TARN_ITEM_EXTENSION, 0},
    [0x19] = {TARN_ITEM_STRING, 1},    [0x1a] = {TARN_ITEM_STRING, 2},    [0x1b] = {TARN_ITEM_STRING, 4},
    [0x1c] = {TARN_ITEM_ARRAY, 2},     [0x1d] = {TARN_ITEM_ARRAY, 4},     [0x1e] = {TARN_ITEM_MAP, 2},
    [0x1f] = {TARN_ITEM_MAP, 4},
};

static tarn_status read_wide(tarn_cursor *cursor, uint8_t head, tarn_item *item)
{
    size_t bytes = wide_items[head - 0xc0].bytes;
    if (head == 0xc1) {
        return TARN_E_MALFORMED;
    }
    if (bytes > (size_t)(cursor->end - cursor->p)) {
        return TARN_E_TRUNCATED;
    }
    uint64_t value = big_endian(cursor->p, bytes);
    cursor->p += bytes;
    item->type = (tarn_item_type)wide_items[head - 0xc0].type;
    switch (item->type) {
    case TARN_ITEM_BOOL:
        item->uint_value = head == 0xc3;
        break;
    case TARN_ITEM_UINT:
        item->uint_value = value;
        break;
    case TARN_ITEM_INT:
        set_int(item, value, bytes);
        break;
    case TARN_ITEM_FLOAT:
        item->float_value = float_value(value, bytes);
        break;
    default:
        item->count = (uint32_t)value;
        break;
    }
    if (head >= 0xd4 && head <= 0xd8) {
        item->count = 1u << (head - 0xd4);
    }
    return TARN_OK;
}

static void read_narrow(uint8_t head, tarn_item *item)
{
    if (head < 0x80) {
        item->type = TARN_ITEM_UINT;
        item->uint_value = head;
    } else if (head < 0x90) {
        item->type = TARN_ITEM_MAP;
        item->count = head & 0x0f;
    } else if (head < 0xa0) {
        item->type = TARN_ITEM_ARRAY;
        item->count = head & 0x0f;
    } else if (head < 0xc0) {
        item->type = TARN_ITEM_STRING;
        item->count = head & 0x1f;
    } else {
        item->type = TARN_ITEM_INT;
        item->int_value = head - 0x100;
    }
}

tarn_status tarn_cursor_next(tarn_cursor *cursor, tarn_item *item)
{
    if (cursor->p == cursor->end) {
        return TARN_E_TRUNCATED;
    }
    *item = (tarn_item){0};
    uint8_t head = *cursor->p++;
    if (head < 0xc0 || head >= 0xe0) {
        read_narrow(head, item);
    } else {
        tarn_status status = read_wide(cursor, head, item);
        if (status) {
            return status;
        }
    }
    if (item->type != TARN_ITEM_STRING && item->type != TARN_ITEM_BINARY && item->type != TARN_ITEM_EXTENSION) {
        return TARN_OK;
    }
    size_t left = (size_t)(cursor->end - cursor->p), tag = item->type == TARN_ITEM_EXTENSION;
    if (tag > left || item->count > left - tag) {
        return TARN_E_TRUNCATED;
    }
    item->data = cursor->p + tag;
    cursor->p = item->data + item->count;
    return TARN_OK;
}

/// Items that an item has inside; only after its count was bounded.
static uint32_t child_count(const tarn_item *item)
{
    return item->type == TARN_ITEM_MAP ? 2 * item->count : item->type == TARN_ITEM_ARRAY ? item->count : 0;
}

static tarn_status scan_item(tarn_cursor *cursor, tarn_item *item, uint32_t *objects, tarn_text *why)
{
    tarn_status status = tarn_cursor_next(cursor, item);
    if (status == TARN_E_TRUNCATED) {
        tarn_sentence(why, "the message ends in the middle of a value");
        return status;
    }
    if (status) {
        tarn_sentence(why, "the message contains the byte 0xc1 where a value begins; msgpack has no such value");
        return status;
    }
    uint32_t children = item->type == TARN_ITEM_MAP || item->type == TARN_ITEM_ARRAY ? item->count : 0;
    if (++*objects > TARN_MESSAGE_OBJECTS_MAX || children > TARN_MESSAGE_OBJECTS_MAX) {
        tarn_sentence(why, "the message has or declares more than %d objects; allowed are up to %d",
                      TARN_MESSAGE_OBJECTS_MAX, TARN_MESSAGE_OBJECTS_MAX);
        return TARN_E_LIMIT;
    }
    if (child_count(item) > (size_t)(cursor->end - cursor->p)) {
        tarn_sentence(why, "the message declares a container of %u entries, but only %zu bytes follow",
                      (unsigned)children, (size_t)(cursor->end - cursor->p));
        return TARN_E_TRUNCATED;
    }
    return TARN_OK;
}

/// Walks over everything below the map on top, whose children are `child_total`.
static tarn_status scan_children(tarn_cursor *cursor, uint32_t child_total, tarn_text *why)
{
    uint32_t left[TARN_MESSAGE_DEPTH_MAX + 1] = {0, child_total}; // items still to come, per depth
    uint32_t depth = 1, objects = 1;
    while (depth > 0) {
        if (left[depth] == 0) {
            depth--;
            continue;
        }
        left[depth]--;
        tarn_item item;
        tarn_status status = scan_item(cursor, &item, &objects, why);
        if (status) {
            return status;
        }
        if (item.type != TARN_ITEM_MAP && item.type != TARN_ITEM_ARRAY) {
            continue;
        }
        if (depth == TARN_MESSAGE_DEPTH_MAX) {
            tarn_sentence(why, "the message's maps and arrays are nested deeper than %d", TARN_MESSAGE_DEPTH_MAX);
            return TARN_E_LIMIT;
        }
        left[++depth] = child_count(&item);
    }
    return TARN_OK;
}

tarn_status tarn_scan_message(const uint8_t *bytes, size_t byte_count, tarn_text *why)
{
    if (byte_count == 0) {
        tarn_sentence(why, "the message is empty; allowed is a msgpack map");
        return TARN_E_TRUNCATED;
    }
    if (byte_count > TARN_MESSAGE_SERVER_BYTES_MAX) {
        tarn_sentence(why, "the message has %zu bytes; allowed are up to %d", byte_count,
                      TARN_MESSAGE_SERVER_BYTES_MAX);
        return TARN_E_LIMIT;
    }
    tarn_cursor cursor = {bytes, bytes + byte_count};
    tarn_item top;
    uint32_t objects = 0;
    tarn_status status = scan_item(&cursor, &top, &objects, why);
    if (status) {
        return status;
    }
    if (top.type != TARN_ITEM_MAP) {
        char found[TARN_DESCRIPTION_BYTES];
        tarn_describe_item(&top, found);
        tarn_sentence(why, "the message is %s; allowed is a msgpack map", found);
        return TARN_E_MALFORMED;
    }
    status = scan_children(&cursor, child_count(&top), why);
    if (status == TARN_OK && cursor.p != cursor.end) {
        tarn_sentence(why, "%zu bytes follow after the message's end; allowed are none",
                      (size_t)(cursor.end - cursor.p));
        status = TARN_E_MALFORMED;
    }
    return status;
}

void tarn_cursor_skip(tarn_cursor *cursor)
{
    for (uint32_t pending = 1; pending > 0; pending--) {
        tarn_item item;
        if (tarn_cursor_next(cursor, &item)) {
            return;
        }
        pending += child_count(&item);
    }
}
