// Reading is bounded: the files' sizes, the certificates in one. What a pair is good for is asked of OpenSSL itself, by
// giving it to a context that serves nobody. Start at tarn_tls_pair_read.
#include "server/gateway/tls_pair.h"
#include "server/common/file_bytes.h"
#include "server/gateway/gateway_limits.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/// Instead of OpenSSL's own, which would ask at the terminal.
static int no_password(char *password, int room, int writes, void *user)
{
    (void)password;
    (void)room;
    (void)writes;
    *(bool *)user = true;
    return -1;
}

/// The newest error of OpenSSL's, and an empty queue.
static const char *openssl_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason != NULL ? reason : "OpenSSL doesn't say why";
}

typedef struct pem_file {
    char *bytes; ///< NULL: it isn't open
    size_t byte_count;
    BIO *bio;
} pem_file;

/// @param what  is allowed, for the sentence
static tarn_status open_pem(const char *file, const char *what, pem_file *pem, tarn_text why)
{
    const tarn_status status = tarn_file_bytes_read(file, TARN_GATEWAY_TLS_FILE_BYTES_MAX, what, &pem->bytes,
                                                    &pem->byte_count, why, sizeof(tarn_text));
    if (status != TARN_OK) {
        return status;
    }
    pem->bio = BIO_new_mem_buf(pem->bytes, (int)pem->byte_count);
    if (pem->bio == NULL) {
        snprintf(why, sizeof(tarn_text), "out of memory for a certificate or its key");
        return TARN_E_MEMORY;
    }
    return TARN_OK;
}

/// Leaves nothing of a key in memory that is given back.
static void close_pem(pem_file *pem)
{
    BIO_free(pem->bio);
    if (pem->bytes != NULL) {
        OPENSSL_cleanse(pem->bytes, pem->byte_count);
    }
    free(pem->bytes);
}

static tarn_status read_chain(BIO *bio, const char *file, tarn_tls_pair *pair, tarn_text why)
{
    X509 *one;
    pair->chain = sk_X509_new_null();
    if (pair->chain == NULL) {
        snprintf(why, sizeof(tarn_text), "out of memory for certificates");
        return TARN_E_MEMORY;
    }
    while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        if (sk_X509_num(pair->chain) == TARN_GATEWAY_TLS_CHAIN_MAX || sk_X509_push(pair->chain, one) == 0) {
            X509_free(one);
            snprintf(why, sizeof(tarn_text), "%.200s: more than %d certificates behind the first one", file,
                     TARN_GATEWAY_TLS_CHAIN_MAX);
            return TARN_E_LIMIT;
        }
    }
    const unsigned long error = ERR_peek_last_error();
    if (ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
        snprintf(why, sizeof(tarn_text), "%.200s: certificate %d can't be read: %.60s", file,
                 sk_X509_num(pair->chain) + 2, openssl_reason());
        return TARN_E_MALFORMED;
    }
    ERR_clear_error(); // the end of the file
    return TARN_OK;
}

static tarn_status read_certificates(const char *file, tarn_tls_pair *pair, tarn_text why)
{
    pem_file pem = {0};
    tarn_status status = open_pem(file, "a certificate in PEM", &pem, why);
    if (status == TARN_OK) {
        pair->certificate = PEM_read_bio_X509(pem.bio, NULL, NULL, NULL);
        if (pair->certificate == NULL) {
            ERR_clear_error();
            snprintf(why, sizeof(tarn_text),
                     "%.200s: found no certificate, allowed is PEM (-----BEGIN CERTIFICATE-----)", file);
            status = TARN_E_MALFORMED;
        } else {
            status = read_chain(pem.bio, file, pair, why);
        }
    }
    close_pem(&pem);
    return status;
}

static tarn_status read_key(const char *file, tarn_tls_pair *pair, tarn_text why)
{
    pem_file pem = {0};
    bool asked_password = false;
    tarn_status status = open_pem(file, "a private key in PEM", &pem, why);
    if (status == TARN_OK) {
        pair->key = PEM_read_bio_PrivateKey(pem.bio, NULL, no_password, &asked_password);
        ERR_clear_error();
    }
    if (status == TARN_OK && pair->key == NULL) {
        snprintf(why, sizeof(tarn_text), "%.200s: %s", file,
                 asked_password ? "the key has a password, allowed is one without"
                                : "found no private key, allowed is PEM (-----BEGIN PRIVATE KEY-----)");
        status = TARN_E_MALFORMED;
    }
    close_pem(&pem);
    return status;
}

/// Whether OpenSSL would serve it: the key is the certificate's, neither is too weak for its security level.
static tarn_status try_pair(const char *certificate_file, const char *key_file, const tarn_tls_pair *pair,
                            tarn_text why)
{
    if (X509_check_private_key(pair->certificate, pair->key) != 1) {
        ERR_clear_error();
        snprintf(why, sizeof(tarn_text), "the key in %.180s isn't that of the first certificate in %.180s", key_file,
                 certificate_file);
        return TARN_E_MALFORMED;
    }
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    tarn_status status = TARN_OK;
    if (context == NULL || SSL_CTX_use_cert_and_key(context, pair->certificate, pair->key, pair->chain, 1) != 1) {
        snprintf(why, sizeof(tarn_text), "%.200s: OpenSSL refuses the certificate: %.80s", certificate_file,
                 openssl_reason());
        status = TARN_E_MALFORMED;
    }
    SSL_CTX_free(context);
    return status;
}

static bool write_fingerprint(tarn_tls_pair *pair)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int count = 0;
    if (X509_digest(pair->certificate, EVP_sha256(), digest, &count) != 1 ||
        (size_t)count * 3 != sizeof pair->fingerprint) {
        return false;
    }
    for (unsigned int i = 0; i < count; i++) {
        snprintf(pair->fingerprint + (size_t)3 * i, sizeof pair->fingerprint - (size_t)3 * i, "%02X%s", digest[i],
                 i + 1 < count ? ":" : "");
    }
    return true;
}

int64_t tarn_tls_pair_left_s(const tarn_tls_pair *pair)
{
    int days = 0, seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(pair->certificate)) != 1) {
        return 0; // a time that can't be read is over
    }
    return (int64_t)days * 86400 + seconds;
}

static char *warning(tarn_tls_pair *pair)
{
    return pair->warnings[pair->warning_count++];
}

static void look_for_oddities(const char *certificate_file, const char *key_file, tarn_tls_pair *pair)
{
    struct stat about;
    const int64_t left_s = tarn_tls_pair_left_s(pair);
    if (left_s < 0) {
        snprintf(warning(pair), sizeof(tarn_text), "the certificate in %.200s ended %lld days ago: browsers refuse it",
                 certificate_file, (long long)(-left_s / 86400));
    } else if (left_s < TARN_GATEWAY_TLS_SOON_S) {
        snprintf(warning(pair), sizeof(tarn_text), "the certificate in %.200s ends in %lld days", certificate_file,
                 (long long)(left_s / 86400));
    }
    if (X509_cmp_current_time(X509_get0_notBefore(pair->certificate)) > 0) {
        snprintf(warning(pair), sizeof(tarn_text),
                 "the certificate in %.200s isn't valid yet, or this machine's clock is wrong", certificate_file);
    }
    if (stat(key_file, &about) == 0 && (about.st_mode & S_IROTH)) {
        snprintf(warning(pair), sizeof(tarn_text),
                 "everybody on this machine can read the key %.200s (mode %04o): chmod o= it", key_file,
                 (unsigned)(about.st_mode & 07777));
    }
}

tarn_status tarn_tls_pair_read(const char *certificate_file, const char *key_file, tarn_tls_pair *pair, tarn_text why)
{
    tarn_tls_pair found = {0};
    ERR_clear_error();
    tarn_status status = read_certificates(certificate_file, &found, why);
    if (status == TARN_OK) {
        status = read_key(key_file, &found, why);
    }
    if (status == TARN_OK) {
        status = try_pair(certificate_file, key_file, &found, why);
    }
    if (status == TARN_OK && !write_fingerprint(&found)) {
        snprintf(why, sizeof(tarn_text), "%.200s: no SHA-256 can be made of it", certificate_file);
        status = TARN_E_MALFORMED;
    }
    if (status != TARN_OK) {
        tarn_tls_pair_free(&found);
        return status;
    }
    found.is_self_signed = X509_self_signed(found.certificate, 0) == 1;
    ERR_clear_error();
    look_for_oddities(certificate_file, key_file, &found);
    *pair = found;
    return TARN_OK;
}

void tarn_tls_pair_free(tarn_tls_pair *pair)
{
    X509_free(pair->certificate);
    sk_X509_pop_free(pair->chain, X509_free);
    EVP_PKEY_free(pair->key);
    memset(pair, 0, sizeof *pair);
}
