// The shipped scenes, or those named, each in a storm of its own: one line per scene.
//
// Exit status: 0 when nothing was wrong, 1 when something was, 2 for options that can't be.
#include "tests/storm/storm.h"
#include "server/base/options.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUICK_STORM_S 1.0
#define QUICK_REST_S 0.25
#define REST_S 10.0

typedef struct storm_job {
    tarn_scene scene;
    storm_result result;
} storm_job;

/// `next` is taken by all threads, the lines are written under the lock, the rest belongs to whoever took the job.
typedef struct storm_jobs {
    storm_job *of;
    uint32_t count;
    atomic_uint next, failed;
    storm_plan plan;
    bool is_quick, is_coarse;
    pthread_mutex_t lock;
} storm_jobs;

typedef struct storm_options {
    long seconds, seed, threads;
    bool is_quick, is_coarse, has_tools, costs;
    const char *scenes[TARN_SCENES_MAX];
    uint32_t scene_count;
} storm_options;

static void print_job(const storm_jobs *jobs, const storm_job *job)
{
    const storm_result *r = &job->result;
    printf("%-4s %-18s %6llu steps, %u saves, %u resets, %u particles, %.1f m/s, deepest %.3f cells, "
           "%.2g -> %.2g J/kg, volume %.2f, capped %.1f %%, %u tiles, %.1f MiB, %.1f ms a step, at most %.0f; "
           "%llu steps again by %.0f KiB of inputs\n",
           r->what[0] == '\0' ? "ok" : "FAIL", job->scene.name, (unsigned long long)r->steps, r->saves, r->resets,
           r->particles, r->speed_max_m_s, r->deepest_cells, r->storm_j_kg, r->rest_j_kg, r->volume_share,
           r->steps > 0 ? 100.0 * (double)r->steps_capped / (double)r->steps : 0.0, r->tiles_max,
           (double)r->bytes_max / 1048576.0, r->step_mean_ms, r->step_max_ms, (unsigned long long)r->steps_replayed,
           r->log_kib);
    if (r->what[0] != '\0') {
        printf("     step %llu: %s\n", (unsigned long long)r->failed_step, r->what);
        printf("     again: storm %s --seed %llu %s%s", job->scene.name, (unsigned long long)jobs->plan.seed,
               jobs->plan.tools ? "--tools " : "", jobs->is_coarse ? "--coarse " : "");
        if (jobs->is_quick) {
            printf("--quick\n");
        } else {
            printf("--seconds %.0f\n", jobs->plan.storm_s);
        }
    }
    fflush(stdout);
}

static void *work(void *context)
{
    storm_jobs *jobs = context;
    for (;;) {
        const unsigned at = atomic_fetch_add(&jobs->next, 1);
        if (at >= jobs->count) {
            return NULL;
        }
        storm_job *job = &jobs->of[at];
        storm_run(&job->scene, &jobs->plan, &job->result);
        atomic_fetch_add(&jobs->failed, job->result.what[0] != '\0');
        pthread_mutex_lock(&jobs->lock);
        print_job(jobs, job);
        pthread_mutex_unlock(&jobs->lock);
    }
}

/// Cells of twice the size: an eighth of the particles. A tank that can't have them stays as it is; a flat one stays
/// flat.
static void coarsen(tarn_tank_desc *desc)
{
    for (int a = 0; a < 3; a++) {
        if (desc->cells[a] > 1 && (desc->cells[a] % 2 != 0 || desc->cells[a] / 2 < TARN_TANK_CELLS_MIN)) {
            return;
        }
    }
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = desc->cells[a] > 1 ? desc->cells[a] / 2 : 1;
    }
    desc->cell_m *= 2.0f;
}

static bool read_scene(const char *name, bool coarse, storm_job *job)
{
    char path[PATH_MAX], why[TARN_SCENE_WHY_BYTES] = "";
    if (tarn_scene_resolve(name, NULL, path, sizeof path, why, sizeof why) == TARN_OK &&
        tarn_scene_read_file(path, &job->scene, why, sizeof why) == TARN_OK) {
        if (coarse) {
            coarsen(&job->scene.tank);
        }
        return true;
    }
    fprintf(stderr, "storm: %s\n", why);
    return false;
}

/// The scenes named, or all that came with the program.
static bool read_scenes(const storm_options *options, storm_jobs *jobs)
{
    static tarn_name names[TARN_SCENES_MAX];
    uint32_t count = options->scene_count;
    char directory[PATH_MAX];
    if (count == 0 && (tarn_scene_directory(NULL, directory, sizeof directory, NULL, 0) != TARN_OK ||
                       tarn_scene_list(directory, names, TARN_SCENES_MAX, &count) != TARN_OK || count == 0)) {
        fprintf(stderr, "storm: found no shipped scenes; $TARN_SCENES names their folder\n");
        return false;
    }
    jobs->of = calloc(count, sizeof *jobs->of);
    for (uint32_t i = 0; i < count && jobs->of != NULL; i++) {
        if (!read_scene(options->scene_count > 0 ? options->scenes[i] : names[i], options->is_coarse, &jobs->of[i])) {
            return false;
        }
        jobs->count++;
    }
    return jobs->of != NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    storm_options *options = state->input;
    switch (key) {
    case 's':
        options->seconds = tarn_option_number(state, "seconds", argument, 1, 60000000);
        return 0;
    case 'n':
        options->seed = tarn_option_number(state, "seed", argument, 0, LONG_MAX);
        return 0;
    case 't':
        options->threads = tarn_option_number(state, "threads", argument, 1, 256);
        return 0;
    case 'q':
        options->is_quick = true;
        return 0;
    case 'c':
        options->is_coarse = true;
        return 0;
    case 'o':
        options->has_tools = true;
        return 0;
    case 'p':
        options->costs = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->scene_count == TARN_SCENES_MAX) {
            argp_error(state, "allowed are at most %d scenes", (int)TARN_SCENES_MAX);
        }
        options->scenes[options->scene_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void run_threads(storm_jobs *jobs, uint32_t threads)
{
    pthread_t of[256];
    uint32_t started = 0;
    while (started + 1 < threads && started < 255 && pthread_create(&of[started], NULL, work, jobs) == 0) {
        started++;
    }
    work(jobs);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(of[i], NULL);
    }
}

/// @return scenes that cost too much, or didn't come to their end
static uint32_t print_costs(const storm_jobs *jobs)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < jobs->count; i++) {
        char what[STORM_WHAT_BYTES];
        const uint32_t over = storm_cost(&jobs->of[i].scene, what);
        printf("%-4s %s%s%s\n", over == 0 && what[0] == '\0' ? "ok" : "FAIL", jobs->of[i].scene.name,
               what[0] != '\0' ? ": " : "", what);
        failed += over > 0 || what[0] != '\0';
    }
    printf("%u scenes, %u failed\n", jobs->count, failed);
    return failed;
}

int main(int argc, char **argv)
{
    static const struct argp_option list[] = {
        {"seconds", 's', "S", 0, "simulated seconds of storm per scene, 1 to 60000000; default: 600", 0},
        {"seed", 'n', "N", 0, "of the input; default: 1", 0},
        {"threads", 't', "N", 0, "scenes beside each other, 1 to 256; each runs on one thread; default: 1", 0},
        {"quick", 'q', NULL, 0, "a simulated second per scene", 0},
        {"coarse", 'c', NULL, 0, "with cells of twice the size: an eighth of the particles", 0},
        {"tools", 'o', NULL, 0, "people pull, turn, pour, drain and dye, too", 0},
        {"cost", 'p', NULL, 0, "instead: what a second of each tool costs, over the scene's own worst one", 0},
        {0},
    };
    static const struct argp argp = {
        .options = list,
        .parser = parse,
        .args_doc = "[SCENE...]",
        .doc = "Drives scenes with random input as strong as it may be, and looks whether their tanks stay sound.\v"
               "SCENE is a path to a .json file or the name of a shipped scene; without one all shipped scenes run.",
    };
    storm_options options = {.seconds = 600, .seed = 1, .threads = 1};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    storm_jobs jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_quick = options.is_quick, .is_coarse = options.is_coarse};
    jobs.plan = (storm_plan){.seed = (uint64_t)options.seed,
                             .storm_s = options.is_quick ? QUICK_STORM_S : (double)options.seconds,
                             .rest_s = options.is_quick ? QUICK_REST_S : REST_S,
                             .check_steps = 10,
                             .tools = options.has_tools};
    int status = EXIT_FAILURE;
    if (read_scenes(&options, &jobs) && options.costs) {
        status = print_costs(&jobs) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    } else if (jobs.count > 0) {
        run_threads(&jobs, (uint32_t)options.threads);
        printf("%u scenes, %u failed\n", jobs.count, atomic_load(&jobs.failed));
        status = atomic_load(&jobs.failed) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    for (uint32_t i = 0; i < jobs.count; i++) {
        tarn_scene_free(&jobs.of[i].scene);
    }
    free(jobs.of);
    return status;
}
