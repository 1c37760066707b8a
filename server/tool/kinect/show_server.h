/// The page for setting a camera up, on this machine's loopback: HTTP for its files, and a WebSocket at /ws for
/// what it shows. Everything on the loop's thread. It knows nothing of what it carries but when it may go: a picture
/// goes to a viewer that asked for one since the last, and who is slow gets fewer, but new ones.
///
/// A page of another origin gets nothing, nor does a name that somebody's DNS leads here.
#ifndef TARN_SERVER_TOOL_KINECT_SHOW_SERVER_H
#define TARN_SERVER_TOOL_KINECT_SHOW_SERVER_H

#include "server/tool/kinect/show.h"

#include <uv.h>

enum {
    SHOW_VIEWERS_MAX = 4,
    SHOW_CONNECTIONS_MAX = 32, ///< of all kinds
};

typedef struct show_server show_server;

/// Whoever has a say in what the page asks for.
typedef struct show_owner {
    void *user;
    /// What a viewer sent: a text of 1..SHOW_COMMAND_BYTES_MAX bytes.
    /// @param answer  room for an answer. @return the answer's bytes, 0: none. `*looks`: it wants the next picture
    size_t (*command)(void *user, const char *text, size_t bytes, char answer[SHOW_TEXT_BYTES_MAX], bool *looks);
} show_owner;

/// Listens. Before the loop has any other handles: on failure it is run until ours are closed.
/// @param port  0: any that is free
/// @return NULL; then `why` is a sentence
show_server *show_server_open(uv_loop_t *loop, uint16_t port, const show_owner *owner,
                              char why[KINECT_CALIBRATION_WHY_BYTES]);
uint16_t show_server_port(const show_server *server);

/// Whether somebody waits for a picture.
bool show_server_waits(const show_server *server);

/// Where the next picture is put, SHOW_PICTURE_BYTES_MAX bytes, and then shown to all who wait for one.
uint8_t *show_server_room(show_server *server);
void show_server_picture(show_server *server, size_t bytes);

/// The newest of each goes to all viewers, and to those who come later.
void show_server_setup(show_server *server, const char *text, size_t bytes);
void show_server_figures(show_server *server, const char *text, size_t bytes);

/// Closes all connections; the loop then lets go of it. NULL is fine.
void show_server_close(show_server *server);
/// Once the loop has ended. NULL is fine.
void show_server_free(show_server *server);

#endif
