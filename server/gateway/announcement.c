// Where it serves, what for, and the owners' link: start at tarn_announce.
#include "server/gateway/announcement.h"
#include "server/common/file_bytes.h"
#include "server/common/log.h"
#include "server/gateway/gateway.h"
#include "server/gateway/own_names.h"
#include "server/gateway/tank_store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libwebsockets.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char LINK_FILE[] = "owner-link";

enum { LWS_MENDED_SINCE = 4003005 }; // Debian 13's

enum { LINK_BYTES = 512, LINK_PATH_BYTES = 4200, ADDRESSES_SAID_MAX = 4 };

/// @return false: the disk fails
static bool keep_link(tarn_store *store, const char *path, const char *link)
{
    char line[LINK_BYTES + 1];
    const size_t bytes = (size_t)snprintf(line, sizeof line, "%s\n", link);
    if (tarn_file_bytes_put(path, 0600, line, bytes) != TARN_OK) {
        tarn_log_warn("%s: the owners' link can't be kept there: %s", path, strerror(errno));
        return false;
    }
    tarn_store_hold(store, LINK_FILE, line, bytes);
    return true;
}

static void say_link(const tarn_gateway *gateway, const char *first, const char *key)
{
    char link[LINK_BYTES], path[LINK_PATH_BYTES] = "";
    snprintf(link, sizeof link, "%s#key=%s", first, key);
    bool is_kept = false;
    if (gateway->options.store != NULL) {
        snprintf(path, sizeof path, "%s/%s", gateway->options.store, LINK_FILE);
        is_kept = keep_link(gateway->sessions.store, path, link);
    }
    if (gateway->options.guests == TARN_ROLE_OWN) {
        return; // who comes owns it
    }
    if (isatty(STDOUT_FILENO)) {
        printf("who opens %s owns that tank\n", link);
    } else if (is_kept) {
        printf("the link by which that tank is owned is in %s\n", path);
    } else {
        printf("the link by which that tank is owned is printed on terminals only; with --store DIR it is in "
               "DIR/%s\n",
               LINK_FILE);
    }
}

/// One line that says what is open, and to whom.
static void say_rights(const tarn_gateway_options *options)
{
    static const char *const guests[TARN_ROLE_COUNT] = {"may watch; links let play and own",
                                                        "may watch and play; links let own", "may watch, play and own"};
    static const char *const creators[] = {"nobody makes", "owners make", "everybody makes"};
    printf("whoever reaches it%s %s; %s further tanks\n", options->is_local ? ", from this machine," : "",
           guests[options->guests], creators[options->creators]);
}

/// By which addresses other machines open the first tank: those that people type, or make a code of.
static void say_addresses(const tarn_gateway *gateway, const char *session)
{
    static tarn_own_names names; // large
    const char *scheme = tarn_tls_is_on(&gateway->tls) ? "https" : "http";
    tarn_own_names_find(gateway->options.host, &names);
    for (uint32_t i = 0, said = 0; i < names.address_count && said < ADDRESSES_SAID_MAX; i++) {
        const struct in6_addr *address = &names.addresses[i];
        char text[INET_ADDRSTRLEN];
        if (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] != 127 &&
            inet_ntop(AF_INET, address->s6_addr + 12, text, sizeof text) != NULL) {
            printf("other machines open it at %s://%s:%u/?session=%s\n", scheme, text, gateway->listener.port, session);
            said++;
        }
    }
}

/// Debian 12's libwebsockets is mended no more; what others reach shouldn't stand on it.
static void warn_of_library(const tarn_gateway_options *options)
{
    if (!options->is_local && LWS_LIBRARY_VERSION_NUMBER < LWS_MENDED_SINCE) {
        tarn_log_warn(
            "this machine's libwebsockets, %d.%d.%d, gets no security fixes, as Debian 12 has it: where others "
            "reach the server, run it on Debian 13, or on 127.0.0.1 behind a proxy (deploy/README.md, TLS)",
            LWS_LIBRARY_VERSION_MAJOR, LWS_LIBRARY_VERSION_MINOR, LWS_LIBRARY_VERSION_PATCH);
    }
}

void tarn_announce(tarn_gateway *gateway)
{
    const tarn_session *session = tarn_session_find(&gateway->sessions, "");
    const char *host = gateway->options.host;
    bool is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (is_any) {
        host = "localhost"; // nobody can open the address that means all
    }
    bool is_v6 = strchr(host, ':') != NULL;
    char address[300], first[400];
    snprintf(address, sizeof address, "http%s://%s%s%s:%u/", tarn_tls_is_on(&gateway->tls) ? "s" : "", is_v6 ? "[" : "",
             host, is_v6 ? "]" : "", gateway->listener.port);
    snprintf(first, sizeof first, "%s?session=%s", address, session->name);
    printf("tarnd is serving on %s%s\n", address, is_any ? " and on every address of this machine" : "");
    printf("its first tank is at %s\n", first);
    if (is_any) {
        say_addresses(gateway, session->name);
    }
    say_rights(&gateway->options);
    warn_of_library(&gateway->options);
    say_link(gateway, first, session->keys.keys[TARN_ROLE_OWN]);
    if (gateway->options.redirect_port >= 0) {
        printf("who comes to port %u without TLS is sent there\n", gateway->redirects.port);
    }
    if (tarn_tls_is_on(&gateway->tls)) {
        printf("its certificate's SHA-256 fingerprint is %s\n", gateway->tls.pair.fingerprint);
    }
    fflush(stdout);
}
