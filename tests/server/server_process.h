/// A tarnd for tests: started on a free port, with what it prints kept, ended by its pid.
#ifndef TARN_TESTS_SERVER_SERVER_PROCESS_H
#define TARN_TESTS_SERVER_SERVER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SERVER_ARGUMENTS_MAX = 32, SERVER_OUTPUT_BYTES_MAX = 65536 };

/// File descriptors that servers started from now on may have; 0: as many as this program.
extern unsigned server_descriptors_max;

typedef struct server_process {
    pid_t pid;
    uint16_t port; ///< 0 until it serves
    int out_fd, err_fd;
    char out[SERVER_OUTPUT_BYTES_MAX], err[SERVER_OUTPUT_BYTES_MAX];
} server_process;

/// Starts the program named by TARN_TEST_SERVER (or the one built with the tests) with these arguments, ended by NULL.
void server_spawn(server_process *server, const char *const *arguments);

/// Listens for a moment to one that was spawned: its port is set once it serves. @return false: it says nothing more
bool server_listens(server_process *server);

/// Starts it on a free port and waits until it serves; asserts.
void server_start(server_process *server, const char *const *arguments);

/// As server_start, with these arguments alone: others are the command line's, which comes before a file.
void server_start_bare(server_process *server, const char *const *arguments);

/// As server_start, with a terminal as its standard output.
void server_start_on_terminal(server_process *server, const char *const *arguments);

/// As server_start, without standard input and standard error.
void server_start_closed(server_process *server, const char *const *arguments);

/// What it and its workers have said on stderr so far.
const char *server_said(server_process *server);

/// The key in the owners' link of its first tank, which is in its store's folder. Asserts that its user alone may read
/// it.
/// @param key  room for a key
void server_owners_key(const char *store, char *key, size_t key_bytes);

/// Removes a store's folder with the files in it. @return 0, or -1: it is still there
int server_remove_store(const char *store);

/// Waits for its end. @return the exit status, or 128 + signal; -1: it did not end
int server_wait(server_process *server);

/// Ends it with SIGTERM; asserts that it ends with status 0 and that no sanitizer reported anything.
void server_stop(server_process *server);

/// The pid of its first worker. @return 0 where there is none
pid_t server_worker(const server_process *server);

/// The pid of one of several workers, as /metrics says. @return 0 where there is none
pid_t server_worker_at(const server_process *server, int index);

/// Whether it still runs.
bool server_runs(const server_process *server);

/// One HTTP request with a method and a raw target; the whole answer goes to `answer`. @return its status or 0
int server_http(uint16_t port, const char *method, const char *target, const char *headers, char *answer,
                int answer_bytes);

/// The same with a body, where that isn't NULL, and its length.
int server_request(uint16_t port, const char *method, const char *target, const char *headers, const char *body,
                   char *answer, int answer_bytes);

/// The value of a metric; -1 where it is missing.
double server_metric(uint16_t port, const char *name);

#endif
