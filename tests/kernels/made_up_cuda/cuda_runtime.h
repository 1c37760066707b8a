/// What kernels/device/cuda_graph.cu needs of CUDA, of a version whose graphs have no loops: cuda_replay_test.cpp
/// defines the functions.
#ifndef TARN_TESTS_CUDA_RUNTIME_H
#define TARN_TESTS_CUDA_RUNTIME_H

#include <stddef.h>

#define CUDART_VERSION 12000

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorIllegalAddress = 700,
    cudaErrorNotSupported = 801
};
enum { cudaStreamNonBlocking = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

typedef struct made_up_stream *cudaStream_t;
typedef struct made_up_event *cudaEvent_t;
typedef struct made_up_pool *cudaMemPool_t;
typedef struct made_up_graph *cudaGraph_t;
typedef struct made_up_graph *cudaGraphExec_t;

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaGetLastError();
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

#endif
