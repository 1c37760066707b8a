// Any bytes as a log of inputs, which is replayed into a tank as far as it goes: an error has a sentence, and whatever
// came of it, the tank loads its start again. Begin at LLVMFuzzerTestOneInput.
//
// A step takes many times as long as its record: one log in so many is stepped, by its bytes; of the others each step
// is read and admitted. What steps make of an input is fuzz_input's.
//
// With TARN_FUZZ_SEEDS=FOLDER a log to begin with is written there.
#include "server/log/inputs.h"
#include "tests/fuzz/tiny_tank.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

enum { STEPS_MAX = 12, HOLD = 2, RESET = 5, ALL = 7, STEPS = 9, STEPPED_SHARE = 64 };

static tarn_tank *tank;
static tarn_input_log_head head;
static uint8_t start[TINY_TANK_STATE_BYTES];
static size_t start_bytes;
static int memory; // a file in it
static bool steps; // whether this log is stepped

tarn_status __wrap_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);
tarn_status __real_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);
tarn_status __wrap_tarn_tank_reset(tarn_tank *tank);
tarn_status __real_tarn_tank_reset(tarn_tank *tank);

tarn_status __wrap_tarn_tank_step(tarn_tank *of, const tarn_step_input *input)
{
    return steps ? __real_tarn_tank_step(of, input) : TARN_OK;
}

tarn_status __wrap_tarn_tank_reset(tarn_tank *of)
{
    return steps ? __real_tarn_tank_reset(of) : TARN_OK;
}

static void must(tarn_status status, const char *what)
{
    tiny_tank_must(status == TARN_OK, what, status);
}

/// A log with everything in it.
static void write_seed(FILE *file)
{
    static tarn_input_log log;
    static tarn_step_input input;
    must(tarn_input_log_begin(&log, file, &head), "a log");
    for (int i = 0; i < STEPS; i++) {
        if (i == HOLD) {
            input = (tarn_step_input){
                .holds = true, .parameter_count = 1, .parameters = {{0, tarn_tank_parameter(tank, 0)}}};
            must(tarn_input_log_step(&log, &input), "a log");
        } else if (i == RESET) {
            must(tarn_input_log_reset(&log), "a log");
        }
        memset(&input, 0, sizeof input);
        if (i == ALL) {
            tiny_tank_input(tank, &input);
        }
        must(tarn_input_log_step(&log, &input), "a log");
    }
    must(tarn_input_log_end(&log, NULL), "a log");
    tiny_tank_must(fclose(file) == 0, "a log", TARN_E_IO);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tarn_tank_desc desc;
    tank = tiny_tank(&desc);
    memory = memfd_create("log", MFD_CLOEXEC);
    tiny_tank_must(memory >= 0, "a file", TARN_E_IO);
    steps = true;
    must(tarn_input_log_head_of(tank, &desc, "tiny", &head), "the head");
    must(tarn_tank_save(tank, start, sizeof start, &start_bytes), "saving");
    FILE *file = tiny_tank_open_seed("all");
    if (file != NULL) {
        write_seed(file);
    }
    return 0;
}

/// Replays into whatever tank, as far as the log goes.
static tarn_status replay_all(tarn_input_replay *replay)
{
    tarn_status status = TARN_OK;
    for (int i = 0; i < STEPS_MAX && status == TARN_OK && replay->at.steps < replay->steps; i++) {
        status = tarn_input_replay_step(replay, tank);
    }
    return status == TARN_OK && replay->at.steps == replay->steps ? tarn_input_replay_finish(replay, tank) : status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static tarn_input_replay replay;
    uint32_t sum = 0;
    for (size_t i = 0; i < byte_count; i++) {
        sum = 31 * sum + bytes[i];
    }
    steps = sum % STEPPED_SHARE == 0;
    tiny_tank_must(ftruncate(memory, 0) == 0 && pwrite(memory, bytes, byte_count, 0) == (ssize_t)byte_count, "the file",
                   TARN_E_IO);
    tarn_status status = tarn_input_replay_open(&replay, "the log", fdopen(dup(memory), "rb"));
    if (status == TARN_OK) {
        if (tarn_input_replay_fits(&replay, &head) != TARN_OK) {
            tiny_tank_must(replay.why[0] != '\0', "no sentence", TARN_E_ARGUMENT);
            replay.why[0] = '\0';
        }
        status = replay_all(&replay);
        tarn_input_replay_close(&replay);
        if (steps) {
            must(tarn_tank_load(tank, start, start_bytes), "loading the start");
        }
    }
    tiny_tank_must((status != TARN_OK) == (replay.why[0] != '\0'), "an error without a sentence", status);
    tiny_tank_must(status != TARN_E_UNSTABLE && status != TARN_E_MEMORY && status != TARN_E_DEVICE &&
                       status != TARN_E_IO,
                   replay.why, status);
    return 0;
}
