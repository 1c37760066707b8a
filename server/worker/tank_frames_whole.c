// Version 1 of frames. Nothing refers to one of them, as to an extra frame of a stream.
#include "server/worker/tank_frames.h"

int tarn_tank_frames_whole_next(const tarn_frame_moment *moment, tarn_stream_kind *kind)
{
    *kind = TARN_STREAM_EXTRA;
    return moment->is_due;
}

tarn_status tarn_tank_frames_whole_encode(tarn_tank *tank, const tarn_tank_frame_info *info, tarn_stream_kind *kind,
                                          uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    *kind = TARN_STREAM_EXTRA;
    return tarn_tank_encode(tank, info, bytes, bytes_max, byte_count);
}
