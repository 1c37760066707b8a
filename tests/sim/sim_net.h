/// The network between clients and the gateway: bytes that take their time, stall, or never arrive. What the gateway
/// sends comes in messages, as its libwebsockets cut them; what clients send comes in pieces of any size.
#ifndef TARN_TESTS_SIM_SIM_NET_H
#define TARN_TESTS_SIM_SIM_NET_H

#include "tests/sim/sim.h"

typedef enum sim_net_kind {
    SIM_NET_RAW,    ///< HTTP
    SIM_NET_BINARY, ///< a WebSocket's message
    SIM_NET_CLOSE,
    SIM_NET_PING,
    SIM_NET_END, ///< nothing follows
    SIM_NET_BROKEN,
} sim_net_kind;

typedef struct sim_packet {
    struct sim_packet *next;
    sim_net_kind kind;
    size_t byte_count;
    uint8_t bytes[];
} sim_packet;

typedef struct sim_piece sim_piece;

/// A client's end of a connection.
typedef struct sim_client {
    sim_socket *socket; ///< the gateway's end; NULL: not accepted yet, or closed
    uint32_t address;   ///< IPv4
    bool is_open;       ///< to the client, which may still send
    bool was_accepted;
    bool is_half_open; ///< nothing arrives any more, either way
    uint64_t latency_ns, bytes_per_s, stalled_until_ns;
    size_t room; ///< that the kernel has for it
    sim_packet *first, **last;
    size_t queued;
    bool is_pumping;
    sim_piece *up_first, **up_last;
    bool is_coming;
    uint64_t up_ns; ///< when what was sent last arrives
    uint8_t *early; ///< what came before it was accepted
    size_t early_count;
    bool early_end;
    void (*received)(struct sim_client *client, sim_net_kind kind, const uint8_t *bytes, size_t byte_count);
    void *owner;
} sim_client;

/// Connects. @return false: nobody listens
bool sim_net_connect(sim_client *client);

/// The client's.
void sim_net_put(sim_client *client, const void *bytes, size_t byte_count);
void sim_net_close(sim_client *client, bool is_reset);
void sim_net_stall(sim_client *client, uint64_t ns);

// The gateway's.
void sim_net_send(sim_client *client, sim_net_kind kind, const void *bytes, size_t byte_count);
bool sim_net_has_room(const sim_client *client);
uint32_t sim_net_address(const sim_client *client);
void sim_net_accepted(sim_client *client, sim_socket *socket);
void sim_net_gateway_shut(sim_client *client);
void sim_net_gateway_closed(sim_client *client, bool is_reset);

#endif
