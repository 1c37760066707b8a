/// Which channel and which field a tank's frames are to carry, one of each for all viewers, and whether what is
/// measured is to come.
#ifndef TARN_SERVER_GATEWAY_SESSION_CARRIED_H
#define TARN_SERVER_GATEWAY_SESSION_CARRIED_H

#include "server/gateway/session.h"

/// As now while anybody asks for it, else what whoever joined first asks for.
/// @param wanted  receives their names; empty: none
void tarn_session_carried(const tarn_session *session, tarn_ipc_audience *wanted);

#endif
