// tarn-worker with a simulation that fails, for `tarnd --worker`: the linker puts this tarn_tank_step in front of the
// kernels' own (--wrap). TARN_TEST_UNSTABLE_CALLS names the calls that fail, ascending: "150,170". Made again they fail
// again. One that sets a parameter to TARN_TEST_GREEDY is killed, as one that takes all memory is.
#include "kernels/step_input.h"
#include "server/worker/resume.h"

#include <signal.h>
#include <stdlib.h>

tarn_status __real_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);
tarn_status __wrap_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);

static bool is_greedy(const tarn_step_input *input)
{
    const char *value = getenv("TARN_TEST_GREEDY");
    for (uint32_t i = 0; i < input->parameter_count && value != NULL; i++) {
        if (input->parameters[i].value == strtof(value, NULL)) {
            return true;
        }
    }
    return false;
}

tarn_status __wrap_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input)
{
    static const char *calls;
    static unsigned long call;
    call++;
    if (is_greedy(input)) {
        raise(SIGKILL);
    }
    if (calls == NULL && (calls = getenv("TARN_TEST_UNSTABLE_CALLS")) == NULL) {
        calls = "";
    }
    // What comes out of a step that fails is not to be relied upon: some of it may have happened.
    tarn_status status = __real_tarn_tank_step(tank, input);
    char *end;
    if (status != TARN_OK || strtoul(calls, &end, 10) != call) {
        return status;
    }
    calls = *end == ',' ? end + 1 : end;
    return TARN_E_UNSTABLE;
}

tarn_status __wrap_tarn_worker_redo(tarn_worker_tank *tank);

tarn_status __wrap_tarn_worker_redo(tarn_worker_tank *tank)
{
    (void)tank;
    return TARN_E_UNSTABLE;
}
