// The pair isn't given to the context of the connections but to each connection when its client says hello: OpenSSL
// keeps a pair for each kind of key, so that after a change from RSA to ECDSA a context would go on showing the old
// one, too.
#include "server/gateway/tls.h"
#include "server/base/files.h"
#include "server/base/limits.h"
#include "server/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- a pair ----
// Reading is bounded: the files' sizes, the certificates in one. What a pair is good for is asked of OpenSSL itself, by
// giving it to a context that serves nobody. Start at tarn_tls_pair_read.

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

// ---- one's own certificate ----
// The folder is locked meanwhile: of two servers that start with the same folder one makes the pair and both serve it.
// Each file is written aside and renamed; a crash between the two leaves a pair that doesn't match, which is made anew.

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

// ---- what the server shows ----
// Begin at tarn_tls_open.

static void tell_warnings(const tarn_tls_pair *pair)
{
    for (uint32_t i = 0; i < pair->warning_count; i++) {
        tarn_log_warn("%s", pair->warnings[i]);
    }
}

static tarn_status read_pair(const tarn_gateway_options *options, tarn_tls_pair *pair, tarn_text why)
{
    if (!options->tls_self_signed) {
        return tarn_tls_pair_read(options->tls_certificate, options->tls_key, pair, why);
    }
    tarn_own_names names;
    bool made;
    tarn_own_names_find(options->host, &names);
    for (uint32_t i = 0; i < options->names.count; i++) {
        tarn_own_names_add(options->names.texts[i], &names);
    }
    const tarn_status status = tarn_self_signed_open(options->tls_dir, &names, pair, &made, why);
    if (status == TARN_OK && made) {
        tarn_log_info("a self-signed certificate was made in %s, for %u names and %u addresses", options->tls_dir,
                      names.name_count, names.address_count);
    }
    return status;
}

/// HTTP Strict Transport Security (RFC 6797), but not with a self-signed certificate: a browser that knows this header
/// lets nobody go on past a certificate that it doesn't trust. Whoever trusted this one by import would be locked out
/// when it is made anew. 0 takes back what another certificate promised.
static void set_hsts(tarn_tls *tls)
{
    snprintf(tls->hsts_value, sizeof tls->hsts_value, "max-age=%d",
             tls->pair.is_self_signed ? 0 : TARN_GATEWAY_TLS_HSTS_S);
}

tarn_status tarn_tls_open(tarn_tls *tls, const tarn_gateway_options *options, tarn_text why)
{
    if (options->tls_certificate == NULL && !options->tls_self_signed) {
        return TARN_OK;
    }
    const tarn_status status = read_pair(options, &tls->pair, why);
    if (status == TARN_OK) {
        tls->options = options;
        tell_warnings(&tls->pair);
        set_hsts(tls);
    }
    return status;
}

void tarn_tls_reload(tarn_tls *tls)
{
    tarn_tls_pair pair;
    tarn_text why;
    if (read_pair(tls->options, &pair, why) != TARN_OK) {
        tarn_log_error("the certificate stays as it was: %s", why);
        return;
    }
    tell_warnings(&pair);
    tarn_log_info("the certificate was read again, new connections get it; SHA-256 %s", pair.fingerprint);
    tarn_tls_pair_free(&tls->pair);
    tls->pair = pair;
    set_hsts(tls);
}

void tarn_tls_close(tarn_tls *tls)
{
    tarn_tls_pair_free(&tls->pair);
    tls->options = NULL;
}

bool tarn_tls_is_on(const tarn_tls *tls)
{
    return tls->options != NULL;
}

void tarn_tls_describe(tarn_tls *tls, struct lws_context_creation_info *info)
{
    if (!tarn_tls_is_on(tls)) {
        return;
    }
    info->options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    info->options |= LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
    // Requests without TLS are let through to be answered with where to go (reach.h).
    info->options |= LWS_SERVER_OPTION_ALLOW_NON_SSL_ON_SSL_PORT;
    info->options |= LWS_SERVER_OPTION_ALLOW_HTTP_ON_HTTPS_LISTENER;
    if (!tls->options->tls_self_signed) {
        tls->hsts.name = "strict-transport-security:";
        tls->hsts.value = tls->hsts_value;
        info->headers = &tls->hsts;
    }
}

static int on_client_hello(SSL *connection, int *alert, void *user)
{
    const tarn_tls_pair *pair = &((tarn_tls *)user)->pair;
    // Else each call would send one record of 16 KiB of a frame, and libwebsockets copy the rest.
    SSL_clear_mode(connection, SSL_MODE_ENABLE_PARTIAL_WRITE);
    if (SSL_use_cert_and_key(connection, pair->certificate, pair->key, pair->chain, 1) == 1) {
        return SSL_CLIENT_HELLO_SUCCESS;
    }
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

void tarn_tls_set_up(tarn_tls *tls, SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    // No session is resumed: each connection shows the certificate that is served, and none is kept in memory.
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_client_hello_cb(context, on_client_hello, tls);
}

bool tarn_tls_covers(struct lws *wsi)
{
    return lws_get_ssl(wsi) != NULL;
}

void tarn_tls_end(struct lws *wsi)
{
    const int ended = SSL_shutdown(lws_get_ssl(wsi));
    (void)ended; // 0 as long as the peer hasn't said the same; a peer that is gone learns nothing either
}

void tarn_tls_write_json(const tarn_tls *tls, char *text, size_t text_bytes)
{
    if (tarn_tls_is_on(tls)) {
        snprintf(text, text_bytes, "{\"self_signed\": %s, \"sha256\": \"%s\"}\n",
                 tls->pair.is_self_signed ? "true" : "false", tls->pair.fingerprint);
    } else {
        snprintf(text, text_bytes, "{\"self_signed\": false, \"sha256\": null}\n");
    }
}
