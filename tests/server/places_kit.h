/// What tests of a worker's tanks share: a worker without its program, with the gateway's end of its socket.
#ifndef TARN_TESTS_SERVER_PLACES_KIT_H
#define TARN_TESTS_SERVER_PLACES_KIT_H

#include "server/worker/places.h"

#include <stdint.h>

enum { TURNS_MAX = 200000, TANK_IDS_MAX = 64 };

typedef struct places_worker {
    tarn_device *device;
    tarn_worker_link link;  ///< the worker's end
    tarn_worker_link other; ///< the gateway's
    tarn_worker_options options;
    tarn_places places;
    uint32_t frames[TANK_IDS_MAX]; ///< seen, by tank
    uint8_t *frame;
    tarn_ipc_refused refused;      ///< the newest
    tarn_ipc_replay_wanted wanted; ///< the newest
} places_worker;

extern places_worker *worker; ///< the test's

/// A worker with a device on the CPU. @param threads  of the device, and so its lanes
int begin_with(uint32_t threads);

/// For cmocka: one with one thread, and its end with all its tanks.
int begin(void **state);
int end(void **state);

void say(tarn_ipc_message message);

/// What the worker does in one round of its loop.
void turn(void);

/// Lets the worker work until a tank has so many frames.
void run_until(uint32_t tank, uint32_t frames);

#endif
