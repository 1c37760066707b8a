// A tank's frame: what it says besides the tank's state, when it has been coded, and what is told where it can't be.
#include "server/worker/frame.h"
#include "server/base/clock.h"

#include <stdio.h>

/// Says once that frames do not fit, instead of with every frame.
static void tell_too_large(tarn_worker_tank *tank, tarn_worker_link *link)
{
    if (tank->too_large_told) {
        return;
    }
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank->id};
    message.refused.code = TARN_ERROR_LIMIT; // of the scene it would answer a load that is on its way
    snprintf(
        message.refused.text, sizeof message.refused.text,
        "scene \"%s\": a frame of it takes more than the %d MiB that are allowed, or too many particles are in one "
        "place; frames come again once there are fewer",
        tank->scene.name, TARN_IPC_FRAME_BYTES_MAX >> 20);
    tank->too_large_told = tarn_worker_link_put(link, &message) == TARN_OK;
}

/// What a frame that couldn't be made comes to.
static tarn_status give_up(tarn_worker_tank *tank, tarn_worker_link *link, tarn_status status)
{
    if (status != TARN_E_SPACE && status != TARN_E_MEMORY) {
        return status;
    }
    tell_too_large(tank, link);
    tarn_frame_plan_hold(&tank->plan, tank->frame.now_ns + TARN_WORKER_TOO_LARGE_MS * (uint64_t)1000000);
    return TARN_OK;
}

static tarn_status begin(tarn_worker_tank *tank, tarn_stream_kind kind)
{
    tarn_frame_input inputs[TARN_FRAME_INPUTS_MAX];
    tarn_tank_frame_info info = {
        .epoch = tank->epoch,
        .flags = tank->paused ? TARN_FRAME_FLAG_PAUSED : 0,
        .server_time_us = tarn_clock_unix_us(),
        .realtime_factor = tank->paused ? 0.0f : tarn_pace_factor(&tank->pace, tank->frame.now_ns),
        .input_count = tarn_input_state_contained(&tank->inputs, inputs),
        .inputs = inputs,
    };
    // Where there is no memory for either frames go without.
    const tarn_model *model = tarn_tank_model(tank->tank);
    (void)tarn_encoder_carry(tank->encoder, (uint32_t)(1 + tarn_model_channel_find(model, tank->channel)));
    (void)tarn_encoder_carry_field(tank->encoder, (uint32_t)(1 + tarn_model_field_find(model, tank->field)));
    tarn_job_part();
    const tarn_status status = tarn_encoder_begin(tank->encoder, kind, &info);
    tarn_job_rejoin();
    return status;
}

tarn_status tarn_worker_frame_begin(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs,
                                    tarn_stream_kind kind, uint64_t now_ns)
{
    const uint64_t used_ns = tarn_jobs_used_ns(jobs);
    tank->frame = (tarn_worker_frame){.stamps = tank->stamps, .step = tank->step, .now_ns = now_ns};
    // Before it begins: of a frame that has nowhere to go nothing need be coded.
    if (tarn_worker_link_frame_space(link, tank->slot) == NULL) {
        return give_up(tank, link, TARN_E_MEMORY);
    }
    const tarn_status status = begin(tank, kind);
    tank->frame.takes_ns = tarn_jobs_used_ns(jobs) - used_ns;
    if (status != TARN_OK) {
        return give_up(tank, link, status);
    }
    return tarn_encoder_is_done(tank->encoder) ? tarn_worker_frame_finish(tank, link, jobs) : TARN_OK;
}

tarn_status tarn_worker_frame_finish(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs)
{
    if (!tarn_encoder_is_begun(tank->encoder)) {
        return TARN_OK;
    }
    const uint64_t used_ns = tarn_jobs_used_ns(jobs);
    tarn_worker_frame *frame = &tank->frame;
    tarn_stream_head head;
    uint8_t *space = tarn_worker_link_frame_space(link, tank->slot);
    if (space == NULL) {
        tarn_encoder_drop(tank->encoder);
        return give_up(tank, link, TARN_E_MEMORY);
    }
    tarn_job_part();
    const tarn_status status = tarn_encoder_finish(tank->encoder, space, TARN_IPC_FRAME_BYTES_MAX, &head);
    tarn_job_rejoin();
    frame->takes_ns += tarn_jobs_used_ns(jobs) - used_ns;
    if (status != TARN_OK) {
        return give_up(tank, link, status);
    }
    tarn_black_box_set_number(&tank->snapshot.box, head.number);
    tarn_frame_plan_made(&tank->plan, (tarn_stream_kind)head.kind, frame->step, frame->now_ns, frame->takes_ns);
    if ((head.flags & TARN_FRAME_FLAG_PAUSED) != 0 && head.kind == TARN_STREAM_BASE) {
        tarn_frame_plan_ask(&tank->plan); // what stays in view is to be complete by itself
    }
    frame->stamps.encoded_ns = tarn_clock_monotonic_ns();
    tarn_worker_link_frame_put(link, tank->slot, tank->id, head.frame_bytes, &frame->stamps,
                               head.kind != TARN_STREAM_EXTRA);
    tank->encode_ns += frame->takes_ns;
    tank->encode_count++;
    return TARN_OK;
}

tarn_status tarn_worker_frame_await(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs,
                                    uint64_t until_ns)
{
    if (!tarn_encoder_is_begun(tank->encoder)) {
        return TARN_OK;
    }
    while (!tarn_encoder_is_done(tank->encoder)) {
        if (tarn_clock_monotonic_ns() >= until_ns) {
            return TARN_OK;
        }
    }
    return tarn_worker_frame_finish(tank, link, jobs);
}
