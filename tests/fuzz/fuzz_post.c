// Any bytes as the body of a POST, as it comes: the first byte says of which. What is taken is within its limits, what
// is refused is refused with a sentence, and either can be written as JSON that reads the same again.
#include "server/gateway/pages/session_json.h"
#include "tests/fuzz/fuzz_parts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 65536, WORKERS = 3 };

static char text[TEXT_BYTES];

/// What an answer says under a name.
static json_t *answer(size_t byte_count, const char *name, json_t **whole)
{
    require(byte_count > 0 && byte_count < sizeof text);
    *whole = json_loadb(text, byte_count, 0, NULL);
    json_t *found = json_object_get(*whole, name);
    require(found != NULL);
    return found;
}

static void check_refusal(const char *why)
{
    json_t *whole;
    require(why[0] != 0 && memchr(why, 0, sizeof(tarn_text)) != NULL);
    require(strcmp(json_string_value(answer(tarn_session_error_write(why, text, sizeof text), "error", &whole)), why) ==
            0);
    json_decref(whole);
}

/// A tank that somebody asks for.
static void read_request(const char *bytes, size_t byte_count)
{
    tarn_session_request request;
    tarn_text why = "";
    json_t *whole;
    if (tarn_session_request_read(bytes, byte_count, &request, why) != TARN_OK) {
        check_refusal(why);
        return;
    }
    require(request.scene[0] != 0 && memchr(request.scene, 0, sizeof request.scene) != NULL);
    require(memchr(request.name, 0, sizeof request.name) != NULL);
    // Both come back to others: in a list, and in sentences.
    const tarn_session_info info = {
        .session = "main", .title = request.name, .scene = request.scene, .worker = -1, .device = ""};
    const size_t written =
        tarn_session_list_write(&info, 1, (const tarn_name *)&request.scene, 1, true, text, sizeof text);
    const json_t *first = json_array_get(answer(written, "sessions", &whole), 0);
    require(strcmp(json_string_value(json_object_get(first, "scene")), request.scene) == 0);
    json_decref(whole);
}

/// A worker that a tank is to go to.
static void read_move(const char *bytes, size_t byte_count)
{
    int worker;
    tarn_text why = "";
    json_t *whole;
    if (tarn_session_move_read(bytes, byte_count, WORKERS, &worker, why) != TARN_OK) {
        check_refusal(why);
        return;
    }
    require(worker >= -1 && worker < WORKERS);
    const uint32_t to = worker < 0 ? 0 : (uint32_t)worker;
    require(json_integer_value(answer(tarn_session_move_write("main", to, text, sizeof text), "worker", &whole)) == to);
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count == 0) {
        return 0;
    }
    (bytes[0] % 2 == 0 ? read_request : read_move)((const char *)bytes + 1, byte_count - 1);
    return 0;
}
