// What a scene measures.
#include "server/common/scene/scene_draft.h"

#include <stdio.h>
#include <string.h>

typedef struct probe_draft {
    const char *name; ///< borrowed
    uint32_t shows;
    double at_m[3], to_m[3];
    uint32_t solid;
} probe_draft;

enum { FIELD_NAME, FIELD_KIND, FIELD_AT, FIELD_TO, FIELD_SOLID };

static bool read_probe(scene_reader *r, const char *path, const json_t *value, void *into, const void *rule)
{
    static const scene_range solids = {0, TARN_TANK_SOLIDS_MAX - 1, NULL, false, true};
    static const scene_choice kinds = {tarn_probe_shows_names, TARN_SHOWS_COUNT};
    static const scene_field fields[] = {
        [FIELD_NAME] = {"name", false, scene_read_identifier, offsetof(probe_draft, name), NULL},
        [FIELD_KIND] = {"kind", true, scene_read_choice, offsetof(probe_draft, shows), &kinds},
        [FIELD_AT] = {"at_m", false, scene_read_vector, offsetof(probe_draft, at_m), &scene_places},
        [FIELD_TO] = {"to_m", false, scene_read_vector, offsetof(probe_draft, to_m), &scene_places},
        [FIELD_SOLID] = {"solid", false, scene_read_whole, offsetof(probe_draft, solid), &solids},
    };
    probe_draft draft = {.name = NULL};
    tarn_probe_spec *spec = into;
    uint32_t given = 0;
    (void)rule;
    if (!SCENE_READ_OBJECT(r, path, value, &draft, fields, &given)) {
        return false;
    }
    const bool has_at = (given >> FIELD_AT & 1) != 0, is_force = draft.shows == TARN_SHOWS_FORCE;
    if (has_at == is_force) {
        char inner[SCENE_PATH_BYTES];
        scene_write_path(inner, "%s.at_m", path);
        return scene_refuse(r, TARN_E_MALFORMED, inner,
                            is_force ? "a force has none; where it is its solid says"
                                     : "the field is missing, and it has no default");
    }
    memset(spec, 0, sizeof *spec);
    snprintf(spec->name, sizeof spec->name, "%s", draft.name != NULL ? draft.name : "");
    spec->shows = draft.shows;
    spec->has_to = (given >> FIELD_TO & 1) != 0;
    spec->has_solid = (given >> FIELD_SOLID & 1) != 0;
    spec->solid = draft.solid;
    memcpy(spec->at_m, draft.at_m, sizeof spec->at_m);
    memcpy(spec->to_m, draft.to_m, sizeof spec->to_m);
    return true;
}

const scene_list scene_probe_list = {
    .what = "probes",
    .min = 1,
    .max = TARN_PROBES_MAX,
    .item = read_probe,
    .items_offset = offsetof(scene_draft, scene.probes),
    .item_bytes = sizeof(tarn_probe_spec),
    .count_offset = offsetof(scene_draft, scene.probe_count),
};

bool scene_fit_probes(scene_reader *r, scene_draft *d)
{
    tarn_scene *scene = &d->scene;
    for (uint32_t i = 0; i < scene->probe_count; i++) {
        char path[SCENE_PATH_BYTES], why[TARN_SCENE_WHY_BYTES / 2];
        tarn_probe probe;
        scene_write_path(path, "probes[%u]", i);
        tarn_probe_spec_name(&scene->probes[i], i + 1);
        if (!tarn_probe_spec_fit(&scene->probes[i], &scene->tank, &probe, why, sizeof why)) {
            return scene_refuse(r, TARN_E_LIMIT, path, "%s", why);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(scene->probes[k].name, scene->probes[i].name) == 0) {
                return scene_refuse(r, TARN_E_LIMIT, path,
                                    "found the name \"%s\", which probes[%u] has; allowed are different names",
                                    scene->probes[i].name, k);
            }
        }
    }
    return true;
}
