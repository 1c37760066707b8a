// Any bytes as a step's input. What its reader accepts has the same bytes when it is written; what a tank admits of it
// is done, and what it refuses is refused by the step, too. Begin at LLVMFuzzerTestOneInput.
//
// With TARN_FUZZ_SEEDS=FOLDER inputs to begin with are written there.
#include "tests/fuzz/tiny_tank.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

static tarn_tank *tank;
static uint8_t start[TINY_TANK_STATE_BYTES], again[TARN_STEP_INPUT_BYTES_MAX];
static size_t start_bytes;
static tarn_step_input input;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    tank = tiny_tank(NULL);
    tiny_tank_must(tarn_tank_step(tank, NULL) == TARN_OK, "a step", TARN_OK);
    tiny_tank_must(tarn_tank_save(tank, start, sizeof start, &start_bytes) == TARN_OK, "saving", TARN_OK);
    tiny_tank_input(tank, &input);
    tiny_tank_write_seed("all", again, tarn_step_input_write(&input, again, sizeof again));
    const tarn_step_input pause = {.holds = true, .pause = TARN_STEP_PAUSE_BEGINS};
    tiny_tank_write_seed("pause", again, tarn_step_input_write(&pause, again, sizeof again));
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    static tarn_step_refusals refusals;
    if (tarn_step_input_read(bytes, byte_count, &input) != TARN_OK) {
        return 0;
    }
    const size_t count = tarn_step_input_write(&input, again, sizeof again);
    tiny_tank_must(count == byte_count && memcmp(again, bytes, count) == 0, "other bytes", TARN_E_MALFORMED);
    tarn_status status = tarn_tank_admit(tank, &input, &refusals);
    tiny_tank_must(status == TARN_OK || (status == TARN_E_ARGUMENT && refusals.why[0] != '\0'), "admitting", status);
    if (status == TARN_OK) {
        status = tarn_tank_step(tank, &input);
        tiny_tank_must(status == TARN_OK, "the step", status);
        status = tarn_tank_step(tank, NULL);
        tiny_tank_must(status == TARN_OK, "the next step", status);
        status = tarn_tank_load(tank, start, start_bytes);
        tiny_tank_must(status == TARN_OK, "loading", status);
    } else {
        status = tarn_tank_step(tank, &input);
        tiny_tank_must(status == TARN_E_ARGUMENT, "a step that isn't admitted", status);
    }
    return 0;
}
