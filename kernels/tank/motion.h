/// Motion fields on the host: whether they are sound, and what of them goes to the device. Private to kernels/tank.
#ifndef TARN_KERNELS_TANK_MOTION_H
#define TARN_KERNELS_TANK_MOTION_H

#include "kernels/step_input.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/motion_code.h"

enum { TANK_MOTION_CELLS_MAX = MOTION_FIELDS_MAX * TARN_MOTION_COLUMNS_MAX * TARN_MOTION_ROWS_MAX };

/// The fields of a step, decoded.
typedef struct tank_motion_cells {
    uint32_t cells[TANK_MOTION_CELLS_MAX]; ///< as store_memory.motion
    uint32_t count;
    uint32_t field_count;                        ///< that reach the tank with something that acts
    tank_motion_field fields[MOTION_FIELDS_MAX]; ///< their strength is that of a whole step
    uint8_t planes[TARN_MOTION_BYTES_MAX];
} tank_motion_cells;

/// @return TARN_OK or TARN_E_ARGUMENT
tarn_status tank_motion_field_check(const tarn_motion_field *field, uint32_t number, const grid_complaint *why);

/// Decodes a step's fields. @return the speed that they may give the fluid, cells per step
float tank_motion_fields_unpack(tarn_tank *tank, const tarn_step_input *input);

/// Sets the control's, once the substeps are known; then their cells go to the device.
void tank_motion_fields_fill(const tarn_tank *tank, tank_control *control);
tarn_status tank_motion_fields_upload(tarn_tank *tank, const tank_control *control);

#endif
