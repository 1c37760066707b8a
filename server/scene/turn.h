/// Rotations from angles in degrees, the same bits on every machine: IEEE additions, multiplications and square roots
/// alone, no sine of libm, which differs between versions of it.
#ifndef TARN_SERVER_SCENE_TURN_H
#define TARN_SERVER_SCENE_TURN_H

#define TARN_TURN_DEG_MAX 36000.0 ///< magnitude of an angle: a hundred turns

/// Sine and cosine. Multiples of 90 degrees give exactly 0, 1 and -1; other angles are right to 2e-16.
/// @param angle_deg  -TARN_TURN_DEG_MAX..TARN_TURN_DEG_MAX; others and NaN are taken as 0
void tarn_turn_sine_cosine(double angle_deg, double *sine, double *cosine);

/// Unit quaternion x, y, z, w of a turn about x, then about y, then about z, all three axes fixed.
void tarn_turn_quaternion(const double angles_deg[3], double quaternion[4]);

#endif
