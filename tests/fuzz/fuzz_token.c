// Any bytes as a token, and any bytes as the header and the claims of a token that is signed right: reading stays
// inside the buffer, a refusal says why, what is taken holds what its reader promises, and is taken again when it is
// written anew.
#include "server/base/token.h"
#include "tests/fuzz/fuzz_parts.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

enum { NOW_S = 1000000, PIECE_BYTES_MAX = 2048 };

static tarn_token_keys keys = {2, {{"0", 32, "0123456789abcdef0123456789abcde"}, {"k1", 33, "another"}}};

static void check(const char *text, size_t text_bytes)
{
    tarn_token token, again;
    tarn_pass written;
    tarn_text why = "";
    char *exact = malloc(text_bytes + 1); // whose end the sanitizer knows
    require(exact != NULL);
    memcpy(exact, text, text_bytes);
    exact = realloc(exact, text_bytes > 0 ? text_bytes : 1);
    const tarn_status status = tarn_token_read(exact, text_bytes, &keys, NOW_S, &token, why);
    free(exact);
    if (status != TARN_OK) {
        require(why[0] != 0 && memchr(why, 0, sizeof why) != NULL);
        return;
    }
    require(tarn_token_word_valid(token.id, TARN_TOKEN_ID_BYTES_MAX) && token.session[0] != 0);
    require(token.role < TARN_ROLE_COUNT && token.from_s <= NOW_S && (token.until_s == 0 || token.until_s > NOW_S));
    if (tarn_token_write(&token, &keys.keys[1], written) != TARN_OK) {
        return; // longer than it was: JSON has shorter ways than ours
    }
    require(tarn_token_read(written, strlen(written), &keys, NOW_S, &again, why) == TARN_OK);
    require(strcmp(again.id, token.id) == 0 && strcmp(again.session, token.session) == 0 && again.role == token.role &&
            again.until_s == token.until_s);
}

/// The bytes are a header and claims, with a NUL between them.
static void check_signed(const uint8_t *bytes, size_t byte_count)
{
    static char text[3 * PIECE_BYTES_MAX];
    const uint8_t *end = memchr(bytes, 0, byte_count);
    uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned mac_bytes = 0;
    if (end == NULL || byte_count > PIECE_BYTES_MAX) {
        return;
    }
    const size_t header_bytes = (size_t)(end - bytes);
    size_t at = tarn_base64url_write(bytes, header_bytes, text);
    text[at++] = '.';
    at += tarn_base64url_write(end + 1, byte_count - header_bytes - 1, text + at);
    for (int k = 0; k < 2; k++) {
        require(HMAC(EVP_sha256(), keys.keys[k].secret, (int)keys.keys[k].secret_bytes, (const uint8_t *)text, at, mac,
                     &mac_bytes) != NULL);
        text[at] = '.';
        check(text, at + 1 + tarn_base64url_write(mac, mac_bytes, text + at + 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    check((const char *)bytes, byte_count);
    check_signed(bytes, byte_count);
    return 0;
}
