/// How a session's id, which the worker has for its tank, is made up.
#ifndef TARN_SERVER_GATEWAY_SESSION_PLACE_H
#define TARN_SERVER_GATEWAY_SESSION_PLACE_H

enum {
    TARN_SESSION_PLACE_BITS = 12, ///< the place, below the generation
    TARN_SESSION_PLACE_MASK = (1 << TARN_SESSION_PLACE_BITS) - 1,
};

#endif
