/// What a tank is made of, before it takes the place of what was there.
#ifndef TARN_SERVER_WORKER_TANK_PARTS_H
#define TARN_SERVER_WORKER_TANK_PARTS_H

#include "kernels/encoder.h"
#include "server/common/scene.h"
#include "server/worker/input_ray.h"
#include "server/worker/snapshot.h"

typedef struct tarn_tank_parts {
    tarn_scene *scene;
    tarn_tank *tank;
    tarn_tile_map map;
    tarn_snapshot snapshot;
    tarn_encoder *encoder;
} tarn_tank_parts;

/// Makes them from a scene; the parts' own scene is the caller's affair.
/// @param box_fd  of the tank's black box; 0: receives one
/// @param why     on failure a sentence
/// @return TARN_OK, TARN_E_MEMORY, TARN_E_DEVICE, or what is wrong with the scene; tarn_tank_parts_free follows
tarn_status tarn_tank_parts_make(tarn_tank_parts *parts, tarn_device *device, const tarn_scene *scene, int *box_fd,
                                 tarn_text why);

/// Frees them and their scene, what there is of them.
void tarn_tank_parts_free(tarn_tank_parts *parts);

#endif
