#include "server/gateway/fanout.h"
#include "server/common/ipc.h"

#include <libwebsockets.h>
#include <string.h>
#include <sys/mman.h>

// Address space for the largest frame; memory is used as frames need it.
#define BUFFER_BYTES ((size_t)LWS_PRE + TARN_IPC_FRAME_BYTES_MAX)

void tarn_fanout_init(tarn_fanout *fanout)
{
    memset(fanout, 0, sizeof *fanout);
    fanout->newest = -1;
}

void tarn_fanout_free(tarn_fanout *fanout)
{
    for (int i = 0; i < 2; i++)
        if (fanout->buffers[i])
            munmap(fanout->buffers[i], BUFFER_BYTES);
    tarn_fanout_init(fanout);
}

uint8_t *tarn_fanout_space(tarn_fanout *fanout)
{
    int index = fanout->newest == 0 ? 1 : 0;
    if (!fanout->buffers[index]) {
        void *memory =
            mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        fanout->buffers[index] = memory;
    }
    return fanout->buffers[index] + LWS_PRE;
}

tarn_status tarn_fanout_take(tarn_fanout *fanout, uint32_t frame_bytes, uint32_t epoch, tarn_frame *frame)
{
    int index = fanout->newest == 0 ? 1 : 0;
    tarn_status status = tarn_frame_open(fanout->buffers[index] + LWS_PRE, frame_bytes, frame);
    if (status != TARN_OK)
        return status;
    if (frame->header.epoch != epoch)
        return TARN_E_STATE;
    fanout->newest = index;
    fanout->serial++;
    fanout->epoch = frame->header.epoch;
    fanout->step = frame->header.step;
    fanout->frame_bytes = frame_bytes;
    return TARN_OK;
}

void tarn_fanout_clear(tarn_fanout *fanout)
{
    fanout->newest = -1;
}

uint8_t *tarn_fanout_newest(const tarn_fanout *fanout)
{
    return fanout->newest < 0 ? NULL : fanout->buffers[fanout->newest] + LWS_PRE;
}
