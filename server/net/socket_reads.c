// A table of gates by descriptor, and the two functions that look into it. The calls that they stand for are made by
// other names of the same: recvfrom() and SSL_read_ex().
#include "server/net/socket_reads.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

static tarn_gate *gates[TARN_GATEWAY_DESCRIPTORS_MAX];

bool tarn_socket_reads_begin(tarn_gate *gate)
{
    if (gate->fd < 0 || gate->fd >= TARN_GATEWAY_DESCRIPTORS_MAX) {
        return false;
    }
    gates[gate->fd] = gate;
    return true;
}

void tarn_socket_reads_end(const tarn_gate *gate)
{
    if (gate->fd >= 0 && gate->fd < TARN_GATEWAY_DESCRIPTORS_MAX && gates[gate->fd] == gate) {
        gates[gate->fd] = NULL;
    }
}

static tarn_gate *gate_of(int fd)
{
    return fd >= 0 && fd < TARN_GATEWAY_DESCRIPTORS_MAX ? gates[fd] : NULL;
}

static ssize_t read_plain(void *from, void *bytes, size_t byte_count)
{
    return recvfrom(*(const int *)from, bytes, byte_count, 0, NULL, NULL);
}

static ssize_t read_tls(void *from, void *bytes, size_t byte_count)
{
    size_t got = 0;
    if (SSL_read_ex(from, bytes, byte_count, &got)) {
        return (ssize_t)got;
    }
    return SSL_get_shutdown(from) & SSL_RECEIVED_SHUTDOWN ? 0 : -1;
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes, size_t byte_count, int flags)
{
    tarn_gate *gate = flags == 0 ? gate_of(fd) : NULL;
    return gate != NULL ? tarn_gate_read(gate, read_plain, &fd, bytes, byte_count)
                        : recvfrom(fd, bytes, byte_count, flags, NULL, NULL);
}

/// The gate stopped before there was nothing more to read: others get their turn. To libwebsockets -1 means the end,
/// unless the newest read found nothing; so one does, from a BIO that is empty for now, behind what is decrypted.
static void find_nothing(SSL *ssl)
{
    static char thrown[TARN_GATEWAY_READ_BYTES];
    size_t got;
    BIO *own = SSL_get_rbio(ssl), *empty = BIO_new(BIO_s_mem());
    if (empty == NULL || BIO_up_ref(own) != 1) {
        BIO_free(empty);
        return;
    }
    SSL_set0_rbio(ssl, empty);
    while (SSL_read_ex(ssl, thrown, sizeof thrown, &got)) {
    }
    SSL_set0_rbio(ssl, own);
    BIO_set_retry_read(own);
}

__attribute__((visibility("default"))) int SSL_read(SSL *ssl, void *bytes, int byte_count)
{
    tarn_gate *gate = gate_of(SSL_get_fd(ssl));
    const size_t room = byte_count > 0 ? (size_t)byte_count : 0;
    errno = 0;
    const ssize_t got = gate != NULL ? tarn_gate_read(gate, read_tls, ssl, bytes, room) : read_tls(ssl, bytes, room);
    if (got < 0 && errno == EAGAIN && SSL_want_nothing(ssl)) {
        find_nothing(ssl);
    }
    return (int)got;
}
