// Names and colours that a session's viewers don't share: start at tarn_viewer_profile_join.
#include "server/gateway/viewer_profile.h"
#include "server/gateway/session.h"
#include "server/gateway/turn_taking.h"
#include "server/gateway/viewer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// Told apart on dark water and on a light page, also by those who see red and green alike (after Okabe and Ito's set).
static const uint32_t palette[] = {0xe69f00, 0x56b4e9, 0x00b386, 0xf0e442, 0x4d8fe0,
                                   0xe8743b, 0xd98cb3, 0x9ad14b, 0xb39ddb, 0xf28e9a};
enum { PALETTE_COUNT = sizeof palette / sizeof palette[0] };

static uint32_t pick_colour(const tarn_session *session, uint32_t viewer_id)
{
    for (uint32_t i = 0; i < PALETTE_COUNT; i++) {
        bool is_taken = false;
        for (uint32_t v = 0; v < session->viewer_count; v++) {
            is_taken |= session->viewers[v]->colour == palette[i];
        }
        if (!is_taken) {
            return palette[i];
        }
    }
    return palette[viewer_id % PALETTE_COUNT];
}

/// A name without spaces at its ends. @return false where nothing is left
static bool trim(const char *text, tarn_name name)
{
    const char *begin = text + strspn(text, " ");
    size_t length = strlen(begin);
    while (length > 0 && begin[length - 1] == ' ') {
        length--;
    }
    if (length == 0) {
        return false;
    }
    snprintf(name, sizeof(tarn_name), "%.*s", (int)length, begin);
    return true;
}

// Friendly, short, and nobody's given name; in English, as all that the server says.
static const char *const adjectives[] = {
    "amber", "brave", "breezy", "bright",   "brisk", "calm",   "clear",  "clever", "cosy",   "curious", "dapper",
    "eager", "early", "fair",   "fleet",    "fond",  "frank",  "gentle", "glad",   "golden", "happy",   "hardy",
    "jolly", "keen",  "kind",   "lively",   "lucky", "merry",  "mild",   "misty",  "nimble", "noble",   "patient",
    "quick", "quiet", "rapid",  "ready",    "rosy",  "rustic", "shiny",  "silver", "smooth", "snowy",   "steady",
    "sunny", "swift", "tidy",   "tranquil", "true",  "velvet", "warm",   "windy",  "wise",   "witty",   "zesty",
};
static const char *const animals[] = {
    "auk",    "badger", "bass",  "beaver", "bittern", "bream",  "carp",    "cod",     "coot",  "cormorant", "crab",
    "crane",  "curlew", "dace",  "dipper", "dolphin", "duck",   "eel",     "egret",   "eider", "frog",      "gannet",
    "goby",   "goose",  "grebe", "gull",   "heron",   "ibis",   "limpet",  "lobster", "loon",  "manatee",   "merlin",
    "minnow", "mussel", "newt",  "osprey", "otter",   "oyster", "pelican", "penguin", "perch", "petrel",    "pike",
    "plover", "puffin", "ray",   "roach",  "salmon",  "seal",   "shrimp",  "snail",   "snipe", "sprat",     "squid",
    "stork",  "swan",   "teal",  "tern",   "toad",    "trout",  "turtle",  "walrus",  "whale",
};
enum {
    ADJECTIVE_COUNT = sizeof adjectives / sizeof adjectives[0],
    ANIMAL_COUNT = sizeof animals / sizeof animals[0],
    PAIR_COUNT = ADJECTIVE_COUNT * ANIMAL_COUNT
};
_Static_assert((int)PAIR_COUNT > (int)TARN_VIEWERS_MAX, "one is free for whoever comes");

static bool is_taken(const tarn_session *session, const tarn_viewer *viewer)
{
    for (uint32_t v = 0; v < session->viewer_count; v++) {
        const tarn_viewer *other = session->viewers[v];
        if (other != viewer && strcasecmp(other->name, viewer->name) == 0) {
            return true;
        }
    }
    return false;
}

/// A name for somebody who has none, like nobody's in the tank: the same again for whoever comes back with a browser
/// that says who it is, else by the connection.
static void pick_name(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join)
{
    uint32_t hash = 0x811c9dc5u; // FNV-1a
    const char *seed = join->browser;
    char id[16];
    if (seed[0] == '\0') {
        snprintf(id, sizeof id, "%u", viewer->id);
        seed = id;
    }
    for (const char *at = seed; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 0x01000193u;
    }
    hash ^= hash >> 15;
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        const uint32_t pair = (hash + i) % PAIR_COUNT;
        snprintf(viewer->name, sizeof viewer->name, "%s %s", adjectives[pair % ADJECTIVE_COUNT],
                 animals[pair / ADJECTIVE_COUNT]);
        if (!is_taken(session, viewer)) {
            return;
        }
    }
}

void tarn_viewer_profile_join(const tarn_session *session, tarn_viewer *viewer, const tarn_join *join)
{
    if (!trim(join->viewer, viewer->name)) {
        pick_name(session, viewer, join);
    }
    viewer->colour = join->colour ? join->colour : pick_colour(session, viewer->id);
}

void tarn_viewer_profile_set(tarn_session *session, tarn_viewer *viewer, const tarn_profile *profile)
{
    if (!tarn_turn_allow(&viewer->profile_due_ns, TARN_GATEWAY_PROFILE_MS, TARN_GATEWAY_PROFILE_BURST)) {
        tarn_viewer_error(viewer, TARN_ERROR_INPUT, "the name or colour changed too often; try again in a moment");
        return;
    }
    trim(profile->name, viewer->name);
    if (profile->colour) {
        viewer->colour = profile->colour;
    }
    session->viewers_changed = true;
}
