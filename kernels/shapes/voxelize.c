// A mesh or heightfield to a signed distance: checks, the grid, and the two stages in voxelize_inside.c and
// voxelize_nearest.c.
#include "kernels/shapes/voxelize_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/// The lines may disagree for one inner node in so many before a mesh is called open.
enum { CONTESTED_ONE_IN = 4 };

typedef struct sentence {
    char *why; // may be NULL
    size_t bytes;
} sentence;

__attribute__((format(printf, 3, 4))) static tarn_status refuse(const sentence *to, tarn_status status,
                                                                const char *format, ...)
{
    if (to->why != NULL && to->bytes > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(to->why, to->bytes, format, arguments);
        va_end(arguments);
    }
    return status;
}

// ---- checks ----

static tarn_status check_grid_arguments(float spacing_m, uint32_t margin_cells, const sentence *why)
{
    if (!(spacing_m >= TARN_VOXELIZE_SPACING_M_MIN && spacing_m <= TARN_VOXELIZE_SPACING_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "spacing: found %g m, allowed are %g to %g m", (double)spacing_m,
                      (double)TARN_VOXELIZE_SPACING_M_MIN, (double)TARN_VOXELIZE_SPACING_M_MAX);
    }
    if (margin_cells < 1 || margin_cells > TARN_VOXELIZE_MARGIN_MAX) {
        return refuse(why, TARN_E_ARGUMENT, "margin: found %u cells, allowed are 1 to %d", margin_cells,
                      TARN_VOXELIZE_MARGIN_MAX);
    }
    return TARN_OK;
}

static tarn_status check_mesh(const tarn_mesh *mesh, const sentence *why)
{
    if (mesh->triangle_count == 0 || mesh->triangle_count > TARN_MESH_TRIANGLES_MAX) {
        return refuse(why, TARN_E_LIMIT, "found %u triangles, allowed are 1 to %d", mesh->triangle_count,
                      TARN_MESH_TRIANGLES_MAX);
    }
    if (mesh->vertex_count > TARN_MESH_VERTICES_MAX) {
        return refuse(why, TARN_E_LIMIT, "found %u vertices, allowed are up to %d", mesh->vertex_count,
                      TARN_MESH_VERTICES_MAX);
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        if (mesh->triangles[i] >= mesh->vertex_count) {
            return refuse(why, TARN_E_MALFORMED, "triangle %zu: found vertex %u, allowed are 0 to %u", i / 3,
                          mesh->triangles[i], mesh->vertex_count - 1);
        }
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->vertex_count; i++) {
        if (!(fabsf(mesh->vertices_m[i]) <= TARN_MESH_COORDINATE_M_MAX)) {
            return refuse(why, TARN_E_MALFORMED, "vertex %zu: found %g for %c, allowed are -%g to %g m", i / 3,
                          (double)mesh->vertices_m[i], "xyz"[i % 3], (double)TARN_MESH_COORDINATE_M_MAX,
                          (double)TARN_MESH_COORDINATE_M_MAX);
        }
    }
    return TARN_OK;
}

static tarn_status check_heights(const tarn_height_map *map, float bottom_m, const sentence *why)
{
    const uint32_t min = TARN_HEIGHTS_PER_SIDE_MIN, max = TARN_HEIGHTS_PER_SIDE_MAX;
    if (map->columns < min || map->columns > max || map->rows < min || map->rows > max) {
        return refuse(why, TARN_E_LIMIT, "found %u x %u heights, allowed are %u to %u per side", map->columns,
                      map->rows, min, max);
    }
    if (!(map->spacing_m >= TARN_VOXELIZE_SPACING_M_MIN && map->spacing_m <= TARN_VOXELIZE_SPACING_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "spacing of the heights: found %g m, allowed are %g to %g m",
                      (double)map->spacing_m, (double)TARN_VOXELIZE_SPACING_M_MIN, (double)TARN_VOXELIZE_SPACING_M_MAX);
    }
    if (!(fabsf(bottom_m) <= TARN_MESH_COORDINATE_M_MAX)) {
        return refuse(why, TARN_E_ARGUMENT, "bottom: found %g m, allowed are -%g to %g m", (double)bottom_m,
                      (double)TARN_MESH_COORDINATE_M_MAX, (double)TARN_MESH_COORDINATE_M_MAX);
    }
    for (size_t i = 0; i < (size_t)map->columns * map->rows; i++) {
        if (!(map->heights_m[i] > bottom_m && map->heights_m[i] <= TARN_MESH_COORDINATE_M_MAX)) {
            return refuse(why, TARN_E_MALFORMED,
                          "height in row %zu, column %zu: found %g m, allowed are more than the bottom, %g, up to %g m",
                          i / map->columns, i % map->columns, (double)map->heights_m[i], (double)bottom_m,
                          (double)TARN_MESH_COORDINATE_M_MAX);
        }
    }
    return TARN_OK;
}

/// How many comparisons voxel_find_nearest starts with is known before it does.
static tarn_status check_visits(const tarn_mesh *mesh, const voxel_grid *grid, const sentence *why)
{
    uint64_t visits = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        double corners[3][3];
        uint64_t product = 1;
        voxel_triangle(mesh, t, corners);
        for (int a = 0; a < 3; a++) {
            int first, last;
            product *=
                voxel_range(grid, corners, a, TARN_VOXELIZE_BAND, &first, &last) ? (uint64_t)(last - first + 1) : 0;
        }
        visits += product;
    }
    if (visits > TARN_VOXELIZE_VISITS_MAX) {
        return refuse(why, TARN_E_LIMIT,
                      "the triangles' bounds hold %llu nodes together, allowed are %llu: there are too many large "
                      "triangles for so fine a grid",
                      (unsigned long long)visits, (unsigned long long)TARN_VOXELIZE_VISITS_MAX);
    }
    return TARN_OK;
}

// ---- the grid ----

static void mesh_bounds(const tarn_mesh *mesh, double min_m[3], double max_m[3])
{
    for (int a = 0; a < 3; a++) {
        min_m[a] = INFINITY;
        max_m[a] = -INFINITY;
    }
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        for (int a = 0; a < 3; a++) {
            const double at = mesh->vertices_m[3 * (size_t)mesh->triangles[i] + a];
            min_m[a] = at < min_m[a] ? at : min_m[a];
            max_m[a] = at > max_m[a] ? at : max_m[a];
        }
    }
}

float tarn_voxelize_spacing_m(const tarn_mesh *mesh, uint32_t nodes, uint32_t margin_cells)
{
    double min[3], max[3], longest = 0.0;
    if (margin_cells > TARN_VOXELIZE_MARGIN_MAX || nodes < 2 + 2 * margin_cells || mesh->triangle_count == 0) {
        return 0.0f;
    }
    mesh_bounds(mesh, min, max);
    for (int a = 0; a < 3; a++) {
        longest = max[a] - min[a] > longest ? max[a] - min[a] : longest;
    }
    // A little more than needed: rounding must not cost a further node.
    return (float)(longest / (nodes - 1 - 2 * margin_cells) * (1.0 + 1e-6));
}

/// A grid centred on a box, that reaches margins[a] cells beyond it at either end. @return as tarn_voxelize_mesh
static tarn_status lay_grid(const double min_m[3], const double max_m[3], float spacing_m, const uint32_t margins[3],
                            voxel_grid *grid, tarn_distance_field *field, const sentence *why)
{
    double nodes[3];
    grid->node_count = 1;
    grid->spacing_m = spacing_m;
    for (int a = 0; a < 3; a++) {
        nodes[a] = ceil((max_m[a] - min_m[a]) / grid->spacing_m) + 1.0 + 2.0 * margins[a];
        nodes[a] = nodes[a] < TARN_FIELD_NODES_MIN ? TARN_FIELD_NODES_MIN : nodes[a];
    }
    if (!(nodes[0] <= TARN_FIELD_NODES_MAX && nodes[1] <= TARN_FIELD_NODES_MAX && nodes[2] <= TARN_FIELD_NODES_MAX)) {
        return refuse(
            why, TARN_E_LIMIT,
            "found a grid of %.0f x %.0f x %.0f nodes with a spacing of %g m, allowed are %d per axis: take a "
            "larger spacing",
            nodes[0], nodes[1], nodes[2], grid->spacing_m, TARN_FIELD_NODES_MAX);
    }
    field->spacing_m = spacing_m;
    for (int a = 0; a < 3; a++) {
        field->nodes[a] = (uint32_t)nodes[a];
        field->min_m[a] = (float)(0.5 * (min_m[a] + max_m[a]) - 0.5 * grid->spacing_m * (nodes[a] - 1.0));
        grid->nodes[a] = (int)nodes[a];
        grid->min_m[a] = field->min_m[a]; // as the field's readers see it
        grid->stride[a] = grid->node_count;
        grid->node_count *= field->nodes[a];
    }
    return TARN_OK;
}

static bool allocate(const voxel_grid *grid, voxel_work *work)
{
    size_t lines = 0;
    for (int axis = 0; axis < 3; axis++) {
        const size_t count = grid->node_count / (size_t)grid->nodes[axis];
        lines = count > lines ? count : lines;
    }
    work->words = malloc(grid->node_count * sizeof *work->words);
    work->votes = malloc(grid->node_count);
    work->line_sum = malloc(lines * sizeof *work->line_sum);
    work->distance_m = malloc(grid->node_count * sizeof *work->distance_m);
    return work->words != NULL && work->votes != NULL && work->line_sum != NULL && work->distance_m != NULL;
}

/// Frees all but the distances.
static void free_work(voxel_work *work)
{
    free(work->words);
    free(work->votes);
    free(work->line_sum);
}

// ---- the run ----

/// Nodes in the surface itself are neither inside nor outside; the lines along it say what they like.
static tarn_status check_votes(const voxel_grid *grid, const voxel_work *work, const sentence *why)
{
    const double surface_m = 1e-3 * grid->spacing_m;
    size_t inside = 0, contested = 0;
    for (size_t i = 0; i < grid->node_count; i++) {
        if ((double)work->distance_m[i] < surface_m) {
            continue;
        }
        inside += work->votes[i] > 0;
        contested += work->votes[i] > -6 && work->votes[i] < 6;
    }
    if (contested * CONTESTED_ONE_IN > inside + contested) {
        return refuse(why, TARN_E_MALFORMED,
                      "the mesh isn't closed: of %zu nodes that may be inside, %zu have lines out of the mesh that say "
                      "otherwise; allowed is one in %d",
                      inside + contested, contested, CONTESTED_ONE_IN);
    }
    if (inside == 0) {
        return refuse(why, TARN_E_MALFORMED,
                      "the mesh holds no node of a grid with a spacing of %g m: it is open, or thinner than that",
                      grid->spacing_m);
    }
    return TARN_OK;
}

/// Both stages on a checked mesh. @param field  has its grid; gets its distances
static tarn_status sample(const tarn_mesh *mesh, const voxel_grid *grid, voxel_lines lines, tarn_distance_field *field,
                          const sentence *why)
{
    voxel_work work = {.words = NULL};
    tarn_status status = check_visits(mesh, grid, why);
    if (status != TARN_OK) {
        return status;
    }
    status = TARN_E_MEMORY;
    if (!allocate(grid, &work)) {
        refuse(why, status, "out of memory for %zu nodes", grid->node_count);
        goto fail;
    }
    voxel_find_inside(mesh, grid, lines, &work);
    voxel_find_nearest(mesh, grid, &work);
    status = lines == VOXEL_LINES_ALL ? check_votes(grid, &work, why) : TARN_OK;
    if (status != TARN_OK) {
        goto fail;
    }
    for (size_t i = 0; i < grid->node_count; i++) {
        if (work.votes[i] > 0) {
            work.distance_m[i] = -work.distance_m[i];
        }
    }
    field->distance_m = work.distance_m;
    free_work(&work);
    return TARN_OK;

fail:
    free(work.distance_m);
    free_work(&work);
    return status;
}

// ---- how thin ----

/// Points of the surface that are asked how thick the mesh is below them: as many as make so many comparisons with
/// triangles.
enum { THIN_POINTS_MAX = 400, THIN_POINTS_MIN = 40, THIN_VISITS = 1 << 23, THIN_ONE_IN = 10 };

static void mesh_corner(const tarn_mesh *mesh, uint32_t triangle, int corner, double at[3])
{
    const float *vertex = mesh->vertices_m + 3 * (size_t)mesh->triangles[3 * (size_t)triangle + (size_t)corner];
    for (int a = 0; a < 3; a++) {
        at[a] = (double)vertex[a];
    }
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *to)
{
    for (int i = 0; i < 3; i++) {
        const int n = (i + 1) % 3, l = (i + 2) % 3;
        to[i] = a[n] * b[l] - a[l] * b[n];
    }
}

/// Edges of a triangle from its first corner.
static void triangle_edges(const tarn_mesh *mesh, uint32_t triangle, double first[3], double edge[2][3])
{
    mesh_corner(mesh, triangle, 0, first);
    for (int e = 0; e < 2; e++) {
        mesh_corner(mesh, triangle, e + 1, edge[e]);
        for (int a = 0; a < 3; a++) {
            edge[e][a] -= first[a];
        }
    }
}

/// And their product: twice the area along the normal.
static double triangle_frame(const tarn_mesh *mesh, uint32_t triangle, double first[3], double edge[2][3],
                             double normal[3])
{
    triangle_edges(mesh, triangle, first, edge);
    cross(edge[0], edge[1], normal);
    return sqrt(dot(normal, normal));
}

/// Where a line meets a triangle, in units of its direction; NAN: nowhere (Moeller & Trumbore 1997).
static double line_meets(const tarn_mesh *mesh, uint32_t triangle, const double from[3], const double along[3])
{
    double first[3], edge[2][3], side[3], way[3], turned[3];
    triangle_edges(mesh, triangle, first, edge);
    cross(along, edge[1], side);
    const double determinant = dot(edge[0], side);
    for (int a = 0; a < 3; a++) {
        way[a] = from[a] - first[a];
    }
    cross(way, edge[0], turned);
    const double u = dot(way, side) / determinant, v = dot(along, turned) / determinant;
    return determinant != 0.0 && u >= 0.0 && v >= 0.0 && u + v <= 1.0 ? dot(edge[1], turned) / determinant : NAN;
}

/// How thick a mesh is below a point of a triangle: along the normal, to where the surface is met first on the side
/// that an uneven number of crossings tells to be inside. @return infinity where no side is
static double thickness_below(const tarn_mesh *mesh, uint32_t triangle)
{
    double first[3], edge[2][3], normal[3], from[3], nearest[2] = {INFINITY, INFINITY};
    const double size = triangle_frame(mesh, triangle, first, edge, normal);
    uint32_t met[2] = {0, 0};
    for (int a = 0; a < 3; a++) {
        normal[a] /= size;
        from[a] = first[a] + 0.31 * edge[0][a] + 0.27 * edge[1][a]; // not on a line that regular meshes have edges on
    }
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const double at = t != triangle ? line_meets(mesh, t, from, normal) : NAN;
        if (at > 0.0 || at < 0.0) {
            met[at < 0.0]++;
            nearest[at < 0.0] = fmin(nearest[at < 0.0], fabs(at));
        }
    }
    return met[0] % 2 == 1 ? nearest[0] : met[1] % 2 == 1 ? nearest[1] : INFINITY;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// How thick a mesh is at most where it is thinnest, over a tenth of its surface: that of points spread evenly over
/// it. A mesh may have walls that no node of its field lies in. @return 0: not known
static float mesh_thin_m(const tarn_mesh *mesh)
{
    double found[THIN_POINTS_MAX], area = 0.0, before = 0.0;
    double first[3], edge[2][3], normal[3];
    const uint32_t wanted = (uint32_t)(THIN_VISITS / mesh->triangle_count);
    const uint32_t points = wanted < THIN_POINTS_MIN   ? THIN_POINTS_MIN
                            : wanted > THIN_POINTS_MAX ? THIN_POINTS_MAX
                                                       : wanted;
    uint32_t next = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        area += triangle_frame(mesh, t, first, edge, normal);
    }
    for (uint32_t t = 0; t < mesh->triangle_count && area > 0.0; t++) {
        before += triangle_frame(mesh, t, first, edge, normal);
        double thick_m = -1.0;
        while (next < points && (next + 0.5) / points * area < before) {
            thick_m = thick_m < 0.0 ? thickness_below(mesh, t) : thick_m;
            found[next++] = thick_m;
        }
    }
    if (next == 0) {
        return 0.0F;
    }
    qsort(found, next, sizeof *found, compare_doubles);
    const double thin_m = found[next / THIN_ONE_IN];
    return thin_m < INFINITY ? (float)thin_m : 0.0F;
}

tarn_status tarn_voxelize_mesh(const tarn_mesh *mesh, float spacing_m, uint32_t margin_cells,
                               tarn_distance_field *field, char *why, size_t why_bytes)
{
    const sentence to = {why, why_bytes};
    tarn_distance_field made = {.distance_m = NULL};
    voxel_grid grid;
    double min_m[3], max_m[3];
    tarn_status status = check_grid_arguments(spacing_m, margin_cells, &to);
    if (status == TARN_OK) {
        status = check_mesh(mesh, &to);
    }
    if (status != TARN_OK) {
        return status;
    }
    mesh_bounds(mesh, min_m, max_m);
    const uint32_t margins[3] = {margin_cells, margin_cells, margin_cells};
    status = lay_grid(min_m, max_m, spacing_m, margins, &grid, &made, &to);
    if (status == TARN_OK) {
        status = sample(mesh, &grid, VOXEL_LINES_ALL, &made, &to);
    }
    if (status == TARN_OK) {
        made.thin_m = mesh_thin_m(mesh);
        *field = made;
    }
    return status;
}

// ---- heightfields ----

/// Two triangles for four heights. A ring of heights like those at the border, `apron_m` outside, lets the ground go
/// on.
static bool make_ground(const tarn_height_map *map, double apron_m, tarn_mesh *mesh)
{
    const uint32_t columns = map->columns + 2, rows = map->rows + 2;
    const double spacing = map->spacing_m;
    mesh->vertex_count = columns * rows;
    mesh->triangle_count = 2 * (columns - 1) * (rows - 1);
    mesh->vertices_m = malloc(3 * (size_t)mesh->vertex_count * sizeof *mesh->vertices_m);
    mesh->triangles = malloc(3 * (size_t)mesh->triangle_count * sizeof *mesh->triangles);
    if (mesh->vertices_m == NULL || mesh->triangles == NULL) {
        return false;
    }
    float *vertex = mesh->vertices_m;
    uint32_t *triangle = mesh->triangles;
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < columns; c++) {
            // Ring and border share a height: the index is that of the border, the place further out.
            const uint32_t column = c == 0 ? 0 : c == columns - 1 ? map->columns - 1 : c - 1;
            const uint32_t row = r == 0 ? 0 : r == rows - 1 ? map->rows - 1 : r - 1;
            const double beside_x = c == 0 ? -apron_m : c == columns - 1 ? apron_m : 0.0;
            const double beside_z = r == 0 ? -apron_m : r == rows - 1 ? apron_m : 0.0;
            *vertex++ = (float)((column - 0.5 * (map->columns - 1)) * spacing + beside_x);
            *vertex++ = map->heights_m[(size_t)row * map->columns + column];
            *vertex++ = (float)((row - 0.5 * (map->rows - 1)) * spacing + beside_z);
            if (r + 1 == rows || c + 1 == columns) {
                continue;
            }
            const uint32_t at = r * columns + c;
            const uint32_t corners[6] = {at, at + columns, at + 1, at + 1, at + columns, at + columns + 1};
            for (int i = 0; i < 6; i++) {
                *triangle++ = corners[i];
            }
        }
    }
    return true;
}

tarn_status tarn_voxelize_heights(const tarn_height_map *heights, float bottom_m, float spacing_m,
                                  uint32_t margin_cells, tarn_distance_field *field, char *why, size_t why_bytes)
{
    const sentence to = {why, why_bytes};
    tarn_distance_field made = {.distance_m = NULL};
    tarn_mesh ground = {.vertex_count = 0};
    voxel_grid grid;
    tarn_status status = check_grid_arguments(spacing_m, margin_cells, &to);
    if (status == TARN_OK) {
        status = check_heights(heights, bottom_m, &to);
    }
    if (status != TARN_OK) {
        return status;
    }
    double highest = bottom_m;
    for (size_t i = 0; i < (size_t)heights->columns * heights->rows; i++) {
        highest = (double)heights->heights_m[i] > highest ? (double)heights->heights_m[i] : highest;
    }
    const double half_x = 0.5 * (heights->columns - 1) * (double)heights->spacing_m;
    const double half_z = 0.5 * (heights->rows - 1) * (double)heights->spacing_m;
    const double min_m[3] = {-half_x, bottom_m, -half_z};
    const double max_m[3] = {half_x, highest + margin_cells * (double)spacing_m, half_z};
    status = lay_grid(min_m, max_m, spacing_m, (const uint32_t[3]){0, 0, 0}, &grid, &made, &to);
    if (status != TARN_OK) {
        return status;
    }
    if (make_ground(heights, 2.0 * TARN_VOXELIZE_BAND * (double)spacing_m, &ground)) {
        status = sample(&ground, &grid, VOXEL_LINES_UP, &made, &to);
    } else {
        status = refuse(&to, TARN_E_MEMORY, "out of memory for %u triangles", ground.triangle_count);
    }
    free(ground.vertices_m);
    free(ground.triangles);
    if (status == TARN_OK) {
        *field = made;
    }
    return status;
}
