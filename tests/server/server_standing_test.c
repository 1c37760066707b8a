// A tank as it stands, taken along as a scene over HTTP: what is in it, who gets it, and what a worker's end means.
#include "server/base/limits.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/upload_kit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// Whether the archive's scene has this in its text.
static bool scene_has(const char *text)
{
    return memmem(made.bytes, made.byte_count, text, strlen(text)) != NULL;
}

static pid_t worker_of(const server_process *of)
{
    char path[64], line[512] = "", *at = line;
    int used;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of->pid, (int)of->pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    (void)!fgets(line, sizeof line, file);
    fclose(file);
    int child = 0;
    assert_int_equal(sscanf(at, "%d%n", &child, &used), 1);
    return child;
}

static void test_a_tank_is_taken_along_as_it_stands(void **state)
{
    (void)state;
    char id[64], body[256], session[64], key[64], target[128];
    ws_client client;
    ws_frame frame;
    tarn_message joined;
    start("--uploads", "64M");
    enter(&client);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &joined));
    take_archive("/sessions/main/scene", joined.joined.watch_key); // of whoever may join
    assert_true(scene_has("liquid-1.ply") && scene_has("element vertex") && !scene_has("\"blocks\""));
    assert_int_equal(ask("GET", "/sessions/other/scene", own, NULL), 404);

    ws_client_parameter(&client, "gravity_m_s2", 3.5f);
    for (uint32_t seen = 0; seen != client.sequence;) {
        assert_true(ws_client_wait_frame(&client, &frame));
        for (uint32_t i = 0; i < frame.input_count; i++) {
            seen = frame.inputs[i].viewer_id == client.viewer_id ? frame.inputs[i].sequence : seen;
        }
    }
    usleep((TARN_GATEWAY_TELLING_KEEP_MS + 500) * 1000); // until then the first is everybody's
    int fds[4];
    for (int i = 0; i < 4; i++) { // together they are told once
        fds[i] = ask_for("/sessions/main/scene", own);
    }
    close(fds[0]); // who goes is nobody's concern
    for (int i = 1; i < 4; i++) {
        read_archive(fds[i]);
        assert_true(scene_has("\"gravity_m_s2\": 3.5"));
    }
    expect(upload(), 201, "\"files\":2");
    snprintf(id, sizeof id, "%s", text_of("scene"));
    snprintf(body, sizeof body, "{\"scene\": \"%s\"}", id);
    expect(ask("POST", "/sessions", own, body), 201, "keys");
    snprintf(session, sizeof session, "%s", text_of("session"));
    snprintf(key, sizeof key, "%s", text_of("own"));
    snprintf(target, sizeof target, "/sessions/%s/scene", session);
    for (int i = 0; ask("GET", target, key, NULL) == 503; i++) { // it is being made, and rests then: nobody watches it
        assert_true(i < 600);
        usleep(100000);
    }
    take_archive(target, key);
    assert_true(scene_has("\"gravity_m_s2\": 3.5") && scene_has("liquid-1.ply"));

    // A worker that stands, and then is no more, is waited for no longer than that.
    usleep((TARN_GATEWAY_TELLING_KEEP_MS + 500) * 1000);
    const pid_t worker = worker_of(&server);
    kill(worker, SIGSTOP);
    const int fd = ask_for("/sessions/main/scene", own);
    usleep(200000);
    assert_true(server_metric(server.port, "process_resident_memory_bytes") > 0); // which it answers meanwhile
    kill(worker, SIGKILL);
    expect(close_upload(fd), 503, "try again in a moment");
    ws_client_close(&client);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(test_a_tank_is_taken_along_as_it_stands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
