// Lists, since a history is short. Begin at sim_ledger_take.
#include "tests/sim/sim_ledger.h"
#include "server/base/limits.h"

#include <stdlib.h>
#include <string.h>

static sim_person *people;
static sim_life *lives;
static uint32_t life_count;

sim_person *sim_ledger_people(void)
{
    return people;
}

sim_person *sim_ledger_join(uint32_t viewer_id, const char *session, tarn_role role, bool is_preview)
{
    sim_person *made = sim_make(sizeof *made);
    SIM_CHECK(PRIVATE, sim_ledger_person(viewer_id) == NULL, "two viewers have the number %u", viewer_id);
    made->viewer_id = viewer_id;
    made->role = made->role_most = role;
    made->is_preview = is_preview;
    made->is_there = true;
    memcpy(made->session, session, strlen(session) + 1);
    made->sent = sim_make(SIM_SENT_MAX * sizeof *made->sent);
    made->next = people;
    people = made;
    return made;
}

sim_person *sim_ledger_person(uint32_t viewer_id)
{
    sim_person *at = people;
    while (at != NULL && at->viewer_id != viewer_id) {
        at = at->next;
    }
    return at;
}

void sim_ledger_leave(sim_person *person)
{
    person->is_there = false;
}

/// Whether as many of a viewer's presses and releases wait as may: further ones are refused, and who is closed amid
/// that isn't told.
static bool waits_for_all_it_may(const sim_person *person)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < person->sent_count; i++) {
        waiting += person->sent[i].is_edge && person->sent[i].life == 0 && !person->sent[i].is_excused;
    }
    return waiting >= TARN_GATEWAY_WORKER_QUEUE_SHARE;
}

void sim_ledger_sent(sim_person *person, uint32_t sequence, uint32_t mark, bool is_edge, bool is_control)
{
    SIM_NEED(person->sent_count < SIM_SENT_MAX);
    person->sent[person->sent_count++] = (sim_sent){.sequence = sequence,
                                                    .mark = mark,
                                                    .is_edge = is_edge && !person->is_meddled,
                                                    .is_control = is_control,
                                                    .is_excused = waits_for_all_it_may(person)};
    sim_told->inputs++;
}

static void excuse(sim_person *person)
{
    for (uint32_t i = 0; i < person->sent_count; i++) {
        person->sent[i].is_excused |= person->sent[i].life == 0;
    }
}

void sim_ledger_meddle(sim_person *person, tarn_role role_most, bool is_freed)
{
    excuse(person);
    person->is_meddled = true;
    person->role_most = role_most > person->role_most ? role_most : person->role_most;
    for (uint32_t i = 0; i < person->sent_count && is_freed; i++) {
        person->sent[i].is_void = false;
    }
}

void sim_ledger_excuse(const char *session)
{
    for (sim_person *at = people; at != NULL; at = at->next) {
        if (session == NULL || strcmp(at->session, session) == 0) {
            excuse(at);
        }
    }
}

// What is sent to three workers that die isn't sent again: it may be what ends them, also before they have the tank.
void sim_ledger_worker_died(void)
{
    for (sim_person *at = people; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->sent_count; i++) {
            at->sent[i].deaths += at->sent[i].life == 0;
            at->sent[i].is_excused |= at->sent[i].life == 0 && at->sent[i].deaths >= 3;
        }
    }
}

// Of those who have left it isn't sent again either: what a worker has of them is no longer known.
void sim_ledger_tank_died(const char *session)
{
    for (sim_person *at = people; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->sent_count && !at->is_there && strcmp(at->session, session) == 0; i++) {
            at->sent[i].is_excused |= at->sent[i].life == 0;
        }
    }
}

sim_life *sim_ledger_begin(const char *session)
{
    sim_life *made = sim_make(sizeof *made);
    made->id = ++life_count;
    memcpy(made->session, session, strlen(session) + 1);
    made->room = 256;
    made->hashes = sim_make(made->room * sizeof *made->hashes);
    made->logged_ns = sim_make(made->room * sizeof *made->logged_ns);
    made->hashes[0] = sim_hash(made->id, session, strlen(session));
    made->logged_ns[0] = sim_now();
    made->next = lives;
    lives = made;
    sim_ledger_excuse(session);
    return made;
}

static void make_room(sim_life *life, uint64_t step)
{
    while (step >= life->room) {
        life->room *= 2;
    }
    life->hashes = realloc(life->hashes, life->room * sizeof *life->hashes);
    life->logged_ns = realloc(life->logged_ns, life->room * sizeof *life->logged_ns);
    SIM_NEED(life->hashes != NULL && life->logged_ns != NULL);
}

sim_life *sim_ledger_branch(const sim_life *before, const char *before_session, const char *session, uint64_t step,
                            uint64_t hash)
{
    SIM_CHECK(RESTORED,
              before != NULL && strcmp(before->session, before_session) == 0 && step <= before->step &&
                  before->hashes[step] == hash,
              "the tank of %s goes back to step %llu of %s with another hash, or as another session's", session,
              (unsigned long long)step, before_session);
    sim_life *made = sim_ledger_begin(session);
    make_room(made, step);
    memcpy(made->hashes, before->hashes, (step + 1) * sizeof *made->hashes);
    memcpy(made->logged_ns, before->logged_ns, (step + 1) * sizeof *made->logged_ns);
    made->step = step;
    return made;
}

sim_life *sim_ledger_life(uint32_t id)
{
    sim_life *at = lives;
    while (at != NULL && at->id != id) {
        at = at->next;
    }
    return at;
}

uint64_t sim_ledger_take(sim_life *life, uint32_t viewer_id, uint32_t sequence, uint32_t mark, bool is_parameter,
                         uint64_t hash)
{
    sim_person *person = sim_ledger_person(viewer_id);
    const uint32_t words[] = {viewer_id, sequence, mark};
    SIM_CHECK(PRIVATE, person != NULL && strcmp(person->session, life->session) == 0,
              "a tank of %s gets input %u of viewer %u, which isn't there", life->session, sequence, viewer_id);
    SIM_CHECK(ROLE, person->role_most >= (is_parameter ? TARN_ROLE_OWN : TARN_ROLE_PLAY) && !person->is_preview,
              "viewer %u, whose role is %d, %d at most, does something to %s: input %u, %s", viewer_id,
              (int)person->role, (int)person->role_most, life->session, sequence,
              is_parameter ? "a parameter" : "no parameter");
    sim_sent *found = NULL;
    for (uint32_t i = 0; i < person->sent_count; i++) {
        sim_sent *sent = &person->sent[i];
        if (sent->sequence == sequence) {
            found = sent;
            break;
        }
        SIM_CHECK(IN_ORDER, !sent->is_edge || sent->life != 0 || sent->is_excused,
                  "%s takes input %u of viewer %u, but not %u, which came before it", life->session, sequence,
                  viewer_id, sent->sequence);
    }
    SIM_CHECK(ONCE, found != NULL && found->mark == mark && !found->is_control,
              "%s takes input %u of viewer %u, which it didn't send so", life->session, sequence, viewer_id);
    SIM_CHECK(ONCE, found->life == 0, "%s takes input %u of viewer %u once more; it took it in step %llu",
              life->session, sequence, viewer_id, (unsigned long long)found->step);
    SIM_CHECK(ROLE, !found->is_void, "%s takes input %u of viewer %u, which knew that it was muted", life->session,
              sequence, viewer_id);
    found->life = life->id;
    found->step = life->step + 1;
    return sim_hash(hash, words, sizeof words);
}

void sim_ledger_step(sim_life *life, uint64_t step, uint64_t hash)
{
    SIM_NEED(step == life->step + 1);
    if (step >= life->room) {
        make_room(life, step);
    }
    life->step = step;
    life->hashes[step] = hash;
    life->logged_ns[step] = sim_now();
}

void sim_ledger_go_on(sim_life *life, const char *session, uint64_t step, uint64_t hash, bool is_whole,
                      uint64_t bound_ns)
{
    SIM_CHECK(RESTORED,
              life != NULL && strcmp(life->session, session) == 0 && step <= life->step && life->hashes[step] == hash,
              "the tank of %s goes on from step %llu with another hash, or as another session's", session,
              (unsigned long long)step);
    if (is_whole) {
        SIM_CHECK(NOTHING_LOST, step == life->step, "the tank of %s goes on from step %llu, it had come to %llu",
                  session, (unsigned long long)step, (unsigned long long)life->step);
    } else if (bound_ns > 0 && step < life->step) {
        SIM_CHECK(DURABLE, life->logged_ns[step + 1] >= bound_ns,
                  "the tank of %s goes on from step %llu; the one behind it was made %.0f ms before the bound", session,
                  (unsigned long long)step, 1e-6 * (double)(bound_ns - life->logged_ns[step + 1]));
    } else {
        sim_told->checked[SIM_CHECK_DURABLE] += bound_ns > 0;
    }
    life->step = step;
    for (sim_person *at = people; at != NULL; at = at->next) {
        for (uint32_t i = 0; i < at->sent_count && strcmp(at->session, session) == 0; i++) {
            const bool is_later = at->sent[i].life > life->id; // of a life that is undone
            if (is_later || (at->sent[i].life == life->id && at->sent[i].step > step)) {
                at->sent[i].life = 0;
                at->sent[i].is_excused = true;
            }
        }
    }
}
