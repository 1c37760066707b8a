// Any bytes as the file of --config: a refusal says why, and what is taken is taken again, the same, when it is written
// as such a file.
#include "server/gateway/option_table.h"
#include "tests/fuzz/fuzz_parts.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    tarn_gateway_options options, again;
    json_t *text = NULL, *text_again = NULL;
    tarn_text why = "";
    tarn_option_defaults(&options);
    if (tarn_config_read((const char *)bytes, byte_count, "file", &options, &text, why) != TARN_OK) {
        require(text == NULL && strncmp(why, "file", 4) == 0 && memchr(why, 0, sizeof why) != NULL);
        return 0;
    }
    char *written = tarn_config_write(&options);
    require(written != NULL);
    tarn_option_defaults(&again);
    require(tarn_config_read(written, strlen(written), "file", &again, &text_again, why) == TARN_OK);
    char *twice = tarn_config_write(&again);
    require(twice != NULL && strcmp(written, twice) == 0);
    free(written);
    free(twice);
    json_decref(text);
    json_decref(text_again);
    return 0;
}
