// Tokens: what is written is read, and each way of being wrong has its sentence. The tokens here are put together and
// signed by the test, so that any header and any claims can be tried behind a right signature.
#include "server/base/text.h"
#include "server/base/token.h"
#include "tests/server/test_cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define CLAIMS "\"jti\":\"a1\",\"session\":\"main\",\"role\":\"play\""
#define WHOLE "{" CLAIMS "}"

enum { NOW_S = 1000000, TEXT_BYTES = 4096 };

static tarn_token_keys keys;
static char folder[64];

static int make_keys(void **state)
{
    (void)state;
    keys.count = 2;
    for (int k = 0; k < 2; k++) {
        snprintf(keys.keys[k].name, sizeof keys.keys[k].name, "k%d", k);
        keys.keys[k].secret_bytes = 32;
        memset(keys.keys[k].secret, 'a' + k, 32);
    }
    snprintf(folder, sizeof folder, "/tmp/tarn-token-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"keys", "revoked", "tokens"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

/// Signs a header and claims, whatever they are.
static size_t sign(const char *header, const char *claims, int key, char text[TEXT_BYTES])
{
    uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned mac_bytes = 0;
    size_t at = tarn_base64url_write((const uint8_t *)header, strlen(header), text);
    text[at++] = '.';
    at += tarn_base64url_write((const uint8_t *)claims, strlen(claims), text + at);
    assert_non_null(HMAC(EVP_sha256(), keys.keys[key].secret, 32, (const uint8_t *)text, at, mac, &mac_bytes));
    text[at++] = '.';
    return at + tarn_base64url_write(mac, mac_bytes, text + at);
}

static void expect_refused(const char *text, size_t text_bytes, const char *sentence)
{
    tarn_token token;
    tarn_text why = "";
    if (tarn_token_read(text, text_bytes, &keys, NOW_S, &token, why) == TARN_OK || strstr(why, sentence) == NULL) {
        fail_msg("instead of \"%s\": \"%s\" for %.600s", sentence, why, text);
    }
}

static void test_a_signed_token_with_wrong_parts_says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *header, *claims, *sentence;
    } cases[] = {
        {"{\"alg\":\"none\",\"typ\":\"JWT\"}", WHOLE, "alg is \"none\", allowed is HS256"},
        {"{\"alg\":\"HS512\",\"typ\":\"JWT\"}", WHOLE, "alg is \"HS512\""},
        {"{\"alg\":\"RS256\",\"typ\":\"JWT\"}", WHOLE, "alg is \"RS256\""},
        {"{\"alg\":\"hs256\",\"typ\":\"JWT\"}", WHOLE, "alg is \"hs256\""},
        {"{\"alg\":[\"HS256\"],\"typ\":\"JWT\"}", WHOLE, "alg is \"(no text)\""},
        {"{\"typ\":\"JWT\"}", WHOLE, "alg is \"(no text)\""},
        {"{\"alg\":\"HS256\"}", WHOLE, "typ is \"(no text)\", allowed is JWT"},
        {"{\"alg\":\"HS256\",\"typ\":\"JWE\"}", WHOLE, "typ is \"JWE\""},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"crit\":[]}", WHOLE, "header has more than alg, typ and kid"},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"jku\":\"https://evil.example\"}", WHOLE, "header has more than"},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"k2\"}", WHOLE, "kid is \"k2\", which is no key of this server"},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"\"}", WHOLE, "kid is \"\""},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":0}", WHOLE, "kid is \"(no text)\""},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"\\u001b[2J\"}", WHOLE, "kid is \"?[2J\""},
        {"{\"alg\":\"none\",\"alg\":\"HS256\",\"typ\":\"JWT\"}", WHOLE,
         "header is no JSON object, or has a name twice"},
        {"[]", WHOLE, "header is no JSON object"},
        {"{\"alg\":\"HS256\",\"typ\":\"JWT\"", WHOLE, "header is no JSON object"},
        {"", WHOLE, "header is no JSON object"},
        {HEADER, "", "claims is no JSON object"},
        {HEADER, "7", "claims is no JSON object"},
        {HEADER, "{} {}", "claims is no JSON object"},
        {HEADER, "{" CLAIMS ",\"role\":\"own\"}", "or has a name twice"},
        {HEADER, "{\"session\":\"main\",\"role\":\"play\"}", "jti is \"(no text)\", allowed are 1 to 32"},
        {HEADER, "{\"jti\":\"\",\"session\":\"main\",\"role\":\"play\"}", "jti is \"\""},
        {HEADER, "{\"jti\":\"a b\",\"session\":\"main\",\"role\":\"play\"}", "jti is \"a b\""},
        {HEADER, "{\"jti\":\"012345678901234567890123456789012\",\"session\":\"main\",\"role\":\"play\"}",
         "jti is \"0123"},
        {HEADER, "{\"jti\":\"a1\",\"role\":\"play\"}", "names no session"},
        {HEADER, "{\"jti\":\"a1\",\"session\":\"\",\"role\":\"play\"}", "names no session"},
        {HEADER, "{\"jti\":\"a1\",\"session\":[\"main\"],\"role\":\"play\"}", "names no session"},
        {HEADER,
         "{\"jti\":\"a1\",\"session\":\"0123456789012345678901234567890123456789012345678901234567890123\",\"role\":"
         "\"play\"}",
         "names no session of 1 to 63 bytes"},
        {HEADER, "{\"jti\":\"a1\",\"session\":\"main\",\"role\":\"boss\"}", "role is \"boss\", allowed are watch"},
        {HEADER, "{\"jti\":\"a1\",\"session\":\"main\",\"role\":2}", "role is \"(no text)\""},
        {HEADER, "{\"jti\":\"a1\",\"session\":\"main\"}", "role is \"(no text)\""},
        {HEADER, "{" CLAIMS ",\"exp\":\"2000000\"}", "exp is no time, allowed are whole seconds"},
        {HEADER, "{" CLAIMS ",\"exp\":2000000.5}", "exp is no time"},
        {HEADER, "{" CLAIMS ",\"exp\":null}", "exp is no time"},
        {HEADER, "{" CLAIMS ",\"exp\":0}", "exp is no time"},
        {HEADER, "{" CLAIMS ",\"exp\":-1}", "exp is no time"},
        {HEADER, "{" CLAIMS ",\"exp\":253402300800}", "exp is no time"},
        {HEADER, "{" CLAIMS ",\"exp\":99999999999999999999}", "claims is no JSON object"},
        {HEADER, "{" CLAIMS ",\"nbf\":true}", "nbf is no time"},
        {HEADER, "{" CLAIMS ",\"iat\":\"now\"}", "iat is no time"},
        {HEADER, "{" CLAIMS ",\"aud\":\"other\"}", "claims \"aud\", allowed are jti, session, role, iat, nbf and exp"},
        {HEADER, "{" CLAIMS ",\"EXP\":2000000}", "claims \"EXP\""},
        {HEADER, "{" CLAIMS ",\"\\u001b[2J\":1}", "claims \"?[2J\""},
        {HEADER, "{" CLAIMS ",\"iat\":1000061}", "iat is 61 s ahead of this server's clock, allowed are 60"},
        {HEADER, "{" CLAIMS ",\"exp\":1000000}", "the token has expired, 0 s ago"},
        {HEADER, "{" CLAIMS ",\"exp\":999000}", "the token has expired, 1000 s ago"},
        {HEADER, "{" CLAIMS ",\"nbf\":1000001}", "isn't valid yet, but in 1 s"},
        {HEADER, "{" CLAIMS ",\"nbf\":1000001,\"exp\":1000000}", "has expired"},
    };
    char text[TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(text, sign(cases[i].header, cases[i].claims, 0, text), cases[i].sentence);
    }
}

static void test_what_is_no_token_says_what_is_wrong(void **state)
{
    (void)state;
    char right[TEXT_BYTES], text[TEXT_BYTES + 2];
    tarn_token token;
    tarn_text why;
    const size_t bytes = sign(HEADER, WHOLE, 0, right);
    assert_int_equal(tarn_token_read(right, bytes, &keys, NOW_S, &token, why), TARN_OK);
    expect_refused("", 0, "the token has 1 parts, allowed are 3");
    expect_refused("...", 3, "the token has 4 parts");
    expect_refused("a.b", 3, "the token has 2 parts");
    snprintf(text, sizeof text, "%s.", right);
    expect_refused(text, strlen(text), "the token has 4 parts");
    snprintf(text, sizeof text, ".%s", right);
    expect_refused(text, strlen(text), "the token has 4 parts");
    expect_refused("..", 2, "header is no JSON object");
    snprintf(text, sizeof text, "%s=", right);
    expect_refused(text, strlen(text), "signature isn't base64url without padding");
    snprintf(text, sizeof text, "+%s", right);
    expect_refused(text, strlen(text), "header isn't base64url");
    snprintf(text, sizeof text, " %s", right);
    expect_refused(text, strlen(text), "header isn't base64url");
    const size_t last_dot = (size_t)(strrchr(right, '.') - right);
    expect_refused(right, last_dot + 1, "signature is wrong"); // as "alg none" has it
    expect_refused(right, last_dot, "the token has 2 parts");
    sign(HEADER, WHOLE, 1, text);
    expect_refused(text, strlen(text), "signature is wrong"); // another key than the one that is named
    memset(text, 'a', TARN_PASS_BYTES_MAX + 1);
    expect_refused(text, TARN_PASS_BYTES_MAX + 1, "the token has 513 bytes, allowed are 512");
    // No letter can be another, not even in the bits that a signature's last one has over.
    for (size_t i = 0; i < bytes; i++) {
        memcpy(text, right, bytes + 1);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        assert_int_not_equal(tarn_token_read(text, bytes, &keys, NOW_S, &token, why), TARN_OK);
        text[i] = (char)(right[i] + 1);
        assert_int_not_equal(tarn_token_read(text, bytes, &keys, NOW_S, &token, why), TARN_OK);
        text[i] = 0;
        assert_int_not_equal(tarn_token_read(text, bytes, &keys, NOW_S, &token, why), TARN_OK);
        assert_int_not_equal(tarn_token_read(right, i, &keys, NOW_S, &token, why), TARN_OK);
    }
    const tarn_token_keys none = {0};
    assert_int_not_equal(tarn_token_read(right, bytes, &none, NOW_S, &token, why), TARN_OK);
    assert_string_equal(why, "this server takes no tokens");
}

static void test_right_tokens_are_read(void **state)
{
    (void)state;
    char text[TEXT_BYTES];
    tarn_pass written;
    tarn_token token;
    tarn_text why;
    size_t bytes = sign("{ \"typ\": \"JWT\", \"kid\": \"k1\", \"alg\": \"HS256\" }",
                        "{" CLAIMS ",\"iat\":1000060,\"nbf\":1000000,\"exp\":1000001}", 1, text);
    assert_int_equal(tarn_token_read(text, bytes, &keys, NOW_S, &token, why), TARN_OK);
    assert_string_equal(token.id, "a1");
    assert_string_equal(token.session, "main");
    assert_int_equal(token.role, TARN_ROLE_PLAY);
    assert_int_equal(token.issued_s, NOW_S + 60);
    assert_int_equal(token.from_s, 1000000);
    assert_int_equal(token.until_s, 1000001);
    for (int role = 0; role < TARN_ROLE_COUNT; role++) {
        const tarn_token made = {"Zz-_09", "T\"a\\nk ü",          (tarn_role)role,
                                 NOW_S,    role == 1 ? NOW_S : 0, role == 2 ? NOW_S + 7 : 0};
        assert_int_equal(tarn_token_write(&made, &keys.keys[role % 2], written), TARN_OK);
        assert_true(strlen(written) <= TARN_PASS_BYTES_MAX);
        assert_int_equal(tarn_token_read(written, strlen(written), &keys, NOW_S, &token, why), TARN_OK);
        assert_string_equal(token.id, made.id);
        assert_string_equal(token.session, made.session);
        assert_int_equal(token.role, made.role);
        assert_int_equal(token.issued_s, made.issued_s);
        assert_int_equal(token.from_s, made.from_s);
        assert_int_equal(token.until_s, made.until_s);
    }
    tarn_token longest = {.role = TARN_ROLE_WATCH, .issued_s = 99999999999, .from_s = 1, .until_s = 99999999999};
    memset(longest.id, 'i', TARN_TOKEN_ID_BYTES_MAX);
    memset(longest.session, 's', TARN_NAME_BYTES_MAX);
    assert_int_equal(tarn_token_write(&longest, &keys.keys[0], written), TARN_OK);
    memset(longest.session, 1, TARN_NAME_BYTES_MAX); // each of which JSON writes as six bytes
    assert_int_equal(tarn_token_write(&longest, &keys.keys[0], written), TARN_E_LIMIT);
}

/// A signature that begins as the right one does is none.
static void test_a_signature_is_compared_whole(void **state)
{
    (void)state;
    const tarn_token made = {"a1", "main", TARN_ROLE_OWN, NOW_S, 0, 0};
    tarn_token token;
    tarn_text why;
    tarn_pass written;
    assert_int_equal(tarn_token_write(&made, &keys.keys[0], written), TARN_OK);
    const size_t bytes = strlen(written);
    const char *mac = strrchr(written, '.') + 1;
    for (const char *at = mac; at < written + bytes; at++) {
        char *letter = written + (at - written);
        const char before = *letter;
        *letter = before == 'A' ? 'E' : 'A'; // both end in zeros, which the last one must
        assert_int_equal(tarn_token_read(written, bytes, &keys, NOW_S, &token, why), TARN_E_MALFORMED);
        *letter = before;
    }
    written[bytes] = 'A'; // a 33rd byte, of zeros
    written[bytes + 1] = 0;
    assert_int_equal(tarn_token_read(written, bytes + 1, &keys, NOW_S, &token, why), TARN_E_MALFORMED);
    assert_string_equal(why, "the token's signature is wrong");
    assert_int_equal(tarn_token_read(written, bytes - 3, &keys, NOW_S, &token, why), TARN_E_MALFORMED);
    assert_int_equal(tarn_token_read(written, bytes, &keys, NOW_S, &token, why), TARN_OK);
}

static void test_base64url_has_one_way_to_write_bytes(void **state)
{
    (void)state;
    char text[64];
    uint8_t bytes[64], again[64];
    size_t count;
    for (size_t n = 0; n < 33; n++) {
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (uint8_t)(i * 57 + n * 11);
        }
        const size_t letters = tarn_base64url_write(bytes, n, text);
        assert_int_equal(letters, (n * 4 + 2) / 3);
        assert_int_equal(tarn_base64url_read(text, letters, again, &count), TARN_OK);
        assert_int_equal(count, n);
        assert_memory_equal(bytes, again, n);
    }
    assert_int_equal(tarn_base64url_write((const uint8_t *)"\xfb\xff", 2, text), 3);
    assert_string_equal(text, "-_8");
    static const char *const wrong[] = {"A", "AB", "AAB", "AAAAA", "+A", "/A", "AA==", "A A", "\xc3\xa9"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_not_equal(tarn_base64url_read(wrong[i], strlen(wrong[i]), again, &count), TARN_OK);
    }
}

static void put(const char *name, const char *text, size_t bytes, mode_t mode)
{
    const int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && fchmod(fd, mode) == 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
}

static void test_files_of_keys(void **state)
{
    (void)state;
#define SECRET "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    static const struct {
        const char *text, *sentence;
        mode_t mode;
    } wrong[] = {
        {"a " SECRET "\n", "others may read it (mode 640)", 0640},
        {"", "there is no key in it", 0600},
        {"# nothing\n\n", "there is no key in it", 0600},
        {"a\n", "line 1: allowed are a name and a secret", 0600},
        {"a " SECRET " b\n", "line 1: allowed are a name and a secret", 0600},
        {"a.b " SECRET "\n", "line 1: a key's name has 1 to 16", 0600},
        {"01234567890123456 " SECRET "\n", "line 1: a key's name has 1 to 16", 0600},
        {"a " SECRET "\nb " SECRET "=\n", "line 2: the secret isn't base64url", 0600},
        {"a AAAA\n", "line 1: the secret doesn't have 32 to 64 bytes", 0600},
        {"a " SECRET SECRET "AAAA\n", "line 1: the secret", 0600},
        {"a " SECRET "\na " SECRET "\n", "line 2: the key's name is there twice", 0600},
    };
    tarn_token_keys read_keys;
    tarn_text why;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        put("keys", wrong[i].text, strlen(wrong[i].text), wrong[i].mode);
        assert_int_not_equal(tarn_token_keys_read(&read_keys, in_folder("keys"), why), TARN_OK);
        if (strstr(why, wrong[i].sentence) == NULL || strstr(why, "AAAA") != NULL) {
            fail_msg("instead of \"%s\": %s", wrong[i].sentence, why);
        }
    }
    char many[2048] = "";
    for (int i = 0; i < 17; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "k%d " SECRET "\n", i);
    }
    put("keys", many, strlen(many), 0600);
    assert_int_not_equal(tarn_token_keys_read(&read_keys, in_folder("keys"), why), TARN_OK);
    assert_non_null(strstr(why, "line 17: there are more than 16 keys"));
    static const char right[] = "# newest first\r\nb  " SECRET "\r\n\na\t" SECRET "A";
    put("keys", right, strlen(right), 0600);
    assert_int_equal(tarn_token_keys_read(&read_keys, in_folder("keys"), why), TARN_OK);
    assert_int_equal(read_keys.count, 2);
    assert_string_equal(read_keys.keys[0].name, "b");
    assert_int_equal(read_keys.keys[0].secret_bytes, 32);
    assert_int_equal(read_keys.keys[1].secret_bytes, 33);
    put("keys", "\0\n23456789012345678901234567890\n", 32, 0600);
    assert_int_equal(tarn_token_keys_read(&read_keys, in_folder("keys"), why), TARN_OK);
    assert_int_equal(read_keys.count, 1);
    assert_string_equal(read_keys.keys[0].name, "0");
}

static int issued_count;

static void on_issued(void *user, const tarn_token_issued *issued)
{
    snprintf((char *)user, 256, "%s %d %s %d %d %s", issued->token.id, issued->token.role, issued->token.session,
             (int)issued->token.issued_s, (int)issued->token.until_s, issued->note);
    issued_count++;
}

static void test_what_is_revoked_and_issued_is_kept_line_by_line(void **state)
{
    (void)state;
    static tarn_tokens_revoked revoked;
    static char lines[TARN_TOKENS_REVOKED_MAX * 8];
    tarn_text why;
    char line[256];
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    assert_int_equal(revoked.count, 0);
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "a1", why), TARN_OK);
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "a2", why), TARN_OK);
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "a1", why), TARN_OK);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    assert_int_equal(revoked.count, 2);
    assert_true(tarn_tokens_revoked_has(&revoked, "a2"));
    assert_false(tarn_tokens_revoked_has(&revoked, "a"));
    put("revoked", "a1\nno id\na3\n", 12, 0600);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_E_MALFORMED);
    assert_true(tarn_tokens_revoked_has(&revoked, "a3"));
    for (int i = 0; i < TARN_TOKENS_REVOKED_MAX; i++) {
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "n%d\n", i);
    }
    put("revoked", lines, strlen(lines), 0600);
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "a1", why), TARN_E_LIMIT);
    assert_non_null(strstr(why, "it has 4096 lines"));
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "n4095", why), TARN_OK);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    for (int i = 0; i < TARN_TOKENS_REVOKED_MAX; i++) {
        snprintf(line, sizeof line, "n%d", i);
        assert_true(tarn_tokens_revoked_has(&revoked, line));
    }
    snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "n7\nn8\n"); // which it has
    put("revoked", lines, strlen(lines), 0600);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    assert_int_equal(revoked.count, TARN_TOKENS_REVOKED_MAX);
    snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "one-more\n");
    put("revoked", lines, strlen(lines), 0600);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_E_LIMIT);

    const tarn_token_issued issued = {{"a1", "main", TARN_ROLE_OWN, 5, 0, 7}, "for Ada, tonight"};
    assert_int_equal(tarn_tokens_note(in_folder("tokens"), &issued, why), TARN_OK);
    assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_OK);
    assert_string_equal(line, "a1 2 main 5 7 for Ada, tonight");
    static const char some[] = "a\tb\nx\town\ts\t1\t2\t\nx\tboss\ts\t1\t2\t\n";
    put("tokens", some, strlen(some), 0600);
    issued_count = 0;
    assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_E_MALFORMED);
    assert_int_equal(issued_count, 1);
    assert_non_null(strstr(why,
                           "tokens: 2 of 3 lines are damaged; line 1: found \"a?b\", allowed are id, role, session, "
                           "two times in seconds and a note, with tabs between them"));
}

static void test_a_last_line_without_an_end_stays_a_line_of_its_own(void **state)
{
    (void)state;
    static tarn_tokens_revoked revoked;
    static const tarn_token_issued issued = {{"a1", "main", TARN_ROLE_OWN, 5, 0, 7}, "for Ada, tonight"};
    tarn_text why = "";
    char line[256];
    put("revoked", "a1", 2, 0600);
    assert_int_equal(tarn_tokens_revoke(in_folder("revoked"), "a2", why), TARN_OK);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    assert_int_equal(revoked.count, 2);
    assert_true(tarn_tokens_revoked_has(&revoked, "a1"));
    assert_true(tarn_tokens_revoked_has(&revoked, "a2"));
    put("tokens", "x\town\ts\t1\t2\tnote", 16, 0600);
    issued_count = 0;
    assert_int_equal(tarn_tokens_note(in_folder("tokens"), &issued, why), TARN_OK);
    assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_OK);
    assert_int_equal(issued_count, 2);
    assert_string_equal(line, "a1 2 main 5 7 for Ada, tonight");
}

/// The disk takes the beginning of a line alone: that is said, and the file is as it was.
static void test_a_line_that_does_not_fit_on_the_disk_leaves_nothing(void **state)
{
    (void)state;
    static tarn_tokens_revoked revoked;
    struct rlimit own, few;
    struct stat about;
    tarn_text why = "";
    put("revoked", "a1\n", 3, 0600);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &own), 0);
    few = (struct rlimit){.rlim_cur = 5, .rlim_max = own.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    const tarn_status status = tarn_tokens_revoke(in_folder("revoked"), "b234", why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &own), 0);
    assert_int_equal(status, TARN_E_IO);
    assert_non_null(strstr(why, strerror(ENOSPC)));
    assert_int_equal(stat(in_folder("revoked"), &about), 0);
    assert_int_equal(about.st_size, 3);
    assert_int_equal(tarn_tokens_revoked_read(&revoked, in_folder("revoked"), why), TARN_OK);
    assert_int_equal(revoked.count, 1);
}

/// Lines of tokens that were damaged in one way each: what is whole is listed, and what isn't is said.
static void test_damaged_lists_of_tokens_are_named(void **state)
{
    (void)state;
    static const char whole[] = "x\town\ts\t1\t2\tnote\n";
    char line[256], content[4096];
    tarn_text why;
    char large[1024];
    memset(large, 'y', sizeof large - 1);
    large[sizeof large - 1] = 0;
    const char *const damaged[] = {"x\town\ts\t1\t2",
                                   "x\town\ts\tone\t2\tn",
                                   "x\town\ts\t1\t\tn",
                                   "x\town\ts\t1\t2z\tn",
                                   "x\town\ts\t1\t-2\tn",
                                   "x y\town\ts\t1\t2\tn",
                                   "x\town\t\x1b[2J\t1\t2\tn",
                                   "x\town\ts\t1\t99999999999999999999\tn",
                                   "\xff\xfe",
                                   large};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        issued_count = 0;
        snprintf(content, sizeof content, "%s%s\n\n%s", whole, damaged[i], whole);
        put("tokens", content, strlen(content), 0600);
        assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_E_MALFORMED);
        assert_int_equal(issued_count, 2);
        assert_non_null(strstr(why, "1 of 4 lines are damaged; line 2: found \""));
        assert_true(tarn_is_printable(why));
    }
    static const char zeros[64];
    put("tokens", zeros, sizeof zeros, 0600);
    assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_E_MALFORMED);
    put("tokens", whole, strlen(whole), 0600);
    assert_int_equal(tarn_tokens_issued_read(in_folder("tokens"), on_issued, line, why), TARN_OK);
}

/// `tarn token list` says so, too, and fails.
static void test_the_tool_fails_on_a_damaged_list(void **state)
{
    (void)state;
    static const char damaged[] = "x\town\ts\t1\t0\tnote\nrubbish\n";
    char command[512], said[4096];
    put("tokens", damaged, strlen(damaged), 0600);
    snprintf(command, sizeof command, "%s token list --store %s 2>&1", TARN_TEST_TOOL, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = 0;
    assert_true(pclose(pipe) != 0);
    assert_non_null(strstr(said, "tokens: 1 of 2 lines are damaged; line 2: found \"rubbish\", allowed are"));
    assert_non_null(strstr(said, "valid")); // what is whole is listed
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_signed_token_with_wrong_parts_says_what_is_wrong),
        cmocka_unit_test(test_what_is_no_token_says_what_is_wrong),
        cmocka_unit_test(test_right_tokens_are_read),
        cmocka_unit_test(test_a_signature_is_compared_whole),
        cmocka_unit_test(test_base64url_has_one_way_to_write_bytes),
        cmocka_unit_test(test_files_of_keys),
        cmocka_unit_test(test_what_is_revoked_and_issued_is_kept_line_by_line),
        cmocka_unit_test(test_a_last_line_without_an_end_stays_a_line_of_its_own),
        cmocka_unit_test(test_a_line_that_does_not_fit_on_the_disk_leaves_nothing),
        cmocka_unit_test(test_damaged_lists_of_tokens_are_named),
        cmocka_unit_test(test_the_tool_fails_on_a_damaged_list),
    };
    return cmocka_run_group_tests(tests, make_keys, remove_folder);
}
