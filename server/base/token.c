// The signature is looked at before anything that the token claims: what follows is known to come from whoever has the
// key. Start at tarn_token_read.
#include "server/base/token.h"
#include "protocol/assert.h"
#include "server/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- words for roles ----

static const char *const words[TARN_ROLE_COUNT] = {"watch", "play", "own"};

const char *tarn_role_word(tarn_role role)
{
    TARN_ASSERT(role < TARN_ROLE_COUNT);
    return words[role];
}

int tarn_role_find(const char *word)
{
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        if (strcmp(words[role], word) == 0) {
            return role;
        }
    }
    return -1;
}

// ---- tokens ----

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

// ---- the files around tokens ----
// Lines are appended under a lock and in one write each: who reads meanwhile gets whole lines. A last line without an
// end, as editors and full disks leave them, is ended first: with the next one it would read as one other line.

enum {
    KEYS_FILE_BYTES_MAX = 4096,
    RAW_SECRET_BYTES = 32,
    LINE_BYTES_MAX = 512, // of what was issued
    SHOWN = 24,           // characters of what is wrong
};

static tarn_status fail(tarn_text why, const char *path, const char *sentence, tarn_status status)
{
    snprintf(why, sizeof(tarn_text), "%.300s: %.200s", path, sentence);
    return status;
}

/// @return its bytes; -1: it can't be read, which why says
static ssize_t read_private(const char *path, char *text, size_t text_bytes, tarn_text why)
{
    struct stat file;
    char sentence[96];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        fail(why, path, strerror(errno), TARN_E_IO);
        return -1;
    }
    ssize_t got = -1;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        fail(why, path, "it is no file that can be read", TARN_E_IO);
    } else if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(sentence, sizeof sentence, "others may read it (mode %03o), allowed is 600",
                 (unsigned)file.st_mode & 0777);
        fail(why, path, sentence, TARN_E_MALFORMED);
    } else {
        got = read(fd, text, text_bytes);
        if (got < 0) {
            fail(why, path, strerror(errno), TARN_E_IO);
        }
    }
    close(fd);
    return got;
}

/// @param line  "NAME SECRET"  @return NULL, or what is wrong with it
static const char *add_key(tarn_token_keys *keys, char *line)
{
    uint8_t secret[KEYS_FILE_BYTES_MAX];
    size_t secret_bytes;
    char *rest, *name = strtok_r(line, " \t\r", &rest), *text = strtok_r(NULL, " \t\r", &rest);
    if (name == NULL || name[0] == '#') {
        return NULL;
    }
    if (!tarn_token_word_valid(name, TARN_TOKEN_KEY_NAME_BYTES_MAX)) {
        return "a key's name has 1 to 16 letters, digits, - and _";
    }
    if (text == NULL || strtok_r(NULL, " \t\r", &rest) != NULL) {
        return "allowed are a name and a secret with a space between them";
    }
    if (tarn_base64url_read(text, strlen(text), secret, &secret_bytes) != TARN_OK) {
        return "the secret isn't base64url without padding";
    }
    if (secret_bytes < TARN_TOKEN_SECRET_BYTES_MIN || secret_bytes > TARN_TOKEN_SECRET_BYTES_MAX) {
        return "the secret doesn't have 32 to 64 bytes";
    }
    if (keys->count == TARN_TOKEN_KEYS_MAX) {
        return "there are more than 16 keys";
    }
    for (uint32_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->keys[i].name, name) == 0) {
            return "the key's name is there twice";
        }
    }
    tarn_token_key *key = &keys->keys[keys->count++];
    snprintf(key->name, sizeof key->name, "%s", name);
    memcpy(key->secret, secret, secret_bytes);
    key->secret_bytes = (uint32_t)secret_bytes;
    return NULL;
}

_Static_assert(TARN_TOKEN_KEYS_MAX == 16 && TARN_TOKEN_KEY_NAME_BYTES_MAX == 16 && TARN_TOKEN_SECRET_BYTES_MIN == 32 &&
                   TARN_TOKEN_SECRET_BYTES_MAX == 64 && TARN_TOKENS_REVOKED_MAX == 4096 &&
                   TARN_TOKENS_ISSUED_MAX == 4096,
               "sentences state these limits");

tarn_status tarn_token_keys_read(tarn_token_keys *keys, const char *path, tarn_text why)
{
    char text[KEYS_FILE_BYTES_MAX + 1], sentence[128];
    memset(keys, 0, sizeof *keys);
    const ssize_t got = read_private(path, text, sizeof text, why);
    if (got < 0) {
        return TARN_E_IO;
    }
    if (got == RAW_SECRET_BYTES) {
        keys->count = 1;
        keys->keys[0].name[0] = '0';
        keys->keys[0].secret_bytes = RAW_SECRET_BYTES;
        memcpy(keys->keys[0].secret, text, RAW_SECRET_BYTES);
        return TARN_OK;
    }
    if (got == (ssize_t)sizeof text || memchr(text, 0, (size_t)got) != NULL) {
        return fail(why, path, "these are no keys for tokens: allowed are lines of at most 4096 bytes in all",
                    TARN_E_MALFORMED);
    }
    text[got] = 0;
    int number = 0;
    for (char *line = text, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = 0;
        }
        number++;
        const char *wrong = add_key(keys, line);
        if (wrong != NULL) {
            snprintf(sentence, sizeof sentence, "line %d: %s", number, wrong);
            return fail(why, path, sentence, TARN_E_MALFORMED);
        }
    }
    return keys->count > 0 ? TARN_OK : fail(why, path, "there is no key in it", TARN_E_MALFORMED);
}

/// Reads lines, without their ends. @return -1: it can't be read; 0: there is no such file or no line is left
static int for_each_line(const char *path, void (*take)(void *user, char *line), void *user)
{
    char line[LINE_BYTES_MAX];
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    FILE *file = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    size_t length = 0;
    for (int c = getc(file); c != EOF || length > 0; c = getc(file)) {
        if (c == '\n' || c == EOF) {
            line[length] = 0;
            length = 0;
            take(user, line);
        } else if (length < sizeof line - 1) {
            line[length++] = (char)(c != 0 ? c : '?'); // no line of ours has a zero, or is as long
        }
    }
    const int failed = ferror(file);
    fclose(file);
    return failed ? -1 : 0;
}

typedef struct revoked_reading {
    tarn_tokens_revoked list;
    bool is_packed; ///< and full
    int wrong, over;
} revoked_reading;

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

/// In order, each once: tokens are looked for by every viewer's.
static void pack_revoked(tarn_tokens_revoked *list)
{
    uint32_t count = 0;
    qsort(list->ids, list->count, sizeof list->ids[0], by_id);
    for (uint32_t i = 0; i < list->count; i++) {
        if (count == 0 || strcmp(list->ids[count - 1], list->ids[i]) != 0) {
            memmove(list->ids[count++], list->ids[i], sizeof list->ids[0]);
        }
    }
    list->count = count;
}

static void take_revoked(void *user, char *line)
{
    revoked_reading *reading = user;
    if (line[0] == 0) {
        return;
    }
    if (!tarn_token_word_valid(line, TARN_TOKEN_ID_BYTES_MAX)) {
        reading->wrong++;
        return;
    }
    if (reading->list.count == TARN_TOKENS_REVOKED_MAX && !reading->is_packed) {
        pack_revoked(&reading->list);
        reading->is_packed = reading->list.count == TARN_TOKENS_REVOKED_MAX;
    }
    if (!reading->is_packed) {
        snprintf(reading->list.ids[reading->list.count++], sizeof(tarn_token_id), "%.32s", line);
    } else {
        reading->over += !tarn_tokens_revoked_has(&reading->list, line);
    }
}

tarn_status tarn_tokens_revoked_read(tarn_tokens_revoked *revoked, const char *path, tarn_text why)
{
    static revoked_reading reading; // large; one thread reads
    char sentence[96];
    memset(&reading, 0, sizeof reading);
    if (for_each_line(path, take_revoked, &reading) != 0) {
        return fail(why, path, strerror(errno), TARN_E_IO);
    }
    pack_revoked(&reading.list);
    *revoked = reading.list;
    if (reading.over > 0) {
        snprintf(sentence, sizeof sentence, "found %d ids behind the first 4096, which is all that count",
                 reading.over);
        return fail(why, path, sentence, TARN_E_LIMIT);
    }
    if (reading.wrong > 0) {
        snprintf(sentence, sizeof sentence, "%d lines are no ids of tokens", reading.wrong);
        return fail(why, path, sentence, TARN_E_MALFORMED);
    }
    return TARN_OK;
}

bool tarn_tokens_revoked_has(const tarn_tokens_revoked *revoked, const char *id)
{
    return bsearch(id, revoked->ids, revoked->count, sizeof revoked->ids[0], by_id) != NULL;
}

/// Gives a new file the owner of its folder.
static int open_for_lines(const char *path)
{
    char folder[PATH_MAX];
    struct stat about;
    const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path + 1) : 1, slash != NULL ? path : ".");
    if (fd >= 0 && geteuid() == 0 && stat(folder, &about) == 0 && fchown(fd, about.st_uid, about.st_gid) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void count_line(void *user, char *line)
{
    (void)line;
    ++*(int *)user;
}

/// Writes a line behind what a file has, or nothing. @param line  with its end  @return false: errno says why not
static bool write_line(int fd, const char *line)
{
    char text[LINE_BYTES_MAX + 1];
    char last = '\n';
    struct stat about;
    if (fstat(fd, &about) != 0 || (about.st_size > 0 && pread(fd, &last, 1, about.st_size - 1) != 1)) {
        return false;
    }
    const int length = snprintf(text, sizeof text, "%s%s", last != '\n' ? "\n" : "", line);
    const ssize_t written = write(fd, text, (size_t)length);
    if (written == length) {
        return fsync(fd) == 0;
    }
    if (written >= 0) {
        errno = ftruncate(fd, about.st_size) == 0 ? ENOSPC : errno; // a short write says nothing
    }
    return false;
}

/// @param id  NULL, or whose line is not added again
static tarn_status append(const char *path, const char *line, int lines_max, const char *id, tarn_text why)
{
    static tarn_tokens_revoked revoked;
    int lines = 0;
    const int fd = open_for_lines(path);
    tarn_status status = TARN_OK;
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || for_each_line(path, count_line, &lines) != 0) {
        status = fail(why, path, strerror(errno), TARN_E_IO);
    } else if (id != NULL && tarn_tokens_revoked_read(&revoked, path, why) != TARN_E_IO &&
               tarn_tokens_revoked_has(&revoked, id)) {
        // there it is
    } else if (lines >= lines_max) {
        status = fail(why, path, "it has 4096 lines, which is all that count: take those of expired tokens out",
                      TARN_E_LIMIT);
    } else if (!write_line(fd, line)) {
        status = fail(why, path, strerror(errno), TARN_E_IO);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

tarn_status tarn_tokens_revoke(const char *path, const char *id, tarn_text why)
{
    char line[TARN_TOKEN_ID_BYTES_MAX + 2];
    snprintf(line, sizeof line, "%s\n", id);
    return append(path, line, TARN_TOKENS_REVOKED_MAX, id, why);
}

tarn_status tarn_tokens_note(const char *path, const tarn_token_issued *issued, tarn_text why)
{
    char line[LINE_BYTES_MAX];
    const tarn_token *token = &issued->token;
    snprintf(line, sizeof line, "%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%s\n", token->id, tarn_role_word(token->role),
             token->session, token->issued_s, token->until_s, issued->note);
    return append(path, line, TARN_TOKENS_ISSUED_MAX, NULL, why);
}

typedef struct issued_reading {
    void (*found)(void *user, const tarn_token_issued *issued);
    void *user;
    int count, lines, wrong, over;
    int first; // line of those that are wrong
    char shown[SHOWN + 1];
} issued_reading;

/// A time in seconds since 1970. @return false: it is none
static bool read_seconds(const char *text, int64_t *time_s)
{
    char *end;
    errno = 0;
    *time_s = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

/// @return false: the line is none that was written here
static bool read_issued(char *line, tarn_token_issued *issued)
{
    char *fields[6] = {line};
    for (int i = 1; i < 6; i++) {
        char *tab = strchr(fields[i - 1], '\t');
        if (tab == NULL) {
            return false;
        }
        *tab = 0;
        fields[i] = tab + 1;
    }
    const int role = tarn_role_find(fields[1]);
    if (!tarn_token_word_valid(fields[0], TARN_TOKEN_ID_BYTES_MAX) || role < 0 || !tarn_is_printable(fields[2]) ||
        !tarn_is_printable(fields[5]) || !read_seconds(fields[3], &issued->token.issued_s) ||
        !read_seconds(fields[4], &issued->token.until_s)) {
        return false;
    }
    snprintf(issued->token.id, sizeof issued->token.id, "%.32s", fields[0]);
    issued->token.role = (tarn_role)role;
    snprintf(issued->token.session, sizeof issued->token.session, "%.63s", fields[2]);
    snprintf(issued->note, sizeof issued->note, "%.100s", fields[5]);
    return true;
}

static void take_issued(void *user, char *line)
{
    issued_reading *reading = user;
    tarn_token_issued issued = {0};
    char shown[SHOWN + 1];
    reading->lines++;
    snprintf(shown, sizeof shown, "%.*s", SHOWN, line);
    if (line[0] == 0) {
        return;
    }
    if (!read_issued(line, &issued)) {
        if (reading->wrong++ == 0) {
            reading->first = reading->lines;
            tarn_make_printable(shown);
            memcpy(reading->shown, shown, sizeof shown);
        }
    } else if (reading->count == TARN_TOKENS_ISSUED_MAX) {
        reading->over++;
    } else {
        reading->count++;
        reading->found(reading->user, &issued);
    }
}

tarn_status tarn_tokens_issued_read(const char *path, void (*found)(void *user, const tarn_token_issued *issued),
                                    void *user, tarn_text why)
{
    issued_reading reading = {.found = found, .user = user};
    char sentence[200];
    if (for_each_line(path, take_issued, &reading) != 0) {
        return fail(why, path, strerror(errno), TARN_E_IO);
    }
    if (reading.wrong > 0) {
        snprintf(
            sentence, sizeof sentence,
            "%d of %d lines are damaged; line %d: found \"%s\", allowed are id, role, session, two times in seconds "
            "and a note, with tabs between them",
            reading.wrong, reading.lines, reading.first, reading.shown);
        return fail(why, path, sentence, TARN_E_MALFORMED);
    }
    if (reading.over > 0) {
        snprintf(sentence, sizeof sentence, "found %d tokens behind the first 4096, which is all that are listed",
                 reading.over);
        return fail(why, path, sentence, TARN_E_LIMIT);
    }
    return TARN_OK;
}
