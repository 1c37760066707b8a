/// What owners do about the others: muting, removing, other roles, locks. SPEC.md says what each means and whom it
/// reaches.
#ifndef TARN_SERVER_GATEWAY_RIGHTS_MODERATION_H
#define TARN_SERVER_GATEWAY_RIGHTS_MODERATION_H

#include "protocol/message.h"

#include <stdbool.h>

struct tarn_session;
struct tarn_viewer;

/// Whether somebody who is about to join may, and whether it comes muted. After its role is known.
/// @return TARN_OK, or TARN_E_STATE: an owner removed it, with a sentence in why
tarn_status tarn_moderation_admit(struct tarn_session *session, struct tarn_viewer *viewer, const tarn_join *join,
                                  tarn_text why);

/// Whether a viewer that has joined may say this now, by its role, by locks and unless it is muted; where not it is
/// told so, and what it holds is let go. @param message  that needs a session
bool tarn_moderation_allows(struct tarn_viewer *viewer, const tarn_message *message);

/// Carries out what an owner asked for, or tells it why not.
void tarn_moderation_act(struct tarn_viewer *owner, const tarn_moderate *moderate);

/// Locks these, and no others, or tells the owner why not.
void tarn_moderation_lock(struct tarn_viewer *owner, const tarn_lock *lock);

/// Guests have another role from now on: those who are there, too, unless an owner gave them theirs.
void tarn_moderation_guests(struct tarn_session *session, tarn_role guests);

#endif
