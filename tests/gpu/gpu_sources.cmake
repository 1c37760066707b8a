# What gpu_check is made of besides its main file: for this folder's project, and for tests/kernels with the emulated GPU.
# Of the server it has how a worker's tanks take turns, and how a GPU is seen that CUDA doesn't find.
set(TARN_GPU_SOURCES
    ${TARN_ROOT}/tests/gpu/gpu_budget.c
    ${TARN_ROOT}/tests/gpu/gpu_costs.c
    ${TARN_ROOT}/tests/gpu/gpu_devices.c
    ${TARN_ROOT}/tests/gpu/gpu_faults.c
    ${TARN_ROOT}/tests/gpu/gpu_large.c
    ${TARN_ROOT}/tests/gpu/gpu_play.c
    ${TARN_ROOT}/tests/gpu/gpu_tanks.c
    ${TARN_ROOT}/tests/gpu/gpu_together.c
    ${TARN_ROOT}/tests/gpu/gpu_watch.c
    ${TARN_ROOT}/tests/stream/frames_beside.c
    ${TARN_ROOT}/tests/stream/late_queue.c
    ${TARN_ROOT}/server/worker/jobs.c
    ${TARN_ROOT}/server/base/device.c
    ${TARN_ROOT}/server/base/devices.c)
