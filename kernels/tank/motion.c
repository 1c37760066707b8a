// The tank's own motion: it follows the pose that it is told as fast as limits allow, and the liquid in it feels the
// fictitious forces of its frame.
//
// In the tank's frame, with the tank's angular velocity w and the linear acceleration a of its pivot (the middle of the
// tank):
//
//     dv/dt = R^-1 (g - a) - dw/dt x r - w x (w x r) - 2 w x v
//
// The first three depend on the place alone and act on the grid. The last one, Coriolis, turns velocities: it is
// applied to the particles as the rotation that Cayley's transform gives, which leaves speeds as they are; an explicit
// step would let them grow.
//
// No function of libm but the square root is used, so that every machine gets the same bits.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

static double length3(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// a * b, quaternions x y z w.
static void multiply(const double *a, const double *b, double *out)
{
    const double x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    const double y = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2];
    const double z = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0];
    const double w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    out[0] = x;
    out[1] = y;
    out[2] = z;
    out[3] = w;
}

/// A vector of the room in the tank's frame.
static void to_tank(const double *rotation, const double *v, double *out)
{
    const double back[4] = {-rotation[0], -rotation[1], -rotation[2], rotation[3]};
    const double pure[4] = {v[0], v[1], v[2], 0.0};
    double half[4], turned[4];
    multiply(back, pure, half);
    multiply(half, rotation, turned);
    memcpy(out, turned, 3 * sizeof *out);
}

/// The rotation vector (axis times angle) of a unit quaternion, for angles up to about 2.4 rad; beyond, it is too
/// short, which only matters to how fast the tank wants to turn.
static void rotation_vector(const double *q, double *vector)
{
    const double sign = q[3] < 0.0 ? -1.0 : 1.0, w = sign * q[3];
    const double sine = length3(q);
    // Halving the angle twice brings the arc tangent's series to where it converges fast.
    const double t1 = sine / (w + 1.0), t2 = t1 / (1.0 + sqrt(1.0 + t1 * t1)), s = t2 * t2;
    const double angle = 8.0 * t2 * (1.0 - s * (1.0 / 3.0 - s * (1.0 / 5.0 - s * (1.0 / 7.0 - s / 9.0))));
    const double scale = sine > 0.0 ? sign * angle / sine : 0.0;
    for (int a = 0; a < 3; a++) {
        vector[a] = q[a] * scale;
    }
}

/// The quaternion of a small rotation vector.
static void small_rotation(const double *vector, double *q)
{
    const double half = 0.5 * length3(vector), h2 = half * half;
    const double share = 0.5 * (1.0 - h2 / 6.0 * (1.0 - h2 / 20.0)); // sin(half) / (2 half)
    double sum = 0.0;
    for (int a = 0; a < 3; a++) {
        q[a] = vector[a] * share;
        sum += q[a] * q[a];
    }
    q[3] = sqrt(sum < 1.0 ? 1.0 - sum : 0.0);
}

static void normalise(double *q)
{
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) {
        q[i] /= length;
    }
}

/// The velocity next to `before` that goes to a target at `way`: as fast as it may, so that it can still stop there.
static void follow(const double *way, double dt, double speed_max, double acceleration_max, const double *before,
                   double *velocity)
{
    const double distance = length3(way);
    double wanted = distance / dt;
    const double stopping = sqrt(2.0 * acceleration_max * distance);
    wanted = wanted < stopping ? wanted : stopping;
    wanted = wanted < speed_max ? wanted : speed_max;
    double change[3], most = acceleration_max * dt;
    for (int a = 0; a < 3; a++) {
        change[a] = (distance > 0.0 ? way[a] / distance * wanted : 0.0) - before[a];
    }
    const double size = length3(change), share = size > most ? most / size : 1.0;
    for (int a = 0; a < 3; a++) {
        velocity[a] = before[a] + change[a] * share;
    }
}

void tank_motion_reset(tank_motion *motion)
{
    memset(motion, 0, sizeof *motion);
    motion->rotation[3] = motion->target_rotation[3] = 1.0;
}

/// Moves the tank by a step. `spin_change` and `speed_change` are in the room, per second.
static void advance(tank_motion *motion, double dt, double *spin_change, double *speed_change)
{
    double back[4] = {-motion->rotation[0], -motion->rotation[1], -motion->rotation[2], motion->rotation[3]};
    double away[4], turn[3], spin[3], way[3], velocity[3], step[3], q[4], next[4];
    multiply(motion->target_rotation, back, away);
    rotation_vector(away, turn);
    follow(turn, dt, (double)TARN_TANK_TURN_MAX_RAD_S, (double)TARN_TANK_TURN_MAX_RAD_S2, motion->spin, spin);
    for (int a = 0; a < 3; a++) {
        way[a] = motion->target_m[a] - motion->position_m[a];
    }
    follow(way, dt, (double)TARN_TANK_SPEED_MAX_M_S, (double)TARN_TANK_SHAKE_MAX_M_S2, motion->velocity_m_s, velocity);
    for (int a = 0; a < 3; a++) {
        spin_change[a] = (spin[a] - motion->spin[a]) / dt;
        speed_change[a] = (velocity[a] - motion->velocity_m_s[a]) / dt;
        motion->spin[a] = spin[a];
        motion->velocity_m_s[a] = velocity[a];
        motion->position_m[a] += velocity[a] * dt;
        step[a] = spin[a] * dt;
    }
    small_rotation(step, q);
    multiply(q, motion->rotation, next);
    normalise(next);
    memcpy(motion->rotation, next, sizeof next);
}

/// v -> w x v as a matrix.
static void cross_matrix(const double *w, double m[3][3])
{
    const double cross[3][3] = {{0.0, -w[2], w[1]}, {w[2], 0.0, -w[0]}, {-w[1], w[0], 0.0}};
    memcpy(m, cross, sizeof cross);
}

static void fill_turning(tank_control *control, const double *w, const double *change, double h)
{
    double spin[3][3], euler[3][3];
    cross_matrix(w, spin);
    cross_matrix(change, euler);
    const double turn = h * length3(w), cayley = 2.0 / (1.0 + turn * turn);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double square = 0.0;
            for (int k = 0; k < 3; k++) {
                square += spin[i][k] * spin[k][j];
            }
            control->grid.force_slope[i][j] = (float)(-square - euler[i][j]);
            control->grid.coriolis[i][j] = (float)((i == j ? 1.0 : 0.0) - cayley * (h * spin[i][j] - h * h * square));
        }
    }
}

/// Whether the tank moves or is about to.
static bool moves(const tank_motion *motion)
{
    static const double none[3] = {0.0};
    return memcmp(motion->rotation, motion->target_rotation, sizeof motion->rotation) != 0 ||
           memcmp(motion->position_m, motion->target_m, sizeof motion->position_m) != 0 ||
           memcmp(motion->spin, none, sizeof none) != 0 || memcmp(motion->velocity_m_s, none, sizeof none) != 0;
}

/// A tank that has as good as arrived stops there.
static void settle(tank_motion *motion)
{
    double back[4] = {-motion->rotation[0], -motion->rotation[1], -motion->rotation[2], motion->rotation[3]};
    double away[4], way[3];
    multiply(motion->target_rotation, back, away);
    for (int a = 0; a < 3; a++) {
        way[a] = motion->target_m[a] - motion->position_m[a];
    }
    if (length3(away) < 1e-9 && length3(motion->spin) < 1e-7) {
        memcpy(motion->rotation, motion->target_rotation, sizeof motion->rotation);
        memset(motion->spin, 0, sizeof motion->spin);
    }
    if (length3(way) < 1e-9 && length3(motion->velocity_m_s) < 1e-7) {
        memcpy(motion->position_m, motion->target_m, sizeof motion->position_m);
        memset(motion->velocity_m_s, 0, sizeof motion->velocity_m_s);
    }
}

/// Gravity in the room, m/s^2.
static void find_pull(const tarn_tank *tank, double pull[3])
{
    for (int a = 0; a < 3; a++) {
        pull[a] = (double)tank_role(tank, TARN_PLAYS_GRAVITY, 0.0f) * (double)tank->grid.desc.gravity_direction[a];
    }
}

void tank_motion_weigh(tarn_tank *tank)
{
    double pull[3];
    find_pull(tank, pull);
    to_tank(tank->motion.rotation, pull, tank->motion.gravity_m_s2);
}

void tank_motion_step(tarn_tank *tank, tank_control *control)
{
    tank_motion *motion = &tank->motion;
    const double dt = (double)tank->grid.desc.dt_s, cell = (double)tank->grid.desc.cell_m;
    double spin_change[3] = {0.0}, speed_change[3] = {0.0}, felt[3];
    motion->is_moving = moves(motion);
    if (motion->is_moving) {
        settle(motion);
        advance(motion, dt, spin_change, speed_change);
    }
    find_pull(tank, felt);
    for (int a = 0; a < 3; a++) {
        felt[a] -= speed_change[a];
    }
    const double *q = motion->rotation;
    TARN_ASSERT(fabs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) < 0.01); // as in a stored state
    to_tank(motion->rotation, felt, motion->gravity_m_s2);
    for (int a = 0; a < 3; a++) {
        control->grid.gravity[a] = (float)(motion->gravity_m_s2[a] * dt * dt / cell);
    }
    to_tank(motion->rotation, motion->spin, motion->turn);
    to_tank(motion->rotation, spin_change, motion->turn_change);
    for (int a = 0; a < 3; a++) {
        motion->turn[a] *= dt;
        motion->turn_change[a] *= dt * dt;
    }
}

void tank_motion_fill(const tarn_tank *tank, tank_control *control)
{
    const tank_motion *motion = &tank->motion;
    for (int a = 0; a < 3; a++) {
        control->grid.pivot[a] = 0.5f * (float)tank->grid.desc.cells[a];
    }
    control->grid.is_turning = motion->is_moving && (length3(motion->turn) > 0.0 || length3(motion->turn_change) > 0.0);
    for (int a = 0; a < 3; a++) {
        control->grid.turn[a] = (float)motion->turn[a];
        control->grid.turn_change[a] = (float)motion->turn_change[a];
    }
    if (control->grid.is_turning) {
        fill_turning(control, motion->turn, motion->turn_change, 1.0 / (double)tank->grid.substeps);
    }
}

void tank_motion_aim(tank_motion *motion, const tarn_pose *pose)
{
    double q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = (double)pose->rotation[i];
    }
    normalise(q);
    memcpy(motion->target_rotation, q, sizeof q);
    for (int a = 0; a < 3; a++) {
        motion->target_m[a] = (double)pose->position_m[a];
    }
}

void tarn_tank_pose(const tarn_tank *tank, tarn_pose *pose)
{
    for (int a = 0; a < 3; a++) {
        pose->position_m[a] = (float)tank->motion.position_m[a];
    }
    for (int i = 0; i < 4; i++) {
        pose->rotation[i] = (float)tank->motion.rotation[i];
    }
}
