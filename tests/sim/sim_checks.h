/// What is checked as time passes, when all is quiet, and at the end.
#ifndef TARN_TESTS_SIM_SIM_CHECKS_H
#define TARN_TESTS_SIM_SIM_CHECKS_H

#include "tests/sim/sim.h"

/// Now and then.
void sim_check_queues(void);

/// When all is quiet: @return whether everything is as it must be, or may yet be
bool sim_check_is_quiet(void);

/// Calls at all sessions with all their keys; then, later, looks whether all could come in.
void sim_check_call(void);
void sim_check_answers(void);
void sim_check_taken(void);

/// The gateway has ended by itself.
void sim_check_released(int status);

#endif
