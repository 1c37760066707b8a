/// A certificate that the server makes for itself, for a network where nobody issues one. It is kept in a folder: as
/// long as it is the same, a browser that was told to go on remembers it.
#ifndef TARN_SERVER_GATEWAY_SELF_SIGNED_H
#define TARN_SERVER_GATEWAY_SELF_SIGNED_H

#include "server/gateway/own_names.h"
#include "server/gateway/tls_pair.h"

/// Reads the pair that is kept in a folder, and makes another where there is none, it can't be read, it is about to end
/// or a name or an address isn't in it. ECDSA on P-256; the key's file is its owner's alone (0600).
/// @param folder  made where it is missing (0700), with those above it
/// @param names   that it must be good for
/// @param pair    made on success only; tarn_tls_pair_free gives it back
/// @param made    whether it is a new one
/// @param why     on failure a sentence
/// @return TARN_OK, TARN_E_IO, TARN_E_MEMORY or what tarn_tls_pair_read returns
tarn_status tarn_self_signed_open(const char *folder, const tarn_own_names *names, tarn_tls_pair *pair, bool *made,
                                  tarn_text why);

#endif
