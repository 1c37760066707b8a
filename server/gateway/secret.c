// 32 random bytes in a file, and keys by HMAC.
#include "server/gateway/secret.h"
#include "protocol/assert.h"
#include "server/common/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

tarn_status tarn_secret_draw(tarn_secret *secret)
{
    return getrandom(secret->bytes, sizeof secret->bytes, 0) == (ssize_t)sizeof secret->bytes ? TARN_OK : TARN_E_IO;
}

/// Half a secret would shut everybody out.
static tarn_status make(tarn_secret *secret, const char *path, tarn_text why)
{
    if (tarn_secret_draw(secret) != TARN_OK ||
        tarn_file_bytes_put(path, 0600, secret->bytes, sizeof secret->bytes) != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s: it can't be made: %s", path, strerror(errno));
        return TARN_E_IO;
    }
    return TARN_OK;
}

tarn_status tarn_secret_keep(tarn_secret *secret, const char *path, tarn_text why)
{
    uint8_t found[TARN_SECRET_BYTES + 1];
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        return make(secret, path, why);
    }
    const ssize_t got = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? read(fd, found, sizeof found) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (got < 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: %s", path,
                 fd < 0 ? strerror(errno) : "it is no file that can be read");
        return TARN_E_IO;
    }
    if (got != TARN_SECRET_BYTES) {
        snprintf(why, sizeof(tarn_text),
                 "%.300s: found %zd bytes, allowed are %d; without the file a new secret is made, and all links end",
                 path, got, TARN_SECRET_BYTES);
        return TARN_E_MALFORMED;
    }
    if (file.st_uid != geteuid()) {
        snprintf(why, sizeof(tarn_text), "%.300s: it is user %u's, allowed is one's own", path, (unsigned)file.st_uid);
        return TARN_E_MALFORMED;
    }
    if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        snprintf(why, sizeof(tarn_text), "%.300s: others may read it (mode %03o), allowed is 600", path,
                 (unsigned)file.st_mode & 0777);
        return TARN_E_MALFORMED;
    }
    memcpy(secret->bytes, found, sizeof secret->bytes);
    return TARN_OK;
}

tarn_status tarn_secret_key(const tarn_secret *secret, const uint8_t *salt, size_t salt_bytes, const char *text,
                            tarn_key key)
{
    uint8_t message[256], code[EVP_MAX_MD_SIZE];
    unsigned code_bytes = 0;
    const size_t text_bytes = strlen(text);
    TARN_ASSERT(salt_bytes + text_bytes <= sizeof message);
    memcpy(message, salt, salt_bytes);
    memcpy(message + salt_bytes, text, text_bytes); // NOLINT(bugprone-not-null-terminated-result): bytes
    const uint8_t *made =
        HMAC(EVP_sha256(), secret->bytes, TARN_SECRET_BYTES, message, salt_bytes + text_bytes, code, &code_bytes);
    if (made == NULL) {
        return TARN_E_MEMORY;
    }
    TARN_ASSERT(code_bytes >= TARN_KEY_BYTES / 2);
    for (size_t i = 0; i < TARN_KEY_BYTES / 2; i++) {
        snprintf(key + 2 * i, 3, "%02x", code[i]);
    }
    return TARN_OK;
}
