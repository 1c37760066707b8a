/// Whose place a viewer gets where there is none left: that of one whose page is hidden, or that has said nothing for
/// long. It is told so by an error of its own, and comes back when somebody looks again.
#ifndef TARN_SERVER_GATEWAY_VIEWER_ROOM_H
#define TARN_SERVER_GATEWAY_VIEWER_ROOM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct tarn_session;
struct tarn_viewer;
struct tarn_viewer_list;

/// Makes a place for a viewer that is about to join, at once. Of those that may go whose page has been hidden for the
/// longest time goes; where no page is hidden, who has been silent for the longest time.
/// @param session  in it; NULL: in any
/// @param client   of that address; NULL: of any
/// @return false: nobody may go, or it would itself be one that nobody looks at
bool tarn_viewer_room_make(const struct tarn_viewer *newcomer, const struct tarn_session *session,
                           const struct in6_addr *client);

/// The same for a connection that has said nothing yet, where there are few left: its place is free as soon as the
/// viewer's connection has ended.
/// @param wanted  places that are to become free, those of viewers that were told so before included
void tarn_viewer_room_make_soon(struct tarn_viewer_list *all, uint32_t wanted);

#endif
