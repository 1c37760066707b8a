/// Made depth: bodies of ellipsoids and capsules that move in a room, seen by a camera as a Kinect v1 sees it, with the
/// truth beside: whose each pixel is, and how what is seen there moves.
///
/// What the camera does wrong is put in one by one, after K. Khoshelham, S. Oude Elberink, "Accuracy and resolution of
/// Kinect depth data", 2012, and J. Smisek, M. Jancosek, T. Pajdla, "3D with Kinect", 2011: steps of disparity; noise
/// of half a step, which neighbours share, as windows were matched; edges that tremble by a pixel; shadows beside what
/// is near, which the projector's light doesn't reach; holes along edges, here and there, and in dark cloth.
#ifndef TARN_SERVER_TOOL_KINECT_ACTOR_H
#define TARN_SERVER_TOOL_KINECT_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ACTOR_WIDTH = 640,
    ACTOR_HEIGHT = 480,
    ACTOR_PIXELS = ACTOR_WIDTH * ACTOR_HEIGHT,
    ACTOR_RATE = 30,      ///< frames a second
    ACTOR_NOTHING = 2047, ///< raw value where nothing was measured
    ACTOR_CROWD_MAX = 7,
};

#define ACTOR_FOCAL_PIXELS 589.366f ///< of 57 degrees across 640 pixels
#define ACTOR_ENTER_S 1.5f          ///< the room is empty until then

typedef enum actor_act {
    ACTOR_STILL = 0,    ///< stands
    ACTOR_WAVE = 1,     ///< stands and swings both arms
    ACTOR_SIDE = 2,     ///< goes from side to side
    ACTOR_BOW = 3,      ///< sinks and rises as one
    ACTOR_APPROACH = 4, ///< comes and goes
    ACTOR_WALK = 5,     ///< goes from side to side and swings both arms
    ACTOR_CROWD = 6,    ///< several people stand side by side
    ACTOR_ACT_COUNT
} actor_act;

typedef struct actor_scene {
    actor_act act;
    uint32_t seed;
    float depth_m;     ///< where the body stands
    float speed;       ///< 1: as people do it
    uint32_t people;   ///< of ACTOR_CROWD
    float noise;       ///< 1: a Kinect's; 0: none of all that
    bool always_there; ///< the room isn't empty at first
} actor_scene;

typedef struct actor_frame {
    uint16_t raw[ACTOR_PIXELS];      ///< 11 bits of disparity
    uint8_t person[ACTOR_PIXELS];    ///< 0: nobody
    float velocity[ACTOR_PIXELS][3]; ///< m/s: right, up, away
    float depth_m[ACTOR_PIXELS];     ///< without all that is wrong
} actor_frame;

/// The frame at n / ACTOR_RATE seconds.
void actor_render(const actor_scene *scene, uint32_t n, actor_frame *frame);

/// The names of acts, for command lines and messages. @return NULL past the last
const char *actor_act_name(actor_act act);

#endif
