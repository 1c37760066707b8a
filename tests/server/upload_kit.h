/// What tests of scenes that owners upload, and of what they take along, share: a server with a store, archives to it
/// and from it.
#ifndef TARN_TESTS_SERVER_UPLOAD_KIT_H
#define TARN_TESTS_SERVER_UPLOAD_KIT_H

#include "tests/server/archive_maker.h"
#include "tests/server/server_process.h"
#include "tests/server/ws_client.h"

#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_BYTES = 8 << 20, WAIT_MS = 60000, LOOK_MS = 20 };

extern server_process server;
extern char store[64], own[64],
    folder[128];                  ///< the folder of the one, the key of its first tank's owners, the uploads'
extern char answer[ANSWER_BYTES]; ///< the newest
extern size_t answer_bytes;
extern archive made; ///< that is uploaded, or came

/// Starts the server, with one more option. @param option, value  NULL: none
void start(const char *option, const char *value);

int make_store(void **state);
int remove_store(void **state);
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, make_store, remove_store)

/// How many files a folder has.
int count_files(const char *path);

/// Begins an upload. @param byte_count  as it is declared  @return the socket
int open_upload(const char *session, const char *key, const char *more, size_t byte_count);

/// Reads the answer and ends. @return its status
int close_upload(int fd);

/// Uploads `made`. @param more  fields of the head  @return the status
int upload_by(const char *session, const char *key, const char *more);
int upload(void);

/// @return the status of a request with a key
int ask(const char *method, const char *target, const char *key, const char *body);

/// A string of the answer's JSON.
const char *text_of(const char *field);

void expect(int status, int expected, const char *says);

extern const char pool[]; ///< a small scene, "My pool"

/// `made` becomes that.
void make_pool(void);

/// Waits until a tank has been made from a scene.
void expect_scene(ws_client *client, const char *scene);

/// Joins the first tank as its owner.
void enter(ws_client *client);

/// Sends a request for an archive. @return the socket
int ask_for(const char *target, const char *key);

/// Reads it into `made`. Both together.
void read_archive(int fd);
void take_archive(const char *target, const char *key);

#endif
