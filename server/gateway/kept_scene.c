// A comparison of bytes: scenes are read by workers alone.
#include "server/gateway/kept_scene.h"
#include "server/common/log.h"
#include "server/common/scene.h"
#include "server/common/scene_pack.h"

#include <limits.h>
#include <string.h>

bool tarn_kept_scene_allowed(const tarn_gateway_options *options, const tarn_store_found *found)
{
    return found->pack.count > 0 || tarn_scene_name_valid(found->scene) || strcmp(found->scene, options->scene) == 0;
}

void tarn_kept_scene_compare(const tarn_gateway_options *options, const tarn_store_found *found, const char *label)
{
    char path[PATH_MAX];
    tarn_text why;
    const bool is_path = !tarn_scene_name_valid(found->scene);
    if (found->pack.count == 0 || (is_path && strcmp(found->scene, options->scene) != 0)) {
        return;
    }
    const char *what = tarn_scene_resolve(found->scene, options->scenes, path, sizeof path, why, sizeof why) != TARN_OK
                           ? "it is there no more"
                           : tarn_scene_pack_difference(found->pack.bytes, found->pack.count, path);
    if (what != NULL) {
        tarn_log_info("the session \"%s\" was made from the scene \"%s\", which isn't what lies in the scenes' folder "
                      "now (%s); the tank keeps its own",
                      label, found->scene, what);
    }
}
