#include "server/worker/tank_frames.h"

#include <string.h>

tarn_status tarn_tank_frames_init(tarn_tank_frames *frames, tarn_tank *tank, uint32_t version)
{
    tarn_encoder_desc desc;
    memset(frames, 0, sizeof *frames);
    frames->version = version;
    if (version == 1)
        return TARN_OK;
    tarn_encoder_desc_default(&desc);
    return tarn_encoder_create(tank, &desc, &frames->encoder);
}

void tarn_tank_frames_free(tarn_tank_frames *frames)
{
    tarn_encoder_destroy(frames->encoder);
    memset(frames, 0, sizeof *frames);
}

void tarn_tank_frames_start(tarn_tank_frames *frames, uint64_t period_ns)
{
    tarn_frame_plan_start(&frames->plan, period_ns);
}

void tarn_tank_frames_ask(tarn_tank_frames *frames)
{
    if (frames->version != 1)
        tarn_frame_plan_ask(&frames->plan);
}

int tarn_tank_frames_next(const tarn_tank_frames *frames, const tarn_frame_moment *moment, tarn_stream_kind *kind)
{
    if (frames->version == 1)
        return tarn_tank_frames_whole_next(moment, kind);
    return tarn_frame_plan_next(&frames->plan, moment, kind);
}

uint64_t tarn_tank_frames_due_ns(const tarn_tank_frames *frames, uint64_t step, uint64_t wanted_ns)
{
    return frames->version == 1 ? wanted_ns : tarn_frame_plan_due_ns(&frames->plan, step, wanted_ns);
}

tarn_status tarn_tank_frames_encode(tarn_tank_frames *frames, tarn_tank *tank, const tarn_tank_frame_info *info,
                                    tarn_stream_kind *kind, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    tarn_stream_head head;
    if (frames->version == 1)
        return tarn_tank_frames_whole_encode(tank, info, kind, bytes, bytes_max, byte_count);
    const tarn_status status = tarn_encoder_encode(frames->encoder, *kind, info, bytes, bytes_max, &head);
    if (status != TARN_OK)
        return status;
    *kind = (tarn_stream_kind)head.kind;
    *byte_count = head.frame_bytes;
    return TARN_OK;
}

uint64_t tarn_tank_frames_bytes(const tarn_tank_frames *frames)
{
    return frames->encoder != NULL ? tarn_encoder_bytes(frames->encoder) : 0;
}
