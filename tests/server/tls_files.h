/// Certificates and keys for tests, right and wrong, written as PEM.
#ifndef TARN_TESTS_SERVER_TLS_FILES_H
#define TARN_TESTS_SERVER_TLS_FILES_H

#include <stdbool.h>

typedef struct tls_plan {
    const char *names;    ///< as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1"
    bool is_rsa;          ///< else ECDSA on P-256
    int rsa_bits;         ///< 0: 2048
    bool is_issued;       ///< by an authority that is made for it; else self-signed
    long from_s, until_s; ///< of validity, from now on; both 0: an hour before, a day after
    const char *password; ///< of the key; NULL: none
} tls_plan;

/// Writes a pair; asserts. The certificate's file has the authority's behind the first. Keys have the mode 0600.
void tls_files_write(const char *certificate, const char *key, const tls_plan *plan);

/// Writes a text; asserts.
void tls_files_write_text(const char *file, const char *text);

#endif
