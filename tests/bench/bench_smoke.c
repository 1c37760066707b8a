// Smoke against the textbook's stable fluids, flat and in three dimensions, in air at rest and in air that turns
// everywhere. Prints a table; asserts nothing.
//
// All start from the same air and the same warm block of 100 000 particles, in turns within one run, for several
// rounds; what is printed is the sum of each step's least time. The textbook's has no particles: it carries heat and
// smoke on its grid.
#include "kernels/smoke_parameters.h"
#include "kernels/tank/tank_internal.h"
#include "server/base/options.h"
#include "tests/bench/textbook_smoke.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS_MAX = 1000, TURN_STEPS = 10, CONTESTANTS = 4, HEAT_K = 40 };

static const double pi = 3.14159265358979323846;

typedef struct bench_options {
    uint32_t threads, steps, rounds;
    const char *isa;
} bench_options;

typedef struct bench_case {
    const char *name;
    int cells[3];
    int min[3], max[3]; ///< of the block
    bool is_busy;
    float sleep_speed_m_s;
    int textbook_steps; ///< in a round: they are slow
} bench_case;

static const bench_case cases[] = {
    {"512 x 512, still", {512, 512, 1}, {194, 20, 0}, {319, 120, 1}, false, 0.05f, 10},
    {"512 x 512, busy", {512, 512, 1}, {194, 20, 0}, {319, 120, 1}, true, 0.05f, 10},
    {"64 x 96 x 64, still", {64, 96, 64}, {20, 4, 20}, {45, 24, 45}, false, 0.02f, 10},
    {"64 x 96 x 64, busy", {64, 96, 64}, {20, 4, 20}, {45, 24, 45}, true, 0.02f, 10},
};

/// Tarn on one thread and on all, or the textbook's with either solver.
typedef struct contestant {
    const char *name;
    const bench_case *of;
    uint32_t threads, steps;
    textbook_smoke *textbook; // this one, or the tank
    tarn_device *device;
    tarn_tank *tank;
    textbook_smoke_way way;
    uint32_t step;
    double step_s[STEPS_MAX], cpu_s[STEPS_MAX]; ///< least of the rounds
    uint64_t iterations, substeps;              ///< of the last round
    float residual;                             ///< largest of it
} contestant;

static double clock_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// ----------------------------------------------------------------------------------------------------------- the start

/// Vortices of 32 cells that turn in all planes that lift acts in, half a cell per step at most.
static float busy_speed(const bench_case *of, int axis, int x, int y, int z)
{
    const double k = pi / 32.0;
    const double at[3] = {x + (axis == 0 ? 0.0 : 0.5), y + (axis == 1 ? 0.0 : 0.5), z + (axis == 2 ? 0.0 : 0.5)};
    const double depth = of->cells[2] > 1 ? cos(k * at[2]) : 1.0;
    const double in_plane = axis == 0   ? sin(k * at[0]) * cos(k * at[1])
                            : axis == 1 ? -cos(k * at[0]) * sin(k * at[1])
                                        : 0.0;
    return of->is_busy ? (float)(0.5 * depth * in_plane) : 0.0f;
}

static bool is_in_block(const bench_case *of, int x, int y, int z)
{
    return x >= of->min[0] && y >= of->min[1] && z >= of->min[2] && x < of->max[0] && y < of->max[1] && z < of->max[2];
}

static float *tank_face(const contestant *c, int axis, int x, int y, int z)
{
    const tank_args *args = c->tank->args;
    const uint32_t dense = tile_dense_of(&args->grid.shape, 0, x >> TILE_LOG2, y >> TILE_LOG2, z >> TILE_LOG2);
    return args->store.kept[axis] + (size_t)args->grid.m.slot[dense] * TILE_CELLS + cell_index(x & 7, y & 7, z & 7);
}

static tarn_status begin(contestant *c)
{
    const bench_case *of = c->of;
    c->step = 0;
    c->iterations = c->substeps = 0;
    c->residual = 0.0f;
    tarn_status status = TARN_OK;
    if (c->tank != NULL) {
        status = tarn_tank_reset(c->tank);
    } else {
        textbook_smoke_reset(c->textbook);
    }
    for (int z = 0; z < of->cells[2] && status == TARN_OK; z++) {
        for (int y = 0; y < of->cells[1]; y++) {
            for (int x = 0; x < of->cells[0]; x++) {
                const int at[3] = {x, y, z};
                for (int a = 0; a < (of->cells[2] > 1 ? 3 : 2); a++) {
                    const float speed = at[a] == 0 ? 0.0f : busy_speed(of, a, x, y, z);
                    *(c->tank != NULL ? tank_face(c, a, x, y, z) : textbook_smoke_face(c->textbook, a, x, y, z)) =
                        speed;
                }
                if (c->tank == NULL && is_in_block(of, x, y, z)) {
                    *textbook_smoke_heat(c->textbook, x, y, z) = HEAT_K;
                    *textbook_smoke_smoke(c->textbook, x, y, z) = 1.0f;
                }
            }
        }
    }
    return status;
}

static void describe(const bench_case *of, tarn_tank_desc *desc)
{
    tarn_tank_desc_default_of(desc, tarn_model_find("smoke"));
    desc->cell_m = 1.0f / 64;
    desc->block_count = 1;
    desc->blocks[0] = (tarn_fluid_block){.carried = {HEAT_K, 1.0f}};
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = (uint16_t)of->cells[a];
        desc->blocks[0].min_m[a] = (float)of->min[a] * desc->cell_m;
        desc->blocks[0].max_m[a] = (float)of->max[a] * desc->cell_m;
    }
    desc->parameters[TARN_SMOKE_SLEEP_SPEED] = of->sleep_speed_m_s;
}

static tarn_status open_textbook(contestant *c, const bench_case *of, textbook_smoke_solver solver)
{
    tarn_tank_desc desc;
    describe(of, &desc);
    *c = (contestant){.name = solver == TEXTBOOK_SMOKE_GRADIENTS ? "textbook, gradients" : "textbook, relaxation",
                      .of = of,
                      .threads = 1};
    const double dt_s = (double)desc.dt_s;
    c->way = (textbook_smoke_way){.lift = (float)((double)desc.parameters[TARN_SMOKE_GRAVITY] *
                                                  (double)desc.parameters[TARN_SMOKE_EXPANSION] * dt_s * dt_s /
                                                  (double)desc.cell_m),
                                  .cooled = (float)exp(-dt_s * (double)desc.parameters[TARN_SMOKE_COOLING]),
                                  .faded = (float)exp(-dt_s * (double)desc.parameters[TARN_SMOKE_FADING]),
                                  .tolerance = desc.parameters[TARN_SMOKE_TOLERANCE]};
    return textbook_smoke_create(of->cells, solver, &c->textbook);
}

static tarn_status open_tarn(contestant *c, const bench_case *of, uint32_t threads, const char *isa)
{
    tarn_tank_desc desc;
    char why[256] = "";
    describe(of, &desc);
    *c = (contestant){.name = "Tarn", .of = of, .threads = threads};
    const tarn_device_desc device = {.kind = TARN_DEVICE_CPU, .threads = threads, .isa = isa};
    tarn_status status = tarn_device_create(&device, &c->device);
    if (status == TARN_OK) {
        status = tarn_tank_create(c->device, &desc, &c->tank, why, sizeof why);
    }
    if (status != TARN_OK && why[0] != '\0') {
        fprintf(stderr, "bench_smoke: %s\n", why);
    }
    return status;
}

static void close_contestant(contestant *c)
{
    textbook_smoke_destroy(c->textbook);
    tarn_tank_destroy(c->tank);
    tarn_device_destroy(c->device);
}

// -------------------------------------------------------------------------------------------------------------- timing

static tarn_status take_step(contestant *c)
{
    const double begun = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    tarn_status status = TARN_OK;
    textbook_smoke_report done = {0};
    if (c->tank != NULL) {
        status = tarn_tank_step(c->tank, NULL);
    } else {
        done = textbook_smoke_step(c->textbook, &c->way);
    }
    const double took = clock_s(CLOCK_MONOTONIC) - begun, cpu_took = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    uint32_t substeps = 1;
    if (c->tank != NULL) {
        tarn_tank_report report;
        tarn_tank_report_light(c->tank, &report);
        done = (textbook_smoke_report){report.pressure_iterations, report.residual};
        substeps = report.substeps;
    }
    const uint32_t i = c->step++;
    c->step_s[i] = c->step_s[i] > 0.0 && c->step_s[i] < took ? c->step_s[i] : took;
    c->cpu_s[i] = c->cpu_s[i] > 0.0 && c->cpu_s[i] < cpu_took ? c->cpu_s[i] : cpu_took;
    c->iterations += done.iterations;
    c->substeps += substeps;
    c->residual = done.residual > c->residual ? done.residual : c->residual;
    return status;
}

/// Sum of the first steps' least times, per step.
static double mean_of(const double *step_s, uint32_t steps)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < steps; i++) {
        sum += step_s[i];
    }
    return sum / steps;
}

/// Height of the heat's middle, in cells: whether all compute the same.
static double heat_height(const contestant *c)
{
    double sum = 0.0, moment = 0.0;
    if (c->tank != NULL) {
        const store_memory *store = &c->tank->args->store;
        for (uint32_t i = 0; i < c->tank->particle_count; i++) {
            const double heat = (double)store->carried[TARN_SMOKE_HEAT][i];
            sum += heat;
            moment += heat * (double)store->position[1][i] / (1 << POSITION_BITS);
        }
        return moment / sum;
    }
    for (int z = 0; z < c->of->cells[2]; z++) {
        for (int y = 0; y < c->of->cells[1]; y++) {
            for (int x = 0; x < c->of->cells[0]; x++) {
                const double heat = (double)*textbook_smoke_heat(c->textbook, x, y, z);
                sum += heat;
                moment += heat * (y + 0.5);
            }
        }
    }
    return moment / sum;
}

static void print_case(const contestant *all, const double *height)
{
    double best_s = 1e9, best_cpu_s = 1e9;
    for (int i = 0; i < CONTESTANTS; i++) {
        const contestant *c = &all[i];
        const uint32_t same = all[0].steps;
        printf("%-20s %-21s %7u | %8.2f %8.2f %8.1f | ", i == 0 ? c->of->name : "", c->name, c->threads,
               1e3 * mean_of(c->step_s, c->steps), 1e3 * mean_of(c->cpu_s, c->steps),
               1.0 / mean_of(c->step_s, c->steps));
        if (c->tank == NULL) {
            best_s = fmin(best_s, mean_of(c->step_s, same));
            best_cpu_s = fmin(best_cpu_s, mean_of(c->cpu_s, same));
            printf("%8s %8s | ", "", "");
        } else {
            printf("%8.2f %8.2f | ", best_s / mean_of(c->step_s, same), best_cpu_s / mean_of(c->cpu_s, same));
        }
        printf("%8.2f %10.1f %8.1e | %8.2f\n", (double)c->substeps / c->steps, (double)c->iterations / c->steps,
               (double)c->residual, height[i]);
    }
    fflush(stdout);
}

static bool compare(const bench_options *options, const bench_case *of, contestant *all)
{
    double height[CONTESTANTS] = {0};
    tarn_status status = open_textbook(&all[0], of, TEXTBOOK_SMOKE_RELAXATION);
    memset(all + 1, 0, (CONTESTANTS - 1) * sizeof *all);
    status = status == TARN_OK ? open_textbook(&all[1], of, TEXTBOOK_SMOKE_GRADIENTS) : status;
    status = status == TARN_OK ? open_tarn(&all[2], of, 1, options->isa) : status;
    status = status == TARN_OK ? open_tarn(&all[3], of, options->threads, options->isa) : status;
    const uint32_t textbook_steps = tile_min_u32((uint32_t)of->textbook_steps, options->steps);
    for (uint32_t round = 0; round < options->rounds && status == TARN_OK; round++) {
        for (int i = 0; i < CONTESTANTS && status == TARN_OK; i++) {
            all[i].steps = i < 2 ? textbook_steps : options->steps;
            status = begin(&all[i]);
        }
        for (uint32_t step = 0; step < options->steps && status == TARN_OK; step += TURN_STEPS) {
            for (int i = 0; i < CONTESTANTS; i++) {
                for (uint32_t k = step; k < tile_min_u32(step + TURN_STEPS, all[i].steps) && status == TARN_OK; k++) {
                    status = take_step(&all[i]);
                    if (k + 1 == textbook_steps) {
                        height[i] = heat_height(&all[i]);
                    }
                }
            }
        }
    }
    if (status == TARN_OK) {
        print_case(all, height);
    } else {
        fprintf(stderr, "bench_smoke: %s\n", tarn_status_text(status));
    }
    for (int i = 0; i < CONTESTANTS; i++) {
        close_contestant(&all[i]);
    }
    return status == TARN_OK;
}

// ------------------------------------------------------------------------------------------------------------- options

enum { OPTION_ROUNDS = 256, OPTION_ISA };

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case 't':
        options->threads = (uint32_t)tarn_option_number(state, "threads", argument, 1, TARN_DEVICE_THREADS_MAX);
        return 0;
    case 's':
        options->steps = (uint32_t)tarn_option_number(state, "steps", argument, 1, STEPS_MAX);
        return 0;
    case OPTION_ROUNDS:
        options->rounds = (uint32_t)tarn_option_number(state, "rounds", argument, 1, 1000);
        return 0;
    case OPTION_ISA:
        if (strcmp(argument, "v2") != 0 && strcmp(argument, "v3") != 0 && strcmp(argument, "v4") != 0) {
            argp_error(state, "--isa: found \"%s\", allowed are v2, v3 and v4", argument);
        }
        options->isa = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argument_count, char **arguments)
{
    static const struct argp_option table[] = {
        {"threads", 't', "N", 0, "1 to 256; default: one per processor. Tarn is also compared on one thread", 0},
        {"steps", 's', "N", 0, "of Tarn in a round, 1 to 1000; default: 60. The textbook's takes the first 10", 0},
        {"rounds", OPTION_ROUNDS, "N", 0, "1 to 1000; default: 3", 0},
        {"isa", OPTION_ISA, "ISA", 0, "of Tarn's kernels: v2, v3, v4; default: the best of the processor", 0},
        {0},
    };
    static const struct argp argp = {
        .options = table, .parser = parse, .doc = "Measures smoke beside a textbook's stable fluids."};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bench_options options = {.threads = processors > 0 ? (uint32_t)processors : 1, .steps = 60, .rounds = 3};
    argp_parse(&argp, argument_count, arguments, 0, NULL, &options);
#ifdef TARN_BENCH_NEEDS_AVX2
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fprintf(stderr, "bench_smoke: the processor has no AVX2, for which the textbook's solver was compiled\n");
        return EXIT_FAILURE;
    }
#endif
    printf(
        "Smoke and the textbook's stable fluids: a warm block of 100 000 particles, steps of 1/60 s, least of %u\n"
        "rounds in turns. The textbook's is semi-Lagrangian, on one thread, compiled with " TARN_TEXTBOOK_FLAGS ",\n"
        "and solves to the same divergence. \"x fast\", \"x CPU\": times as fast as the faster of its two, over the\n"
        "steps that both take. Busy air turns everywhere, half a cell per step at most; still air is asleep around the "
        "smoke.\n\n",
        options.rounds);
    printf("%-20s %-21s %7s | %8s %8s %8s | %8s %8s | %8s %10s %8s | %8s\n", "air", "solver", "threads", "ms/step",
           "CPU ms", "steps/s", "x fast", "x CPU", "substeps", "iterations", "residual", "heat at");
    contestant *all = calloc(CONTESTANTS, sizeof *all);
    bool good = all != NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && good; i++) {
        good = compare(&options, &cases[i], all);
    }
    free(all);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
