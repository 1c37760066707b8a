// The folder is locked meanwhile: of two servers that start with the same folder one makes the pair and both serve it.
// Each file is written aside and renamed; a crash between the two leaves a pair that doesn't match, which is made anew.
#include "server/gateway/self_signed.h"
#include "server/common/file_bytes.h"
#include "server/common/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char CERTIFICATE_NAME[] = "tarn-self-signed.crt", KEY_NAME[] = "tarn-self-signed.key";

typedef struct own_files {
    char certificate[PATH_MAX], key[PATH_MAX];
} own_files;

static bool covers_address(X509 *certificate, const struct in6_addr *address)
{
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    return X509_check_ip(certificate, address->s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 16, 0) == 1;
}

/// @return why another is needed, NULL: it isn't
static const char *fault_of(const tarn_tls_pair *pair, const tarn_own_names *names)
{
    if (tarn_tls_pair_left_s(pair) < TARN_GATEWAY_TLS_OWN_RENEW_S) {
        return "it ends within a day, or has ended";
    }
    for (uint32_t i = 0; i < names->name_count; i++) {
        if (X509_check_host(pair->certificate, names->names[i], 0, 0, NULL) != 1) {
            return "this machine has another name";
        }
    }
    for (uint32_t i = 0; i < names->address_count; i++) {
        if (!covers_address(pair->certificate, &names->addresses[i])) {
            return "this machine has another address";
        }
    }
    return NULL;
}

/// "DNS:localhost,IP:127.0.0.1,..." as OpenSSL reads it. @return false: there is no room
static bool list_names(const tarn_own_names *names, char *list, size_t list_bytes)
{
    size_t used = 0;
    for (uint32_t i = 0; i < names->name_count && used < list_bytes; i++) {
        used += (size_t)snprintf(list + used, list_bytes - used, "%sDNS:%s", used ? "," : "", names->names[i]);
    }
    for (uint32_t i = 0; i < names->address_count && used < list_bytes; i++) {
        char text[INET6_ADDRSTRLEN];
        const struct in6_addr *address = &names->addresses[i];
        const bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
        inet_ntop(is_v4 ? AF_INET : AF_INET6, address->s6_addr + (is_v4 ? 12 : 0), text, sizeof text);
        used += (size_t)snprintf(list + used, list_bytes - used, ",IP:%s", text);
    }
    return used < list_bytes;
}

static bool add_extension(X509 *certificate, X509V3_CTX *context, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, context, kind, value);
    const bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool add_extensions(X509 *certificate, const tarn_own_names *names)
{
    char list[TARN_GATEWAY_TLS_NAMES_MAX * (TARN_OWN_NAME_BYTES + 5) +
              TARN_GATEWAY_TLS_ADDRESSES_MAX * (INET6_ADDRSTRLEN + 4)];
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    return list_names(names, list, sizeof list) && add_extension(certificate, &context, NID_subject_alt_name, list) &&
           add_extension(certificate, &context, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(certificate, &context, NID_key_usage, "critical,digitalSignature") &&
           add_extension(certificate, &context, NID_ext_key_usage, "serverAuth") &&
           add_extension(certificate, &context, NID_subject_key_identifier, "hash");
}

/// Names that tell certificates of several machines apart; browsers go by the extension.
static bool set_subject(X509 *certificate, const tarn_own_names *names)
{
    char common_name[64]; // RFC 5280's limit
    X509_NAME *subject = X509_get_subject_name(certificate);
    snprintf(common_name, sizeof common_name, "Tarn on %.50s", names->names[names->name_count > 1 ? 1 : 0]);
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0) ==
               1 &&
           X509_set_issuer_name(certificate, subject) == 1;
}

/// Browsers refuse two certificates of one issuer with the same number.
static bool set_number(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return false;
    }
    bytes[0] = (bytes[0] & 0x7f) | 0x40; // positive, and always as long
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    const bool set = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return set;
}

/// @return NULL: OpenSSL can't
static X509 *make_certificate(EVP_PKEY *key, const tarn_own_names *names)
{
    X509 *certificate = X509_new();
    const bool made = certificate != NULL && X509_set_version(certificate, X509_VERSION_3) == 1 &&
                      set_number(certificate) && set_subject(certificate, names) &&
                      // A day early: clocks in a network without a time server differ.
                      X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) != NULL &&
                      X509_gmtime_adj(X509_getm_notAfter(certificate), TARN_GATEWAY_TLS_OWN_S) != NULL &&
                      X509_set_pubkey(certificate, key) == 1 && add_extensions(certificate, names) &&
                      X509_sign(certificate, key, EVP_sha256()) > 0;
    if (!made) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

/// Puts a file in the place of what is there, which stays where this fails.
static tarn_status put_file(const char *path, mode_t mode, BIO *text, tarn_text why)
{
    char *bytes;
    const long byte_count = BIO_get_mem_data(text, &bytes);
    const tarn_status status = tarn_file_bytes_put(path, mode, bytes, (size_t)byte_count);
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "%.300s can't be written: %s", path, strerror(errno));
    }
    return status;
}

static tarn_status make(const own_files *files, const tarn_own_names *names, tarn_text why)
{
    tarn_status status = TARN_E_MEMORY;
    BIO *key_text = BIO_new(BIO_s_mem()), *certificate_text = BIO_new(BIO_s_mem());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key != NULL ? make_certificate(key, names) : NULL;
    if (key_text != NULL && certificate_text != NULL && certificate != NULL &&
        PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) == 1 &&
        PEM_write_bio_X509(certificate_text, certificate) == 1) {
        status = put_file(files->key, 0600, key_text, why);
        if (status == TARN_OK) {
            status = put_file(files->certificate, 0644, certificate_text, why);
        }
    } else {
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        snprintf(why, sizeof(tarn_text), "no certificate can be made: %.100s", reason != NULL ? reason : "no memory");
        ERR_clear_error();
    }
    BIO_free(key_text);
    BIO_free(certificate_text);
    EVP_PKEY_free(key);
    X509_free(certificate);
    return status;
}

/// Makes a folder and those above it. @return 0, or -1 with errno
static int make_folders(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder); // it fits, since the files in it do
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            return -1;
        }
        *slash = '/';
    }
    return mkdir(path, 0700) != 0 && errno != EEXIST ? -1 : 0;
}

/// @return the folder, locked; -1 with a sentence
static int lock_folder(const char *folder, tarn_text why)
{
    if (make_folders(folder) != 0) {
        snprintf(why, sizeof(tarn_text), "--tls-dir %.300s can't be made: %s", folder, strerror(errno));
        return -1;
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) { // nobody waits here
        snprintf(why, sizeof(tarn_text), "--tls-dir %.300s can't be used: %s", folder, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

/// Reads the pair that is kept, unless another is needed. Says why, but for a folder that is empty.
static bool read_kept(const own_files *files, const tarn_own_names *names, tarn_tls_pair *pair)
{
    tarn_text why;
    const tarn_status status = tarn_tls_pair_read(files->certificate, files->key, pair, why);
    const char *fault = status == TARN_OK ? fault_of(pair, names) : why;
    if (status == TARN_OK && fault == NULL) {
        return true;
    }
    if (status == TARN_OK) {
        tarn_tls_pair_free(pair);
    }
    if (status != TARN_E_NOT_FOUND) {
        tarn_log_info("another certificate is made, to which browsers ask again: %s", fault);
    }
    return false;
}

tarn_status tarn_self_signed_open(const char *folder, const tarn_own_names *names, tarn_tls_pair *pair, bool *made,
                                  tarn_text why)
{
    own_files files;
    if ((size_t)snprintf(files.certificate, sizeof files.certificate, "%s/%s", folder, CERTIFICATE_NAME) >=
            sizeof files.certificate ||
        (size_t)snprintf(files.key, sizeof files.key, "%s/%s", folder, KEY_NAME) >= sizeof files.key) {
        snprintf(why, sizeof(tarn_text), "--tls-dir: the path is too long, allowed are %d bytes", PATH_MAX - 32);
        return TARN_E_IO;
    }
    const int lock = lock_folder(folder, why);
    if (lock < 0) {
        return TARN_E_IO;
    }
    tarn_status status = TARN_OK;
    *made = !read_kept(&files, names, pair);
    if (*made) {
        status = make(&files, names, why);
        if (status == TARN_OK) {
            status = tarn_tls_pair_read(files.certificate, files.key, pair, why);
        }
    }
    close(lock);
    return status;
}
