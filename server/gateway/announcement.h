/// What the program says on standard output when it begins to serve.
#ifndef TARN_SERVER_GATEWAY_ANNOUNCEMENT_H
#define TARN_SERVER_GATEWAY_ANNOUNCEMENT_H

struct tarn_gateway;

/// Says where it serves. The link by which the first tank is owned is kept beside the tanks that are kept, in a file
/// that nobody else may read, and printed on a terminal alone: what is printed elsewhere ends up in a log.
void tarn_announce(struct tarn_gateway *gateway);

#endif
