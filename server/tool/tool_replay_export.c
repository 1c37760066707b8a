// `tarn replay --export`: from the newest state before a moment to that moment, and from there on a frame where one is
// due.
//
//     state, log: steps that nobody sees | --from: frame 0 | log, state, log ... | --to
//
// A state that the log before it doesn't lead to is where the tank was set back, or gone back with: its moment is that
// of the step before, so the film goes on there.
#include "server/tool/tool_replay.h"

#include "server/common/printable.h"
#include "server/common/session_history.h"
#include "server/tool/tool_kept.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay_film {
    const tool_replay_span *span;
    kept_copy copy;
    char made[TARN_IPC_SCENE_BYTES_MAX + 1];
    tool_tank tank;
    tool_exports *exports; // NULL: the first state isn't there yet
    tool_probes *probes;   // the same
    progress bar;
    int64_t after;            // the state before the first that is needed
    uint64_t skipped, count;  // steps that are still to be made unseen; those behind the first moment
    uint64_t from_ns, to_ns;  // of the session's time
    uint64_t count_max, step; // of the tank
    bool has_moments, has_begun, is_over, failed;
} replay_film;

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

/// @return whether a moment that is asked for is one that the file has; else a sentence went to stderr
static bool is_kept(const tool_replay_span *span, const char *option, double asked_s, const tarn_session_span *kept)
{
    const double rounding_s = 5e-4; // of what a page shows
    if (asked_s < 0.0 ||
        (asked_s >= seconds(kept->from_ns) - rounding_s && asked_s <= seconds(kept->until_ns) + rounding_s)) {
        return true;
    }
    fprintf(stderr, "%s: --%s: found %g, allowed are %.3f to %.3f, the seconds that \"%s\" has\n", span->command,
            option, asked_s, seconds(kept->from_ns), seconds(kept->until_ns), span->file);
    return false;
}

/// Which state is gone on from, and how many steps behind it.
static tarn_status find_begin(replay_film *film, tarn_session_file *file, bool *is_said, tarn_text why)
{
    static tarn_session_span kept; // large
    const tool_replay_span *span = film->span;
    tarn_session_rest rest = {0};
    tarn_status status = tarn_session_history_span(file, &kept, why);
    if (span->from_s < 0.0 && span->to_s < 0.0 && (status != TARN_OK || kept.state_count == 0)) {
        return TARN_OK; // an earlier version's, which has no moments: all of it
    }
    if (status != TARN_OK) {
        return status;
    }
    if (!is_kept(span, "from", span->from_s, &kept) || !is_kept(span, "to", span->to_s, &kept)) {
        *is_said = true;
        return TARN_E_ARGUMENT;
    }
    film->from_ns = span->from_s >= 0.0 ? (uint64_t)(span->from_s * 1e9 + 0.5) : kept.from_ns;
    film->from_ns = film->from_ns < kept.from_ns ? kept.from_ns : film->from_ns;
    film->to_ns = span->to_s >= 0.0 ? (uint64_t)(span->to_s * 1e9 + 0.5) : kept.until_ns;
    film->has_moments = true;
    status = tarn_session_history_rest(file, &film->from_ns, &rest, why);
    if (status == TARN_OK) {
        film->after = rest.id - 1;
        film->skipped = tarn_box_log_steps(rest.log.bytes, rest.log.count);
    }
    tarn_session_rest_free(&rest);
    return status;
}

static bool begin(replay_film *film)
{
    tarn_session_file *file;
    tarn_text why = "";
    bool is_said = false;
    tarn_status status = tarn_session_file_open_to_read(film->span->file, &file, why);
    if (status == TARN_OK) {
        status = find_begin(film, file, &is_said, why);
        tarn_session_file_close(file);
    }
    if (status != TARN_OK && !is_said) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", film->span->command, why);
    }
    return status == TARN_OK;
}

/// A frame of the step that the tank is at, where one is due.
static void show(replay_film *film)
{
    film->has_begun = true;
    film->failed = !tool_exports_step(film->exports, (uint32_t)film->count, &film->bar) ||
                   (film->count > 0 && !tool_probes_step(film->probes, &film->bar));
    film->is_over = film->failed || film->count >= film->count_max;
}

static bool on_step(void *user, uint64_t step)
{
    replay_film *film = user;
    (void)step;
    if (film->skipped > 0) {
        film->skipped--;
    } else {
        film->count++;
        progress_show(&film->bar, (uint32_t)film->count);
    }
    if (film->skipped == 0) {
        show(film);
    }
    return !film->is_over && !tool_interrupted();
}

/// The tank is that of the first state: opens what is written of it.
static bool open_exports(replay_film *film)
{
    const tool_replay_span *span = film->span;
    const double dt_s = (double)film->tank.scene.tank.dt_s,
                 steps = film->to_ns > film->from_ns ? round(seconds(film->to_ns - film->from_ns) / dt_s) : 0.0;
    film->count_max = film->has_moments ? (uint64_t)fmin(steps, TOOL_STEPS_MAX) : TOOL_STEPS_MAX;
    film->exports = tool_exports_open(span->command, span->exports, &film->tank, span->device->cpu.threads);
    film->probes = film->exports != NULL ? tool_probes_open(span->command, span->probes, &film->tank) : NULL;
    if (film->probes == NULL) {
        return false;
    }
    progress_start(&film->bar, 0, film->count_max > 0 ? (uint32_t)film->count_max : 1, dt_s,
                   span->quiet || !film->has_moments);
    if (film->skipped == 0) {
        show(film);
    }
    return true;
}

/// Where the film comes to a state. @return false: it ends here, with a sentence
static bool arrive(replay_film *film, const kept_stretch *stretch)
{
    const tool_replay_span *span = film->span;
    if (film->exports != NULL && stretch->follows) {
        return true; // the log leads to it
    }
    const double at_s = seconds(film->from_ns) + (double)film->count * (double)film->tank.scene.tank.dt_s;
    if (!stretch->is_whole) {
        fprintf(stderr, "%s: state %" PRId64 ", which nothing before it leads to, is damaged\n", span->command,
                stretch->id);
        return false;
    }
    if (film->exports != NULL && !tool_kept_is_of(stretch, film->made)) {
        char scene[sizeof stretch->state.scene];
        memcpy(scene, stretch->state.scene, sizeof scene);
        tarn_make_printable(scene);
        fprintf(stderr, "%s: at %.3f s the tank becomes one of the scene \"%s\", where --to or --from must be\n",
                span->command, at_s, scene);
        return false;
    }
    if (!tool_kept_put(span->command, span->scenes_dir, span->device, stretch, &film->tank, film->made)) {
        return false;
    }
    film->step = stretch->state.step;
    return film->exports != NULL || open_exports(film);
}

/// @return false: it failed, with a sentence
static bool go_on(replay_film *film)
{
    const char *command = film->span->command;
    for (int i = 0; i < film->copy.count && !film->is_over && !tool_interrupted(); i++) {
        const kept_stretch *stretch = &film->copy.stretches[i];
        if (!arrive(film, stretch)) {
            return false;
        }
        const tarn_status status =
            film->is_over ? TARN_OK : kept_replay(film->tank.tank, &stretch->log, &film->step, NULL, on_step, film);
        if (status != TARN_OK) {
            fprintf(stderr, "%s: the step behind %" PRIu64 ": %s\n", command, film->step, tarn_status_text(status));
            return false;
        }
        if (stretch->is_cut && !film->is_over) {
            fprintf(stderr, "%s: the log behind state %" PRId64 " is damaged behind step %" PRIu64 "\n", command,
                    stretch->id, film->step);
            return false;
        }
    }
    return !film->failed;
}

static int finish(replay_film *film, bool is_whole)
{
    const tool_replay_span *span = film->span;
    progress_end(&film->bar);
    const bool has_failed = film->failed || !film->has_begun;
    const bool is_written =
        tool_probes_finish(film->probes, has_failed) & tool_exports_finish(film->exports, has_failed);
    if (tool_interrupted()) {
        fprintf(stderr, "%s: interrupted after step %" PRIu64, span->command, film->count);
        tool_exports_print_cut(film->exports, stderr);
        fprintf(stderr, "%s\n", span->hash ? "; no hash" : "");
        return TOOL_EXIT_INTERRUPTED;
    }
    if (!is_whole || !is_written || !film->has_begun) {
        tool_exports_print_cut(film->exports, stderr);
        fprintf(stderr, "\n");
        return EXIT_FAILURE;
    }
    if (!span->quiet) {
        FILE *file = span->exports->uses_standard_output ? stderr : stdout;
        fprintf(file, "%s: %" PRIu64 " steps, %.3f s to %.3f s of the session's time\n", film->tank.scene.name,
                film->count, seconds(film->from_ns),
                seconds(film->from_ns) + (double)film->count * (double)film->tank.scene.tank.dt_s);
        tool_exports_print(film->exports, file);
        tool_probes_print(film->probes, file);
    }
    tarn_tank_hash hash = {0};
    const tarn_status status = span->hash ? tarn_tank_hash_get(film->tank.tank, &hash) : TARN_OK;
    if (status != TARN_OK) {
        fprintf(stderr, "%s: the hash: %s\n", span->command, tarn_status_text(status));
        return EXIT_FAILURE;
    }
    if (span->hash) {
        printf("%016" PRIx64 "%016" PRIx64 "\n", hash.hi, hash.lo);
    }
    return EXIT_SUCCESS;
}

int tool_replay_export(const tool_replay_span *span)
{
    static replay_film film; // large
    tarn_text why = "";
    film = (replay_film){.span = span};
    if (!begin(&film)) {
        return EXIT_FAILURE;
    }
    tarn_status status = kept_copy_read(span->file, film.after, &film.copy, why);
    bool is_whole = true;
    while (status == TARN_OK && is_whole && !film.is_over && !tool_interrupted()) {
        const int64_t last = film.copy.stretches[film.copy.count - 1].id;
        is_whole = go_on(&film);
        if (is_whole && !film.is_over) {
            status = kept_copy_read(span->file, last, &film.copy, why);
        }
    }
    if (status != TARN_OK && (status != TARN_E_NOT_FOUND || !film.has_begun)) {
        tarn_make_printable(why);
        fprintf(stderr, "%s: %s\n", span->command, why);
        is_whole = false;
    }
    const int result = film.probes != NULL ? finish(&film, is_whole) : EXIT_FAILURE;
    tool_probes_free(film.probes);
    tool_exports_free(film.exports);
    tool_kept_close(&film.tank);
    kept_copy_free(&film.copy);
    return result;
}
