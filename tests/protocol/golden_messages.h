/// Messages for the golden vectors and the tests: every kind, every kind of input.
#ifndef TARN_TESTS_PROTOCOL_GOLDEN_MESSAGES_H
#define TARN_TESTS_PROTOCOL_GOLDEN_MESSAGES_H

#include "protocol/message.h"

int golden_message_count(void);

/// The name of message number `index`, which is written to *message.
const char *golden_message(int index, tarn_message *message);

#endif
