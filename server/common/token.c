// The signature is looked at before anything that the token claims: what follows is known to come from whoever has the
// key. Start at tarn_token_read.
#include "server/common/token.h"
#include "protocol/assert.h"
#include "server/common/role_word.h"

#include <inttypes.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum {
    MAC_BYTES = 32,
    MAC_LETTERS = 43,
    WORD_BYTES = 64, // of the token, that a sentence repeats
    CLOCKS_S = 60,   // that the issuer's clock may be ahead
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// One of the three parts, as it stands.
typedef struct part {
    const char *text;
    size_t bytes;
} part;

bool tarn_token_word_valid(const char *word, size_t bytes_max)
{
    const size_t length = strlen(word);
    return length >= 1 && length <= bytes_max && strspn(word, letters) == length;
}

size_t tarn_base64url_write(const uint8_t *bytes, size_t byte_count, char *text)
{
    size_t at = 0;
    for (size_t i = 0; i < byte_count; i += 3) {
        const size_t left = byte_count - i;
        const uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        const size_t count = left > 2 ? 4 : left + 1;
        for (size_t k = 0; k < count; k++) {
            text[at++] = letters[group >> (18 - 6 * k) & 63];
        }
    }
    text[at] = 0;
    return at;
}

tarn_status tarn_base64url_read(const char *text, size_t text_bytes, uint8_t *bytes, size_t *byte_count)
{
    uint32_t held = 0, held_bits = 0;
    *byte_count = 0;
    for (size_t i = 0; i < text_bytes; i++) {
        const char *found = text[i] != 0 ? strchr(letters, text[i]) : NULL;
        if (found == NULL) {
            return TARN_E_MALFORMED;
        }
        held = (held << 6 | (uint32_t)(found - letters)) & 0xfff;
        held_bits += 6;
        if (held_bits >= 8) {
            held_bits -= 8;
            bytes[(*byte_count)++] = (uint8_t)(held >> held_bits);
        }
    }
    // One way to write each token: what is over is less than a letter, and zero.
    return held_bits < 6 && (held & ((1u << held_bits) - 1)) == 0 ? TARN_OK : TARN_E_MALFORMED;
}

/// @return false: there is no memory
static bool sign(const tarn_token_key *key, const char *text, size_t text_bytes, uint8_t mac[EVP_MAX_MD_SIZE])
{
    unsigned made = 0;
    const uint8_t *done =
        HMAC(EVP_sha256(), key->secret, (int)key->secret_bytes, (const uint8_t *)text, text_bytes, mac, &made);
    TARN_ASSERT(done == NULL || made == MAC_BYTES);
    return done != NULL;
}

tarn_status tarn_token_write(const tarn_token *token, const tarn_token_key *key, tarn_pass text)
{
    char header[128], claims[512];
    TARN_ASSERT(tarn_token_word_valid(key->name, TARN_TOKEN_KEY_NAME_BYTES_MAX));
    TARN_ASSERT(tarn_token_word_valid(token->id, TARN_TOKEN_ID_BYTES_MAX));
    const int header_bytes =
        snprintf(header, sizeof header, "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"%s\"}", key->name);
    json_t *object =
        json_pack("{s:s,s:s,s:s}", "jti", token->id, "session", token->session, "role", tarn_role_word(token->role));
    const struct {
        const char *name;
        int64_t value_s;
    } times[] = {{"iat", token->issued_s}, {"nbf", token->from_s}, {"exp", token->until_s}};
    for (size_t i = 0; object != NULL && i < sizeof times / sizeof times[0]; i++) {
        if (times[i].value_s != 0) {
            json_object_set_new(object, times[i].name, json_integer(times[i].value_s));
        }
    }
    const size_t claims_bytes =
        object != NULL ? json_dumpb(object, claims, sizeof claims, JSON_COMPACT | JSON_PRESERVE_ORDER) : 0;
    json_decref(object);
    const size_t whole = ((size_t)header_bytes * 4 + 2) / 3 + 1 + (claims_bytes * 4 + 2) / 3 + 1 + MAC_LETTERS;
    if (claims_bytes == 0 || claims_bytes > sizeof claims || whole > TARN_PASS_BYTES_MAX) {
        return TARN_E_LIMIT;
    }
    uint8_t mac[EVP_MAX_MD_SIZE];
    size_t at = tarn_base64url_write((const uint8_t *)header, (size_t)header_bytes, text);
    text[at++] = '.';
    at += tarn_base64url_write((const uint8_t *)claims, claims_bytes, text + at);
    if (!sign(key, text, at, mac)) {
        return TARN_E_MEMORY;
    }
    text[at++] = '.';
    at += tarn_base64url_write(mac, MAC_BYTES, text + at);
    TARN_ASSERT(at == whole);
    return TARN_OK;
}

/// A part as JSON. @return NULL: it is no object, which why says
static json_t *read_object(const part *from, const char *what, tarn_text why)
{
    uint8_t bytes[TARN_PASS_BYTES_MAX];
    size_t byte_count;
    if (tarn_base64url_read(from->text, from->bytes, bytes, &byte_count) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "the token's %s isn't base64url without padding", what);
        return NULL;
    }
    json_t *object = json_loadb((const char *)bytes, byte_count, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        snprintf(why, sizeof(tarn_text), "the token's %s is no JSON object, or has a name twice", what);
        json_decref(object);
        return NULL;
    }
    return object;
}

/// Puts a text of a token into a sentence: no more of it than a glance takes.
static const char *shown(const json_t *value, char text[WORD_BYTES])
{
    snprintf(text, WORD_BYTES, "%s", json_is_string(value) ? json_string_value(value) : "(no text)");
    for (char *at = text; *at; at++) {
        *at = (char)(*at >= ' ' && *at < 0x7f ? *at : '?');
    }
    return text;
}

static bool has_word(const json_t *object, const char *name, const char *word)
{
    const json_t *value = json_object_get(object, name);
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}

static tarn_status check_header(json_t *header, const tarn_token_keys *keys, const tarn_token_key **key, tarn_text why)
{
    char text[WORD_BYTES];
    const char *name;
    json_t *value;
    if (!has_word(header, "alg", "HS256")) {
        snprintf(why, sizeof(tarn_text), "the token's alg is \"%s\", allowed is HS256",
                 shown(json_object_get(header, "alg"), text));
        return TARN_E_MALFORMED;
    }
    if (!has_word(header, "typ", "JWT")) {
        snprintf(why, sizeof(tarn_text), "the token's typ is \"%s\", allowed is JWT",
                 shown(json_object_get(header, "typ"), text));
        return TARN_E_MALFORMED;
    }
    const json_t *kid = json_object_get(header, "kid");
    json_object_foreach(header, name, value)
    {
        if (strcmp(name, "alg") != 0 && strcmp(name, "typ") != 0 && strcmp(name, "kid") != 0) {
            snprintf(why, sizeof(tarn_text), "the token's header has more than alg, typ and kid");
            return TARN_E_MALFORMED;
        }
    }
    *key = NULL;
    for (uint32_t i = 0; i < keys->count && *key == NULL; i++) {
        if (kid == NULL || has_word(header, "kid", keys->keys[i].name)) {
            *key = &keys->keys[i];
        }
    }
    if (*key == NULL) {
        snprintf(why, sizeof(tarn_text), "the token's kid is \"%s\", which is no key of this server", shown(kid, text));
        return TARN_E_NOT_FOUND;
    }
    return TARN_OK;
}

static tarn_status check_signature(const char *text, const part *mac, const tarn_token_key *key, tarn_text why)
{
    uint8_t found[TARN_PASS_BYTES_MAX], made[EVP_MAX_MD_SIZE];
    size_t found_bytes;
    if (tarn_base64url_read(mac->text, mac->bytes, found, &found_bytes) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "the token's signature isn't base64url without padding");
        return TARN_E_MALFORMED;
    }
    if (!sign(key, text, (size_t)(mac->text - 1 - text), made)) {
        snprintf(why, sizeof(tarn_text), "there is no memory to look at the token's signature");
        return TARN_E_MEMORY;
    }
    if (found_bytes != MAC_BYTES || CRYPTO_memcmp(found, made, MAC_BYTES) != 0) {
        snprintf(why, sizeof(tarn_text), "the token's signature is wrong");
        return TARN_E_MALFORMED;
    }
    return TARN_OK;
}

/// @param time_s  0 where it isn't said
static tarn_status read_time(const json_t *claims, const char *name, int64_t *time_s, tarn_text why)
{
    const int64_t max_s = 253402300799; // the end of the year 9999
    const json_t *value = json_object_get(claims, name);
    *time_s = 0;
    if (value == NULL) {
        return TARN_OK;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > max_s) {
        snprintf(why, sizeof(tarn_text), "the token's %s is no time, allowed are whole seconds since 1970", name);
        return TARN_E_MALFORMED;
    }
    *time_s = json_integer_value(value);
    return TARN_OK;
}

static tarn_status read_claims(json_t *claims, tarn_token *token, tarn_text why)
{
    static const char *const known[] = {"jti", "session", "role", "iat", "nbf", "exp"};
    char text[WORD_BYTES];
    const char *name;
    json_t *value;
    json_object_foreach(claims, name, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof known[0] && strcmp(name, known[i]) != 0) {
            i++;
        }
        if (i == sizeof known / sizeof known[0]) { // it may narrow what the token is for
            json_t *word = json_string(name);
            snprintf(why, sizeof(tarn_text),
                     "the token claims \"%s\", allowed are jti, session, role, iat, nbf and exp", shown(word, text));
            json_decref(word);
            return TARN_E_MALFORMED;
        }
    }
    const json_t *id = json_object_get(claims, "jti"), *session = json_object_get(claims, "session"),
                 *role = json_object_get(claims, "role");
    if (!json_is_string(id) || !tarn_token_word_valid(json_string_value(id), TARN_TOKEN_ID_BYTES_MAX)) {
        snprintf(why, sizeof(tarn_text), "the token's jti is \"%s\", allowed are 1 to %d letters, digits, - and _",
                 shown(id, text), TARN_TOKEN_ID_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    if (!json_is_string(session) || json_string_length(session) < 1 ||
        json_string_length(session) > TARN_NAME_BYTES_MAX) {
        snprintf(why, sizeof(tarn_text), "the token names no session of 1 to %d bytes", TARN_NAME_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    if (!json_is_string(role) || tarn_role_find(json_string_value(role)) < 0) {
        snprintf(why, sizeof(tarn_text), "the token's role is \"%s\", allowed are watch, play and own",
                 shown(role, text));
        return TARN_E_MALFORMED;
    }
    snprintf(token->id, sizeof token->id, "%s", json_string_value(id));
    snprintf(token->session, sizeof token->session, "%s", json_string_value(session));
    token->role = (tarn_role)tarn_role_find(json_string_value(role));
    tarn_status status = read_time(claims, "iat", &token->issued_s, why);
    status = status == TARN_OK ? read_time(claims, "nbf", &token->from_s, why) : status;
    return status == TARN_OK ? read_time(claims, "exp", &token->until_s, why) : status;
}

static tarn_status check_time(const tarn_token *token, int64_t now_s, tarn_text why)
{
    if (token->until_s != 0 && now_s >= token->until_s) {
        snprintf(why, sizeof(tarn_text), "the token has expired, %" PRId64 " s ago", now_s - token->until_s);
        return TARN_E_STATE;
    }
    if (token->issued_s > now_s + CLOCKS_S) {
        snprintf(why, sizeof(tarn_text),
                 "the token's iat is %" PRId64 " s ahead of this server's clock, allowed are %d",
                 token->issued_s - now_s, CLOCKS_S);
        return TARN_E_STATE;
    }
    if (token->from_s != 0 && now_s < token->from_s) {
        snprintf(why, sizeof(tarn_text), "the token isn't valid yet, but in %" PRId64 " s", token->from_s - now_s);
        return TARN_E_STATE;
    }
    return TARN_OK;
}

/// @return TARN_OK, or TARN_E_MALFORMED: there are more or fewer than three
static tarn_status split(const char *text, size_t text_bytes, part parts[3], tarn_text why)
{
    int count = 1;
    parts[0] = (part){text, 0};
    for (size_t i = 0; i < text_bytes; i++) {
        if (text[i] != '.') {
            parts[count <= 3 ? count - 1 : 2].bytes++;
        } else if (++count <= 3) {
            parts[count - 1] = (part){text + i + 1, 0};
        }
    }
    if (count != 3) {
        snprintf(why, sizeof(tarn_text), "the token has %d parts, allowed are 3 with dots between them", count);
        return TARN_E_MALFORMED;
    }
    return TARN_OK;
}

tarn_status tarn_token_read(const char *text, size_t text_bytes, const tarn_token_keys *keys, int64_t now_s,
                            tarn_token *token, tarn_text why)
{
    part parts[3];
    const tarn_token_key *key = NULL;
    memset(token, 0, sizeof *token);
    if (text_bytes > TARN_PASS_BYTES_MAX) {
        snprintf(why, sizeof(tarn_text), "the token has %zu bytes, allowed are %d", text_bytes, TARN_PASS_BYTES_MAX);
        return TARN_E_LIMIT;
    }
    if (keys->count == 0) {
        snprintf(why, sizeof(tarn_text), "this server takes no tokens");
        return TARN_E_NOT_FOUND;
    }
    tarn_status status = split(text, text_bytes, parts, why);
    if (status != TARN_OK) {
        return status;
    }
    json_t *header = read_object(&parts[0], "header", why);
    status = header != NULL ? check_header(header, keys, &key, why) : TARN_E_MALFORMED;
    json_decref(header);
    if (status == TARN_OK) {
        status = check_signature(text, &parts[2], key, why);
    }
    if (status != TARN_OK) {
        return status;
    }
    json_t *claims = read_object(&parts[1], "claims", why);
    status = claims != NULL ? read_claims(claims, token, why) : TARN_E_MALFORMED;
    json_decref(claims);
    return status == TARN_OK ? check_time(token, now_s, why) : status;
}
