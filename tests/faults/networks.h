/// What one viewer on a bad network costs the others: a table, a row for each kind of network.
#ifndef TARN_TESTS_FAULTS_NETWORKS_H
#define TARN_TESTS_FAULTS_NETWORKS_H

#include <stdbool.h>

enum { NETWORKS_TURNS = 5 };

/// Runs rows and prints their table, in a network namespace of their own; where there can be none each is skipped.
/// @param is_wanted  whether a row is to be run
/// @param turns      with the bad viewer, and as many without it, by turns; 1..1000
/// @param ran        receives how many rows there were  @return how many of them failed
int networks_run(bool (*is_wanted)(const char *row), int turns, int *ran);

/// The name of a row; NULL behind the last one.
const char *networks_name(unsigned index);

#endif
