// IPv4 addresses are those of getifaddrs; of IPv6 only /proc says which are temporary. Where it can't be read there are
// IPv4 addresses alone.
#include "server/gateway/own_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void add_address(tarn_own_names *names, const struct in6_addr *address)
{
    for (uint32_t i = 0; i < names->address_count; i++) {
        if (memcmp(&names->addresses[i], address, sizeof *address) == 0) {
            return;
        }
    }
    if (names->address_count < TARN_GATEWAY_TLS_ADDRESSES_MAX) {
        names->addresses[names->address_count++] = *address;
    }
}

static void add_v4(tarn_own_names *names, const struct in_addr *address)
{
    struct in6_addr mapped = {0};
    mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
    memcpy(mapped.s6_addr + 12, address, 4);
    add_address(names, &mapped);
}

/// A name that DNS could have; others don't get into a certificate.
static void add_name(tarn_own_names *names, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || length > 253 || name[0] == '.' || name[0] == '-' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != length) {
        return;
    }
    for (uint32_t i = 0; i < names->name_count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return;
        }
    }
    if (names->name_count < TARN_GATEWAY_TLS_NAMES_MAX) {
        snprintf(names->names[names->name_count++], TARN_OWN_NAME_BYTES, "%s", name);
    }
}

static void find_v4(tarn_own_names *names)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)) {
            continue;
        }
        const struct in_addr *address = &((const struct sockaddr_in *)one->ifa_addr)->sin_addr;
        const uint32_t host_order = ntohl(address->s_addr);
        if (host_order >> 24 != 127 && host_order >> 16 != 0xa9fe) { // 169.254 is of one link
            add_v4(names, address);
        }
    }
    freeifaddrs(all);
}

/// @param digits  32 hexadecimal ones
static void read_v6(const char *digits, struct in6_addr *address)
{
    for (size_t i = 0; i < sizeof address->s6_addr; i++) {
        unsigned byte = 0;
        sscanf(digits + 2 * i, "%2x", &byte);
        address->s6_addr[i] = (uint8_t)byte;
    }
}

static void find_v6(tarn_own_names *names)
{
    enum { SCOPE_GLOBAL = 0x00, TEMPORARY = 0x01 }; // linux/if_addr.h
    char digits[33];
    unsigned scope, flags;
    FILE *list = fopen("/proc/net/if_inet6", "re");
    if (list == NULL) {
        return;
    }
    while (fscanf(list, "%32s %*x %*x %x %x %*s", digits, &scope, &flags) == 3) {
        struct in6_addr address;
        if (scope == SCOPE_GLOBAL && !(flags & TEMPORARY) && strlen(digits) == 32) {
            read_v6(digits, &address);
            add_address(names, &address);
        }
    }
    fclose(list);
}

void tarn_own_names_add(const char *host, tarn_own_names *names)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        if (v4.s_addr != INADDR_ANY) {
            add_v4(names, &v4);
        }
    } else if (inet_pton(AF_INET6, host, &v6) == 1) {
        if (!IN6_IS_ADDR_UNSPECIFIED(&v6)) {
            add_address(names, &v6);
        }
    } else {
        add_name(names, host);
    }
}

void tarn_own_names_find(const char *host, tarn_own_names *names)
{
    char own[TARN_OWN_NAME_BYTES - sizeof ".local"] = "", local[TARN_OWN_NAME_BYTES];
    memset(names, 0, sizeof *names);
    add_name(names, "localhost");
    tarn_own_names_add("127.0.0.1", names);
    tarn_own_names_add("::1", names);
    tarn_own_names_add(host, names);
    if (gethostname(own, sizeof own - 1) == 0) {
        add_name(names, own);
        if (own[0] && strchr(own, '.') == NULL) { // as networks without a name server know it (RFC 6762)
            snprintf(local, sizeof local, "%s.local", own);
            add_name(names, local);
        }
    }
    find_v4(names);
    find_v6(names);
}
