/// tarnd's options, one row for each. The command line, --help, the environment, the file of --config, its schema and
/// what a reload may change all come from this table.
#ifndef TARN_SERVER_GATEWAY_OPTION_TABLE_H
#define TARN_SERVER_GATEWAY_OPTION_TABLE_H

#include "server/gateway/gateway_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a value is, and its type in tarn_gateway_options.
typedef enum tarn_option_kind {
    TARN_OPTION_TEXT,    ///< const char *, whose text outlives the options
    TARN_OPTION_FLAG,    ///< bool
    TARN_OPTION_NUMBER,  ///< uint32_t or int32_t
    TARN_OPTION_WORD,    ///< an enum whose values are places in a list of words
    TARN_OPTION_BYTES,   ///< uint64_t
    TARN_OPTION_AGE,     ///< uint64_t, seconds
    TARN_OPTION_DEVICES, ///< tarn_device_list
    TARN_OPTION_LIST,    ///< tarn_option_texts
    TARN_OPTION_PROXIES, ///< tarn_proxies, a list, too
} tarn_option_kind;

typedef struct tarn_option {
    const char *name; ///< --name, "name" in the file; in the environment TARN_NAME with '_' for '-'
    const char *argument, *help;
    tarn_option_kind kind;
    size_t offset; ///< in tarn_gateway_options
    bool is_live;  ///< a reload changes it
    int group;     ///< of --help
    /// Of a number the range; of an age the least; of a list its length; of a text its bytes, where not 0.
    uint64_t min, max;
    const char *const *words; ///< ended by NULL
    const char *alias;        ///< another name on command lines; NULL: none
    /// Of a list's items: NULL, or whether one is taken.
    bool (*is_item)(const char *text);
    const char *allowed; ///< of these
} tarn_option;

enum { TARN_OPTIONS_MAX = 64 };

extern const tarn_option tarn_option_table[];
extern const uint32_t tarn_option_count; ///< 1..TARN_OPTIONS_MAX

/// By its name. @return NULL: there is none
const tarn_option *tarn_option_find(const char *name);

/// What holds where nobody says anything. Of what depends on --host (guests, create) it is said later.
void tarn_option_defaults(tarn_gateway_options *options);

#endif
