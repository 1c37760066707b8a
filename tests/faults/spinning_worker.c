// tarn-worker that spins for ever in whatever it is doing, for `tarnd --worker`: at SIGUSR1.
#include <signal.h>
#include <stddef.h>

static void spin(int signal_number)
{
    (void)signal_number;
    static volatile unsigned turns;
    for (;;) {
        turns = turns + 1;
    }
}

__attribute__((constructor)) static void listen_for_it(void)
{
    signal(SIGUSR1, spin);
}
