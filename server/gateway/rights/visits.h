/// What lets a page speak over HTTP for its own connection: a key that is drawn for it and worth what the connection's
/// viewer may do at the time, so that whom an owner gives a role has it there at once, and has it no longer with the
/// role or the connection. For the calls about a tank's past alone.
#ifndef TARN_SERVER_GATEWAY_RIGHTS_VISITS_H
#define TARN_SERVER_GATEWAY_RIGHTS_VISITS_H

#include "server/gateway/session/session.h"
#include "server/gateway/viewer/viewer.h"

/// Draws a connection's key, once. Where nothing can be drawn it has none.
void tarn_visit_draw(tarn_viewer *viewer);

/// Whether a key lets do something to a session: a viewer that takes part in it has the key and may, and isn't muted.
/// @param key  as it came; ""  gives nothing
bool tarn_visit_may(const tarn_session *session, const char *key, tarn_act act);

#endif
