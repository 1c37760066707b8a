// Begin at tarn_tank_parts_make.
#include "server/worker/tank_parts.h"

#include <stdio.h>
#include <stdlib.h>

void tarn_tank_parts_free(tarn_tank_parts *parts)
{
    tarn_encoder_destroy(parts->encoder);
    tarn_snapshot_free(&parts->snapshot);
    tarn_tank_destroy(parts->tank);
    if (parts->scene != NULL) {
        tarn_scene_free(parts->scene);
    }
    tarn_tile_map_free(&parts->map);
    free(parts->scene);
}

tarn_status tarn_tank_parts_make(tarn_tank_parts *parts, tarn_device *device, const tarn_scene *scene, int *box_fd,
                                 tarn_text why)
{
    tarn_encoder_desc encoder_desc;
    char found[TARN_SCENE_WHY_BYTES] = "";
    tarn_status status = tarn_tank_create(device, &scene->tank, &parts->tank, found, sizeof found);
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text), "scene \"%s\": %.400s", scene->name,
                 found[0] ? found : tarn_status_text(status));
        return status;
    }
    if (*box_fd <= 0) {
        *box_fd = tarn_black_box_make();
    }
    status = tarn_tile_map_init(&parts->map, scene->tank.cells, scene->tank.cell_m);
    if (status == TARN_OK) {
        status = tarn_snapshot_init(&parts->snapshot, *box_fd, parts->tank, scene->tank.dt_s);
    }
    tarn_encoder_desc_default(&encoder_desc);
    if (status == TARN_OK) {
        status = tarn_encoder_create(parts->tank, &encoder_desc, &parts->encoder);
    }
    if (status != TARN_OK) {
        snprintf(why, sizeof(tarn_text),
                 "scene \"%s\": its tank has room, but not its frames and what is kept of it: %s", scene->name,
                 tarn_status_text(status));
    }
    return status;
}
