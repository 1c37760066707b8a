/// A certificate, those that it was issued by, and its key: read from PEM files and checked before anything of it is
/// used, so that a bad pair can be refused while another is being served.
#ifndef TARN_SERVER_GATEWAY_TLS_PAIR_H
#define TARN_SERVER_GATEWAY_TLS_PAIR_H

#include "protocol/message.h"
#include "protocol/status.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TARN_TLS_FINGERPRINT_BYTES = 96, ///< 32 times two digits, with colons between them, and a zero
    TARN_TLS_WARNINGS_MAX = 3,
};

typedef struct tarn_tls_pair {
    X509 *certificate;      ///< NULL: there is none
    STACK_OF(X509) * chain; ///< may be empty
    EVP_PKEY *key;
    bool is_self_signed;                          ///< or issued by nobody else: a browser asks before it goes on
    char fingerprint[TARN_TLS_FINGERPRINT_BYTES]; ///< SHA-256 of the certificate, as browsers show it
    uint32_t warning_count;
    tarn_text warnings[TARN_TLS_WARNINGS_MAX]; ///< sentences about what is odd and yet served
} tarn_tls_pair;

/// Reads a pair and checks that OpenSSL would serve it. Passwords are asked for by nobody: an encrypted key is refused.
/// @param certificate_file  PEM: the certificate first, then those that it was issued by
/// @param key_file          PEM; may be the same file
/// @param pair              made on success only; tarn_tls_pair_free gives it back
/// @param why               on failure a sentence with the file's name
/// @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO, TARN_E_LIMIT, TARN_E_MALFORMED or TARN_E_MEMORY
tarn_status tarn_tls_pair_read(const char *certificate_file, const char *key_file, tarn_tls_pair *pair, tarn_text why);

/// Gives back what a pair holds. Takes one that holds nothing.
void tarn_tls_pair_free(tarn_tls_pair *pair);

/// Seconds until the certificate ends; negative: since then.
int64_t tarn_tls_pair_left_s(const tarn_tls_pair *pair);

#endif
