/// What thousands of viewers that come and go leave behind: a table, a row for each way of going.
#ifndef TARN_TESTS_FAULTS_RECONNECTS_H
#define TARN_TESTS_FAULTS_RECONNECTS_H

#include <stdbool.h>
#include <stdio.h>

enum { RECONNECTS = 10000, RECONNECTS_OF_A_MOMENT = 50 };

/// Runs rows and prints their table.
/// @param is_wanted  whether a row is to be run  @param count  of connections, 100..1000000
/// @param ran        receives how many rows there were  @return how many of them failed
int reconnects_run(bool (*is_wanted)(const char *row), int count, int *ran);

/// The name of a row; NULL behind the last one.
const char *reconnects_name(unsigned index);

#endif
