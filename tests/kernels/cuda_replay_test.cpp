// Replays of the CUDA device where CUDA, which is made up here, has no memory for them or refuses what is captured:
// each run does its launches once, whatever comes of its graph, and the device goes without no more than it must.
#include "kernels/device/cuda_graph.cu"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

namespace {

cuda_device device;
cuda_queue queue;
int done;                            // launches that ran
int in_capture;                      // launches of the capture in progress
int graphs;                          // that are there, in both forms
int *refuses;                        // of the device: what a capture may not have while it is possible
cudaError_t begin_error, make_error; // of the next call alone
cudaError_t launch_error, last;

cudaError_t once(cudaError_t *error)
{
    const cudaError_t now = *error;
    *error = cudaSuccess;
    last = now != cudaSuccess ? now : last;
    return now;
}

/// A launch: it runs, is captured, or has its code loaded.
void body(void *)
{
    if (queue.mode == CUDA_MODE_DIRECT) {
        done++;
    } else if (queue.mode == CUDA_MODE_CAPTURE) {
        in_capture++;
        if (refuses != nullptr && *refuses) {
            last = cudaErrorNotSupported;
            cuda_device_note(&device, last);
        }
    }
}

int set_up(void **)
{
    device = {};
    queue = {};
    queue.base.device = &device.base;
    device.chains_in_loops = device.marks_possible = device.chains_possible = device.loops_possible = 1;
    done = graphs = 0;
    refuses = nullptr;
    begin_error = make_error = launch_error = last = cudaSuccess;
    return 0;
}

void run(tarn_replay **replay)
{
    const int before = done;
    cuda_graph_run(&queue.base, replay, body, nullptr);
    assert_int_equal(done, before + 1);
    assert_int_equal(device.failure, cudaSuccess);
    assert_string_equal(device.base.error, "");
    assert_int_equal(last, cudaSuccess);
}

/// It is there, and alone.
void give_back(tarn_replay *replay)
{
    assert_non_null(replay);
    assert_int_equal(graphs, 1);
    cuda_graph_replay_destroy(&queue.base, replay);
    assert_int_equal(graphs, 0);
}

void assert_nothing_is_given_up()
{
    assert_true(device.chains_in_loops && device.marks_possible && device.chains_possible && device.loops_possible);
}

/// @param error  of a call that a replay needs, of which there is no memory the first time
void lack_memory(cudaError_t *error)
{
    tarn_replay *replay = nullptr;
    *error = cudaErrorMemoryAllocation;
    run(&replay);
    assert_null(replay);
    assert_int_equal(graphs, 0);
    assert_nothing_is_given_up();
    assert_string_equal(device.base.refused, "memory for a graph (cudaErrorMemoryAllocation)");
    run(&replay);
    run(&replay);
    assert_nothing_is_given_up();
    give_back(replay);
}

void lack_memory_to_capture(void **)
{
    lack_memory(&begin_error);
}

void lack_memory_to_instantiate(void **)
{
    lack_memory(&make_error);
}

void lack_memory_to_launch(void **)
{
    lack_memory(&launch_error);
}

/// Later, too, when the driver may have to bring the graph to the device anew.
void lack_memory_to_launch_again(void **)
{
    tarn_replay *replay = nullptr;
    run(&replay);
    launch_error = cudaErrorMemoryAllocation;
    run(&replay);
    assert_null(replay);
    run(&replay);
    give_back(replay);
}

void lack_memory_twice(void **)
{
    tarn_replay *replay = nullptr;
    for (int i = 0; i < 2; i++) {
        make_error = cudaErrorMemoryAllocation;
        run(&replay);
    }
    assert_string_equal(device.base.refused, "memory for a graph (cudaErrorMemoryAllocation)");
    run(&replay);
    give_back(replay);
}

void refuse_chains_in_loops(void **)
{
    tarn_replay *replay = nullptr;
    refuses = &device.chains_in_loops;
    run(&replay);
    assert_false(device.chains_in_loops);
    assert_true(device.marks_possible && device.chains_possible && device.loops_possible);
    assert_string_equal(device.base.refused, "chains in loops (cudaErrorNotSupported)");
    give_back(replay);
}

void refuse_chains(void **)
{
    tarn_replay *replay = nullptr;
    refuses = &device.chains_possible;
    run(&replay);
    assert_true(device.loops_possible);
    assert_string_equal(device.base.refused, "chains in loops (cudaErrorNotSupported), events in graphs "
                                             "(cudaErrorNotSupported), chains (cudaErrorNotSupported)");
    give_back(replay);
}

/// What memory lacks for on the way to what the driver takes.
void refuse_and_lack_memory(void **)
{
    tarn_replay *replay = nullptr;
    refuses = &device.chains_in_loops;
    make_error = cudaErrorMemoryAllocation; // of the second capture: the first has nothing to instantiate
    run(&replay);
    assert_null(replay);
    assert_true(device.marks_possible && device.chains_possible && device.loops_possible);
    run(&replay);
    give_back(replay);
}

void keep_what_is_broken(void **)
{
    tarn_replay *replay = nullptr;
    run(&replay);
    launch_error = cudaErrorIllegalAddress;
    cuda_graph_run(&queue.base, &replay, body, nullptr);
    assert_int_equal(device.failure, cudaErrorIllegalAddress);
    assert_int_equal(done, 1);
    give_back(replay);
}

} // namespace

// ----------------------------------------------------------------------------------------------------------- made up

struct made_up_graph {
    int launches;
};

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorNotSupported";
}

cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned)
{
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode)
{
    in_capture = 0;
    return once(&begin_error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph)
{
    *graph = new made_up_graph{in_capture};
    graphs++;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long)
{
    const cudaError_t error = once(&make_error);
    if (error == cudaSuccess) {
        *made = new made_up_graph(*graph);
        graphs++;
    }
    return error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    graphs--;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    const cudaError_t error = once(&launch_error);
    done += error == cudaSuccess ? graph->launches : 0;
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    return cudaGraphDestroy(graph);
}

// The rest of the CUDA device, as far as replays know it.

bool cuda_device_note(cuda_device *of, cudaError_t error)
{
    if (error != cudaSuccess && of->failure == cudaSuccess) {
        of->failure = error;
        snprintf(of->base.error, sizeof of->base.error, "%s", cudaGetErrorName(error));
    }
    return of->failure == cudaSuccess;
}

bool cuda_device_ready(cuda_device *of)
{
    return of->failure == cudaSuccess;
}

cudaError_t cuda_memory_take(cuda_device *, void **, size_t)
{
    return cudaSuccess;
}

void cuda_memory_give(cuda_device *, void *)
{
}

void cuda_chain_destroy(cuda_queue *, cuda_chain *)
{
}

tarn_status tarn_queue_download(tarn_queue *, void *, const void *, size_t)
{
    return TARN_E_DEVICE;
}

void chain_record_loop(chain_record *, const uint32_t *, uint32_t)
{
}

void chain_record_loop_end(chain_record *)
{
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lack_memory_to_capture, set_up),
        cmocka_unit_test_setup(lack_memory_to_instantiate, set_up),
        cmocka_unit_test_setup(lack_memory_to_launch, set_up),
        cmocka_unit_test_setup(lack_memory_to_launch_again, set_up),
        cmocka_unit_test_setup(lack_memory_twice, set_up),
        cmocka_unit_test_setup(refuse_chains_in_loops, set_up),
        cmocka_unit_test_setup(refuse_chains, set_up),
        cmocka_unit_test_setup(refuse_and_lack_memory, set_up),
        cmocka_unit_test_setup(keep_what_is_broken, set_up),
    };
    return cmocka_run_group_tests_name("replays of the CUDA device", tests, nullptr, nullptr);
}
