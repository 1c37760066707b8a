/// Tanks and models, told: a tank as a scene, a model to viewers.
///
/// A tank as it stands, told as a scene: what somebody built in it can be taken along, looked at in an editor, and be
/// made into a tank again, here or elsewhere.
///
/// The scene that the tank was made from is changed where the tank is otherwise by now: parameters and gravity; bodies
/// with their places, rotations and speeds; what was thrown in, and walls, as further solids; what follows key frames,
/// and taps with times, as it goes on from here; how the tank is turned; probes. Instead of blocks and fluids it has
/// the liquid particle by particle, in PLY files (ply.h): no scene could say it as blocks. Title, description and
/// the rest stay.
///
/// A tank made from it goes on as this one does, but not to the bit: it has no affine velocities of its particles
/// (APIC), no memory of contacts, and begins where its numbers round to.
#ifndef TARN_SERVER_SCENE_TELL_H
#define TARN_SERVER_SCENE_TELL_H

#include "kernels/model.h"
#include "kernels/tank.h"
#include "protocol/message.h"
#include "server/scene/archive.h"
#include "server/scene/scene.h"

enum { TARN_TANK_SCENE_WHY_BYTES = 256 };

typedef struct tarn_tank_scene {
    const tarn_scene_pack *made_from; ///< sound
    const tarn_scene *scene;          ///< the same, read
    tarn_tank *tank;
    uint64_t step; ///< that the tank has made since its start
    /// That people put in, besides the scene's; their solids by tarn_body_state's number.
    const tarn_probe_spec *probes;
    uint32_t probe_count;
    void (*aside)(void *user, bool begins); ///< what follows needs no device, or does again; NULL: nobody asks
    void *user;
} tarn_tank_scene;

/// Writes the scene and its files. Waits for the device; the tank stays as it is.
/// @param pack  zero; receives them. On failure too the caller frees it
/// @param why   of TARN_TANK_SCENE_WHY_BYTES; on failure a sentence
/// @return TARN_OK; TARN_E_ARGUMENT: what flows there isn't only its particles (smoke, vortons), so that no scene can
///         tell it; TARN_E_LIMIT: more particles, solids or key frames than a scene may have; TARN_E_MALFORMED,
///         TARN_E_MEMORY or TARN_E_DEVICE
tarn_status tarn_tank_scene_write(const tarn_tank_scene *from, tarn_scene_pack *pack, char *why);

// ---- a model, to viewers ----

/// From its table: fills the state's model, tools, colour channels, fields and parameters, these with the values that
/// they begin with.
void tarn_model_describe(const tarn_model *model, tarn_session_state *session);

#endif
