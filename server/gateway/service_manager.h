/// What the service manager that started the program is told, where one did: systemd's sd_notify protocol, datagrams
/// of NAME=VALUE lines to the socket that $NOTIFY_SOCKET names. Without one all of this does nothing.
///
///     open -> ready -> tick ... -> stopping -> tick ...
///
/// See sd_notify(3). Nothing waits: a datagram that finds no room is lost, and the next one says the same.
#ifndef TARN_SERVER_GATEWAY_SERVICE_MANAGER_H
#define TARN_SERVER_GATEWAY_SERVICE_MANAGER_H

#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct tarn_service_manager {
    int fd; ///< owned; -1: there is nobody to tell
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint64_t watchdog_ns; ///< between signs of life, half of what is allowed; 0: none are wanted
    uint64_t watchdog_due_ns, status_due_ns;
    tarn_text status; ///< that it was told
} tarn_service_manager;

/// Reads $NOTIFY_SOCKET and $WATCHDOG_USEC, and takes them out of the environment, which workers inherit.
/// @param why  on failure a sentence, with which nobody is told anything
/// @return TARN_OK, TARN_E_ARGUMENT (the address is none) or TARN_E_IO (there is no socket)
tarn_status tarn_service_manager_open(tarn_service_manager *manager, tarn_text why);
void tarn_service_manager_close(tarn_service_manager *manager);

/// The program serves.
void tarn_service_manager_ready(tarn_service_manager *manager);

/// It is about to end.
void tarn_service_manager_stopping(tarn_service_manager *manager);

/// Whether tick has a use for a new status: something listens, and heard none for a second.
bool tarn_service_manager_wants_status(const tarn_service_manager *manager, uint64_t now_ns);

/// Gives a sign of life where one is due, and the status where it is new. To be called from the loop that is to be
/// known alive, every TARN_GATEWAY_TICK_MS.
/// @param status  for people, one line; NULL: as it was
void tarn_service_manager_tick(tarn_service_manager *manager, uint64_t now_ns, const char *status);

#endif
