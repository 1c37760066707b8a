/// The file of --config: a JSON object whose members have the options' names. `$schema`, which editors read, is left
/// aside.
#ifndef TARN_SERVER_GATEWAY_CONFIG_FILE_H
#define TARN_SERVER_GATEWAY_CONFIG_FILE_H

#include "server/gateway/gateway_options.h"

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
