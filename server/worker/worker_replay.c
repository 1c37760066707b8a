// Begin at tarn_worker_replay_go_on, then tarn_worker_replay_next.
#include "server/worker/worker_replay.h"
#include "server/common/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tarn_log_subject subject_of(const tarn_worker_tank *tank)
{
    return (tarn_log_subject){.tank = tank->id};
}

static void close_piece(tarn_worker_tank *tank)
{
    if (tank->replay.fd > 0) {
        close(tank->replay.fd);
    }
    tank->replay.fd = 0;
    tank->replay.has_piece = false;
}

void tarn_worker_replay_drop(tarn_worker_tank *tank)
{
    close_piece(tank);
    tarn_replay_feed_end(&tank->replay.feed);
    tank->replay = (tarn_worker_replay){0};
}

void tarn_worker_replay_end(tarn_worker_tank *tank, const char *because)
{
    tarn_black_box_set_replay(&tank->snapshot.box, 0);
    if (!tarn_worker_replay_is_on(tank)) {
        return;
    }
    if (because != NULL) {
        snprintf(tank->notice, sizeof tank->notice, "what was played back has ended: %.400s", because);
        tarn_log_of(TARN_LOG_WARN, subject_of(tank), "tank %u, step %llu: %s", tank->id, (unsigned long long)tank->step,
                    tank->notice);
    } else {
        tarn_log_of(TARN_LOG_INFO, subject_of(tank), "tank %u: played back until step %llu, live from there", tank->id,
                    (unsigned long long)tank->step);
    }
    tarn_worker_replay_drop(tank);
    tank->state_changed = true;
}

tarn_status tarn_worker_replay_go_on(tarn_worker_tank *tank)
{
    const uint64_t until = tarn_black_box_replay(&tank->snapshot.box);
    tarn_worker_replay_drop(tank);
    tank->state_changed = true;
    if (until <= tank->step) {
        tarn_black_box_set_replay(&tank->snapshot.box, 0);
        return TARN_OK;
    }
    const tarn_status status = tarn_replay_feed_begin(&tank->replay.feed, tank->step, until);
    if (status != TARN_OK) {
        tarn_black_box_set_replay(&tank->snapshot.box, 0);
    }
    return status;
}

bool tarn_worker_replay_waits(const tarn_worker_tank *tank)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    return feed->until > 0 && feed->ready == 0 && !feed->is_last;
}

void tarn_worker_replay_piece(tarn_worker_tank *tank, const tarn_ipc_replay *piece, int fd)
{
    close_piece(tank);
    tank->replay.piece = *piece;
    tank->replay.fd = fd;
    tank->replay.has_piece = true;
}

/// @return TARN_OK, or TARN_E_IO: its memory hasn't as much
static tarn_status read_piece(int fd, uint8_t *to, size_t byte_count)
{
    size_t at = 0;
    while (at < byte_count) {
        const ssize_t got = fd > 0 ? pread(fd, to + at, byte_count - at, (off_t)at) : -1;
        if (got <= 0) {
            return TARN_E_IO;
        }
        at += (size_t)got;
    }
    return TARN_OK;
}

/// Whether it is what was asked for last: another tank, or another place of the log, was asked for before.
static bool is_its(const tarn_worker_tank *tank, const tarn_ipc_replay *piece)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    return tank->replay.is_asked && piece->at.epoch == tank->epoch && piece->at.from == feed->from &&
           piece->at.held == feed->held;
}

/// From when on it stands no longer for the piece that was asked for.
static uint64_t live_ns(const tarn_worker_replay *replay)
{
    return replay->asked_ns + TARN_WORKER_REPLAY_MS_MAX * (uint64_t)1000000;
}

uint64_t tarn_worker_replay_tell_ns(const tarn_worker_tank *tank)
{
    const tarn_worker_replay *replay = &tank->replay;
    if (replay->has_piece || (!replay->is_asked && tarn_replay_feed_wants(&replay->feed))) {
        return 0;
    }
    return replay->is_asked && tarn_worker_replay_waits(tank) ? live_ns(replay) : UINT64_MAX;
}

bool tarn_worker_replay_settle(tarn_worker_tank *tank, uint64_t now_ns)
{
    tarn_worker_replay *replay = &tank->replay;
    const bool stood = tarn_worker_replay_waits(tank);
    if (replay->has_piece && is_its(tank, &replay->piece)) {
        tarn_status status = read_piece(replay->fd, tarn_replay_feed_space(&replay->feed), replay->piece.byte_count);
        if (status == TARN_OK) {
            status = tarn_replay_feed_put(&replay->feed, replay->piece.byte_count, replay->piece.is_last != 0);
        }
        replay->is_asked = false;
        if (status != TARN_OK) {
            tarn_worker_replay_end(tank, "what was done then can't be read");
        }
    }
    close_piece(tank);
    if (tarn_worker_replay_waits(tank) && replay->is_asked && now_ns >= live_ns(replay)) {
        tarn_worker_replay_end(tank, "what was done then doesn't come");
    }
    return stood && !tarn_worker_replay_waits(tank);
}

void tarn_worker_replay_ask(tarn_worker_tank *tank, tarn_worker_link *link, uint64_t now_ns)
{
    tarn_worker_replay *replay = &tank->replay;
    if (replay->is_asked || tank->state_changed || !tarn_replay_feed_wants(&replay->feed)) {
        return; // the state comes first, whose epoch it is
    }
    const tarn_ipc_message message = {
        .kind = TARN_IPC_REPLAY_WANTED,
        .tank = tank->id,
        .replay_wanted = {.epoch = tank->epoch, .from = replay->feed.from, .held = replay->feed.held}};
    replay->is_asked = tarn_worker_link_put(link, &message) == TARN_OK;
    replay->asked_ns = now_ns;
}

/// Looks whether the tank is as it was then. It is said once where it isn't.
/// @param step, then  of the log  @return TARN_OK or TARN_E_DEVICE
static tarn_status compare(tarn_worker_tank *tank, uint64_t step, tarn_tank_hash then)
{
    tarn_tank_hash now;
    if (tank->replay.is_other) {
        return TARN_OK;
    }
    const tarn_status status = step == tank->step ? tarn_tank_hash_get(tank->tank, &now) : TARN_OK;
    if (step != tank->step || (status == TARN_OK && (now.lo != then.lo || now.hi != then.hi))) {
        tank->replay.is_other = true;
        snprintf(tank->notice, sizeof tank->notice,
                 "by %.2f s what is played back has come to other water than it was then: another build of Tarn, or "
                 "another device, made that",
                 (double)tank->step * (double)tank->scene.tank.dt_s);
        tarn_log_of(TARN_LOG_WARN, subject_of(tank), "tank %u, step %llu: %s", tank->id, (unsigned long long)tank->step,
                    tank->notice);
    }
    return status == TARN_E_DEVICE ? status : TARN_OK; // another hash comes
}

/// Whether an input that takes no time does anything.
static bool does_anything(const tarn_step_input *input)
{
    return input->parameter_count > 0 || input->poser != TARN_STEP_POSER_NOBODY || input->throw_count > 0 ||
           input->wall_count > 0 || input->erase_count > 0;
}

tarn_status tarn_worker_replay_next(tarn_worker_tank *tank, tarn_step_input *input)
{
    static tarn_replay_record record; // large; others may use it while a hash is made
    for (;;) {
        const tarn_status status = tarn_replay_feed_read(&tank->replay.feed, &record);
        if (status != TARN_OK) {
            tarn_worker_replay_end(tank, status == TARN_E_NOT_FOUND ? NULL : "what was done then can't be read");
            return TARN_E_NOT_FOUND;
        }
        if (record.is_hash) {
            const tarn_status compared = compare(tank, record.step, record.hash);
            if (compared != TARN_OK) {
                return compared;
            }
            continue;
        }
        record.input.pause = TARN_STEP_PAUSE_KEEPS; // people pause it now as they like
        if (!record.input.holds || does_anything(&record.input)) {
            *input = record.input;
            return TARN_OK;
        }
    }
}

void tarn_worker_replay_stepped(tarn_worker_tank *tank)
{
    const tarn_replay_feed *feed = &tank->replay.feed;
    if (feed->until > 0 && (tank->step >= feed->until || (feed->ready == 0 && feed->is_last))) {
        tarn_worker_replay_end(tank, NULL);
    }
}
