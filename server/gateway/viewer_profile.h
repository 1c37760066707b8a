/// How a viewer is called and which colour it is shown in.
#ifndef TARN_SERVER_GATEWAY_VIEWER_PROFILE_H
#define TARN_SERVER_GATEWAY_VIEWER_PROFILE_H

#include "protocol/message.h"

struct tarn_session;
struct tarn_viewer;

/// Gives a viewer that joins its name and colour: those that it asked for, or a number and a colour that nobody in the
/// session has.
void tarn_viewer_profile_join(const struct tarn_session *session, struct tarn_viewer *viewer, const tarn_join *join);

/// Takes a profile, or tells the viewer why not.
void tarn_viewer_profile_set(struct tarn_session *session, struct tarn_viewer *viewer, const tarn_profile *profile);

#endif
