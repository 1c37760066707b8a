/// What places.c and place_messages.c share. Scheduler only.
#ifndef TARN_SERVER_WORKER_PLACE_INSIDE_H
#define TARN_SERVER_WORKER_PLACE_INSIDE_H

#include "server/worker/places.h"

/// Brings the brief of a place in which something has changed up to date.
void tarn_place_note(tarn_place *place);

/// Says why a state that came can't be taken: its tank ends, which is of no use without it.
void tarn_place_refuse_state(tarn_place *place, const char *why);

#endif
