// Compares the CUDA device with the CPU on a bare machine, section by section; `run` gives each section a process of
// its own. Begin at `sections`.
//
// Exit status: 0 when all agree; 1 when something differs, or a GPU is there and can't be used; 3 when a device hung
// (gpu_watch.h); 77 when there is no GPU (the CPU is compared with itself all the same).
#include "tests/gpu/gpu_costs.h"
#include "tests/gpu/gpu_tanks.h"
#include "tests/gpu/gpu_watch.h"
#include "tests/kernels/dialect_checks.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SKIPPED = 77, OPTION_WITHOUT = 1, OPTION_GPU_ALONE };

static void check_dialect(const gpu_devices *list)
{
    gpu_print_columns("Kernel dialect", list);
    for (uint32_t i = 0; i < dialect_check_count && gpu_watch_has_time(dialect_checks[i].name); i++) {
        char wrong[GPU_DEVICES_MAX][256];
        printf("    %-36s", dialect_checks[i].name);
        for (uint32_t d = 0; d < list->count; d++) {
            gpu_watch_note("%s on %s", dialect_checks[i].name, tarn_device_name(list->of[d]));
            const int is_wrong = dialect_check_run(&dialect_checks[i], list->of[d]);
            snprintf(wrong[d], sizeof wrong[d], "%s", is_wrong ? dialect_check_message() : "");
            printf("%22s", is_wrong ? "WRONG" : "right");
        }
        printf("\n");
        for (uint32_t d = 0; d < list->count; d++) {
            if (wrong[d][0] != '\0') {
                gpu_failure("%s on %s: %s", dialect_checks[i].name, tarn_device_name(list->of[d]), wrong[d]);
            }
        }
    }
}

/// Nothing but what opening them has shown.
static void check_devices(const gpu_devices *list)
{
    (void)list;
}

/// What launches cost that wait for each other: kernels/README.md reckons with it.
static void print_costs(const gpu_devices *list)
{
    double us[GPU_DEVICES_MAX][GPU_COSTS];
    gpu_print_columns("Launches that wait: us each", list);
    for (uint32_t d = 0; d < list->count; d++) {
        gpu_watch_note("launches that wait, on %s", tarn_device_name(list->of[d]));
        if (!gpu_costs(list->of[d], us[d], gpu_tanks_are_quick())) {
            gpu_failure("%s: %s", tarn_device_name(list->of[d]), tarn_device_error(list->of[d]));
            return;
        }
    }
    for (uint32_t i = 0; i < GPU_COSTS; i++) {
        printf("    %-36s", gpu_cost_names[i]);
        for (uint32_t d = 0; d < list->count; d++) {
            printf("%22.3f", us[d][i]);
        }
        printf("\n");
    }
}

/// By worth: what comes first is what the first minutes are for.
static const struct {
    const char *name;
    void (*run)(const gpu_devices *list);
    const char *what;
} sections[] = {
    {"devices", check_devices, "whether there are GPUs, and can be used"},
    {"dialect", check_dialect, "the kernel dialect"},
    {"tanks", gpu_check_tanks, "tanks by their state after every step and every frame"},
    {"large", gpu_check_large, "the same of 100 000 and 2 000 000 particles"},
    {"beside", gpu_check_beside, "frames that are coded while their tank steps on"},
    {"budget", gpu_print_budget, "a substep's stages: ms, bytes, share of the floor, launches"},
    {"crowd", gpu_check_crowd, "64 tanks that take turns"},
    {"many", gpu_print_many, "how fast many tanks go at once"},
    {"rebuilds", gpu_check_rebuilds, "tanks that end and are made anew beside others"},
    {"faults", gpu_check_faults, "what goes wrong in one tank alone"},
    {"costs", print_costs, "what a launch costs that waits for another one"},
    {"moves", gpu_check_moves, "saved states that go on on the other device"},
    {"stages", gpu_print_stages, "the stages with waits between them"},
    {"poison", gpu_check_poison, "a GPU after an access beyond its memory; ends the process's use of it"},
};
enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

typedef struct options {
    bool is_quick, is_gpu_alone, wanted[SECTION_COUNT];
    uint32_t gpus, without, wanted_count;
    double seconds;
} options;

static void want(struct argp_state *state, options *o, const char *name)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        if (strcmp(sections[i].name, name) == 0) {
            o->wanted[i] = true;
            o->wanted_count++;
            return;
        }
    }
    argp_error(state, "found \"%s\", allowed is a section that --help names", name);
}

static double number(struct argp_state *state, const char *option, const char *text, double min, double max)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= min && value <= max)) {
        argp_error(state, "%s: found \"%s\", allowed is %g to %g", option, text, min, max);
    }
    return value;
}

static uint32_t read_without(struct argp_state *state, const char *text)
{
    static const char *const words[] = {"loops", "chains", "replays"}; // by their bits
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            return 1u << i;
        }
    }
    argp_error(state, "--without: found \"%s\", allowed are loops, chains and replays", text);
    return 0;
}
_Static_assert(TARN_DEVICE_WITHOUT_LOOPS == 1 && TARN_DEVICE_WITHOUT_CHAINS == 2 && TARN_DEVICE_WITHOUT_REPLAYS == 4,
               "bits of read_without's words");

static error_t parse(int key, char *text, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case 'q':
        o->is_quick = true;
        return 0;
    case 's':
        o->seconds = number(state, "--seconds", text, 1.0, 86400.0);
        return 0;
    case 'g':
        o->gpus = (uint32_t)number(state, "--gpus", text, 0.0, GPU_DEVICES_MAX - 1);
        return 0;
    case OPTION_GPU_ALONE:
        o->is_gpu_alone = true;
        return 0;
    case OPTION_WITHOUT:
        o->without |= read_without(state, text);
        return 0;
    case ARGP_KEY_ARG:
        want(state, o, text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/// The sections' lines of --help.
static char *help(int key, const char *text, void *input)
{
    (void)input;
    char *all = NULL;
    size_t bytes = 0;
    FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&all, &bytes) : NULL;
    if (stream == NULL) {
        return (char *)text;
    }
    for (int i = 0; i < SECTION_COUNT; i++) {
        fprintf(stream, "%-10s %s\n", sections[i].name, sections[i].what);
    }
    fclose(stream);
    return all;
}

static int end(const gpu_devices *list)
{
    printf("\n");
    for (uint32_t d = 0; d < list->count; d++) {
        const char *refused = tarn_device_refused(list->of[d]);
        if (refused[0] != '\0') {
            printf("%c goes without: %s\n", 'A' + (int)d, refused);
        }
    }
    if (gpu_failures() > 0) {
        printf("failed: %u\n", gpu_failures());
        return EXIT_FAILURE;
    }
    if (list->cuda_count == 0) {
        printf("skipped: no GPU%s; the CPU agrees with itself\n",
               tarn_device_has_cuda() ? "" : ", and no CUDA in this build (no nvcc was found)");
        return EXIT_SKIPPED;
    }
    printf("passed%s: %u CUDA device%s and the CPU agree\n", gpu_watch_left_out() > 0 ? " as far as it went" : "",
           list->cuda_count, list->cuda_count == 1 ? "" : "s");
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"quick", 'q', NULL, 0, "small tanks, few steps", 0},
        {"seconds", 's', "N", 0, "begin nothing later than that, and end what hangs; default: as long as it takes", 0},
        {"gpus", 'g', "N", 0, "of those that there are; default: all", 0},
        {"gpu-alone", OPTION_GPU_ALONE, NULL, 0, "without the CPU, where there is a GPU", 0},
        {"without", OPTION_WITHOUT, "loops|chains|replays", 0, "GPUs don't use these; may be given several times", 0},
        {0}};
    static const struct argp argp = {.options = known,
                                     .parser = parse,
                                     .args_doc = "[SECTION...]",
                                     .doc = "Compares GPUs with the CPU. Sections, all without one:\v",
                                     .help_filter = help};
    options o = {.gpus = GPU_DEVICES_MAX - 1};
    gpu_devices list;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    setvbuf(stdout, NULL, _IONBF, 0); // what hangs or is cut off has shown all that it did
    if (o.seconds > 0.0) {
        gpu_watch_start(o.seconds);
    }
    gpu_tanks_quick(o.is_quick);
    gpu_devices_open(&list, o.gpus, o.without, o.is_gpu_alone);
    for (int i = 0; i < SECTION_COUNT; i++) {
        if ((o.wanted_count == 0 || o.wanted[i]) && gpu_watch_has_time(sections[i].name)) {
            sections[i].run(&list);
        }
    }
    const int status = end(&list);
    gpu_devices_close(&list);
    return status;
}
