#include "tests/server/tls_files.h"
#include "tests/server/test_cmocka.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

static long next_number = 1000;

static EVP_PKEY *make_key(const tls_plan *plan)
{
    EVP_PKEY *key =
        plan->is_rsa ? EVP_RSA_gen((unsigned)(plan->rsa_bits ? plan->rsa_bits : 2048)) : EVP_EC_gen("P-256");
    assert_non_null(key);
    return key;
}

static void extend(X509 *certificate, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static X509 *make_certificate(EVP_PKEY *key, const char *name, long from_s, long until_s)
{
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), next_number++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), from_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), until_s);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                               -1, 0);
    X509_set_pubkey(certificate, key);
    return certificate;
}

static void write_key(const char *file, EVP_PKEY *key, const char *password)
{
    FILE *out = fopen(file, "we");
    assert_non_null(out);
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(PEM_write_PrivateKey(out, key, password != NULL ? EVP_aes_256_cbc() : NULL,
                                          (const unsigned char *)password, password != NULL ? (int)strlen(password) : 0,
                                          NULL, NULL),
                     1);
    assert_int_equal(fclose(out), 0);
}

void tls_files_write(const char *certificate, const char *key, const tls_plan *plan)
{
    const bool is_default = plan->from_s == 0 && plan->until_s == 0;
    const long from_s = is_default ? -3600 : plan->from_s, until_s = is_default ? 86400 : plan->until_s;
    EVP_PKEY *own = make_key(plan), *issuing = NULL;
    X509 *leaf = make_certificate(own, "a server for tests", from_s, until_s), *authority = NULL;
    extend(leaf, NID_subject_alt_name, plan->names != NULL ? plan->names : "DNS:localhost,IP:127.0.0.1");
    if (plan->is_issued) {
        issuing = make_key(&(tls_plan){0});
        authority = make_certificate(issuing, "an authority for tests", -3600, 86400);
        X509_set_issuer_name(authority, X509_get_subject_name(authority));
        extend(authority, NID_basic_constraints, "critical,CA:TRUE");
        assert_true(X509_sign(authority, issuing, EVP_sha256()) > 0);
    }
    X509_set_issuer_name(leaf, X509_get_subject_name(authority != NULL ? authority : leaf));
    assert_true(X509_sign(leaf, issuing != NULL ? issuing : own, EVP_sha256()) > 0);
    FILE *out = fopen(certificate, "we");
    assert_non_null(out);
    assert_int_equal(PEM_write_X509(out, leaf), 1);
    if (authority != NULL) {
        assert_int_equal(PEM_write_X509(out, authority), 1);
    }
    assert_int_equal(fclose(out), 0);
    write_key(key, own, plan->password);
    X509_free(leaf);
    X509_free(authority);
    EVP_PKEY_free(own);
    EVP_PKEY_free(issuing);
}

void tls_files_write_text(const char *file, const char *text)
{
    FILE *out = fopen(file, "we");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}
