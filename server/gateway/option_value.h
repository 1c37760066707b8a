/// Values of options: from a text, as a command line has it, into tarn_gateway_options, and back into JSON. Pure.
#ifndef TARN_SERVER_GATEWAY_OPTION_VALUE_H
#define TARN_SERVER_GATEWAY_OPTION_VALUE_H

#include "server/gateway/option_table.h"

struct json_t;

/// Whether several values may be given, each of which is added.
bool tarn_option_is_list(const tarn_option *option);

/// Takes a list's values away.
void tarn_option_clear(const tarn_option *option, tarn_gateway_options *options);

/// Sets an option, or adds to a list.
/// @param text  must outlive the options where the option's kind is a text
/// @param why   on failure "found ..., allowed ..."
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_LIMIT (a list is full)
tarn_status tarn_option_set(const tarn_option *option, tarn_gateway_options *options, const char *text, tarn_text why);

/// Sets an option by what a file has for it. As tarn_option_set otherwise; texts lie in the value.
tarn_status tarn_option_set_json(const tarn_option *option, tarn_gateway_options *options, const struct json_t *value,
                                 tarn_text why);

/// What an option is, as a file would have it. @return the caller's; NULL: nobody said it, or out of memory
struct json_t *tarn_option_json(const tarn_option *option, const tarn_gateway_options *options);

/// What is allowed for an option, in words.
void tarn_option_allowed(const tarn_option *option, tarn_text text);

bool tarn_option_same(const tarn_option *option, const tarn_gateway_options *a, const tarn_gateway_options *b);

void tarn_option_copy(const tarn_option *option, const tarn_gateway_options *from, tarn_gateway_options *to);

#endif
