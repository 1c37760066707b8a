/// Names and sentences. Private to tarn_message.
#ifndef TARN_PROTOCOL_MESSAGE_TEXT_H
#define TARN_PROTOCOL_MESSAGE_TEXT_H

#include "protocol/message_scan.h"

/// Room for what tarn_describe_item writes.
enum { TARN_DESCRIPTION_BYTES = 64 };

/// @return NULL where the bytes are UTF-8 without control characters, else what is wrong, for a sentence
const char *tarn_text_fault(const uint8_t *bytes, size_t byte_count);

/// What an item is, for a sentence: `12`, `"abc"`, `a map`. Printable ASCII whatever the item holds.
void tarn_describe_item(const tarn_item *item, char text[TARN_DESCRIPTION_BYTES]);

/// A sentence into *why, where that is not NULL; cut where it is too long.
void tarn_sentence(tarn_text *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
