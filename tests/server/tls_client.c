// tls_connect: the handshake is done here, then a child passes bytes between the connection and a pair of sockets until
// one of them ends. It blocks where the test takes nothing, so that a stalled test is a stalled viewer.
#include "tests/server/tls_client.h"
#include "tests/server/ws_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static SSL *shake_hands(int fd, SSL_CTX *context, int version, const char *alpn)
{
    struct timeval patience = {.tv_sec = WS_CLIENT_WAIT_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL_CTX_set_security_level(context, 0); // else TLS 1.1 wouldn't even be offered
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY); // a read may find nothing
    if (version) {
        SSL_set_min_proto_version(ssl, version);
        SSL_set_max_proto_version(ssl, version);
    }
    if (alpn != NULL) {
        SSL_set_alpn_protos(ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    }
    if (SSL_connect(ssl) == 1) {
        return ssl;
    }
    ERR_clear_error();
    SSL_free(ssl);
    return NULL;
}

static void note_fingerprint(SSL *ssl, tls_facts *facts)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    X509_digest(certificate, EVP_sha256(), digest, &count);
    for (unsigned i = 0; i < count && 3 * i + 3 <= sizeof facts->fingerprint; i++) {
        snprintf(facts->fingerprint + 3 * (size_t)i, 4, "%02X%s", digest[i], i + 1 < count ? ":" : "");
    }
    X509_free(certificate);
}

tls_facts tls_probe(uint16_t port, int version, const char *alpn)
{
    tls_facts facts = {0};
    const int fd = ws_connect_plain(port);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = fd >= 0 ? shake_hands(fd, context, version, alpn) : NULL;
    if (ssl != NULL) {
        const unsigned char *name;
        unsigned name_bytes;
        SSL_get0_alpn_selected(ssl, &name, &name_bytes);
        facts.is_agreed = true;
        facts.version = SSL_version(ssl);
        facts.chain_count = sk_X509_num(SSL_get_peer_cert_chain(ssl));
        snprintf(facts.alpn, sizeof facts.alpn, "%.*s", (int)name_bytes, name_bytes ? (const char *)name : "");
        note_fingerprint(ssl, &facts);
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    if (fd >= 0) {
        close(fd);
    }
    return facts;
}

static bool pass_in(SSL *ssl, int to)
{
    char bytes[16384];
    do {
        const int got = SSL_read(ssl, bytes, sizeof bytes);
        if (got <= 0 && SSL_get_error(ssl, got) == SSL_ERROR_WANT_READ) {
            return true; // a session's ticket, of which nothing is to be passed on
        }
        if (got <= 0 || ws_send_raw(to, bytes, (size_t)got) != 0) {
            return false;
        }
    } while (SSL_pending(ssl) > 0);
    return true;
}

static bool pass_out(int from, SSL *ssl)
{
    char bytes[16384];
    const ssize_t got = recv(from, bytes, sizeof bytes, 0);
    return got > 0 && SSL_write(ssl, bytes, (int)got) == got;
}

/// Until one side ends. A descriptor of another connection that was inherited would keep that one open.
static void pass_on(SSL *ssl, int pair)
{
    const int fd = SSL_get_fd(ssl), low = fd < pair ? fd : pair, high = fd < pair ? pair : fd;
    close_range(3, (unsigned)low - 1, 0);
    close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0U, 0);
    struct pollfd ends[2] = {{.fd = fd, .events = POLLIN}, {.fd = pair, .events = POLLIN}};
    bool goes_on = SSL_pending(ssl) == 0 || pass_in(ssl, pair);
    while (goes_on && poll(ends, 2, -1) >= 0) {
        goes_on = (!ends[0].revents || pass_in(ssl, pair)) && (!ends[1].revents || pass_out(pair, ssl));
    }
    SSL_shutdown(ssl);
}

int tls_receive_bytes = 0;

int tls_connect(uint16_t port)
{
    int pair[2];
    const int fd = ws_connect_plain(port);
    if (tls_receive_bytes) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &tls_receive_bytes, sizeof tls_receive_bytes);
    }
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = fd >= 0 ? shake_hands(fd, context, 0, "\10http/1.1") : NULL;
    int given = -1;
    if (ssl != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        const pid_t child = fork();
        if (child == 0) {
            if (fork() == 0) { // nobody waits for it
                pass_on(ssl, pair[1]);
            }
            _exit(0);
        }
        waitpid(child, NULL, 0);
        close(pair[1]);
        given = pair[0];
    }
    SSL_free(ssl); // without a goodbye: that is the child's
    SSL_CTX_free(context);
    if (fd >= 0) {
        close(fd);
    }
    return given;
}
