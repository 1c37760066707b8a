/// Requests over HTTP: tanks are made, ended and moved, pages are read.
#ifndef TARN_TESTS_SIM_SIM_REQUEST_H
#define TARN_TESTS_SIM_SIM_REQUEST_H

#include "tests/sim/sim_viewer.h"

void sim_request_make(void);
void sim_request_end(const char *session, sim_pass pass);
void sim_request_move(const char *session, sim_pass pass, int worker);
void sim_request_back(const char *session, sim_pass pass);
void sim_request_fork(const char *session, sim_pass pass);
void sim_request_time(const char *session, sim_pass pass); ///< the past is asked for, a moment is marked, a speed set
void sim_request_read(void);

#endif
