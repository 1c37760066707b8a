/// Scenes of the folder that can't be read, said to whoever owns the server's first tank, when one comes to be so and
/// when an owner joins: who put it there is likely among them, and the log isn't before their eyes.
#ifndef TARN_SERVER_GATEWAY_SCENE_FAULTS_H
#define TARN_SERVER_GATEWAY_SCENE_FAULTS_H

#include "server/gateway/session.h"
#include "server/gateway/viewer.h"

/// Keeps what a worker said, and says what is new to the owners who are there.
/// @param first  the first session, or NULL
void tarn_scene_faults_take(tarn_workers *workers, tarn_session *first, const tarn_ipc_scene_faults *faults);

/// Says what is wrong to one who has just joined, if that is an owner of the first tank.
void tarn_scene_faults_tell(const tarn_workers *workers, const tarn_session *first, tarn_viewer *viewer);

#endif
