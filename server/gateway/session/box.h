/// Memory that outlives a worker: a tank's black box (server/log/black_box.h), of which the gateway has nothing but
/// the descriptor.
#ifndef TARN_SERVER_GATEWAY_SESSION_BOX_H
#define TARN_SERVER_GATEWAY_SESSION_BOX_H

#include <stdbool.h>

/// A box of which nothing is used yet, where there is none. @param fd  0: none; receives a descriptor, which
/// tarn_session_box_close takes, or stays 0: none is to be had, which is logged
void tarn_session_box_open(int *fd);

/// The scene itself, where one box has it, goes into another of which nothing is used yet. @param from, to  0 is fine
void tarn_session_box_copy_scene(int from, int to);

/// Gives the memory back, as far as no worker uses it. @param fd  0 is fine; receives 0
void tarn_session_box_close(int *fd);

/// Whether a copy of it can go along with a message just now: there is a descriptor for that.
/// @param fd  0: there is nothing to copy
bool tarn_session_box_can_go(int fd);

#endif
