/// What SIGHUP has tarnd read again: the file of --config, the keys of tokens, the certificate. Each by itself: one
/// that is faulty is said in the log and stays as it was. Viewers stay.
#ifndef TARN_SERVER_GATEWAY_RELOAD_H
#define TARN_SERVER_GATEWAY_RELOAD_H

#include <stdbool.h>

struct tarn_gateway;

/// Whether there is anything to be read again.
bool tarn_reload_has_something(const struct tarn_gateway *gateway);

void tarn_reload(struct tarn_gateway *gateway);

#endif
