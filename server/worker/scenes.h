/// Scenes at the worker: which of a folder can be made, and an uploaded one, checked in a process of its own.
#ifndef TARN_SERVER_WORKER_SCENES_H
#define TARN_SERVER_WORKER_SCENES_H

#include "server/base/ipc.h"

#include <stdbool.h>

// ---- the folder ----
// Which scenes of a folder a tank can be made from, while files come, change and go: a thread of its own looks at the
// folder every TARN_SCENE_WATCH_MS and reads what is new or other than it was, as whoever makes a tank would. One that
// can't be read is named in the log and to the gateway, with its fault, and not offered until its file is another one.

typedef struct tarn_scene_watch tarn_scene_watch;

/// @param first     what is offered until the first look
/// @param first_ms  until then
/// @param says      whether the log is written to, and the gateway told of faults: of several workers one does
/// @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_scene_watch_open(const char *folder, const tarn_ipc_scenes *first, uint32_t first_ms, bool says,
                                  tarn_scene_watch **watch);

/// What is offered now, where that is other than what was given last. Waits for nothing.
bool tarn_scene_watch_news(tarn_scene_watch *watch, tarn_ipc_scenes *scenes);

/// The same of those that can't be read. Only of a watch that says.
bool tarn_scene_watch_faults(tarn_scene_watch *watch, tarn_ipc_scene_faults *faults);

/// Takes NULL. Waits for no file that is just being read: the thread then goes with the process.
void tarn_scene_watch_close(tarn_scene_watch *watch);

// ---- an uploaded one ----
// A scene that somebody uploaded, read and checked in a process of its own: whatever its JSON and meshes do to their
// readers ends this process, which has nothing but its memory and four descriptors, limits of memory, of processor
// time and of what it writes, and a filter of system calls. tarnd starts it for each upload
// (server/gateway/session/uploads.h).
//
//     stdin: an archive (scene/archive.h) --> pack --> scene, as a worker would read it
//                                              +--> the file, only of a scene that is right
//     stdout: one line of JSON

/// Limits the process, which is its caller's alone, and takes one scene.
///
/// The line is {"scene": its name, "title": ..., "files": how many, "bytes": of the pack, "particles": that it begins
/// with}, or {"error": a sentence, "is_disk": true where it isn't the scene's fault}.
/// @param file_fd  where the pack goes, an empty file
/// @return the exit status: 0 where the line was written
int tarn_scene_intake(int file_fd);

#endif
