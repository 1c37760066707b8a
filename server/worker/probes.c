// Probes from the gateway's list into the tank, and rows of what they measure back. Start at tarn_worker_probes_make.
#include "server/worker/probes.h"
#include "server/base/clock.h"
#include "server/worker/tank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TARN_LIVE_PROBES_MAX <= (int)TARN_PROBES_MAX, "a tank takes them all");
_Static_assert((int)TARN_PROBE_COLUMNS_MAX <= (int)TARN_PROBE_VALUES_MAX, "a list has all columns of a probe");
_Static_assert((int)TARN_LIVE_PROBES_MAX *(int)TARN_PROBE_VALUES_MAX * 4 <= (int)TARN_READINGS_BYTES_MAX, "a row fits");

void tarn_worker_probes_ask(tarn_worker_tank *tank, const tarn_ipc_probes *asked)
{
    tank->probes.asked = *asked;
    tank->probes.is_asked = true;
    tank->probes.asked_ns = 0;
}

void tarn_worker_probes_watch(tarn_worker_tank *tank, bool is_watched)
{
    tank->probes.is_due |= is_watched && !tank->probes.is_watched;
    tank->probes.is_watched = is_watched;
}

uint64_t tarn_worker_probes_due_ns(const tarn_worker_tank *tank, bool is_stepping)
{
    const tarn_worker_probes *probes = &tank->probes;
    if (probes->is_asked) {
        return probes->asked_ns;
    }
    return probes->made != NULL && probes->is_watched && probes->is_due && !is_stepping ? 0 : UINT64_MAX;
}

// ---- making ----

/// Sends what was measured, in a job or between jobs.
static void send_batch(tarn_worker_tank *tank, tarn_worker_link *link)
{
    tarn_worker_probes *probes = &tank->probes;
    tarn_worker_readings *batch = &probes->batch;
    if (batch->row_count > 0 && tarn_worker_link_reads(link)) {
        const tarn_ipc_message message = {.kind = TARN_IPC_READINGS,
                                          .tank = tank->id,
                                          .readings = {.revision = probes->revision,
                                                       .epoch = batch->epoch,
                                                       .step = batch->step,
                                                       .dt_s = tank->scene.tank.dt_s,
                                                       .row_count = batch->row_count,
                                                       .byte_count = batch->byte_count,
                                                       .values = batch->values}};
        (void)tarn_worker_link_put(link, &message); // where there is no room they are left out
    }
    batch->row_count = batch->byte_count = 0;
}

static void spec_of(const tarn_ipc_probe *probe, tarn_probe_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    spec->shows = probe->shows;
    spec->has_to = tarn_probe_shows_has_to((tarn_probe_shows)probe->shows);
    spec->has_solid = probe->shows == TARN_SHOWS_FORCE;
    spec->solid = probe->solid;
    for (int a = 0; a < 3; a++) {
        spec->at_m[a] = (double)probe->at_m[a];
        spec->to_m[a] = spec->has_to ? (double)probe->to_m[a] : 0.0;
    }
}

/// Which of those that are asked for can be in this tank. @param fits  receives them @return how many
static uint32_t fit(tarn_worker_tank *tank, const tarn_ipc_probes *asked, tarn_probe *fits, tarn_ipc_probed *answer)
{
    tarn_worker_probes *probes = &tank->probes;
    const tarn_model *model = tarn_tank_model(tank->tank);
    char names[TARN_PROBE_COLUMNS_MAX][TARN_PROBE_COLUMN_BYTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < asked->count; i++) {
        tarn_probe_spec *spec = &probes->specs[count];
        spec_of(&asked->probes[i], spec);
        answer->of[i].column_count = 0;
        answer->of[i].why[0] = 0;
        if (!tarn_probe_spec_fit(spec, &tank->scene.tank, &fits[count], answer->of[i].why, sizeof answer->of[i].why)) {
            continue;
        }
        answer->of[i].column_count = tarn_probe_spec_columns(spec, model, names);
        for (uint32_t k = 0; k < answer->of[i].column_count; k++) {
            snprintf(answer->of[i].columns[k], sizeof answer->of[i].columns[k], "%.*s", TARN_NAME_BYTES_MAX, names[k]);
        }
        probes->row_bytes += answer->of[i].column_count * (uint32_t)sizeof(float);
        count++;
    }
    return count;
}

static void refuse_all(tarn_ipc_probed *answer, const char *why)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        answer->of[i].column_count = 0;
        snprintf(answer->of[i].why, sizeof answer->of[i].why, "%s", why);
    }
}

static void forget(tarn_worker_probes *probes)
{
    tarn_probes_destroy(probes->made);
    probes->made = NULL;
    probes->count = probes->row_bytes = 0;
    probes->batch.row_count = probes->batch.byte_count = 0;
}

static tarn_status create(tarn_worker_tank *tank, const tarn_probe *fits, tarn_ipc_probed *answer)
{
    tarn_worker_probes *probes = &tank->probes;
    if (probes->batch.values == NULL) {
        probes->batch.values = malloc(TARN_READINGS_BYTES_MAX);
    }
    const tarn_status status = probes->batch.values != NULL
                                   ? tarn_probes_create(tank->tank, fits, probes->count, &probes->made)
                                   : TARN_E_MEMORY;
    if (status != TARN_OK) {
        char why[TARN_IPC_PROBE_WHY_BYTES];
        snprintf(why, sizeof why, "the surfaces that are measured have more than the %d cells that are allowed in all",
                 TARN_PROBE_SURFACE_CELLS_MAX);
        forget(probes);
        refuse_all(answer, status == TARN_E_LIMIT ? why : "the device has no memory left for it");
    }
    return status == TARN_E_DEVICE ? status : TARN_OK;
}

tarn_status tarn_worker_probes_make(tarn_worker_tank *tank, tarn_worker_link *link)
{
    tarn_worker_probes *probes = &tank->probes;
    tarn_ipc_message message = {.kind = TARN_IPC_PROBED, .tank = tank->id};
    tarn_probe fits[TARN_LIVE_PROBES_MAX];
    const uint64_t now_ns = tarn_clock_monotonic_ns();
    if (!probes->is_asked || probes->asked_ns > now_ns) {
        return TARN_OK;
    }
    send_batch(tank, link);
    forget(probes);
    probes->is_asked = false;
    probes->is_due = true;
    probes->revision = probes->asked.revision;
    message.probed.revision = probes->asked.revision;
    message.probed.count = probes->asked.count;
    probes->count = fit(tank, &probes->asked, fits, &message.probed);
    const tarn_status status = probes->count > 0 ? create(tank, fits, &message.probed) : TARN_OK;
    if (tarn_worker_link_put(link, &message) != TARN_OK) { // no reading may come before it
        forget(probes);
        probes->is_asked = true;
        probes->asked_ns = now_ns + TARN_WORKER_ROOM_MS * (uint64_t)1000000;
    }
    return status;
}

void tarn_worker_probes_unmake(tarn_worker_tank *tank)
{
    tarn_worker_probes *probes = &tank->probes;
    forget(probes);
    free(probes->batch.values);
    probes->batch.values = NULL;
    probes->is_asked = probes->is_asked || probes->asked.count > 0;
}

// ---- measuring ----

/// Whether the next row follows those of the batch, and has room in it.
static bool goes_on(const tarn_worker_tank *tank)
{
    const tarn_worker_readings *batch = &tank->probes.batch;
    return batch->row_count > 0 && batch->epoch == tank->epoch && batch->step + batch->row_count == tank->step;
}

static bool has_room(const tarn_worker_probes *probes)
{
    const tarn_worker_readings *batch = &probes->batch;
    return batch->row_count < TARN_READINGS_ROWS_MAX &&
           probes->row_bytes <= TARN_READINGS_BYTES_MAX - batch->byte_count;
}

static void put_row(tarn_worker_tank *tank, const tarn_probe_reading *readings)
{
    tarn_worker_probes *probes = &tank->probes;
    tarn_worker_readings *batch = &probes->batch;
    const tarn_model *model = tarn_tank_model(tank->tank);
    float values[TARN_PROBE_COLUMNS_MAX];
    for (uint32_t i = 0; i < probes->count; i++) {
        const uint32_t count = tarn_probe_spec_values(&probes->specs[i], model, &readings[i], values);
        for (uint32_t k = 0; k < count; k++) {
            values[k] = isfinite(values[k]) ? values[k] : 0.0f;
        }
        memcpy(batch->values + batch->byte_count, values, count * sizeof values[0]);
        batch->byte_count += count * (uint32_t)sizeof values[0];
    }
    batch->row_count++;
}

tarn_status tarn_worker_probes_measure(tarn_worker_tank *tank, tarn_worker_link *link, bool has_stepped)
{
    tarn_worker_probes *probes = &tank->probes;
    tarn_worker_readings *batch = &probes->batch;
    tarn_probe_reading readings[TARN_LIVE_PROBES_MAX];
    if (probes->made == NULL || !probes->is_watched || !(has_stepped || probes->is_due)) {
        return TARN_OK;
    }
    if (!has_room(probes)) {
        return TARN_OK; // the batch is sent soon, and no more often for that
    }
    if (batch->row_count > 0 && !goes_on(tank)) {
        send_batch(tank, link);
    }
    tarn_job_part();
    const tarn_status status = tarn_probes_read(probes->made, readings);
    tarn_job_rejoin();
    if (status != TARN_OK) {
        return status;
    }
    if (batch->row_count == 0) {
        const uint64_t now_ns = tarn_clock_monotonic_ns(), period_ns = TARN_WORKER_READINGS_MS * (uint64_t)1000000;
        batch->epoch = tank->epoch;
        batch->step = tank->step;
        batch->due_ns = batch->due_ns + period_ns > now_ns ? batch->due_ns + period_ns : now_ns;
    }
    probes->is_due = false;
    put_row(tank, readings);
    return TARN_OK;
}

// ---- telling ----

static void fill_scene(const tarn_scene *scene, tarn_ipc_scene_probes *to)
{
    memcpy(to->scene, scene->name, sizeof to->scene);
    to->of.count = scene->probe_count < TARN_LIVE_PROBES_MAX ? scene->probe_count : TARN_LIVE_PROBES_MAX;
    for (uint32_t i = 0; i < to->of.count; i++) {
        const tarn_probe_spec *spec = &scene->probes[i];
        tarn_ipc_probe *probe = &to->of.probes[i];
        probe->shows = spec->shows;
        probe->solid = spec->solid;
        memcpy(probe->label, spec->name, sizeof probe->label);
        for (int a = 0; a < 3; a++) {
            probe->at_m[a] = (float)spec->at_m[a];
            probe->to_m[a] = spec->has_to ? (float)spec->to_m[a] : probe->at_m[a];
        }
        if (spec->has_solid) { // for those who don't know the solid; the scene fits its own probes
            const float *start_m = scene->tank.solids[spec->solid].pose.position_m;
            for (int a = 0; a < 3; a++) {
                const float most = (float)scene->tank.cells[a] * scene->tank.cell_m;
                probe->at_m[a] = probe->to_m[a] = start_m[a] > 0.0f ? fminf(start_m[a], most) : 0.0f;
            }
        }
        if (spec->shows == TARN_SHOWS_GAUGE && !spec->has_to) {
            probe->to_m[1] = (float)scene->tank.cells[1] * scene->tank.cell_m;
        }
    }
}

uint64_t tarn_worker_probes_tell_ns(const tarn_worker_tank *tank)
{
    const tarn_worker_probes *probes = &tank->probes;
    if (probes->scene_is_due) {
        return 0;
    }
    return probes->batch.row_count > 0 ? probes->batch.due_ns : UINT64_MAX;
}

void tarn_worker_probes_tell(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns)
{
    tarn_worker_probes *probes = &tank->probes;
    if (probes->scene_is_due && !tank->state_changed) {
        tarn_ipc_message message = {.kind = TARN_IPC_SCENE_PROBES, .tank = tank->id};
        fill_scene(&tank->scene, &message.scene_probes);
        probes->scene_is_due = tarn_worker_link_put(link, &message) != TARN_OK;
    }
    if (probes->batch.row_count > 0 && now_ns >= probes->batch.due_ns) {
        send_batch(tank, link);
    }
}
