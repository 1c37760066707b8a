// The door into the gateway's library.
#include "tests/sim/sim_entry.h"

#include <sys/socket.h>

__attribute__((visibility("default"))) extern const sim_entry sim_gateway_entry;
const sim_entry sim_gateway_entry = {tarnd_main, recv};
