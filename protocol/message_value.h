/// What single values of a message may be. Private to tarn_message.
///
/// Each of these writes its value only where that is allowed; else a sentence says what was found and what is allowed.
/// All return TARN_OK, TARN_E_MALFORMED (another type), TARN_E_LIMIT (outside the range) or, of words,
/// TARN_E_UNKNOWN_KIND.
#ifndef TARN_PROTOCOL_MESSAGE_VALUE_H
#define TARN_PROTOCOL_MESSAGE_VALUE_H

#include "protocol/message_find.h"

/// Where in the message the reader is, for sentences.
typedef struct tarn_reader {
    tarn_text *why;
    const char *message; ///< kind
    const char *key;
    int index; ///< of an array's entry, or -1
} tarn_reader;

/// Says that an item is none of those that are allowed. @return status
tarn_status tarn_refuse_item(const tarn_reader *r, tarn_status status, const tarn_item *item, const char *allowed);

/// Ranges are the field's.
tarn_status tarn_read_integer(const tarn_reader *r, const tarn_item *item, const tarn_field *field, uint64_t *value);
tarn_status tarn_read_number(const tarn_reader *r, const tarn_item *item, const tarn_field *field, double *value);
tarn_status tarn_read_f32(const tarn_reader *r, const tarn_item *item, const tarn_field *field, float *value);

/// @param text  field->max + 1 bytes
tarn_status tarn_read_string(const tarn_reader *r, const tarn_item *item, const tarn_field *field, char *text);

/// @param words  end with NULL @param value  receives the word's index
tarn_status tarn_read_word(const tarn_reader *r, const tarn_item *item, const char *const *words, int *value);

/// @return TARN_E_MALFORMED too where the count may be one only
tarn_status tarn_open_array(const tarn_reader *r, const tarn_item *item, uint32_t min, uint32_t max);

/// Numbers, each in the field's range. @param cursor  behind the array's head @param values  field->count
tarn_status tarn_read_vector(tarn_reader *r, tarn_cursor *cursor, const tarn_item *array, const tarn_field *field,
                             float *values);

/// Scales to unit length. What is one already (to 1e-5) stays as it is, so that reading twice changes nothing.
tarn_status tarn_make_unit(const tarn_reader *r, float *values, uint32_t count);

#endif
