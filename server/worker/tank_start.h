/// What the starts of a tank have in common, whichever way it was made; for worker_tank and tank_making.
#ifndef TARN_SERVER_WORKER_TANK_START_H
#define TARN_SERVER_WORKER_TANK_START_H

#include "server/worker/worker_tank.h"

/// Begins at a step: a frame at once, a key frame.
void tarn_worker_tank_begin(tarn_worker_tank *tank, uint32_t epoch, uint64_t step, uint64_t now_ns);

/// Forgets the presses and the motion of what was there before.
void tarn_worker_tank_let_go(tarn_worker_tank *tank);

/// Behind a start: what came before it isn't done again, nor is what viewers hold from then on lost. There must be
/// room.
void tarn_worker_tank_log_presses(tarn_worker_tank *tank);

/// Takes what viewers' inputs meet until the next job ends: where up is, the tools, the bodies, which tiles hold
/// liquid. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_tank_look(tarn_worker_tank *tank);

/// What the tank is made of is no more: it has no simulation.
void tarn_worker_tank_unmake(tarn_worker_tank *tank);

#endif
