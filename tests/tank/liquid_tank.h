/// Tanks whose grid and particles the tests look at: on the CPU device, whose memory they read and write in place.
#ifndef TARN_TESTS_LIQUID_TANK_H
#define TARN_TESTS_LIQUID_TANK_H

#include "kernels/liquid/liquid_host.h"

typedef struct variant {
    const char *name;
    tarn_transfer transfer;
    tarn_weights p2g, g2p;
    int mixed; ///< two liquids
} variant;

enum { VARIANT_COUNT = 36, VARIANT_MIXED = 18 }; // the mixed ones come last
extern const variant variants[VARIANT_COUNT];

/// Group fixtures: the device that open_tank uses.
int open_device(void **state);
int close_device(void **state);

/// A tank without gravity, liquid from cell `first` to cell `end` along each axis.
tarn_tank_desc block_desc(const variant *v, const uint16_t cells[3], const int first[3], const int end[3]);

/// Fails the test where it can't; its control is that of a whole step, of PIC and of no forces.
tarn_tank *open_tank(const tarn_tank_desc *desc);

double random_double(uint64_t *seed); ///< -1..1

/// Where a particle is along an axis, cells.
double position_of(const tarn_tank *tank, int axis, uint32_t particle);

/// A value of an active field [s][512] at a cell of the tank; 0 where there is none.
double field_at(const tarn_tank *tank, const float *field, const int *at);

/// Calls visit for the lower faces of all cells of a tank whose tiles are all active.
void each_face(tarn_tank *tank, void (*visit)(tarn_tank *tank, int c, const int *at, float *u, void *context),
               void *context);

#endif
