#include "server/worker/turns.h"

int tarn_turns_pick(tarn_turns *turns, const uint64_t due_ns[TARN_WORKER_TANKS_MAX], uint64_t now_ns)
{
    const uint64_t credit_ns = TARN_WORKER_CREDIT_MS * (uint64_t)1000000;
    const uint64_t least_ns = turns->served_ns > credit_ns ? turns->served_ns - credit_ns : 0;
    int picked = -1;
    for (int i = 0; i < TARN_WORKER_TANKS_MAX; i++) {
        if (due_ns[i] > now_ns) {
            continue;
        }
        if (turns->used_ns[i] < least_ns) {
            turns->used_ns[i] = least_ns;
        }
        if (picked < 0 || turns->used_ns[i] < turns->used_ns[picked] ||
            (turns->used_ns[i] == turns->used_ns[picked] && due_ns[i] < due_ns[picked])) {
            picked = i;
        }
    }
    if (picked >= 0 && turns->used_ns[picked] > turns->served_ns) {
        turns->served_ns = turns->used_ns[picked];
    }
    return picked;
}

void tarn_turns_note(tarn_turns *turns, int place, uint64_t spent_ns)
{
    turns->used_ns[place] += spent_ns;
}
