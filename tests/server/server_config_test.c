// Options from a file: what comes before what, files that are wrong in every way, and a file that changes under
// viewers.
#include "server/base/options.h"
#include "server/base/token.h"
#include "server/gateway/option_table.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <jansson.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static server_process server;
static char folder[] = "/tmp/tarn-config-XXXXXX";
static char file[64], keys_file[64];

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/tarnd.json", folder);
    snprintf(keys_file, sizeof keys_file, "%s/keys", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void write_bytes(const char *path, const char *bytes, size_t byte_count)
{
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, byte_count, out), byte_count);
    assert_int_equal(fchmod(fileno(out), 0600), 0);
    fclose(out);
}

static void write_file(const char *text)
{
    write_bytes(file, text, strlen(text));
}

/// What `tarnd --print-config` says of an option, as JSON. @return "" where it says nothing
static const char *printed(const char *const *arguments, const char *name)
{
    static char text[512];
    server_spawn(&server, arguments);
    assert_int_equal(server_wait(&server), 0);
    json_t *root = json_loads(server.out, 0, NULL);
    assert_non_null(root);
    const json_t *value = json_object_get(root, name);
    char *dumped = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(text, sizeof text, "%s", dumped != NULL ? dumped : "");
    free(dumped);
    json_decref(root);
    return text;
}

static void test_the_command_line_comes_before_the_environment_before_the_file(void **state)
{
    (void)state;
    const char *const by_file[] = {"--config", file, "--print-config", NULL};
    const char *const by_command[] = {"--config", file,         "--print-config", "--port", "3",
                                      "--name",   "of-command", "--open=false",   NULL};
    const char *const by_default[] = {"--print-config", NULL};
    write_file("{\"$schema\": \"x\", \"port\": 1, \"name\": [\"a\", \"of-file\"], \"open\": true, \"drain\": 2, "
               "\"store-age\": \"60m\"}");
    assert_string_equal(printed(by_default, "port"), "8080");
    assert_string_equal(printed(by_file, "port"), "1");
    assert_string_equal(printed(by_file, "name"), "[\"a\",\"of-file\"]");
    assert_string_equal(printed(by_file, "store-age"), "\"1h\"");
    setenv("TARN_PORT", "2", 1);
    setenv("TARN_NAME", "b,of-environment", 1);
    setenv("TARN_DRAIN", "", 1); // as if it weren't there
    assert_string_equal(printed(by_file, "port"), "2");
    assert_string_equal(printed(by_file, "name"), "[\"b\",\"of-environment\"]");
    assert_string_equal(printed(by_file, "drain"), "2");
    assert_string_equal(printed(by_file, "open"), "true");
    assert_string_equal(printed(by_command, "port"), "3");
    assert_string_equal(printed(by_command, "name"), "[\"of-command\"]");
    assert_string_equal(printed(by_command, "open"), "false");
    unsetenv("TARN_PORT");
    unsetenv("TARN_NAME");
    unsetenv("TARN_DRAIN");
    setenv("TARN_CONFIG", file, 1);
    assert_string_equal(printed(by_default, "port"), "1");
    unsetenv("TARN_CONFIG");
}

static void test_what_is_printed_is_read(void **state)
{
    (void)state;
    server_spawn(&server, (const char *[]){"--print-config", NULL});
    assert_int_equal(server_wait(&server), 0);
    write_file(server.out);
    assert_string_equal(printed((const char *[]){"--config", file, "--print-config", NULL}, "uploads"), "\"0\"");
    assert_string_equal(printed((const char *[]){"--config", file, "--uploads=1G", "--print-config", NULL}, "uploads"),
                        "\"1G\"");
    write_file("{\"uploads\": \"1G\"}");
    assert_string_equal(printed((const char *[]){"--config", file, "--uploads=0", "--print-config", NULL}, "uploads"),
                        "\"0\"");
}

/// Each row by the file, by the environment and on the command line gives the same.
static void test_each_option_has_one_name_everywhere(void **state)
{
    (void)state;
    static const char *const values[][3] = {
        // name, as text, as JSON; those that stand in the way of others are in the next test
        {"host", "::1", "\"::1\""},
        {"port", "81", "81"},
        {"origin", "https://a.example", "[\"https://a.example\"]"},
        {"name", "a.example", "[\"a.example\"]"},
        {"open", "true", "true"},
        {"trusted-proxy", "10.0.0.0/8", "[\"10.0.0.0/8\"]"},
        {"client", "/c", "\"/c\""},
        {"scene", "maze", "\"maze\""},
        {"guests", "watch", "\"watch\""},
        {"create", "nobody", "\"nobody\""},
        {"token-keys", "/k", "\"/k\""},
        {"sessions-max", "9", "9"},
        {"load-max", "80", "80"},
        {"viewers-max", "64", "64"},
        {"keep-empty", "61", "61"},
        {"store", "/s", "\"/s\""},
        {"durability", "50", "50"},
        {"history", "30", "30"},
        {"store-max", "3G", "\"3G\""},
        {"store-age", "3d", "\"3d\""},
        {"scenes", "/scenes", "\"/scenes\""},
        {"uploads", "512M", "\"512M\""},
        {"devices", "cpu,cuda:1", "\"cpu,cuda:1\""},
        {"threads", "3", "3"},
        {"fps", "20", "20"},
        {"worker", "/w", "\"/w\""},
        {"worker-timeout", "7", "7"},
        {"drain", "4", "4"},
        {"metrics", "owners", "\"owners\""},
        {"log", "warn", "\"warn\""},
        {"log-format", "json", "\"json\""},
        {"tls-self-signed", "true", "true"},
    };
    enum { OTHERS = 4 }; // tls-cert, tls-key, tls-dir, redirect-port
    assert_int_equal(sizeof values / sizeof values[0] + OTHERS, tarn_option_count);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char option[128], variable[64] = "TARN_", text[256];
        const char *name = values[i][0];
        snprintf(option, sizeof option, "--%s=%s", name, values[i][1]);
        for (size_t at = 0; name[at] != 0; at++) {
            variable[5 + at] = (char)(name[at] == '-' ? '_' : name[at] - ('a' - 'A'));
        }
        snprintf(text, sizeof text, "{\"%s\": %s}", name, values[i][2]);
        write_file(text);
        assert_string_equal(printed((const char *[]){option, "--print-config", NULL}, name), values[i][2]);
        assert_string_equal(printed((const char *[]){"--config", file, "--print-config", NULL}, name), values[i][2]);
        setenv(variable, values[i][1], 1);
        assert_string_equal(printed((const char *[]){"--print-config", NULL}, name), values[i][2]);
        unsetenv(variable);
    }
    write_file("{\"tls-cert\": \"c\", \"tls-key\": \"k\", \"redirect-port\": 82}");
    assert_string_equal(printed((const char *[]){"--config", file, "--print-config", NULL}, "redirect-port"), "82");
    assert_string_equal(printed((const char *[]){"--config", file, "--print-config", NULL}, "tls-key"), "\"k\"");
}

static char sentences[4096];

static void add_sentence(const char *sentence)
{
    const size_t at = strlen(sentences);
    snprintf(sentences + at, sizeof sentences - at, "%s\n", sentence);
}

/// What nothing reads is named, and what was meant; what is read isn't.
static void test_variables_that_nothing_reads_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *says;
    } wrong[] = {
        {"TARN_PROT", "found the variable TARN_PROT in the environment, which nothing reads; did you mean TARN_PORT?"},
        {"TARN_port", "TARN_port in the environment, which nothing reads; did you mean TARN_PORT?"},
        {"TARN_SESSION_MAX", "did you mean TARN_SESSIONS_MAX?"},
        {"TARN_SCENS", "did you mean TARN_SCENES?"},
        {"TARN_SCEN", "did you mean TARN_SCENE?"},
        {"TARN_FOO", "TARN_FOO in the environment, which nothing reads; `tarnd --help` lists"},
        {"TARN_ANYTHING_ELSE", "TARN_ANYTHING_ELSE in the environment, which nothing reads; `tarnd --help` lists"},
        {"TARN_\033[2J", "found the variable TARN_?[2J in"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sentences[0] = 0;
        setenv(wrong[i].name, "1", 1);
        tarn_environment_check(add_sentence);
        unsetenv(wrong[i].name);
        if (strstr(sentences, wrong[i].says) == NULL) {
            fail_msg("%s: %s", wrong[i].name, sentences);
        }
    }
    sentences[0] = 0;
    setenv("TARN_CONFIG", "1", 1);
    setenv("TARN_TEST_OF_SOMETHING", "1", 1);
    setenv("TARNISHED", "1", 1);
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        char variable[64] = "TARN_";
        const char *name = tarn_option_table[i].name;
        for (size_t at = 0; name[at] != 0; at++) {
            variable[5 + at] = (char)(name[at] == '-' ? '_' : name[at] - ('a' - 'A'));
        }
        setenv(variable, "1", 1);
        tarn_environment_check(add_sentence);
        unsetenv(variable);
    }
    unsetenv("TARN_CONFIG");
    unsetenv("TARN_TEST_OF_SOMETHING");
    unsetenv("TARNISHED");
    assert_string_equal(sentences, "");
    // And by a server, in its log.
    setenv("TARN_PROT", "1", 1);
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL});
    unsetenv("TARN_PROT");
    assert_non_null(strstr(server_said(&server), "did you mean TARN_PORT?"));
    server_stop(&server);
}

static void test_the_schema_is_that_of_the_table(void **state)
{
    (void)state;
    json_error_t error;
    json_t *written = json_load_file(TARN_TEST_DEPLOY "/tarnd.schema.json", 0, &error);
    char *text = tarn_config_schema();
    assert_non_null(written);
    assert_non_null(text);
    json_t *made = json_loads(text, 0, &error);
    if (!json_equal(written, made)) {
        fail_msg("deploy/tarnd.schema.json isn't what tarnd --print-schema prints");
    }
    const json_t *members = json_object_get(written, "properties");
    assert_int_equal(json_object_size(members), tarn_option_count + 1);
    for (uint32_t i = 0; i < tarn_option_count; i++) {
        assert_non_null(json_object_get(members, tarn_option_table[i].name));
    }
    json_decref(made);
    json_decref(written);
    free(text);
}

static void expect_refused(const char *path, const char *says)
{
    server_spawn(&server, (const char *[]){"--config", path, "--print-config", NULL});
    const int status = server_wait(&server);
    if (status != 2 || strstr(server.err, says) == NULL || strstr(server.err, path) == NULL) {
        fail_msg("expected \"%s\" and status 2; got %d\n%s", says, status, server.err);
    }
}

static void test_wrong_files_are_refused_with_what_is_allowed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "tarnd.json:1:"},
        {"{\"port\": 1,\n  \"host\" \"x\"}", "tarnd.json:2:"},
        {"{\"port\": 1, \"port\": 2}", "duplicate object key"},
        {"[]", "allowed is an object"},
        {"{\"prot\": 1}", "found \"prot\", which is no option; did you mean \"port\"?"},
        {"{\"viewer-max\": 1}", "did you mean \"viewers-max\"?"},
        {"{\"config\": \"x\"}", "found \"config\", which is no option; allowed are those that --help lists"},
        {"{\"\\u001b[2J\": 1}", "?[2J"},
        {"{\"port\": \"80\"}", "port: found \"80\", allowed is a whole number from 0 to 65535"},
        {"{\"port\": 80.0}", "port: found 80.0, allowed is a whole number from 0 to 65535"},
        {"{\"port\": 65536}", "port: found 65536, allowed is a whole number from 0 to 65535"},
        {"{\"port\": -1}", "port: found -1, allowed"},
        {"{\"port\": 99999999999999999999}", "tarnd.json:1:"},
        {"{\"port\": null}", "port: found null, allowed"},
        {"{\"sessions-max\": 0}", "sessions-max: found 0, allowed is a whole number from 1 to 512"},
        {"{\"viewers-max\": 257}", "viewers-max: found 257, allowed is a whole number from 1 to 256"},
        {"{\"open\": 1}", "open: found 1, allowed are true and false"},
        {"{\"guests\": \"boss\"}", "guests: found \"boss\", allowed are watch, play and own"},
        {"{\"name\": \"a\"}", "name: found \"a\", allowed is a list, of which each: allowed is a host's name"},
        {"{\"name\": [\"a:80\"]}", "name: found \"a:80\", allowed is a host's name"},
        {"{\"name\": [1]}", "name: found 1, allowed is a host's name"},
        {"{\"name\": [\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
         "\"a\"]}",
         "name: given more than 16 times"},
        {"{\"trusted-proxy\": [\"10.0.0.0/33\"]}", "trusted-proxy: found \"10.0.0.0/33\""},
        {"{\"devices\": \"gpu\"}", "devices: found \"gpu\", allowed are cpu"},
        {"{\"store-max\": 5}", "store-max: found 5, allowed is a whole number from 1 to 1000000 and nothing, k, M"},
        {"{\"store-age\": \"5m\"}", "store-age: found \"5m\", allowed is 1h and more"},
        {"{\"host\": \"\"}", "host: found \"\", allowed is a text"},
        {"{\"scene\": \"a\\u0000b\"}", "tarnd.json:1:"},
    };
    char *large = malloc(TARN_GATEWAY_CONFIG_BYTES_MAX + 1);
    char path[80];
    assert_non_null(large);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(cases[i].text);
        expect_refused(file, cases[i].says);
    }
    memset(large, '[', TARN_GATEWAY_CONFIG_BYTES_MAX + 1);
    write_bytes(file, large, TARN_GATEWAY_CONFIG_BYTES_MAX);
    expect_refused(file, "maximum parsing depth reached");
    write_bytes(file, large, TARN_GATEWAY_CONFIG_BYTES_MAX + 1);
    expect_refused(file, "found 65537 bytes, allowed are 65536");
    free(large);
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(path, "found something that isn't a file");
    expect_refused(folder, "found something that isn't a file");
    expect_refused("/dev/null", "found something that isn't a file");
    expect_refused("/no/such/file", "No such file");
    write_file("{\"redirect-port\": 80}");
    server_spawn(&server, (const char *[]){"--config", file, NULL});
    assert_int_equal(server_wait(&server), 2);
    assert_non_null(strstr(server.err, "found --redirect-port, allowed only with"));
    setenv("TARN_PORT", "-1", 1);
    server_spawn(&server, (const char *[]){"--print-config", NULL});
    assert_int_equal(server_wait(&server), 2);
    assert_non_null(strstr(server.err, "TARN_PORT: found \"-1\", allowed is a whole number from 0 to 65535"));
    unsetenv("TARN_PORT");
}

static void test_a_file_that_may_not_be_read_is_refused(void **state)
{
    (void)state;
    write_file("{}");
    assert_int_equal(chmod(file, 0), 0);
    if (access(file, R_OK) == 0) {
        print_message("skipped: this user may read everything\n");
        skip();
    }
    expect_refused(file, "Permission denied");
}

/// Waits until it has said so behind `from`, and lets it have read all.
static void wait_for(const char *says, size_t from)
{
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 20; i++) {
        if (strstr(server_said(&server) + from, says) != NULL) {
            return;
        }
        usleep(20000);
    }
    fail_msg("it didn't say \"%s\":\n%s", says, server.err + from);
}

static void reload(const char *text, const char *says)
{
    const size_t from = strlen(server_said(&server));
    write_file(text);
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for(says, from);
}

static int request(const char *host)
{
    char text[256] = "";
    const int fd = ws_connect(server.port);
    assert_true(fd >= 0);
    const int length = snprintf(text, sizeof text, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    assert_int_equal(ws_send_raw(fd, text, (size_t)length), 0);
    assert_true(recv(fd, text, sizeof text - 1, 0) > 12);
    close(fd);
    return atoi(text + 9);
}

static void test_a_reload_changes_at_once_what_it_may_and_viewers_stay(void **state)
{
    (void)state;
    ws_client first, second;
    tarn_message message;
    static char answer[8192];
    write_file("{\"scene\": \"small-pool\", \"guests\": \"play\", \"scenes\": \"" TARN_TEST_SCENES "\"}");
    server_start(&server, (const char *[]){"--config", file, "--drain", "1", NULL});
    ws_client_enter(&first, server.port);
    const size_t from = strlen(server_said(&server));
    reload("{\"scene\": \"small-pool\", \"guests\": \"watch\", \"viewers-max\": 1, \"scenes\": \"" TARN_TEST_SCENES
           "\", \"fps\": 7, \"keep-empty\": 5, \"create\": \"nobody\", \"log\": \"debug\", \"drain\": 9}",
           "changed: guests, create, viewers-max, keep-empty, log\n");
    wait_for("another value for fps holds only once tarnd is started again", from);
    // Who came as a guest has the new role, too.
    ws_client_point(&first, 0, TARN_TOOL_PUSH, TARN_PHASE_DOWN, (const float[]){0.25f, 0.25f}, 0.1f);
    assert_true(ws_client_wait(&first, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_ROLE);
    // One more is too many now; the one that is there stays.
    assert_int_equal(ws_client_open(&second, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&second);
    ws_client_join(&second, "");
    assert_true(ws_client_wait(&second, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_FULL);
    assert_non_null(strstr(message.error.text, "allowed are 1 viewers"));
    ws_client_close(&second);
    assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-pool\"}", answer, sizeof answer),
                     403);
    // A faulty file changes nothing.
    reload("{\"viewers-max\": 2, \"port\": true}", "all options stay as they were: --config: ");
    reload("{\"viewers-max\": 2, \"guests\": 5}", "guests: found 5, allowed are watch, play and own");
    assert_int_equal(unlink(file), 0);
    const size_t before = strlen(server_said(&server));
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for("No such file", before);
    reload("{\"scene\": \"small-pool\", \"scenes\": \"" TARN_TEST_SCENES
           "\", \"viewers-max\": 2, \"guests\": \"watch\"}",
           "changed: create, viewers-max, keep-empty, log\n");
    ws_client_enter(&second, server.port);
    ws_frame frame;
    assert_int_equal(ws_client_wait_frame(&first, &frame), 1);
    ws_client_close(&second);
    ws_client_close(&first);
    server_stop(&server);
}

static void test_a_reload_changes_names_and_the_certificate_made_for_them(void **state)
{
    (void)state;
    char text[512], certificate[128];
    static const char format[] = "{\"scenes\": \"" TARN_TEST_SCENES "\", \"scene\": \"small-pool\"%s}";
    snprintf(text, sizeof text, format, ", \"name\": [\"one.example\"]");
    write_file(text);
    server_start_bare(&server, (const char *[]){"--config", file, "--port", "0", NULL});
    assert_int_equal(request("one.example"), 200);
    assert_int_equal(request("two.example"), 421);
    snprintf(text, sizeof text, format, ", \"name\": [\"two.example\"]");
    reload(text, "changed: name\n");
    assert_int_equal(request("one.example"), 421);
    assert_int_equal(request("two.example"), 200);
    server_stop(&server);

    snprintf(certificate, sizeof certificate, "%s/tls/tarn-self-signed.crt", folder);
    snprintf(text, sizeof text, "%s/tls", folder);
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"one.example", "192.0.2.77"};
        const char *const arguments[] = {
            "--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--tls-self-signed", "--tls-dir",
            text,       "--name",         names[i],  NULL};
        server_start(&server, arguments);
        server_stop(&server);
        FILE *in = fopen(certificate, "re");
        assert_non_null(in);
        X509 *made = PEM_read_X509(in, NULL, NULL, NULL);
        fclose(in);
        assert_non_null(made);
        assert_int_equal(X509_check_host(made, "one.example", 0, 0, NULL), i == 0);
        assert_int_equal(X509_check_ip_asc(made, "192.0.2.77", 0), i == 1);
        X509_free(made);
    }
}

static void write_keys(const tarn_token_key *key)
{
    char line[256], secret[128];
    secret[tarn_base64url_write(key->secret, key->secret_bytes, secret)] = 0;
    snprintf(line, sizeof line, "%s %s\n", key->name, secret);
    write_bytes(keys_file, line, strlen(line));
}

static void test_keys_of_tokens_are_read_again_and_those_of_old_ones_are_out(void **state)
{
    (void)state;
    static const tarn_token_key old = {"k1", 32, "0123456789abcdef0123456789abcde"}, new = {"k2", 32, "another one"};
    tarn_token token = {.id = "a1", .session = "main", .role = TARN_ROLE_PLAY};
    ws_client by_token, guest;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    write_keys(&old);
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests", "watch",
                                           "--token-keys", keys_file, NULL});
    ws_client_enter(&guest, server.port);
    assert_int_equal(tarn_token_write(&token, &old, message.join.key), TARN_OK);
    assert_int_equal(ws_client_open(&by_token, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(&by_token);
    assert_int_equal(ws_client_tell(&by_token, &message), 0);
    assert_true(ws_client_wait(&by_token, TARN_MESSAGE_JOINED, &message));
    // A faulty file changes nothing.
    const size_t from = strlen(server_said(&server));
    write_bytes(keys_file, "x\n", 2);
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    wait_for("the keys of tokens stay as they were", from);
    write_keys(&new);
    assert_int_equal(kill(server.pid, SIGHUP), 0);
    assert_int_equal(ws_client_wait_close(&by_token), 4000 + TARN_ERROR_KEY);
    ws_frame frame;
    assert_int_equal(ws_client_wait_frame(&guest, &frame), 1);
    ws_client_close(&by_token);
    ws_client_close(&guest);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_command_line_comes_before_the_environment_before_the_file),
        cmocka_unit_test(test_what_is_printed_is_read),
        cmocka_unit_test(test_each_option_has_one_name_everywhere),
        cmocka_unit_test(test_variables_that_nothing_reads_are_named),
        cmocka_unit_test(test_the_schema_is_that_of_the_table),
        cmocka_unit_test(test_wrong_files_are_refused_with_what_is_allowed),
        cmocka_unit_test(test_a_file_that_may_not_be_read_is_refused),
        cmocka_unit_test(test_a_reload_changes_at_once_what_it_may_and_viewers_stay),
        cmocka_unit_test(test_a_reload_changes_names_and_the_certificate_made_for_them),
        cmocka_unit_test(test_keys_of_tokens_are_read_again_and_those_of_old_ones_are_out),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
