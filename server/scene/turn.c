// The angle is brought to the nearest multiple of 90 degrees and a rest of at most 45, which is exact in degrees; the
// rest goes through Taylor's polynomials, whose next terms are below 1e-17 there.
#include "server/scene/turn.h"

#include <math.h>

#define RADIANS_PER_DEGREE 0.017453292519943295

/// Horner's scheme, from the highest power down.
static double polynomial(const double *coefficients, int count, double x)
{
    double sum = 0;
    for (int i = count - 1; i >= 0; i--) {
        sum = sum * x + coefficients[i];
    }
    return sum;
}

void tarn_turn_sine_cosine(double angle_deg, double *sine, double *cosine)
{
    static const double sine_terms[] = {1.0,
                                        -1.0 / 6.0,
                                        1.0 / 120.0,
                                        -1.0 / 5040.0,
                                        1.0 / 362880.0,
                                        -1.0 / 39916800.0,
                                        1.0 / 6227020800.0,
                                        -1.0 / 1307674368000.0,
                                        1.0 / 355687428096000.0};
    static const double cosine_terms[] = {1.0,
                                          -1.0 / 2.0,
                                          1.0 / 24.0,
                                          -1.0 / 720.0,
                                          1.0 / 40320.0,
                                          -1.0 / 3628800.0,
                                          1.0 / 479001600.0,
                                          -1.0 / 87178291200.0,
                                          1.0 / 20922789888000.0};
    if (!(angle_deg >= -TARN_TURN_DEG_MAX && angle_deg <= TARN_TURN_DEG_MAX)) {
        angle_deg = 0;
    }
    const double quarters = floor((angle_deg + 45.0) / 90.0);
    const double x = (angle_deg - 90.0 * quarters) * RADIANS_PER_DEGREE, square = x * x;
    const double s = x * polynomial(sine_terms, sizeof sine_terms / sizeof sine_terms[0], square);
    const double c = polynomial(cosine_terms, sizeof cosine_terms / sizeof cosine_terms[0], square);
    const int quarter = (int)quarters & 3;
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

void tarn_turn_quaternion(const double angles_deg[3], double quaternion[4])
{
    double s[3], c[3];
    for (int axis = 0; axis < 3; axis++) {
        tarn_turn_sine_cosine(angles_deg[axis] * 0.5, &s[axis], &c[axis]);
    }
    // The product of the three turns, z * y * x, written out.
    const double q[4] = {s[0] * c[1] * c[2] - c[0] * s[1] * s[2], c[0] * s[1] * c[2] + s[0] * c[1] * s[2],
                         c[0] * c[1] * s[2] - s[0] * s[1] * c[2], c[0] * c[1] * c[2] + s[0] * s[1] * s[2]};
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) {
        quaternion[i] = q[i] / length;
    }
}
