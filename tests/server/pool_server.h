/// What most tests of a server share: one that runs the small pool, from the first test of a program to the last.
#ifndef TARN_TESTS_SERVER_POOL_SERVER_H
#define TARN_TESTS_SERVER_POOL_SERVER_H

#include "tests/server/server_process.h"

extern server_process pool_server;

/// For cmocka_run_group_tests.
int pool_server_start(void **state);
int pool_server_stop(void **state);

#endif
