// The liquid against the textbook, and how its cost grows. Prints tables; asserts nothing.
//
// Both solvers run the same dam break from the same particles, in turns within one run: a few steps of one, then of the
// other, for several rounds from the start. What is printed is the sum of each step's least time.
#include "server/base/options.h"
#include "tests/bench/contestant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TURN_STEPS = 10, ///< that a contestant takes at a time
    FRONT_STEP = 12, ///< at which the fronts are compared, 0.2 s: before the far wall
    CONTESTANTS_MAX = 6
};

typedef struct bench_options {
    uint32_t threads, steps, rounds;
    uint32_t particles; ///< one size only; 0: the list
    const char *isa;
    bool quick, only_compare, only_growth, is_pool;
} bench_options;

static const char *const kind_names[] = {"Tarn", "Tarn, bare", "textbook, plain", "textbook, full"};

// ------------------------------------------------------------------------------------------------------------ the case

/// A tank of 1 m with a block over its whole depth, of about so many particles, eight to a cell.
static void describe_block(tarn_tank_desc *desc, uint32_t particles, float width, float height)
{
    const float share[3] = {width, height, 1.0f};
    tarn_tank_desc_default(desc);
    const double n = round(cbrt((double)particles / (8.0 * (double)width * (double)height)));
    desc->cell_m = 1.0f / (float)n;
    desc->block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc->cells[a] = (uint16_t)n;
        desc->blocks[0].max_m[a] = share[a] * (float)n * desc->cell_m;
    }
}

static void describe_dam_break(tarn_tank_desc *desc, uint32_t particles)
{
    describe_block(desc, particles, 0.4f, 0.8f);
}

/// Water at rest: whatever moves is an error of the solver.
static void describe_pool(tarn_tank_desc *desc, uint32_t particles)
{
    describe_block(desc, particles, 1.0f, 0.5f);
}

static float front_height(const tarn_tank_desc *desc)
{
    return 0.1f * desc->blocks[0].max_m[0];
}

// -------------------------------------------------------------------------------------------------------- side by side

typedef struct match {
    contestant contestants[CONTESTANTS_MAX];
    contestant_place at_front[CONTESTANTS_MAX], at_end[CONTESTANTS_MAX];
    uint32_t count;
} match;

static bool match_add(match *m, contestant_kind kind, const tarn_tank_desc *desc, uint32_t threads,
                      const bench_options *options)
{
    char why[256] = "";
    if (!contestant_open(&m->contestants[m->count], kind, desc, threads, options->isa, options->steps, why,
                         sizeof why)) {
        fprintf(stderr, "bench_liquid: %s: %s\n", kind_names[kind], why);
        return false;
    }
    m->count++;
    return true;
}

static bool is_textbook(contestant_kind kind)
{
    return kind == CONTESTANT_TEXTBOOK || kind == CONTESTANT_TEXTBOOK_FULL;
}

/// A textbook's solver and, after it, what is compared with it.
static bool match_add_group(match *m, contestant_kind textbook, contestant_kind tarn, const tarn_tank_desc *desc,
                            const bench_options *options)
{
    return match_add(m, textbook, desc, 1, options) && match_add(m, tarn, desc, 1, options) &&
           (options->threads == 1 || match_add(m, tarn, desc, options->threads, options));
}

static bool match_open(match *m, const tarn_tank_desc *desc, const bench_options *options)
{
    *m = (match){0};
    return match_add_group(m, CONTESTANT_TEXTBOOK_FULL, CONTESTANT_TARN, desc, options) &&
           match_add_group(m, CONTESTANT_TEXTBOOK, CONTESTANT_TARN_BARE, desc, options);
}

static void match_close(match *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        contestant_close(&m->contestants[i]);
    }
}

/// Where the liquid is at the last step, and at FRONT_STEP or the last step before it.
static tarn_status match_look(match *m, uint32_t i, const tarn_tank_desc *desc, uint32_t step)
{
    tarn_status status = contestant_where(&m->contestants[i], front_height(desc), &m->at_end[i]);
    if (step <= FRONT_STEP) {
        m->at_front[i] = m->at_end[i];
    }
    return status;
}

static tarn_status match_round(match *m, const tarn_tank_desc *desc, const bench_options *options, bool is_last)
{
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < m->count && status == TARN_OK; i++) {
        status = contestant_begin(&m->contestants[i]);
    }
    for (uint32_t step = 0; step < options->steps && status == TARN_OK;) {
        const uint32_t turn = step < FRONT_STEP && step + TURN_STEPS > FRONT_STEP ? FRONT_STEP - step : TURN_STEPS;
        step = step + turn < options->steps ? step + turn : options->steps;
        for (uint32_t i = 0; i < m->count && status == TARN_OK; i++) {
            status = contestant_steps(&m->contestants[i], turn);
            if (is_last && status == TARN_OK && (step == FRONT_STEP || step == options->steps)) {
                status = match_look(m, i, desc, step);
            }
        }
    }
    for (uint32_t i = 0; i < m->count; i++) {
        contestant_end(&m->contestants[i]);
    }
    return status;
}

/// Millions of particle-steps per second, or of particle-substeps.
static double million_per_s(const contestant *c, double steps)
{
    return 1e-6 * c->particle_count * steps / contestant_seconds(c);
}

static void print_head(uint32_t front_step, uint32_t steps, double dt_s)
{
    char front[32], center[32];
    snprintf(front, sizeof front, "front at %.2f s", front_step * dt_s);
    snprintf(center, sizeof center, "center at %.2f s", steps * dt_s);
    printf("%9s %5s %7s %-15s | %17s | %9s %9s | %-32s | %8s %10s %8s | %15s %17s\n", "", "", "", "", "ms/step",
           "M part.-", "M part.-", "times as fast as", "substeps", "iterations", "", front, center);
    printf("%9s %5s %7s %-15s | %8s %8s | %9s %9s | %-15s %8s %7s | %8s %10s %8s | %15s %8s %8s\n", "particles",
           "cells", "threads", "solver", "elapsed", "CPU", "steps/s", "subst./s", "", "elapsed", "CPU", "per step",
           "(last)", "residual", "x m", "x m", "y m");
}

/// One line for each contestant, with the speed over that of the textbook's solver which heads its group. That is what
/// it should be only where front and centre agree.
static void print_match(const match *m, const tarn_tank_desc *desc)
{
    const contestant *textbook = m->contestants;
    for (uint32_t i = 0; i < m->count; i++) {
        const contestant *c = &m->contestants[i];
        const double seconds = contestant_seconds(c), cpu_s = contestant_cpu_seconds(c);
        textbook = is_textbook(c->kind) ? c : textbook;
        printf("%9u %3u^3 %7u %-15s | %8.2f %8.2f | %9.2f %9.2f | ", c->particle_count, desc->cells[0], c->threads,
               kind_names[c->kind], 1e3 * seconds / c->steps, 1e3 * cpu_s / c->steps, million_per_s(c, c->steps),
               million_per_s(c, (double)c->substeps));
        if (c == textbook) {
            printf("%32s | ", "");
        } else {
            printf("%-15s %8.2f %7.2f | ", kind_names[textbook->kind], contestant_seconds(textbook) / seconds,
                   contestant_cpu_seconds(textbook) / cpu_s);
        }
        printf("%8.2f %10.1f %8.1e | %15.4f %8.4f %8.4f\n", (double)c->substeps / c->steps,
               (double)c->iterations / c->steps, (double)c->residual_max, m->at_front[i].front_m,
               m->at_end[i].center_m[0], m->at_end[i].center_m[1]);
    }
}

static void print_stages(const contestant *c)
{
    const char *names[CONTESTANT_STAGES_MAX];
    const uint32_t count = contestant_stages(c, names);
    printf("  %-15s %u thread%s, ms/step:", kind_names[c->kind], c->threads, c->threads == 1 ? " " : "s");
    for (uint32_t i = 0; i < count; i++) {
        if (c->stage_s[i] > 0.0) {
            printf("  %s %.2f", names[i], 1e3 * c->stage_s[i] / c->steps);
        }
    }
    if (c->volume_iterations > 0) {
        printf("  (volume: %.1f iterations)", (double)c->volume_iterations / c->steps);
    }
    printf("\n");
}

static bool compare(const bench_options *options, uint32_t particles, match *m)
{
    tarn_tank_desc desc;
    if (options->is_pool) {
        describe_pool(&desc, particles);
    } else {
        describe_dam_break(&desc, particles);
    }
    bool good = match_open(m, &desc, options);
    tarn_status status = TARN_OK;
    for (uint32_t round = 0; good && status == TARN_OK && round < options->rounds; round++) {
        status = match_round(m, &desc, options, round + 1 == options->rounds);
    }
    if (status != TARN_OK) {
        fprintf(stderr, "bench_liquid: %s\n", tarn_status_text(status));
    }
    good = good && status == TARN_OK;
    if (good) {
        print_head(options->steps < FRONT_STEP ? options->steps : FRONT_STEP, options->steps, (double)desc.dt_s);
        print_match(m, &desc);
        for (uint32_t i = 0; i < m->count; i++) {
            print_stages(&m->contestants[i]);
        }
        printf("\n");
        fflush(stdout);
    }
    match_close(m);
    return good;
}

static bool print_comparison(const bench_options *options)
{
    static const uint32_t sizes[] = {50000, 100000, 200000, 500000};
    const size_t count = options->particles != 0 ? 1 : options->quick ? 2 : sizeof sizes / sizeof sizes[0];
    printf("Tarn and the textbook's FLIP: %s, %u steps of 1/60 s, least of %u rounds in turns.\n"
           "Each textbook's solver is followed by what is compared with it:\n"
           "  textbook, full   has Tarn's accuracy: third order in time, ghost fluid surface, volume correction.\n"
           "  textbook, plain  is less accurate than any Tarn: second order, first-order surface, no correction.\n"
           "                   Bare is Tarn without the correction of the volume, its only simplification.\n"
           "The textbook's run on one thread, compiled with " TARN_TEXTBOOK_FLAGS ".\n\n",
           options->is_pool ? "a pool at rest" : "a dam break from the start", options->steps, options->rounds);
    match *m = calloc(1, sizeof *m);
    bool good = m != NULL;
    if (!good) {
        fprintf(stderr, "bench_liquid: %s\n", tarn_status_text(TARN_E_MEMORY));
    }
    for (size_t i = 0; good && i < count; i++) {
        good = compare(options, options->particles != 0 ? options->particles : sizes[i], m);
    }
    free(m);
    return good;
}

// -------------------------------------------------------------------------------------------------------------- growth

static void print_growth_head(void)
{
    const char *const format = "%9s %5s %8s %10s %9s %11s %11s %11s %9s %10s %9s %9s %8s\n";
    printf(format, "", "", "substeps", "iterations", "", "ms/step", "ms/substep", "CPU ms", "M part.-", "M part.-",
           "bytes/", "bytes/", "in all");
    printf(format, "particles", "cells", "per step", "(last)", "ms/step", "per million", "per million", "per million",
           "steps/s", "substeps/s", "particle", "act. cell", "MB");
}

static void print_growth_row(const contestant *c, const tarn_tank_desc *desc)
{
    tarn_tank_report report;
    tarn_tank_report_light(c->tank, &report);
    const double step_ms = 1e3 * contestant_seconds(c) / c->steps, millions = 1e-6 * c->particle_count;
    const double substeps = (double)c->substeps / c->steps;
    printf("%9u %3u^3 %8.2f %10.1f %9.2f %11.2f %11.2f %11.2f %9.2f %10.2f %9llu %9llu %8.1f\n", c->particle_count,
           desc->cells[0], substeps, (double)c->iterations / c->steps, step_ms, step_ms / millions,
           step_ms / substeps / millions, 1e3 * contestant_cpu_seconds(c) / (double)c->substeps / millions,
           million_per_s(c, c->steps), million_per_s(c, (double)c->substeps), (unsigned long long)report.particle_bytes,
           (unsigned long long)report.cell_bytes, 1e-6 * (double)report.bytes);
    print_stages(c);
    fflush(stdout);
}

static bool grow(const bench_options *options, uint32_t particles)
{
    tarn_tank_desc desc;
    contestant c;
    char why[256] = "";
    describe_dam_break(&desc, particles);
    if (!contestant_open(&c, CONTESTANT_TARN, &desc, options->threads, options->isa, options->steps, why, sizeof why)) {
        fprintf(stderr, "bench_liquid: %s\n", why);
        return false;
    }
    tarn_status status = TARN_OK;
    for (uint32_t round = 0; round < options->rounds && status == TARN_OK; round++) {
        status = contestant_begin(&c);
        if (status == TARN_OK) {
            status = contestant_steps(&c, options->steps);
        }
        contestant_end(&c);
    }
    if (status == TARN_OK) {
        print_growth_row(&c, &desc);
    } else {
        fprintf(stderr, "bench_liquid: %s\n", tarn_status_text(status));
    }
    contestant_close(&c);
    return status == TARN_OK;
}

static bool print_growth(const bench_options *options)
{
    static const uint32_t sizes[] = {50000, 100000, 200000, 500000, 1000000, 2000000};
    const size_t count = options->particles != 0 ? 1 : options->quick ? 3 : sizeof sizes / sizeof sizes[0];
    printf("Tarn alone, the same dam break in finer grids: %u threads, %u steps, least of %u rounds.\n"
           "A finer grid takes more substeps for the same time; per substep, also in CPU time, is what should stay.\n"
           "In all: with room for more particles, tables of tiles and coarser grids.\n\n",
           options->threads, options->steps, options->rounds);
    print_growth_head();
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = grow(options, options->particles != 0 ? options->particles : sizes[i]);
    }
    return good;
}

// ------------------------------------------------------------------------------------------------------------- options

enum { OPTION_QUICK = 256, OPTION_ROUNDS, OPTION_ISA, OPTION_COMPARE, OPTION_GROWTH, OPTION_POOL };

static error_t parse(int key, char *argument, struct argp_state *state)
{
    bench_options *options = state->input;
    switch (key) {
    case 't':
        options->threads = (uint32_t)tarn_option_number(state, "threads", argument, 1, TARN_DEVICE_THREADS_MAX);
        return 0;
    case 's':
        options->steps = (uint32_t)tarn_option_number(state, "steps", argument, 1, 100000);
        return 0;
    case OPTION_ROUNDS:
        options->rounds = (uint32_t)tarn_option_number(state, "rounds", argument, 1, 1000);
        return 0;
    case 'p':
        options->particles = (uint32_t)tarn_option_number(state, "particles", argument, 1000, TARN_TANK_PARTICLES_MAX);
        return 0;
    case OPTION_ISA:
        if (strcmp(argument, "v2") != 0 && strcmp(argument, "v3") != 0 && strcmp(argument, "v4") != 0) {
            argp_error(state, "--isa: found \"%s\", allowed are v2, v3 and v4", argument);
        }
        options->isa = argument;
        return 0;
    case OPTION_COMPARE:
        options->only_compare = true;
        return 0;
    case OPTION_GROWTH:
        options->only_growth = true;
        return 0;
    case OPTION_POOL:
        options->is_pool = options->only_compare = true;
        return 0;
    case OPTION_QUICK:
        options->quick = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argument_count, char **arguments)
{
    static const struct argp_option table[] = {
        {"quick", OPTION_QUICK, NULL, 0, "smaller tanks, 20 steps, 2 rounds: under a minute", 0},
        {"threads", 't', "N", 0, "1 to 256; default: one per processor. Tarn is also compared on one thread", 0},
        {"steps", 's', "N", 0, "in a round, 1 to 100000; default: 60", 0},
        {"rounds", OPTION_ROUNDS, "N", 0, "1 to 1000; default: 3", 0},
        {"particles", 'p', "N", 0, "one size of about so many, 1000 to 16777216; default: several", 0},
        {"isa", OPTION_ISA, "ISA", 0, "of Tarn's kernels: v2, v3, v4; default: the best of the processor", 0},
        {"compare", OPTION_COMPARE, NULL, 0, "only the comparison", 0},
        {"pool", OPTION_POOL, NULL, 0, "only the comparison, of a pool at rest, which should stay so", 0},
        {"growth", OPTION_GROWTH, NULL, 0, "only the growth", 0},
        {0},
    };
    static const struct argp argp = {.options = table,
                                     .parser = parse,
                                     .doc = "Measures the liquid beside a textbook's FLIP, and how its cost grows."};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bench_options options = {.threads = processors > TARN_DEVICE_THREADS_MAX ? TARN_DEVICE_THREADS_MAX
                                        : processors > 0                     ? (uint32_t)processors
                                                                             : 1};
    argp_parse(&argp, argument_count, arguments, 0, NULL, &options);
    options.steps = options.steps != 0 ? options.steps : options.quick ? 20 : 60;
    options.rounds = options.rounds != 0 ? options.rounds : options.quick ? 2 : 3;
#ifdef TARN_BENCH_NEEDS_AVX2
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        fprintf(stderr, "bench_liquid: the processor has no AVX2, for which the textbook's solver was compiled\n");
        return EXIT_FAILURE;
    }
#endif
    const bool compared = options.only_growth || print_comparison(&options);
    return compared && (options.only_compare || print_growth(&options)) ? EXIT_SUCCESS : EXIT_FAILURE;
}
