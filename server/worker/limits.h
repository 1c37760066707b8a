/// Every limit of tarn-worker, by name.
#ifndef TARN_SERVER_WORKER_LIMITS_H
#define TARN_SERVER_WORKER_LIMITS_H

#include "kernels/tank.h"
#include "protocol/message.h"

enum {
    TARN_WORKER_TANKS_MAX = 256,
    TARN_WORKER_PLACES_MAX = 2 * TARN_WORKER_TANKS_MAX, ///< of tanks, and of those that end with what they are doing
    TARN_WORKER_OUT_BYTES_MAX = 256 * 1024,             ///< messages waiting for the gateway; frames wait elsewhere
    TARN_WORKER_READS_BYTES_MAX = 64 * 1024,  ///< above this much waiting, nothing is read that would be answered
    TARN_WORKER_PIECE_BYTES = 4096,           ///< read at once: 256 messages that may be refused, in 140 KiB
    TARN_WORKER_ANSWERS_BYTES = 32 * 1024,    ///< of what may wait, for what isn't a refusal of inputs
    TARN_WORKER_CHUNKS_BYTES_MAX = 32 * 1024, ///< above this much waiting, no more of a tank's state is put there
    TARN_WORKER_FPS_MIN = 1,
    TARN_WORKER_FPS_MAX = 120,
    TARN_WORKER_FPS = 30,               ///< frames sent per second and tank
    TARN_WORKER_ACTS_FPS = 60,          ///< while somebody acts on it
    TARN_WORKER_ACTS_MS = 1000,         ///< that somebody counts as acting after an act
    TARN_WORKER_KEY_MS = 10000,         ///< between key frames that nobody asked for, at least
    TARN_WORKER_KEY_FRAMES = 100,       ///< base frames between them, at least
    TARN_WORKER_KEY_SPACING_MS = 100,   ///< at least, also where they are asked for
    TARN_WORKER_KEY_ASKED_MS = 1000,    ///< between those that are asked for, in the long run
    TARN_WORKER_KEY_ASKED_BURST = 3,    ///< of them in a row
    TARN_WORKER_BASE_MS = 66,           ///< between base frames: 15 in a second
    TARN_WORKER_ROOM_MS = 20,           ///< until there may be room again for a frame that found none
    TARN_WORKER_TOO_LARGE_MS = 1000,    ///< until a frame that was too large is tried again
    TARN_WORKER_STEPS_QUEUED_MAX = 240, ///< single steps asked for and not yet made
    TARN_WORKER_LAG_MS_MAX = 50,        ///< that a tank makes up for; what is beyond it slows the tank's clock
    TARN_WORKER_SLICE_MS = 20,          ///< of time that a tank gets at most for one deadline
    TARN_WORKER_FIRST_SLICE_MS = 2,     ///< the same of a job of which nothing is known
    TARN_WORKER_PARTICLE_NS = 100,      ///< of one core, that a step is taken to last for each particle before there
                                        ///< was one
    TARN_WORKER_PARTICLE_GPU_NS = 10,   ///< the same of a GPU
    TARN_WORKER_DEBT_SLICES = 2,        ///< of each tank's time, that a tank had beyond its share and pays back
    TARN_WORKER_ALONE_US = 4000,        ///< that a step and its frame take at most in a lane of its own, beside others'
    TARN_WORKER_ALONE_ONLY_US = 1000,   ///< the same where no other tank has work: what is longer has all threads
    TARN_WORKER_TOGETHER_US = 100,      ///< for each tank, that short jobs wait for each other beside a long one...
    TARN_WORKER_TOGETHER_US_MAX = 4000, ///< ...at most
    TARN_WORKER_LOOK_MS = 2,            ///< after which a job looks whether the socket takes more
    TARN_WORKER_READ_MS = 20,           ///< that a message waits at most while jobs are in progress
    TARN_WORKER_POLL_US = 20,           ///< between two questions whether a GPU is done
    TARN_WORKER_AWAY_US = 1000,         ///< or whether a job that reads a file is back
    TARN_WORKER_REPORT_MS = 1000,
    TARN_WORKER_READINGS_MS = 100,                ///< between what probes measured, at least
    TARN_WORKER_ADDED_MS = 100,                   ///< between lists of what was put into a tank
    TARN_WORKER_FDS_MAX = TARN_WORKER_PLACES_MAX, ///< that have come along with messages
    TARN_WORKER_READ_BYTES_MAX = 1 << 20,         ///< read from the gateway at a time
    TARN_WORKER_WAIT_MS_MAX = 1000,
    TARN_SCENE_WATCH_FIRST_MS = 3000,         ///< from a worker's start until it reads the scenes of its folder
    TARN_SCENE_WATCH_MS = 2000,               ///< between looks at the folder
    TARN_SCENE_WATCH_FRESH_MS = 1000,         ///< so long a file is left alone that has just been written
    TARN_SCENE_WATCH_AGAIN_MS = 30000,        ///< after which one that couldn't be read is tried again
    TARN_SCENE_WATCH_NICE = 19,               ///< of the thread that reads them beside tanks
    TARN_SCENE_INTAKE_NICE = 5,               ///< of the process that checks one: tanks come first, but somebody waits
    TARN_WORKER_READS_MAX = 2,                ///< folders besides the scenes' whose files may be read
    TARN_SCENE_INTAKE_MEMORY_BYTES = 1 << 30, ///< of the process that checks a scene which was uploaded
    TARN_SCENE_INTAKE_CPU_S = 20,             ///< of its processor time
    TARN_WORKER_REPLAY_MS_MAX = 5000, ///< that a tank stands for a piece of what is played back, before it goes on live

    TARN_INPUT_SOURCES_MAX = TARN_TANK_PUSHES_MAX, ///< pointers, controllers and hands that act at once in a tank
    TARN_INPUT_VIEWERS_MAX = TARN_VIEWERS_MAX,     ///< whose newest input is remembered
    TARN_INPUT_SWEEP_MAX = 4,                      ///< spheres along one step's path of a fast pointer
    TARN_INPUT_THROWS_MAX = 8,                     ///< bodies thrown in in a step; more wait
    TARN_INPUT_WALLS_MAX = 16,                     ///< pieces of wall that grow in a step; more wait
    TARN_INPUT_ERASES_MAX = 64,                    ///< spheres that erase in a step
    TARN_INPUT_COLUMN_MAX = 8,                     ///< of these, over each other
    TARN_INPUT_STALE_STEPS = 30,                   ///< steps after which a silent controller or hand no longer acts
    TARN_INPUT_SILENT_STEPS = 600,                 ///< steps after which a silent pointer may lose its place to another
};

#define TARN_INPUT_SMOOTHING 0.5f      ///< share of a new speed that is taken over in each step
#define TARN_INPUT_SPEED_MIN_M_S 0.01f ///< slower spheres do nothing, so that a finger at rest is no wall
#define TARN_INPUT_REACH_TANKS 1.0f    ///< how far outside the tank a pointer's sphere may be, in tank sizes
#define TARN_INPUT_GRAZE_MIN 0.05f     ///< cosine below which a ray is too flat for a pointer's plane
#define TARN_INPUT_TRIGGER_MIN 0.1f    ///< of a controller's trigger or grip, to act
#define TARN_INPUT_HAND_CLOSED 0.5f    ///< a hand's grip from which on it is a fist, which does not push
#define TARN_INPUT_HAND_PINCHED 0.7f   ///< a hand's pinch from which on it takes hold of a body
#define TARN_INPUT_SWIRL_SHARE 0.5f    ///< of the difference to a pull's or vortex' velocity that goes in a step
#define TARN_INPUT_PULL_M_S 3.0f       ///< inwards, of a pull of full strength
#define TARN_INPUT_VORTEX_M_S 3.0f     ///< half way out, of a vortex of full strength
#define TARN_INPUT_VORTEX_INWARD 0.25f ///< of that speed, inwards
#define TARN_INPUT_POUR_MIN_M_S 0.5f   ///< downwards, of a pour without strength
#define TARN_INPUT_POUR_M_S 1.5f       ///< what full strength adds
#define TARN_INPUT_POUR_RADIUS 0.5f    ///< of the tool's radius
#define TARN_INPUT_DYE_COLOUR 0xd81b60 ///< where none is given
#define TARN_INPUT_WALL_RADIUS 0.4f    ///< half a wall's thickness, of the tool's radius
#define TARN_INPUT_WALL_SHARE 0.05f    ///< length of a piece of wall, at least: of the tank's longer side
#define TARN_INPUT_LEVEL_MIN 0.15f     ///< a pointer's ray that is steeper draws walls on the level
#define TARN_INPUT_GRAB_STRENGTH 0.5f  ///< share of the way to the hand that a held body makes in a step

#endif
