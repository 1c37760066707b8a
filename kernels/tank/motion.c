// The tank's own motion, and the motion fields of people in front of a camera. Begin at tank_motion_step and
// tank_motion_fields_unpack.
//
// No function of libm but the square root is used, so that every machine gets the same bits.
#include "kernels/tank/motion.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

// ---- motion fields ----
// How people in front of a camera move, over a rectangle in the tank. Of their cells only those go to the device that
// act, with the rectangle's place turned into the tank's cells; the kernels' part is push.h.

#define AREA_MIN_M2 1e-7
#define PLACE_MAX_M 1e4f
#define BYTE_MAX 127.0f

_Static_assert((int)MOTION_FIELDS_MAX == (int)TARN_STEP_MOTION_FIELDS_MAX, "what a step may have fits");

// ---- motion fields: checks ----

static bool is_place(const float *v)
{
    return fabsf(v[0]) <= PLACE_MAX_M && fabsf(v[1]) <= PLACE_MAX_M && fabsf(v[2]) <= PLACE_MAX_M; // not for NaN
}

static void cross(const double *a, const double *b, double *c)
{
    for (int i = 0; i < 3; i++) {
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    }
}

static double length(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static double area_of(const tarn_motion_field *field)
{
    const double across[3] = {field->across_m[0], field->across_m[1], field->across_m[2]};
    const double up[3] = {field->up_m[0], field->up_m[1], field->up_m[2]};
    double normal[3];
    cross(across, up, normal);
    return length(normal);
}

tarn_status tank_motion_field_check(const tarn_motion_field *field, uint32_t number, const grid_complaint *why)
{
    if (field->columns < 1 || field->columns > TARN_MOTION_COLUMNS_MAX || field->rows < 1 ||
        field->rows > TARN_MOTION_ROWS_MAX) {
        return grid_refuse(why, TARN_E_ARGUMENT, "motion_fields[%u] has %u x %u cells; allowed are 1 x 1 to %d x %d",
                           number, field->columns, field->rows, TARN_MOTION_COLUMNS_MAX, TARN_MOTION_ROWS_MAX);
    }
    if (!is_place(field->corner_m) || !is_place(field->across_m) || !is_place(field->up_m) ||
        !(area_of(field) >= AREA_MIN_M2)) {
        return grid_refuse(why, TARN_E_ARGUMENT, "motion_fields[%u] is no rectangle, or farther away than %g m", number,
                           (double)PLACE_MAX_M);
    }
    if (!(field->depth_m >= 0.0f && field->depth_m <= PLACE_MAX_M) ||
        !(field->speed_m_s > 0.0f && field->speed_m_s <= PLACE_MAX_M) ||
        !(field->strength >= 0.0f && field->strength <= 1.0f)) {
        return grid_refuse(why, TARN_E_ARGUMENT,
                           "motion_fields[%u] has depth %g m, speed %g m/s and strength %g; allowed are 0 to %g, above "
                           "0 to %g and 0 to 1",
                           number, (double)field->depth_m, (double)field->speed_m_s, (double)field->strength,
                           (double)PLACE_MAX_M, (double)PLACE_MAX_M);
    }
    const size_t count = (size_t)TARN_MOTION_PLANES * field->columns * field->rows;
    return field->cells != NULL && field->cell_bytes <= TARN_MOTION_CODE_BYTES_MAX &&
                   tarn_motion_decode(field->cells, field->cell_bytes, NULL, count) == TARN_OK
               ? TARN_OK
               : grid_refuse(why, TARN_E_ARGUMENT, "motion_fields[%u].cells don't give its %u x %u cells", number,
                             field->columns, field->rows);
}

// ---- motion fields: unpacked ----

static int32_t signed_byte(uint8_t byte)
{
    return byte == 128 ? -127 : byte < 128 ? byte : byte - 256;
}

/// Columns and rows of a grid.
typedef struct cell_range {
    uint32_t low[2], end[2];
} cell_range;

/// Packs a decoded field's cells. @return square of the largest speed, in bytes' units
static int32_t pack_cells(tank_motion_cells *to, const tarn_motion_field *field, cell_range *acting)
{
    const uint32_t area = field->columns * field->rows;
    int32_t fastest = 0;
    *acting = (cell_range){{field->columns, field->rows}, {0, 0}};
    for (uint32_t i = 0; i < area; i++) {
        uint32_t cell = to->planes[i];
        int32_t square = 0;
        for (uint32_t c = 0; c < 3; c++) {
            const int32_t v = signed_byte(to->planes[(c + 1) * area + i]);
            square += v * v;
            cell |= ((uint32_t)v & 255) << (8 * c + 8);
        }
        if ((cell & 255) == 0 || (square == 0 && !field->solid)) {
            to->cells[to->count + i] = 0;
            continue;
        }
        const uint32_t at[2] = {i % field->columns, i / field->columns};
        for (int a = 0; a < 2; a++) {
            acting->low[a] = tile_min_u32(acting->low[a], at[a]);
            acting->end[a] = tile_max_u32(acting->end[a], at[a] + 1);
        }
        to->cells[to->count + i] = cell;
        fastest = tile_max_i32(fastest, square);
    }
    return fastest;
}

/// The rectangle's frame: columns of `to_tank` are a cell's way along a row, along a column, and a cell of the tank to
/// its front. Cells of the tank.
static void frame_of(const tarn_tank *tank, const tarn_motion_field *field, double to_tank[3][3], double unit[3][3])
{
    const double cell_m = (double)tank->grid.desc.cell_m;
    double edge[3][3];
    for (int a = 0; a < 3; a++) {
        edge[0][a] = (double)field->across_m[a] / cell_m;
        edge[1][a] = (double)field->up_m[a] / cell_m;
    }
    cross(edge[0], edge[1], edge[2]);
    const double parts[3] = {field->columns, field->rows, length(edge[2])};
    for (int k = 0; k < 3; k++) {
        const double size = length(edge[k]);
        for (int a = 0; a < 3; a++) {
            to_tank[a][k] = edge[k][a] / parts[k];
            unit[a][k] = edge[k][a] / size;
        }
    }
}

/// The inverse of a matrix whose columns span a volume.
static void invert(const double m[3][3], float inverse[3][3])
{
    double column[3][3], row[3];
    for (int k = 0; k < 3; k++) {
        for (int a = 0; a < 3; a++) {
            column[k][a] = m[a][k];
        }
    }
    for (int k = 0; k < 3; k++) {
        cross(column[(k + 1) % 3], column[(k + 2) % 3], row);
        const double volume = row[0] * column[k][0] + row[1] * column[k][1] + row[2] * column[k][2];
        for (int a = 0; a < 3; a++) {
            inverse[k][a] = (float)(row[a] / volume);
        }
    }
}

/// The box around what acts, by its corners; between middles it reaches half a cell beyond its own cells, and rounding
/// a little farther.
static void bound(const cell_range *acting, const double to_tank[3][3], tank_motion_field *to)
{
    const double beyond = 0.6;
    for (int a = 0; a < 3; a++) {
        to->low[a] = INFINITY;
        to->high[a] = -INFINITY;
    }
    for (int corner = 0; corner < 8 && acting->end[0] > 0; corner++) {
        const double at[3] = {corner & 1 ? (double)acting->end[0] + beyond : (double)acting->low[0] - beyond,
                              corner & 2 ? (double)acting->end[1] + beyond : (double)acting->low[1] - beyond,
                              corner & 4 ? (double)to->depth : -(double)to->depth};
        for (int a = 0; a < 3; a++) {
            const float p =
                to->corner[a] + (float)(to_tank[a][0] * at[0] + to_tank[a][1] * at[1] + to_tank[a][2] * at[2]);
            to->low[a] = tile_min_f32(to->low[a], p);
            to->high[a] = tile_max2_f32(to->high[a], p);
        }
    }
}

/// How far a field acts to either side, cells; where it is said to act all through the tank, beyond any corner of that.
static float depth_of(const tarn_motion_field *field, float cell_m)
{
    if (field->depth_m > 0.0f) {
        return field->depth_m / cell_m;
    }
    float away_m = 0.0f;
    for (int a = 0; a < 3; a++) {
        away_m += fabsf(field->corner_m[a]);
    }
    return away_m / cell_m + 4.0f * (float)TARN_TANK_CELLS_MAX;
}

static void fill_field(const tarn_tank *tank, const tarn_motion_field *from, const cell_range *acting,
                       tank_motion_field *to)
{
    const float cell_m = tank->grid.desc.cell_m, per_step = tank->grid.desc.dt_s / cell_m;
    double to_tank[3][3], unit[3][3];
    frame_of(tank, from, to_tank, unit);
    invert((const double(*)[3])to_tank, to->to_grid);
    for (int a = 0; a < 3; a++) {
        to->corner[a] = from->corner_m[a] / cell_m;
        for (int k = 0; k < 3; k++) {
            to->to_speed[a][k] = (float)unit[a][k] * (from->speed_m_s / BYTE_MAX * per_step);
        }
    }
    to->depth = depth_of(from, cell_m);
    to->strength = from->strength;
    to->speed_max = tile_min_f32(TARN_TANK_PUSH_SPEED_MAX_M_S * per_step, SPEED_MAX);
    to->columns = from->columns;
    to->rows = from->rows;
    bound(acting, (const double(*)[3])to_tank, to);
}

static bool reaches(const tarn_tank *tank, const tank_motion_field *field)
{
    bool does = true;
    for (int a = 0; a < 3; a++) {
        does = does && field->low[a] < (float)tank->grid.desc.cells[a] && field->high[a] > 0.0f;
    }
    return does;
}

float tank_motion_fields_unpack(tarn_tank *tank, const tarn_step_input *input)
{
    tank_motion_cells *to = tank->motion_cells;
    float fastest = 0.0f;
    TARN_ASSERT(input->motion_field_count <= MOTION_FIELDS_MAX);
    to->count = to->field_count = 0;
    for (uint32_t i = 0; i < input->motion_field_count; i++) {
        const tarn_motion_field *from = &input->motion_fields[i];
        const uint32_t area = from->columns * from->rows;
        const tarn_status status =
            tarn_motion_decode(from->cells, from->cell_bytes, to->planes, (size_t)TARN_MOTION_PLANES * area);
        TARN_ASSERT(status == TARN_OK && to->count + area <= TANK_MOTION_CELLS_MAX); // as admitted
        cell_range acting;
        const float speed = sqrtf((float)pack_cells(to, from, &acting)) * (from->speed_m_s / BYTE_MAX);
        tank_motion_field *field = &to->fields[to->field_count];
        fill_field(tank, from, &acting, field);
        if (!reaches(tank, field)) {
            continue;
        }
        field->first = to->count;
        fastest = tile_max2_f32(fastest, tile_min_f32(speed, TARN_TANK_PUSH_SPEED_MAX_M_S) * from->strength);
        to->count += area;
        to->field_count++;
    }
    return fastest * tank->grid.desc.dt_s / tank->grid.desc.cell_m;
}

void tank_motion_fields_fill(const tarn_tank *tank, tank_control *control)
{
    const tank_motion_cells *cells = tank->motion_cells;
    control->motion_field_count = cells->field_count;
    for (uint32_t i = 0; i < cells->field_count; i++) {
        control->motion_fields[i] = cells->fields[i];
        control->motion_fields[i].strength =
            1.0f - tank_nth_root(1.0f - cells->fields[i].strength, tank->grid.substeps);
    }
}

tarn_status tank_motion_fields_upload(tarn_tank *tank, const tank_control *control)
{
    const tank_motion_cells *cells = tank->motion_cells;
    return control->motion_field_count > 0 ? tarn_queue_upload(tank->grid.queue, tank->args->store.motion, cells->cells,
                                                               (size_t)cells->count * sizeof cells->cells[0])
                                           : TARN_OK;
}

// ---- the tank's own motion ----
// It follows the pose that it is told as fast as limits allow, and the liquid in it feels the fictitious forces of its
// frame.
//
// In the tank's frame, with the tank's angular velocity w and the linear acceleration a of its pivot (the middle of the
// tank):
//
//     dv/dt = R^-1 (g - a) - dw/dt x r - w x (w x r) - 2 w x v
//
// The first three depend on the place alone and act on the grid. The last one, Coriolis, turns velocities: it is
// applied to the particles as the rotation that Cayley's transform gives, which leaves speeds as they are; an explicit
// step would let them grow.

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
    const double sine = length(q);
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
    const double half = 0.5 * length(vector), h2 = half * half;
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
    const double distance = length(way);
    double wanted = distance / dt;
    const double stopping = sqrt(2.0 * acceleration_max * distance);
    wanted = wanted < stopping ? wanted : stopping;
    wanted = wanted < speed_max ? wanted : speed_max;
    double change[3], most = acceleration_max * dt;
    for (int a = 0; a < 3; a++) {
        change[a] = (distance > 0.0 ? way[a] / distance * wanted : 0.0) - before[a];
    }
    const double size = length(change), share = size > most ? most / size : 1.0;
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
    const double turn = h * length(w), cayley = 2.0 / (1.0 + turn * turn);
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
    if (length(away) < 1e-9 && length(motion->spin) < 1e-7) {
        memcpy(motion->rotation, motion->target_rotation, sizeof motion->rotation);
        memset(motion->spin, 0, sizeof motion->spin);
    }
    if (length(way) < 1e-9 && length(motion->velocity_m_s) < 1e-7) {
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
    control->grid.is_turning = motion->is_moving && (length(motion->turn) > 0.0 || length(motion->turn_change) > 0.0);
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
