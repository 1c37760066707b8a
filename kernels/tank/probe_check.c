// Whether probes can be in a tank.
#include "kernels/probe.h"
#include "kernels/tank/probe_surface.h"
#include "kernels/tank/tank_internal.h"

#include <math.h>

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static tarn_status check_place(const grid_complaint *why, const tarn_tank_desc *desc, const float *at_m)
{
    for (int a = 0; a < 3; a++) {
        const double size = (double)desc->cells[a] * (double)desc->cell_m, slack = 1e-4 * (double)desc->cell_m;
        if (!((double)at_m[a] >= 0 && (double)at_m[a] <= size + slack)) { // true of NaN, too
            return grid_refuse(why, TARN_E_ARGUMENT, "%c is %g m; allowed is 0 to %g, which is in the tank", "xyz"[a],
                               (double)at_m[a], size);
        }
    }
    return TARN_OK;
}

static tarn_status check_shape(const grid_complaint *why, const tarn_tank_desc *desc, const tarn_probe *probe)
{
    double first[3], second[3];
    const double shortest = 0.01 * (double)desc->cell_m;
    for (int a = 0; a < 3; a++) {
        first[a] = (double)probe->points_m[1][a] - (double)probe->points_m[0][a];
        second[a] = (double)probe->points_m[2][a] - (double)probe->points_m[0][a];
    }
    const double along = sqrt(dot(first, first)), side = sqrt(dot(second, second));
    if (probe->kind == TARN_PROBE_GAUGE && along < shortest) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the gauge is %g m long; allowed is from %g m on", along, shortest);
    }
    const bool is_rectangle = probe->kind == TARN_PROBE_FLUX || probe->kind == TARN_PROBE_WALL;
    if (is_rectangle && (along < shortest || side < shortest)) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the rectangle's sides are %g and %g m; allowed is from %g m on",
                           along, side, shortest);
    }
    if (is_rectangle && fabs(dot(first, second)) > 1e-3 * along * side) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the corners beside the first make no right angle");
    }
    return TARN_OK;
}

tarn_status tarn_probe_check(const tarn_tank_desc *desc, const tarn_probe *probe, char *why, size_t why_bytes)
{
    const grid_complaint complaint = {why, why_bytes};
    const tank_model *model = tank_model_of(desc);
    if ((unsigned)probe->kind >= TARN_PROBE_KIND_COUNT) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "the kind is %u; allowed is 0 to %d", (unsigned)probe->kind,
                           TARN_PROBE_KIND_COUNT - 1);
    }
    if (model->fills && probe->kind != TARN_PROBE_POINT) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "%s fills its tank and has no surface; allowed are points",
                           model->shown.name);
    }
    if (probe->kind == TARN_PROBE_FORCE) {
        return probe->solid < desc->solid_count
                   ? TARN_OK
                   : grid_refuse(&complaint, TARN_E_ARGUMENT, "the solid is %u; the tank has %u, counted from 0",
                                 probe->solid, desc->solid_count);
    }
    tarn_status status = TARN_OK;
    for (int i = 0; i < tank_probe_points(probe->kind) && status == TARN_OK; i++) {
        status = check_place(&complaint, desc, probe->points_m[i]);
    }
    status = status == TARN_OK ? check_shape(&complaint, desc, probe) : status;
    if (status == TARN_OK && probe->kind == TARN_PROBE_WALL && probe_wall_of(desc, probe) < 0) {
        return grid_refuse(&complaint, TARN_E_ARGUMENT, "the rectangle lies in none of the tank's walls");
    }
    return status;
}
