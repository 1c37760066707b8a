/// The first tank of a server that keeps it, for tests of its past: whoever owns it goes back in it, and looks what of
/// it is kept. One server at a time. All of it asserts.
#ifndef TARN_TESTS_SERVER_KEPT_TANK_H
#define TARN_TESTS_SERVER_KEPT_TANK_H

#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"

enum { KEPT_ANSWER_BYTES = 16384, KEPT_COMMIT_MS = 50, KEPT_WAIT_MS = 60000, KEPT_HASH_DIGITS = 32, KEPT_TRIES = 1000 };

typedef struct kept_tank {
    char dir[64]; ///< the store's folder
    char own[64]; ///< the owners' key, once it was started
    server_process server;
    char answer[KEPT_ANSWER_BYTES]; ///< to what was asked last
} kept_tank;

extern kept_tank kept;

/// A moment of the tank, and what it goes on with there, bit for bit.
typedef struct kept_moment {
    double t_s;
    uint64_t step;
    char hash[KEPT_HASH_DIGITS + 1];
} kept_moment;

/// For cmocka: a folder for each test.
int kept_make_dir(void **state);
int kept_remove_dir(void **state);

/// Starts the server on the folder, where guests watch. @param more  further arguments, ended by NULL
void kept_start(const char *scene, const char *const *more);

/// Joins a session. @param joined  receives what was said; may be NULL  @return the role that was given
int kept_join(stream_client *client, const char *session, const char *key, tarn_joined *joined);

/// Asks for a page of a session ("history" and so on). @param key  NULL: none  @param body  NULL: with GET
/// @return the status
int kept_ask(const char *session, const char *page, const char *key, const char *body);

/// The same as the first tank's owner, for a moment, until nothing else is being done with it.
/// @param more  further fields, with a comma before each
int kept_ask_t(const char *page, double t_s, const char *more);

/// A number of the answer.
double kept_number(const char *field);

/// Until what was there is committed, where the disk is quick enough: for what may be either way.
void kept_wait_for_commit(void);

/// Whether a session's file ends where the client saw its tank.
bool kept_is_committed(const stream_client *client, const char *session);

/// The newest moment of the first tank, which stands where the client saw it. Waits until that is committed.
double kept_now_s(const stream_client *client);

/// What a kept session goes on with, which stands where the client saw it. Waits until that is committed.
void kept_hash(const stream_client *client, const char *session, char hash[KEPT_HASH_DIGITS + 1]);

/// The same for what is committed by now.
void kept_hash_now(const char *session, char hash[KEPT_HASH_DIGITS + 1]);

void kept_pause(stream_client *client);

/// Notes where the first tank is, which stands.
void kept_note(const stream_client *client, kept_moment *noted);

/// Goes back, and sees the tank there. @param more  as for kept_ask_t  @return the step that it is at
uint64_t kept_go_back(stream_client *client, double t_s, const char *more);

/// Waits until another worker than this one is there.
void kept_see_next_worker(pid_t worker);

/// The steps that are kept come to the states and the hashes that a worker has put between them.
void kept_expect_verified(void);

#endif
