// tarn-worker in whose memory a number goes wrong, for `tarnd --worker`: at SIGUSR1 some particle of the tank that is
// stepped next has a velocity that is none. On the CPU device, whose memory is the process' own.
#include "kernels/step_input.h"
#include "kernels/tank/tank_internal.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

tarn_status __real_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);
tarn_status __wrap_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input);

static volatile sig_atomic_t is_due;

static void note(int signal_number)
{
    (void)signal_number;
    is_due = 1;
}

__attribute__((constructor)) static void listen_for_it(void)
{
    signal(SIGUSR1, note);
}

tarn_status __wrap_tarn_tank_step(tarn_tank *tank, const tarn_step_input *input)
{
    static unsigned seed = 1;
    if (is_due && tank->particle_count > 0) {
        is_due = 0;
        tank->args->store.velocity[rand_r(&seed) % 3][(unsigned)rand_r(&seed) % tank->particle_count] = NAN;
    }
    return __real_tarn_tank_step(tank, input);
}
