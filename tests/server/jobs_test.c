// Jobs on a real device: tanks that take turns at every place where they yield come to the same bits as alone, and only
// one thread runs at a time. Under the thread sanitizer this is also what shows that the baton orders everything.
#include "kernels/step_input.h"
#include "server/worker/jobs.h"
#include "tests/server/test_cmocka.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TANKS = 5, STEPS = 6 };

typedef struct player {
    tarn_device *device;
    tarn_tank *tank;
    uint16_t cells[3];
    tarn_tank_hash hash;
    tarn_status status;
} player;

static void make(player *p)
{
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    memcpy(desc.cells, p->cells, sizeof desc.cells);
    desc.block_count = 1;
    for (int a = 0; a < 3; a++) {
        desc.blocks[0].max_m[a] = 0.6f * desc.cell_m * (float)p->cells[a];
    }
    p->status = tarn_tank_create(p->device, &desc, &p->tank, NULL, 0);
}

/// Of the jobs, without a lock: how many have the baton.
static uint32_t running;

/// All of a tank's life, as straight code.
static void play(void *context)
{
    player *p = context;
    running++;
    static tarn_step_input nothing;
    make(p);
    for (int i = 0; i < STEPS && p->status == TARN_OK; i++) {
        p->status = tarn_tank_step(p->tank, &nothing);
    }
    if (p->status == TARN_OK) {
        p->status = tarn_tank_hash_get(p->tank, &p->hash);
    }
    tarn_tank_destroy(p->tank);
    running--;
}

static tarn_device *open_device(uint32_t threads)
{
    const tarn_device_desc desc = {.kind = TARN_DEVICE_CPU, .threads = threads};
    tarn_device *device;
    assert_int_equal(tarn_device_create(&desc, &device), TARN_OK);
    return device;
}

static player player_of(tarn_device *device, int i)
{
    return (player){.device = device, .cells = {(uint16_t)(24 + 8 * (i % 3)), 24, (uint16_t)(16 + 8 * (i % 3))}};
}

/// The jobs' own yield, which nobody else may be beside.
static tarn_yield inner;

static void counted_yield(void *context, bool is_waiting)
{
    assert_int_equal(running, 1);
    running = 0;
    inner.yield(context, is_waiting);
    assert_int_equal(running, 0);
    running = 1;
}

static bool count_looks(void *user)
{
    ++*(uint32_t *)user;
    return false;
}

static void test_tanks_that_take_turns_come_to_the_same_bits(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        tarn_device *device = open_device(threads);
        tarn_job jobs_of[TANKS];
        player alone[TANKS], together[TANKS];
        tarn_jobs jobs;
        uint32_t looks = 0, turns = 0, going = TANKS;
        for (int i = 0; i < TANKS; i++) {
            alone[i] = together[i] = player_of(device, i);
            play(&alone[i]);
            assert_int_equal(alone[i].status, TARN_OK);
        }
        assert_int_equal(tarn_jobs_open(&jobs, count_looks, &looks), TARN_OK);
        inner = tarn_jobs_yield(&jobs);
        const tarn_yield yield = {.is_due = inner.is_due, .yield = counted_yield, .context = inner.context};
        tarn_device_set_yield(device, &yield);
        for (int i = 0; i < TANKS; i++) {
            assert_int_equal(tarn_job_open(&jobs_of[i], &jobs), TARN_OK);
            tarn_job_start(&jobs_of[i], play, &together[i]);
        }
        while (going > 0) {
            going = 0;
            for (int i = 0; i < TANKS; i++) {
                if (jobs_of[i].in_progress) {
                    (void)tarn_job_resume(&jobs_of[i], 0, true); // wanted back at once
                    turns++;
                }
                going += jobs_of[i].in_progress;
            }
        }
        tarn_device_set_yield(device, NULL);
        for (int i = 0; i < TANKS; i++) {
            assert_int_equal(together[i].status, TARN_OK);
            assert_memory_equal(&together[i].hash, &alone[i].hash, sizeof alone[i].hash);
            tarn_job_close(&jobs_of[i]);
        }
        assert_int_equal(running, 0);
        assert_true(turns > 100 * TANKS);
        tarn_jobs_close(&jobs);
        tarn_device_destroy(device);
    }
}

static bool is_wanted(void *user)
{
    return *(bool *)user;
}

/// Alone and unwanted, a job runs to its end; wanted, it gives the baton back in the middle of a step.
static void test_a_job_goes_on_until_it_is_wanted(void **state)
{
    (void)state;
    tarn_device *device = open_device(2);
    tarn_jobs jobs;
    tarn_job job;
    bool wanted = false;
    player p = player_of(device, 2);
    assert_int_equal(tarn_jobs_open(&jobs, is_wanted, &wanted), TARN_OK);
    const tarn_yield yield = tarn_jobs_yield(&jobs);
    tarn_device_set_yield(device, &yield);
    assert_int_equal(tarn_job_open(&job, &jobs), TARN_OK);
    tarn_job_start(&job, play, &p);
    const uint64_t used_ns = tarn_job_resume(&job, UINT64_MAX, false);
    assert_false(job.in_progress);
    assert_int_equal(p.status, TARN_OK);
    assert_true(used_ns > 0 && used_ns == job.used_ns);
    wanted = true;
    uint32_t turns = 0;
    for (tarn_job_start(&job, play, &p); job.in_progress; turns++) {
        (void)tarn_job_resume(&job, UINT64_MAX, false);
    }
    assert_true(turns > 1);
    tarn_job_close(&job);
    tarn_job_close(&job); // there is none any more
    tarn_device_set_yield(device, NULL);
    tarn_jobs_close(&jobs);
    tarn_device_destroy(device);
}

typedef struct leaver {
    tarn_jobs *jobs;
    tarn_job *job;
    sem_t others_ran;
    uint32_t had_baton;
} leaver;

static void leave(void *context)
{
    leaver *l = context;
    l->had_baton++;
    tarn_jobs_leave(l->jobs);
    sem_wait(&l->others_ran); // forever, if the scheduler waited for this job
    tarn_jobs_return(l->job);
    l->had_baton++;
}

static void test_what_a_job_does_away_from_the_others_holds_nobody_up(void **state)
{
    (void)state;
    tarn_jobs jobs;
    tarn_job away, other;
    uint32_t looks = 0;
    tarn_device *device = open_device(1);
    assert_int_equal(tarn_jobs_open(&jobs, count_looks, &looks), TARN_OK);
    leaver l = {.jobs = &jobs, .job = &away};
    player p = player_of(device, 0);
    assert_int_equal(sem_init(&l.others_ran, 0, 0), 0);
    assert_int_equal(tarn_job_open(&away, &jobs), TARN_OK);
    assert_int_equal(tarn_job_open(&other, &jobs), TARN_OK);
    tarn_job_start(&away, leave, &l);
    tarn_job_start(&other, play, &p);
    (void)tarn_job_resume(&away, UINT64_MAX, true);
    while (other.in_progress) {
        (void)tarn_job_resume(&other, UINT64_MAX, true);
        (void)tarn_job_resume(&away, UINT64_MAX, true);
        assert_int_equal(l.had_baton, 1);
        assert_true(away.in_progress && away.is_waiting);
    }
    assert_int_equal(p.status, TARN_OK);
    sem_post(&l.others_ran);
    while (away.in_progress) {
        (void)tarn_job_resume(&away, UINT64_MAX, true);
    }
    assert_int_equal(l.had_baton, 2);
    tarn_job_close(&away);
    tarn_job_close(&other);
    tarn_jobs_close(&jobs);
    sem_destroy(&l.others_ran);
    tarn_device_destroy(device);
}

/// Of jobs that run alone: how many have the baton, and how many do without at the same time.
static uint32_t with_baton;
static atomic_uint without, without_max;

static void part(void)
{
    with_baton--;
    tarn_job_part();
    const uint32_t now = atomic_fetch_add(&without, 1) + 1;
    uint32_t most = atomic_load(&without_max);
    while (now > most && !atomic_compare_exchange_weak(&without_max, &most, now)) {
    }
}

static void rejoin(void)
{
    atomic_fetch_sub(&without, 1);
    tarn_job_rejoin();
    with_baton++;
    assert_int_equal(with_baton, 1);
}

/// A tank's life, without the baton but between its steps.
static void play_alone(void *context)
{
    player *p = context;
    static const tarn_step_input nothing;
    with_baton++;
    assert_int_equal(with_baton, 1);
    part();
    make(p);
    rejoin();
    for (int i = 0; i < STEPS && p->status == TARN_OK; i++) {
        part();
        p->status = tarn_tank_step(p->tank, &nothing);
        rejoin();
    }
    part();
    if (p->status == TARN_OK) {
        p->status = tarn_tank_hash_get(p->tank, &p->hash);
    }
    tarn_tank_destroy(p->tank);
    rejoin();
    with_baton--;
}

static bool never_due(void *context)
{
    fail_msg("a job that runs alone yields to nobody");
    return context != NULL;
}

/// Waits until a lane has something to tell.
static void wait_for_one(tarn_jobs *jobs)
{
    struct pollfd done = {.fd = jobs->done_fd, .events = POLLIN};
    uint64_t count;
    tarn_jobs_give(jobs);
    assert_int_equal(poll(&done, 1, 60000), 1);
    assert_int_equal(read(jobs->done_fd, &count, sizeof count), sizeof count);
    tarn_jobs_take(jobs);
    assert_int_equal(with_baton, 0);
}

/// More of them than there are lanes.
typedef struct crowd {
    tarn_job jobs[TANKS];
    bool has_begun[TANKS], has_ended[TANKS];
    uint32_t lane_of[TANKS];
    bool lanes[TANKS]; ///< that somebody is in
    uint32_t going;
} crowd;

static void end_those_done(crowd *c)
{
    for (int i = 0; i < TANKS; i++) {
        uint64_t used_ns = 0;
        if (c->has_begun[i] && !c->has_ended[i] && tarn_job_is_done(&c->jobs[i], &used_ns)) {
            assert_true(used_ns > 0 && !c->jobs[i].in_progress);
            c->has_ended[i] = true;
            c->lanes[c->lane_of[i]] = false;
            c->going--;
        }
    }
}

/// @return which begins in the lane; NULL: all have
static tarn_job *begin_in(crowd *c, uint32_t lane)
{
    for (int i = 0; i < TANKS; i++) {
        if (!c->has_begun[i]) {
            c->has_begun[i] = c->lanes[lane] = true;
            c->lane_of[i] = lane;
            return &c->jobs[i];
        }
    }
    return NULL;
}

static tarn_job *next_of_crowd(void *user, uint32_t lane, bool *tells)
{
    assert_int_equal(with_baton, 0);
    *tells = false;
    end_those_done(user);
    return begin_in(user, lane);
}

/// @param goes_on  a lane takes the next one by itself; otherwise the scheduler gives it that
static void run_in_lanes(uint32_t threads, bool goes_on)
{
    tarn_device *device = open_device(threads);
    crowd c = {.going = TANKS};
    player alone[TANKS], together[TANKS];
    tarn_jobs jobs;
    uint32_t given = 0;
    assert_int_equal(tarn_device_lanes(device), threads);
    assert_int_equal(tarn_jobs_open(&jobs, count_looks, &(uint32_t){0}), TARN_OK);
    assert_int_equal(tarn_jobs_open_lanes(&jobs, device, threads, goes_on ? next_of_crowd : NULL, &c), TARN_OK);
    for (int i = 0; i < TANKS; i++) {
        alone[i] = together[i] = player_of(device, i);
        play(&alone[i]);
        assert_int_equal(alone[i].status, TARN_OK);
        assert_int_equal(tarn_job_open(&c.jobs[i], &jobs), TARN_OK);
        tarn_job_start(&c.jobs[i], play_alone, &together[i]);
    }
    const tarn_yield yield = {.is_due = never_due};
    tarn_device_set_yield(device, &yield);
    while (c.going > 0) {
        for (uint32_t lane = 0; lane < threads; lane++) {
            tarn_job *job = c.lanes[lane] ? NULL : begin_in(&c, lane);
            if (job != NULL) {
                given++;
                tarn_job_go_alone(job, lane);
            }
        }
        wait_for_one(&jobs);
        end_those_done(&c);
    }
    assert_true(atomic_load(&without_max) > 1);
    assert_int_equal(given, goes_on ? threads : TANKS);
    tarn_device_set_yield(device, NULL);
    for (int i = 0; i < TANKS; i++) {
        assert_int_equal(together[i].status, TARN_OK);
        assert_memory_equal(&together[i].hash, &alone[i].hash, sizeof alone[i].hash);
        tarn_job_close(&c.jobs[i]);
    }
    tarn_jobs_close(&jobs);
    tarn_device_destroy(device);
}

static void test_tanks_in_lanes_come_to_the_same_bits(void **state)
{
    (void)state;
    for (uint32_t threads = 2; threads <= 3; threads++) {
        run_in_lanes(threads, false);
        run_in_lanes(threads, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tanks_that_take_turns_come_to_the_same_bits),
        cmocka_unit_test(test_a_job_goes_on_until_it_is_wanted),
        cmocka_unit_test(test_what_a_job_does_away_from_the_others_holds_nobody_up),
        cmocka_unit_test(test_tanks_in_lanes_come_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
