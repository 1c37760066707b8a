// OpenSSL's results turned into those of sockets, so that whoever sends and receives needs to know of TLS only whom to
// wait for: start at as_socket. There is one context for all, and the handshake happens in the first sends and
// receives.
#include "server/tool/load/load_channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static SSL_CTX *context; // of all connections; NULL: there is no memory for it
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void make_context(void)
{
    context = SSL_CTX_new(TLS_client_method());
    if (context != NULL) {
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
        SSL_CTX_set_default_verify_paths(context);
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF); // a WebSocket says by itself when it ends
    }
}

/// Whom the server must be. @return false: there is no memory
static bool name_peer(SSL *ssl, const load_target *target)
{
    unsigned char address[sizeof(struct in6_addr)];
    const bool is_address =
        inet_pton(AF_INET, target->host, address) == 1 || inet_pton(AF_INET6, target->host, address) == 1;
    SSL_set_verify(ssl, target->loopback ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (is_address) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), target->host) == 1;
    }
    return SSL_set_tlsext_host_name(ssl, target->host) == 1 && SSL_set1_host(ssl, target->host) == 1;
}

tarn_status load_channel_open(load_channel *channel, int fd, const load_target *target)
{
    static const unsigned char http[] = "\10http/1.1";
    *channel = (load_channel){.fd = fd};
    if (!target->is_tls) {
        return TARN_OK;
    }
    pthread_once(&context_once, make_context);
    SSL *ssl = context != NULL ? SSL_new(context) : NULL;
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_set_alpn_protos(ssl, http, sizeof http - 1) != 0 ||
        !name_peer(ssl, target)) {
        ERR_clear_error();
        SSL_free(ssl);
        return TARN_E_MEMORY;
    }
    SSL_set_connect_state(ssl);
    channel->ssl = ssl;
    return TARN_OK;
}

void load_channel_close(load_channel *channel)
{
    SSL_free(channel->ssl);
    channel->ssl = NULL;
}

/// What a call of OpenSSL's that gave no bytes is as one of the socket's.
static ssize_t as_socket(load_channel *channel, int result)
{
    const int error = errno;
    const int kind = SSL_get_error(channel->ssl, result);
    switch (kind) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        channel->waits_for_peer = kind == SSL_ERROR_WANT_READ;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        errno = error;
        return error != 0 ? -1 : 0;
    default:
        errno = EPROTO;
        return -1;
    }
}

ssize_t load_channel_send(load_channel *channel, const void *bytes, size_t byte_count)
{
    if (channel->ssl == NULL) {
        return send(channel->fd, bytes, byte_count, MSG_NOSIGNAL);
    }
    ERR_clear_error();
    errno = 0;
    channel->waits_for_peer = false;
    const int sent = SSL_write(channel->ssl, bytes, (int)byte_count);
    return sent > 0 ? sent : as_socket(channel, sent);
}

ssize_t load_channel_receive(load_channel *channel, void *bytes, size_t byte_count)
{
    char nowhere[16384];
    if (channel->ssl == NULL) {
        // Linux: with MSG_TRUNC a TCP socket lets go of the bytes without copying them.
        return recv(channel->fd, bytes, byte_count, bytes != NULL ? 0 : MSG_TRUNC);
    }
    if (bytes == NULL) {
        bytes = nowhere;
        byte_count = byte_count < sizeof nowhere ? byte_count : sizeof nowhere;
    }
    const bool waited_for_peer = channel->waits_for_peer;
    ERR_clear_error();
    errno = 0;
    const int got = SSL_read(channel->ssl, bytes, (int)byte_count);
    const ssize_t result = got > 0 ? got : as_socket(channel, got);
    channel->waits_for_peer = waited_for_peer && !SSL_is_init_finished(channel->ssl);
    return result;
}

bool load_channel_has_more(const load_channel *channel)
{
    return channel->ssl != NULL && SSL_pending(channel->ssl) > 0;
}

void load_channel_why(const load_channel *channel, char why[LOAD_CHANNEL_WHY_BYTES])
{
    if (errno != EPROTO || channel->ssl == NULL) {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES, "%s", strerror(errno));
        return;
    }
    const long verified = SSL_get_verify_result(channel->ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    if (verified != X509_V_OK && SSL_get_verify_mode(channel->ssl) != SSL_VERIFY_NONE) {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES,
                 "its certificate isn't trusted: %s; SSL_CERT_FILE=FILE in the environment names one that is",
                 X509_verify_cert_error_string(verified));
    } else {
        snprintf(why, LOAD_CHANNEL_WHY_BYTES, "its TLS can't be understood: %s", reason != NULL ? reason : "no reason");
    }
    ERR_clear_error();
}
