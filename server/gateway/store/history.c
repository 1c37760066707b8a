// Moments are counted in steps of the log. Begin at tarn_tank_history_date, then tarn_tank_history_grant.
#include "server/gateway/store/history.h"
#include "server/base/limits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// What is too old or too much may go with the next state.
static tarn_status look(tarn_tank_history *history, tarn_session_file *file, const tarn_session_keep_rule *rule,
                        tarn_text why)
{
    const tarn_status status = tarn_session_history_span(file, &history->span, why);
    return status == TARN_OK ? tarn_session_history_keep(file, rule, history->span.until_ns, why) : status;
}

tarn_status tarn_tank_history_open(tarn_tank_history *history, tarn_session_file *file,
                                   const tarn_session_keep_rule *rule, tarn_text why)
{
    history->steps_since = 0;
    history->dt_ns = TARN_SESSION_DT_NS_GUESS;
    history->step_ns = 0;
    return look(history, file, rule, why);
}

bool tarn_tank_history_wants_state(const tarn_tank_history *history, uint64_t since_ns)
{
    const uint64_t cost_ns = history->steps_since * history->step_ns;
    return history->step_ns == 0 || cost_ns >= TARN_GATEWAY_STORE_REPLAY_MS * (uint64_t)1000000 ||
           since_ns >= TARN_GATEWAY_STORE_STATE_MS_MAX * (uint64_t)1000000;
}

static uint64_t steps_of(const tarn_box_bytes *log)
{
    return tarn_box_log_steps(log->bytes, log->count);
}

/// A box may say it of the tank that is about to be made in it: a step's length changes with a state.
static uint32_t dt_of(const tarn_tank_history *history, const tarn_box_news *news)
{
    return news->has_state && news->dt_ns != 0 ? news->dt_ns : history->dt_ns;
}

// What comes before a state is of the tank that was there before it. One that is made anew has a moment of its own:
// that of the last step belongs to the other.
void tarn_tank_history_date(const tarn_tank_history *history, tarn_box_news *news)
{
    const bool has_other = news->is_anew && history->span.state_count > 0;
    news->at_ns = history->span.until_ns + (steps_of(&news->before) + has_other) * history->dt_ns;
    news->dt_ns = dt_of(history, news);
}

tarn_status tarn_tank_history_note(tarn_tank_history *history, tarn_session_file *file, const tarn_box_news *news,
                                   const tarn_session_keep_rule *rule, tarn_text why)
{
    const uint64_t steps = steps_of(&news->log);
    history->steps_since = (news->has_state ? 0 : history->steps_since + steps_of(&news->before)) + steps;
    history->span.until_ns = news->at_ns + steps * dt_of(history, news);
    history->dt_ns = dt_of(history, news);
    history->step_ns = news->step_ns != 0 ? news->step_ns : history->step_ns;
    return news->has_state ? look(history, file, rule, why) : TARN_OK;
}

tarn_status tarn_tank_history_trim(tarn_tank_history *history, tarn_session_file *file,
                                   const tarn_session_keep_rule *rule, bool *is_done, tarn_text why)
{
    tarn_status status = look(history, file, rule, why);
    if (status == TARN_OK) {
        status = tarn_session_file_trim(file, is_done, why);
    }
    return status == TARN_OK ? tarn_session_history_span(file, &history->span, why) : status;
}

/// What was done behind the step of a filled box is to be played back, where there is anything.
static void find_replay(tarn_session_file *file, const tarn_session_rest *rest, tarn_store_reply *reply)
{
    tarn_session_stretch stretch;
    const uint64_t step = rest->state.step + tarn_box_log_steps(rest->log.bytes, rest->log.count);
    reply->status = tarn_session_stretch_find(file, rest->id, rest->state.step, &stretch, reply->why);
    if (reply->status == TARN_OK && stretch.until > step) {
        reply->stretch = stretch;
        reply->status = tarn_box_set_replay(reply->box_fd, stretch.until);
    }
}

/// The epoch is whoever's who takes the box.
static void fill_box(tarn_session_file *file, bool replays, tarn_store_reply *reply)
{
    static tarn_session_rest rest; // large, and one thread's
    reply->status = tarn_session_history_rest(file, &reply->at_ns, &rest, reply->why);
    if (reply->status != TARN_OK) {
        return;
    }
    reply->box_fd = tarn_tank_history_box(&rest, rest.epoch, false);
    if (reply->box_fd == 0) {
        reply->status = TARN_E_MEMORY;
        snprintf(reply->why, sizeof reply->why, "there is no memory or descriptor for the tank as it was");
    } else {
        memcpy(reply->scene, rest.state.scene, sizeof reply->scene);
        if (replays) {
            find_replay(file, &rest, reply);
        }
        if (reply->status != TARN_OK) {
            close(reply->box_fd);
            reply->box_fd = 0;
        }
    }
    tarn_session_rest_free(&rest);
}

void tarn_tank_history_grant(tarn_tank_history *history, tarn_session_file *file, const tarn_store_wish *wish,
                             tarn_store_reply *reply)
{
    tarn_session_span *span = &history->span;
    tarn_text ignored;
    memset(reply, 0, sizeof *reply);
    reply->at_ns = wish->at_ns;
    if (wish->kind != TARN_STORE_WISH_UNMARK &&
        (span->state_count == 0 || wish->at_ns < span->from_ns || wish->at_ns > span->until_ns)) {
        reply->status = TARN_E_NOT_FOUND;
        snprintf(reply->why, sizeof reply->why, "t: found %.3f, allowed are %.3f to %.3f, which is what is kept",
                 1e-9 * (double)wish->at_ns, 1e-9 * (double)span->from_ns, 1e-9 * (double)span->until_ns);
        return;
    }
    switch (wish->kind) {
    case TARN_STORE_WISH_BOX:
        fill_box(file, wish->replays, reply);
        return;
    case TARN_STORE_WISH_MARK:
        reply->status = tarn_session_history_mark(file, wish->at_ns, wish->name, &reply->mark, reply->why);
        break;
    case TARN_STORE_WISH_UNMARK:
        reply->status = tarn_session_history_unmark(file, wish->mark, reply->why);
        break;
    default:
        break;
    }
    (void)tarn_session_history_span(file, span, ignored); // with the marks as they are now
}
