/// What is measured in a tank for those who watch it (kernels/probe.h). Nothing is while nobody asks for it, and a tank
/// has the same bits with and without.
///
///     PROBES ─▶ asked ─ job: fitted into the tank, made ─▶ PROBED
///                              └ behind each step: a row ─ batch ─▶ READINGS, every TARN_WORKER_READINGS_MS
///
/// What messages change is `asked` and the flags beside it; the rest is the job's, but that a batch is sent between
/// jobs, too.
#ifndef TARN_SERVER_WORKER_PROBES_H
#define TARN_SERVER_WORKER_PROBES_H

#include "kernels/probe.h"
#include "server/base/ipc.h"
#include "server/scene/probe.h"
#include "server/worker/link.h"

#include <stdbool.h>
#include <stdint.h>

struct tarn_worker_tank;

/// Rows of steps that follow each other, until they are sent.
typedef struct tarn_worker_readings {
    uint8_t *values; ///< TARN_READINGS_BYTES_MAX, taken with the first probes
    uint32_t byte_count, row_count;
    uint32_t epoch;
    uint64_t step;   ///< of the first row
    uint64_t due_ns; ///< when they are to be sent
} tarn_worker_readings;

typedef struct tarn_worker_probes {
    tarn_ipc_probes asked;
    bool is_asked;     ///< and the tank isn't measured as they say
    uint64_t asked_ns; ///< not before
    bool is_watched;   ///< somebody asks for readings
    bool is_due;       ///< a row, although no step is made
    bool scene_is_due; ///< the gateway is to be told what the scene has
    tarn_probes *made; ///< NULL: there are none
    uint32_t revision; ///< of what is made
    uint32_t count;
    uint32_t row_bytes;
    tarn_probe_spec specs[TARN_LIVE_PROBES_MAX];
    tarn_worker_readings batch;
} tarn_worker_probes;

/// These are measured from the next job on, and no others.
void tarn_worker_probes_ask(struct tarn_worker_tank *tank, const tarn_ipc_probes *asked);

/// Somebody asks for readings from now on, or nobody.
void tarn_worker_probes_watch(struct tarn_worker_tank *tank, bool is_watched);

/// When a job is needed for them. @param is_stepping  steps are made, and with them rows @return UINT64_MAX: none is
uint64_t tarn_worker_probes_due_ns(const struct tarn_worker_tank *tank, bool is_stepping);

/// Makes them as they are asked for, and says which are. Job. @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_probes_make(struct tarn_worker_tank *tank, tarn_worker_link *link);

/// Measures, where somebody asks for it and there is something new. Job.
/// @param has_stepped  just now  @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_probes_measure(struct tarn_worker_tank *tank, tarn_worker_link *link, bool has_stepped);

/// Behind the state: the scene's own, and what was measured, where they are due. Between jobs.
void tarn_worker_probes_tell(struct tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns);

/// When there is something to tell; UINT64_MAX: nothing.
uint64_t tarn_worker_probes_tell_ns(const struct tarn_worker_tank *tank);

/// Before the simulation is no more; what was asked for is made again in the next one.
void tarn_worker_probes_unmake(struct tarn_worker_tank *tank);

#endif
