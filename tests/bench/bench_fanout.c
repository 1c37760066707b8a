// How many bytes per second of processor time tarnd fans out, beside a bare loop over epoll and send(): the same
// frames, the same number of viewers, in turns within one run. The viewers are `tarn load`, which also reads the
// servers' processor time; time that other programs take is therefore in neither figure.
#include "kernels/encoder.h"
#include "kernels/step_input.h"
#include "protocol/bytes.h"
#include "server/base/options.h"
#include "server/scene/scene.h"
#include "tests/bench/fanout_pair.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTION_FPS = 256,
    OPTION_ROUNDS,
    OPTION_SCENE,
    OPTION_STEPS,
    LISTEN_BACKLOG = 128,
    ROUNDS_MAX = 100,
    STEPS_PER_FRAME = 2,
};

typedef struct fanout_options {
    long viewers, fps, seconds, rounds, steps;
    const char *scene;
} fanout_options;

static const struct argp_option option_list[] = {
    {"viewers", 'n', "N", 0, "Viewers, 1 to 256 (default 64)", 0},
    {"fps", OPTION_FPS, "N", 0, "Frames pushed per second, 1 to 120 (default 30)", 0},
    {"seconds", 's', "N", 0, "Seconds of each measurement (default 8)", 0},
    {"rounds", OPTION_ROUNDS, "N", 0, "Turns of each server (default 3)", 0},
    {"scene", OPTION_SCENE, "SCENE", 0, "Whose frames are pushed (default dam-break)", 0},
    {"steps", OPTION_STEPS, "N", 0, "Steps before the first of the frames (default 60)", 0},
    {0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    fanout_options *options = state->input;
    switch (key) {
    case 'n':
        options->viewers = tarn_option_number(state, "viewers", text, 1, 256);
        return 0;
    case 's':
        options->seconds = tarn_option_number(state, "seconds", text, 1, 600);
        return 0;
    case OPTION_FPS:
        options->fps = tarn_option_number(state, "fps", text, 1, 120);
        return 0;
    case OPTION_ROUNDS:
        options->rounds = tarn_option_number(state, "rounds", text, 1, ROUNDS_MAX);
        return 0;
    case OPTION_STEPS:
        options->steps = tarn_option_number(state, "steps", text, 0, 100000);
        return 0;
    case OPTION_SCENE:
        options->scene = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_fanout: %s\n", what);
    exit(1);
}

/// Makes so many steps. @return false where that fails
static bool advance(const tarn_scene *scene, tarn_tank *tank, uint64_t from, long steps)
{
    bool good = true;
    for (long i = 0; good && i < steps; i++) {
        tarn_step_input input = {0};
        tarn_scene_drive(scene, from + (uint64_t)i, &input);
        good = tarn_tank_step(tank, &input) == TARN_OK;
    }
    return good;
}

/// Records frames as a worker makes them: a key frame, then extra and base frames in turn. @return their bytes; 0 on
/// failure
static size_t record(const fanout_options *options, const tarn_scene *scene, tarn_tank *tank, FILE *out)
{
    tarn_encoder_desc desc;
    tarn_encoder *encoder;
    tarn_stream_head head;
    size_t all = 0;
    uint8_t *bytes = malloc(FANOUT_FRAME_BYTES_MAX);
    tarn_encoder_desc_default(&desc);
    if (bytes == NULL || tarn_encoder_create(tank, &desc, &encoder) != TARN_OK) {
        return 0;
    }
    for (uint64_t i = 0; i < FANOUT_FRAMES; i++) {
        const tarn_stream_kind kind = i == 0 ? TARN_STREAM_KEY : i % 2 ? TARN_STREAM_EXTRA : TARN_STREAM_BASE;
        const tarn_tank_frame_info info = {.epoch = 1, .realtime_factor = 1.0f};
        uint8_t size[FANOUT_SIZE_BYTES];
        if (tarn_encoder_encode(encoder, kind, &info, bytes, FANOUT_FRAME_BYTES_MAX, &head) != TARN_OK) {
            return 0;
        }
        put_u32(size, head.frame_bytes);
        if (fwrite(size, sizeof size, 1, out) != 1 || fwrite(bytes, head.frame_bytes, 1, out) != 1 ||
            !advance(scene, tank, (uint64_t)options->steps + STEPS_PER_FRAME * i, STEPS_PER_FRAME)) {
            return 0;
        }
        all += head.frame_bytes;
    }
    tarn_encoder_destroy(encoder);
    free(bytes);
    return all;
}

/// Steps a scene and puts the frames of a second into a file. @return their bytes
static size_t make_recording(const fanout_options *options, const char *path)
{
    static tarn_scene scene;
    char file[4096], why[TARN_SCENE_WHY_BYTES] = "out of memory";
    tarn_device *device = NULL;
    tarn_tank *tank = NULL;
    tarn_device_desc desc = {.kind = TARN_DEVICE_CPU};
    if (tarn_scene_resolve(options->scene, NULL, file, sizeof file, why, sizeof why) != TARN_OK ||
        tarn_scene_read_file(file, &scene, why, sizeof why) != TARN_OK ||
        tarn_device_create(&desc, &device) != TARN_OK ||
        tarn_tank_create(device, &scene.tank, &tank, why, sizeof why) != TARN_OK) {
        fail(why);
    }
    if (!advance(&scene, tank, 0, options->steps)) {
        fail("the scene cannot be simulated");
    }
    FILE *out = fopen(path, "wb");
    const size_t byte_count = out != NULL ? record(options, &scene, tank, out) : 0;
    if (byte_count == 0 || fclose(out) != 0) {
        fail("frames cannot be recorded");
    }
    tarn_tank_destroy(tank);
    tarn_device_destroy(device);
    tarn_scene_free(&scene);
    return byte_count;
}

/// A server that runs while it is measured.
typedef struct fanout_server {
    pid_t pid;
    uint16_t port;
} fanout_server;

static fanout_server start_bare(const fanout_options *options, const char *path)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, LISTEN_BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
        fail("no port can be opened");
    }
    fanout_server server = {fork(), ntohs(address.sin_port)};
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "tarnd"); // `tarn load` measures no other processes
        fanout_bare_serve(fd, path, (uint32_t)options->fps);
    }
    close(fd);
    return server;
}

static fanout_server start_tarnd(const fanout_options *options, const char *path)
{
    char fps[16], line[256];
    int out[2];
    fanout_server server = {0};
    snprintf(fps, sizeof fps, "%ld", options->fps);
    if (pipe(out) != 0) {
        fail("no pipe");
    }
    server.pid = fork();
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv(FANOUT_RECORDING_VARIABLE, path, 1);
        dup2(out[1], STDOUT_FILENO);
        execl(TARN_BENCH_TARND, "tarnd", "--port", "0", "--log", "error", "--worker", TARN_BENCH_WORKER, "--fps", fps,
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    const char *found = said != NULL && fgets(line, sizeof line, said) != NULL ? strstr(line, "127.0.0.1:") : NULL;
    if (found == NULL) {
        fail("tarnd does not serve");
    }
    server.port = (uint16_t)strtol(found + strlen("127.0.0.1:"), NULL, 10);
    fclose(said);
    return server;
}

static void stop(const fanout_server *server)
{
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
}

/// What a measurement, or several, gave.
typedef struct fanout_sum {
    double bytes, cpu_s, seconds, frames_per_s, interval_p99_ms, load_cpu_s;
} fanout_sum;

static double number(json_t *object, const char *a, const char *b, const char *c)
{
    json_t *value = json_object_get(object, a);
    value = b != NULL ? json_object_get(value, b) : value;
    return json_number_value(c != NULL ? json_object_get(value, c) : value);
}

/// @return bytes per second of processor time
static double measure(const fanout_options *options, const fanout_server *server, fanout_sum *sum)
{
    char command[1024];
    snprintf(command, sizeof command,
             "%s load --json --quiet --check 0 --pushers 0 --viewers %ld --seconds %ld --server-pid %d 127.0.0.1:%u",
             TARN_BENCH_TARN, options->viewers, options->seconds, (int)server->pid, server->port);
    FILE *out = popen(command, "r");
    json_error_t error;
    json_t *report = out != NULL ? json_loadf(out, 0, &error) : NULL;
    if (report == NULL || pclose(out) != 0) {
        fail("tarn load failed");
    }
    double seconds = number(report, "seconds", NULL, NULL);
    double bytes = number(report, "mbit_s", NULL, NULL) * 1e6 / 8 * seconds;
    double cpu_s = number(report, "server", "gateway", "cpu_s");
    sum->seconds += seconds;
    sum->bytes += bytes;
    sum->cpu_s += cpu_s;
    sum->load_cpu_s += number(report, "this_program", "cpu_share", NULL) * seconds;
    sum->frames_per_s += number(report, "viewers", "steady", "frames_per_s_each") / (double)options->rounds;
    json_t *steady = json_object_get(json_object_get(report, "viewers"), "steady");
    sum->interval_p99_ms += number(steady, "interval", "p99_ms", NULL) / (double)options->rounds;
    json_decref(report);
    return bytes / cpu_s;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(const char *name, const fanout_sum *sum)
{
    printf("%-18s %12.1f %10.1f %12.2f %12.1f %14.1f %14.1f\n", name, sum->frames_per_s,
           8e-6 * sum->bytes / sum->seconds, sum->cpu_s / sum->seconds, 8e-9 * sum->bytes / sum->cpu_s,
           sum->interval_p99_ms, 8e-9 * sum->bytes / sum->load_cpu_s);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_list,
        .parser = parse,
        .doc = "Bytes per second of processor time that tarnd fans out, beside a bare loop over epoll and send().",
    };
    fanout_options options = {.viewers = 64, .fps = 30, .seconds = 8, .rounds = 3, .steps = 60, .scene = "dam-break"};
    argp_err_exit_status = TARN_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    setenv("TARN_SCENES", TARN_BENCH_SCENES, 0);
    char path[] = "/tmp/bench_fanout_XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        fail("no temporary file");
    }
    close(fd);
    size_t all_bytes = make_recording(&options, path);
    fanout_sum bare = {0}, tarnd = {0};
    double shares[ROUNDS_MAX];
    for (long round = 0; round < options.rounds; round++) {
        fanout_server server = start_bare(&options, path);
        double yardstick = measure(&options, &server, &bare);
        stop(&server);
        server = start_tarnd(&options, path);
        shares[round] = measure(&options, &server, &tarnd) / yardstick;
        stop(&server);
    }
    unlink(path);
    printf("%ld viewers, frames of %s after %ld steps (%zu bytes on average), %ld a second; %ld rounds of %ld s\n\n",
           options.viewers, options.scene, options.steps, all_bytes / FANOUT_FRAMES, options.fps, options.rounds,
           options.seconds);
    printf("%-18s %12s %10s %12s %12s %14s %14s\n", "", "frames/s", "Mbit/s", "processors", "Gbit/s", "interval p99",
           "tarn load,");
    printf("%-18s %12s %10s %12s %12s %14s %14s\n", "server", "of each", "in all", "busy", "per core", "ms",
           "Gbit/s per core");
    print_row("epoll and send()", &bare);
    print_row("tarnd", &tarnd);
    qsort(shares, (size_t)options.rounds, sizeof shares[0], compare);
    printf("\ntarnd does %.2f of the bare loop's bytes per second and core (median of the rounds; %.2f to %.2f)\n",
           shares[options.rounds / 2], shares[0], shares[options.rounds - 1]);
    return 0;
}
