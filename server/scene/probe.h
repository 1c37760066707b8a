/// Probes as people write them, in a scene or on a command line: a name, a kind, and one or two places.
///
///     { "name": "wall", "kind": "pressure", "at_m": [3.2, 0.1, 0.1] }        wall=pressure:3.2,0.1,0.1
///     { "kind": "gauge", "at_m": [2.2, 0, 0.1] }                             gauge:2.2,0,0.1
///     { "kind": "force", "solid": 0 }                                        force:0
#ifndef TARN_SERVER_SCENE_PROBE_H
#define TARN_SERVER_SCENE_PROBE_H

#include "kernels/probe.h"
#include "protocol/message.h"

#include <stdbool.h>

typedef struct tarn_probe_spec {
    tarn_name name; ///< empty: nobody named it
    uint32_t shows; ///< tarn_probe_shows
    double at_m[3], to_m[3];
    bool has_to;    ///< a gauge without it reaches straight up to the tank's ceiling
    bool has_solid; ///< instead of a place: of a force
    uint32_t solid; ///< index among the scene's solids
} tarn_probe_spec;

enum {
    TARN_PROBE_COLUMNS_MAX = 6 + TARN_MODEL_CARRIED_MAX,
    TARN_PROBE_COLUMN_BYTES = 96,
};

/// Reads [NAME=]KIND:X,Y,Z[,X2,Y2,Z2], or [NAME=]force:SOLID. @param why  on failure what was found and what is allowed
bool tarn_probe_spec_parse(const char *text, tarn_probe_spec *spec, char *why, size_t why_bytes);

/// Gives a probe a name by its kind and number where nobody named it.
/// @param number  from 1
void tarn_probe_spec_name(tarn_probe_spec *spec, uint32_t number);

/// What it is in a tank. @param why  as above @return false: it can't be there
bool tarn_probe_spec_fit(const tarn_probe_spec *spec, const tarn_tank_desc *desc, tarn_probe *probe, char *why,
                         size_t why_bytes);

/// The columns of a table that a probe has in tanks of a model: "NAME_depth_m", without a name "depth_m".
/// @return how many
uint32_t tarn_probe_spec_columns(const tarn_probe_spec *spec, const tarn_model *model,
                                 char names[TARN_PROBE_COLUMNS_MAX][TARN_PROBE_COLUMN_BYTES]);

/// Their values, in the same order.
uint32_t tarn_probe_spec_values(const tarn_probe_spec *spec, const tarn_model *model, const tarn_probe_reading *reading,
                                float values[TARN_PROBE_COLUMNS_MAX]);

#endif
