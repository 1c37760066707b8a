/// What a worker may still ask of the system. Whoever takes it over by a scene, an input or a fault of ours gets no
/// rights that others don't have, no network, no other program and no file but scenes, to read.
///
///     always          no_new_privs, and no capability that the gateway may have
///     CPU device      a network of its own with nothing in it, where the system lets it; files only below the scenes'
///                     folders and only to read (Landlock, Linux 5.13); a list of the system calls that a worker makes:
///                     others fail, those by which one gets out end the process (SIGSYS)
///     CUDA device     NVIDIA's driver needs files, devices, memory with code and sockets: only what nobody's driver
///                     needs is refused
///     --take-scene    memory, open descriptors and the end, and nothing else
///
/// Builds with sanitizers have no lists of calls.
#ifndef TARN_SERVER_WORKER_CONFINEMENT_H
#define TARN_SERVER_WORKER_CONFINEMENT_H

#include <stdbool.h>

typedef enum tarn_confined {
    TARN_CONFINED_CPU = 0,
    TARN_CONFINED_CUDA,
    TARN_CONFINED_INTAKE, ///< scenes.h
} tarn_confined;

/// Whether this build looks for faults of memory, which takes terabytes of addresses and calls of its own.
extern const bool tarn_confinement_is_sanitized;

/// Gives up what the gateway may have and no worker needs. For a program that has one thread as yet.
/// @param is_cpu  it will have no CUDA device
void tarn_confinement_begin(bool is_cpu);

/// Leaves the process what such a one needs. All of its threads are meant, but for files those alone that this one
/// starts from now on, and itself.
/// @param folders  of TARN_CONFINED_CPU: whose files may be read, ended by NULL; others may be where the system can't
///                 tell folders apart
/// @return false: the system can't limit it, errno says why
bool tarn_confinement_end(tarn_confined kind, const char *const *folders);

#endif
