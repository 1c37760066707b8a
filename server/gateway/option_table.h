/// tarnd's options, one row for each. The command line, --help, the environment, the file of --config, its schema and
/// what a reload may change all come from this table.
#ifndef TARN_SERVER_GATEWAY_OPTION_TABLE_H
#define TARN_SERVER_GATEWAY_OPTION_TABLE_H

#include "server/gateway/options.h"

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

/// What holds where nobody says anything. Of what depends on --host (guests, create) it is said later.
void tarn_option_defaults(tarn_gateway_options *options);

// ---- values ----
// From a text, as a command line has it, into tarn_gateway_options, and back into JSON. Pure.

/// Whether several values may be given, each of which is added.
bool tarn_option_is_list(const tarn_option *option);

/// Takes a list's values away.
void tarn_option_clear(const tarn_option *option, tarn_gateway_options *options);

/// Sets an option, or adds to a list.
/// @param text  must outlive the options where the option's kind is a text
/// @param why   on failure "found ..., allowed ..."
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_LIMIT (a list is full)
tarn_status tarn_option_set(const tarn_option *option, tarn_gateway_options *options, const char *text, tarn_text why);

bool tarn_option_same(const tarn_option *option, const tarn_gateway_options *a, const tarn_gateway_options *b);

void tarn_option_copy(const tarn_option *option, const tarn_gateway_options *from, tarn_gateway_options *to);

// ---- the file of --config ----
// A JSON object whose members have the options' names. `$schema`, which editors read, is left
// aside.

struct json_t;

/// Sets what a text says.
/// @param origin   what it is called in sentences
/// @param options  with defaults; on failure not to be used
/// @param text     on success the caller's to free (json_decref): texts of the options lie in it
/// @param why      on failure: the origin, line and column or the option, what was found and what is allowed
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_LIMIT
tarn_status tarn_config_read(const char *bytes, size_t byte_count, const char *origin, tarn_gateway_options *options,
                             struct json_t **text, tarn_text why);

/// The same from a regular file of at most TARN_GATEWAY_CONFIG_BYTES_MAX. @return as above, or TARN_E_NOT_FOUND,
/// TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_config_file_read(const char *path, tarn_gateway_options *options, struct json_t **text, tarn_text why);

/// What options say, as such a file. @return the caller's to free, with a line end; NULL: out of memory
char *tarn_config_write(const tarn_gateway_options *options);

/// The schema of such files (JSON Schema 2020-12), as deploy/tarnd.schema.json has it. @return as above
char *tarn_config_schema(void);

#endif
