/// A scene that somebody uploaded, read and checked in a process of its own: whatever its JSON and meshes do to their
/// readers ends this process, which has nothing but its memory and four descriptors, limits of memory, of processor
/// time and of what it writes, and a filter of system calls. tarnd starts it for each upload (server/gateway/upload.h).
///
///     stdin: an archive (scene_archive.h) --> pack --> scene, as a worker would read it
///                                              +--> the file, only of a scene that is right
///     stdout: one line of JSON
#ifndef TARN_SERVER_WORKER_SCENE_INTAKE_H
#define TARN_SERVER_WORKER_SCENE_INTAKE_H

/// Limits the process, which is its caller's alone, and takes one scene.
///
/// The line is {"scene": its name, "title": ..., "files": how many, "bytes": of the pack, "particles": that it begins
/// with}, or {"error": a sentence, "is_disk": true where it isn't the scene's fault}.
/// @param file_fd  where the pack goes, an empty file
/// @return the exit status: 0 where the line was written
int tarn_scene_intake(int file_fd);

#endif
