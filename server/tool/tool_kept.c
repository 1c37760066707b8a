// From a kept state to a tank that is in it.
#include "server/tool/tool_kept.h"
#include "server/common/black_box_layout.h"
#include "server/common/printable.h"
#include "server/common/scene_pack.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static tarn_box_bytes made_from; // the scene itself, of the tank that is there: the copy that had it is read anew

void tool_kept_close(tool_tank *tank)
{
    if (tank->tank != NULL) {
        tool_tank_close(tank);
    }
    *tank = (tool_tank){0};
    tarn_box_bytes_free(&made_from);
}

/// From the scene as the file has it.
static bool make_from_pack(const char *command, const tool_device *device, const tarn_box_state *state, tool_tank *tank)
{
    tarn_scene_pack pack = {.bytes = state->pack.bytes, .byte_count = state->pack.count}; // which is only read
    tarn_scene *read = calloc(1, sizeof *read);
    char why[TARN_SCENE_WHY_BYTES] = "out of memory", origin[sizeof state->scene];
    const bool is_read = read != NULL && tarn_scene_read_kept(&pack, read, why, sizeof why) == TARN_OK;
    snprintf(origin, sizeof origin, "%s", state->scene);
    tarn_make_printable(origin);
    if (!is_read) {
        fprintf(stderr, "%s: the scene that the tank was made from: %s\n", command, why);
    }
    const bool is_made = is_read && tool_tank_open_read(tank, command, origin, read, device);
    free(read);
    return is_made;
}

static bool make(const char *command, const char *scenes_dir, const tool_device *device, const tarn_box_state *state,
                 tool_tank *tank)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    if (state->pack.count > 0) {
        return make_from_pack(command, device, state, tank);
    }
    if (tarn_scene_resolve(state->scene, scenes_dir, path, sizeof path, why, sizeof why) != TARN_OK) {
        fprintf(stderr, "%s: the scene that the tank was made from: %s; --scenes says where it is\n", command, why);
        return false;
    }
    return tool_tank_open(tank, command, path, NULL, device);
}

bool tool_kept_is_of(const kept_stretch *stretch, const char *made)
{
    const tarn_box_state *state = &stretch->state;
    return strcmp(made, state->scene) == 0 && made_from.count == state->pack.count &&
           (made_from.count == 0 || memcmp(made_from.bytes, state->pack.bytes, made_from.count) == 0);
}

/// @return false: there is no memory for it
static bool remember_pack(const tarn_box_bytes *pack)
{
    if (pack->count > 0 && tarn_box_bytes_make_room(&made_from, pack->count) != TARN_OK) {
        return false;
    }
    if (pack->count > 0) {
        memcpy(made_from.bytes, pack->bytes, pack->count);
    }
    made_from.count = pack->count;
    return true;
}

bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1])
{
    const tarn_box_state *state = &stretch->state;
    if (tank->tank != NULL && !tool_kept_is_of(stretch, made)) {
        tool_kept_close(tank);
    }
    if (tank->tank == NULL && !make(command, scenes_dir, device, state, tank)) {
        *tank = (tool_tank){0};
        return false;
    }
    if (!remember_pack(&state->pack)) {
        fprintf(stderr, "%s: out of memory for %zu bytes of a scene\n", command, state->pack.count);
        return false;
    }
    memcpy(made, state->scene, sizeof state->scene);
    const tarn_status status = state->state_bytes_max == tarn_black_box_state_room(tarn_tank_save_bytes_max(tank->tank))
                                   ? tarn_tank_load(tank->tank, state->bytes.bytes, state->bytes.count)
                                   : TARN_E_MALFORMED;
    if (status != TARN_OK) {
        char scene[sizeof state->scene];
        memcpy(scene, state->scene, sizeof scene);
        tarn_make_printable(scene);
        fprintf(stderr, "%s: state %" PRId64 " can't be put into a tank of the scene \"%s\": %s\n", command,
                stretch->id, scene,
                status == TARN_E_MALFORMED ? "it was saved from another one" : tarn_status_text(status));
    }
    return status == TARN_OK;
}
