/// What the two sources of places.h share. Private to them.
#ifndef TARN_SERVER_WORKER_PLACES_INSIDE_H
#define TARN_SERVER_WORKER_PLACES_INSIDE_H

#include "server/worker/places.h"

/// Of a place in which something has changed: its brief follows.
void tarn_place_note(tarn_place *place);

/// The tank is of no use without its state: it ends, which is said.
void tarn_place_refuse_state(tarn_place *place, const char *why);

#endif
