// Motion fields: how people in front of a camera move, over a rectangle in the tank. Of their cells only those go to
// the device that act, with the rectangle's place turned into the tank's cells; the kernels' part is push.h.
#include "kernels/tank/motion_field.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

#define AREA_MIN_M2 1e-7
#define PLACE_MAX_M 1e4f
#define BYTE_MAX 127.0f

_Static_assert((int)MOTION_FIELDS_MAX == (int)TARN_STEP_MOTION_FIELDS_MAX, "what a step may have fits");

// -------------------------------------------------------------------------------------------------------------- checks

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

// -------------------------------------------------------------------------------------------------------------- unpack

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
