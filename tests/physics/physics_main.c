// Runs cases and prints the table of their figures. CTest runs each case as a program of its own with --rows, and
// tests/run then prints the table of them all with --table.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

typedef struct physics_case {
    const char *name;
    void (*run)(void);
} physics_case;

/// In the order of the table.
static const physics_case cases[] = {
    {"v1", physics_rest},
    {"v2", physics_volume},
    {"v3", physics_wave},
    {"v4", physics_column},
    {"v5", physics_gauges},
    {"v6", physics_spin},
    {"v7", physics_divergence},
    {"v7_multigrid", physics_multigrid},
    {"v7_large", physics_multigrid_large},
    {"v8", physics_mirror},
    {"v9", physics_lock_exchange},
    {"v10", physics_rayleigh_taylor},
    {"v13", physics_disc},
    {"v14", physics_kelvin_helmholtz},
    {"v15", physics_taylor_green},
    {"v16", physics_light_ball},
    {"v11", physics_vortex_ring},
    {"v16_vortons", physics_heavy_drop},
    {"leapfrog", physics_leapfrog},
    {"head_on", physics_head_on},
    {"v9_vortons", physics_vorton_lock_exchange},
    {"v14_vortons", physics_vorton_kelvin_helmholtz},
    {"v17", physics_float},
    {"v17_heave", physics_heave},
    {"shear", physics_shear},
    {"viscosity", physics_viscosity},
    {"viscous", physics_viscous},
    {"fall", physics_fall},
    {"still", physics_still},
    {"calm", physics_calm},
    {"turn", physics_turn},
    {"tension", physics_tension},
    {"wet_bed", physics_wet_bed},
    {"added_mass", physics_added_mass},
    {"seiche", physics_seiche},
    {"emulsion", physics_emulsion},
    {"sealed", physics_sealed},
    {"smoke_ball", physics_smoke_ball},
    {"smoke_taylor_green", physics_smoke_taylor_green},
    {"smoke_lock", physics_smoke_lock_exchange},
    {"smoke_layers", physics_smoke_layers},
    {"smoke_sleep", physics_smoke_sleep},
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct physics_options {
    const char *rows; ///< folder, or NULL
    bool table, markdown;
    bool chosen[CASES];
} physics_options;

static bool is_long;

bool physics_long(void)
{
    return is_long;
}

static void usage(FILE *to)
{
    fputs("Usage: physics_cases [--markdown] [--long] [--rows FOLDER] [CASE...]\n"
          "       physics_cases [--markdown] --rows FOLDER --table\n\n"
          "Runs the cases named, by default all, and prints the table of their figures.\n\n"
          "  --rows FOLDER  also saves the rows of each case as FOLDER/CASE.rows\n"
          "  --table        runs nothing: prints the rows that were saved\n"
          "  --long         every combination of the cases that else try a few: calm\n"
          "  --markdown     the table as Markdown\n\n"
          "Cases:",
          to);
    for (int i = 0; i < CASES; i++) {
        fprintf(to, " %s", cases[i].name);
    }
    fputs("\n", to);
}

static int choose(physics_options *options, const char *name)
{
    for (int i = 0; i < CASES; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            options->chosen[i] = true;
            return 0;
        }
    }
    fprintf(stderr, "physics_cases: found \"%s\", allowed are options and cases:\n", name);
    usage(stderr);
    return -1;
}

/// @return 0: go on, 1: done, -1: refused
static int read_options(int argc, char **argv, physics_options *options)
{
    bool named = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            usage(stdout);
            return 1;
        }
        if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc) {
            options->rows = argv[++i];
        } else if (strcmp(argv[i], "--table") == 0) {
            options->table = true;
        } else if (strcmp(argv[i], "--long") == 0) {
            is_long = true;
        } else if (strcmp(argv[i], "--markdown") == 0) {
            options->markdown = true;
        } else if (choose(options, argv[i]) == 0) {
            named = true;
        } else {
            return -1;
        }
    }
    if (options->table && options->rows == NULL) {
        fputs("physics_cases: --table needs --rows FOLDER\n", stderr);
        return -1;
    }
    for (int i = 0; i < CASES && !named; i++) {
        options->chosen[i] = true;
    }
    return 0;
}

static void rows_path(const physics_options *options, int number, char *path)
{
    snprintf(path, PATH_BYTES, "%s/%s.rows", options->rows, cases[number].name);
}

static bool case_ended;

static void run_case(void **state)
{
    const physics_case *it = *state;
    it->run();
    case_ended = true;
    if (physics_table_missed() > 0) {
        fail_msg("%d required figures of %s are not within their bounds", physics_table_missed(), it->name);
    }
}

/// Runs a case and keeps its rows.
static int run_and_save(const physics_options *options, int number)
{
    char path[PATH_BYTES];
    if (options->rows != NULL) {
        rows_path(options, number, path);
        unlink(path);
    }
    physics_table_begin();
    case_ended = false;
    const struct CMUnitTest test[] = {
        {cases[number].name, run_case, NULL, NULL, (void *)(uintptr_t)&cases[number]},
    };
    int failed = cmocka_run_group_tests_name("physics", test, NULL, NULL);
    if (!case_ended) {
        physics_table_lost(cases[number].name);
    }
    if (options->rows != NULL && physics_table_save(path) != 0) {
        fprintf(stderr, "physics_cases: can't write %s: %s\n", path, strerror(errno));
        failed = 1;
    }
    return failed;
}

static int print_saved(const physics_options *options)
{
    int lost = 0;
    for (int i = 0; i < CASES; i++) {
        char path[PATH_BYTES];
        rows_path(options, i, path);
        if (options->chosen[i] && physics_table_load(path) != 0) {
            physics_table_lost(cases[i].name);
            lost++;
        }
    }
    physics_table_print(stdout, options->markdown);
    return lost;
}

int main(int argc, char **argv)
{
    physics_options options = {0};
    const int read = read_options(argc, argv, &options);
    if (read != 0) {
        return read < 0 ? 2 : 0;
    }
    if (options.table) {
        return print_saved(&options) > 0;
    }
    if (options.rows != NULL && mkdir(options.rows, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "physics_cases: can't make the folder %s: %s\n", options.rows, strerror(errno));
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < CASES; i++) {
        if (options.chosen[i]) {
            failed += run_and_save(&options, i);
        }
    }
    physics_table_print(stdout, options.markdown);
    return failed > 0;
}
