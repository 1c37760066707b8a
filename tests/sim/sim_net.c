// A queue of messages on the way down, pieces with their times on the way up. Begin at sim_net_send.
#include "tests/sim/sim_net.h"

#include <stdlib.h>
#include <string.h>

struct sim_piece {
    struct sim_piece *next;
    uint64_t when_ns;
    bool ends, breaks;
    size_t byte_count;
    uint8_t bytes[];
};

static void wake(sim_client *client)
{
    if (client->socket != NULL) {
        sim_socket_changed(client->socket);
    }
}

// --------------------------------------------------------------------------------------------------------------- down

static void arrive(void *of, uint64_t address)
{
    sim_client *client = of;
    sim_packet *packet = (sim_packet *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    if (client->is_open && !client->is_half_open) {
        if (packet->kind == SIM_NET_END || packet->kind == SIM_NET_BROKEN) {
            client->is_open = false;
        }
        client->received(client, packet->kind, packet->bytes, packet->byte_count);
    }
    free(packet);
}

static void pump(void *of, uint64_t number);

static void schedule(sim_client *client)
{
    if (client->is_pumping || client->first == NULL || client->is_half_open) {
        return;
    }
    client->is_pumping = true;
    const uint64_t takes_ns = client->first->byte_count * SIM_S / client->bytes_per_s + 1000;
    const uint64_t from_ns = client->stalled_until_ns > sim_now() ? client->stalled_until_ns : sim_now();
    sim_at(from_ns + takes_ns, pump, client, 0);
}

static void pump(void *of, uint64_t number)
{
    sim_client *client = of;
    (void)number;
    client->is_pumping = false;
    if (client->stalled_until_ns <= sim_now() && client->first != NULL && !client->is_half_open) {
        sim_packet *packet = client->first;
        client->first = packet->next;
        if (client->first == NULL) {
            client->last = &client->first;
        }
        client->queued -= packet->byte_count;
        sim_at(sim_now() + client->latency_ns, arrive, client, (uint64_t)(uintptr_t)packet);
        wake(client);
    }
    schedule(client);
}

void sim_net_send(sim_client *client, sim_net_kind kind, const void *bytes, size_t byte_count)
{
    sim_packet *packet = malloc(sizeof *packet + byte_count);
    SIM_NEED(packet != NULL);
    *packet = (sim_packet){.kind = kind, .byte_count = byte_count};
    if (byte_count > 0) {
        memcpy(packet->bytes, bytes, byte_count);
    }
    *client->last = packet;
    client->last = &packet->next;
    client->queued += byte_count;
    schedule(client);
}

bool sim_net_has_room(const sim_client *client)
{
    return client->queued < client->room;
}

uint32_t sim_net_address(const sim_client *client)
{
    return client->address;
}

void sim_net_gateway_shut(sim_client *client)
{
    sim_net_send(client, SIM_NET_END, NULL, 0);
}

void sim_net_gateway_closed(sim_client *client, bool is_reset)
{
    client->socket = NULL;
    sim_net_send(client, is_reset ? SIM_NET_BROKEN : SIM_NET_END, NULL, 0);
}

// ----------------------------------------------------------------------------------------------------------------- up

static void deliver(const sim_client *client, const void *bytes, size_t byte_count, bool ends)
{
    if (byte_count > 0) {
        sim_socket_put(client->socket, bytes, byte_count);
    }
    if (ends) {
        client->socket->has_ended = true;
        sim_socket_changed(client->socket);
    }
}

/// It has a place in the backlog, but nobody has accepted it yet.
static void keep_early(sim_client *client, const void *bytes, size_t byte_count, bool ends)
{
    uint8_t *larger = realloc(client->early, client->early_count + byte_count + 1);
    SIM_NEED(larger != NULL);
    client->early = larger;
    if (byte_count > 0) {
        memcpy(client->early + client->early_count, bytes, byte_count);
    }
    client->early_count += byte_count;
    client->early_end |= ends;
}

static void come(void *of, uint64_t number);

static void schedule_up(sim_client *client)
{
    if (client->up_first != NULL && !client->is_coming) {
        const uint64_t when_ns = client->up_first->when_ns;
        client->is_coming = true;
        sim_at(when_ns > client->stalled_until_ns ? when_ns : client->stalled_until_ns, come, client, 0);
    }
}

static void come(void *of, uint64_t number)
{
    sim_client *client = of;
    sim_piece *came = client->up_first;
    (void)number;
    client->is_coming = false;
    if (client->stalled_until_ns <= sim_now()) {
        client->up_first = came->next;
        if (client->up_first == NULL) {
            client->up_last = &client->up_first;
        }
        if (came->breaks && client->socket != NULL) {
            client->socket->is_reset = true;
            sim_socket_changed(client->socket);
        } else if (!client->is_half_open && client->socket != NULL) {
            deliver(client, came->bytes, came->byte_count, came->ends);
        } else if (!client->is_half_open && !client->was_accepted) {
            keep_early(client, came->bytes, came->byte_count, came->ends || came->breaks);
        }
        free(came);
    }
    schedule_up(client);
}

static void send_piece(sim_client *client, const uint8_t *bytes, size_t byte_count, bool ends, bool breaks)
{
    sim_piece *made = malloc(sizeof *made + byte_count);
    SIM_NEED(made != NULL);
    const uint64_t soonest_ns = sim_now() + client->latency_ns + sim_between(0, client->latency_ns / 4);
    client->up_ns = soonest_ns > client->up_ns ? soonest_ns : client->up_ns + 1000;
    *made = (sim_piece){NULL, client->up_ns, ends, breaks, byte_count};
    if (byte_count > 0) {
        memcpy(made->bytes, bytes, byte_count);
    }
    *client->up_last = made;
    client->up_last = &made->next;
    schedule_up(client);
}

void sim_net_put(sim_client *client, const void *bytes, size_t byte_count)
{
    const uint8_t *at = bytes;
    if (!client->is_open) {
        return;
    }
    while (byte_count > 0) {
        const size_t now = sim_chance(80) ? byte_count : 1 + sim_below((uint32_t)byte_count);
        send_piece(client, at, now, false, false);
        at += now;
        byte_count -= now;
    }
}

void sim_net_close(sim_client *client, bool is_reset)
{
    if (client->is_open) {
        send_piece(client, NULL, 0, !is_reset, is_reset);
    }
    client->is_open = false;
}

void sim_net_stall(sim_client *client, uint64_t ns)
{
    const uint64_t until_ns = sim_now() + ns;
    client->stalled_until_ns = until_ns > client->stalled_until_ns ? until_ns : client->stalled_until_ns;
}

// --------------------------------------------------------------------------------------------------------- connecting

bool sim_net_connect(sim_client *client)
{
    sim_socket *listener = sim_socket_listener();
    client->last = &client->first;
    client->up_last = &client->up_first;
    if (listener == NULL || listener->waiting_count == sizeof listener->waiting / sizeof listener->waiting[0]) {
        return false;
    }
    listener->waiting[listener->waiting_count++] = client;
    client->is_open = true;
    sim_socket_changed(listener);
    return true;
}

void sim_net_accepted(sim_client *client, sim_socket *socket)
{
    client->socket = socket;
    client->was_accepted = true;
    deliver(client, client->early, client->early_count, client->early_end);
    free(client->early);
    client->early = NULL;
}
