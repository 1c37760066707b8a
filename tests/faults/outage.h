/// A server that keeps its tanks is killed, again and again, while they run and are played with; the next one takes the
/// same folder, and its viewers come back by the same links. Before that somebody may kill its workers, one after the
/// other before they have got anywhere, beside other programs that take all processors.
#ifndef TARN_TESTS_FAULTS_OUTAGE_H
#define TARN_TESTS_FAULTS_OUTAGE_H

#include "tests/faults/strikes.h"

enum { OUTAGE_TANKS = 3 };

typedef struct outage_result {
    int moments;
    int worker_kills;
    unsigned set_backs;        ///< frames that were older than one before, or of a tank under another epoch, without an
                               ///< outage; tanks that came back with less than their files had
    unsigned long long inputs; ///< sent
    unsigned viewers_gone;     ///< that didn't get back into their session, with their role
    unsigned tanks_afresh;     ///< that are not what they were
    unsigned files_damaged;
    double lost_ms;       ///< since the first of the frames that viewers had seen and that are gone was made; the most
    double said_ms;       ///< that the server had said it would be at most, just before; the most
    unsigned lost_unsaid; ///< tanks that lost more than that
    double *back_s;       ///< owned; until all three see their tank again
} outage_result;

void outage_run(const server_fault *plan, int moments, unsigned seed, outage_result *result);
void outage_free(outage_result *result);

#endif
