// What a vector holds, as JSON: frames as the C decoder sees them, a message as it stands on the wire.
#include "protocol/message_scan.h"
#include "tests/protocol/golden_streams.h"
#include "tests/protocol/golden_vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void describe_item(FILE *out, tarn_cursor *cursor)
{
    tarn_item item;
    tarn_cursor_next(cursor, &item);
    switch (item.type) {
    case TARN_ITEM_UINT:
        fprintf(out, "%" PRIu64, item.uint_value);
        break;
    case TARN_ITEM_BOOL:
        fprintf(out, item.uint_value ? "true" : "false");
        break;
    case TARN_ITEM_FLOAT:
        fprintf(out, "%.17g", item.float_value);
        break;
    case TARN_ITEM_STRING:
        fprintf(out, "\"%.*s\"", (int)item.count, (const char *)item.data);
        break;
    case TARN_ITEM_BINARY: // in hexadecimal digits
        fprintf(out, "\"");
        for (uint32_t i = 0; i < item.count; i++) {
            fprintf(out, "%02x", item.data[i]);
        }
        fprintf(out, "\"");
        break;
    case TARN_ITEM_ARRAY:
    case TARN_ITEM_MAP:
        fprintf(out, item.type == TARN_ITEM_MAP ? "{" : "[");
        for (uint32_t i = 0; i < item.count; i++) {
            fprintf(out, i ? ", " : "");
            describe_item(out, cursor);
            if (item.type == TARN_ITEM_MAP) {
                fprintf(out, ": ");
                describe_item(out, cursor);
            }
        }
        fprintf(out, item.type == TARN_ITEM_MAP ? "}" : "]");
        break;
    default:
        fprintf(out, "null");
        break;
    }
}

static bool describe_message(FILE *out, const golden_vector *vector)
{
    tarn_cursor cursor = {vector->bytes, vector->bytes + vector->byte_count};
    if (tarn_scan_message(vector->bytes, vector->byte_count, NULL)) {
        return false;
    }
    describe_item(out, &cursor);
    fprintf(out, "\n");
    return true;
}

char *golden_describe(const golden_vector *vector)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    if (out == NULL) {
        return NULL;
    }
    bool good = vector->kind == GOLDEN_STREAM ? golden_stream_describe(out, vector->bytes, vector->byte_count)
                                              : describe_message(out, vector);
    if (fclose(out) || !good) {
        free(text);
        return NULL;
    }
    return text;
}
