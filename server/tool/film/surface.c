// Triangles out of a level set, start at mesh_extract; and what is done to them once they are there.
#include "server/tool/film/surface.h"
#include "protocol/assert.h"
#include "server/tool/film/render.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- marching cubes ----
// Over tiles: count what each tile has, sum up, fill.
//
// A vertex is of an edge between two nodes, and so of the tile of its lower node. One bit for each edge of a tile says
// whether the surface crosses it; a vertex's number is its tile's first one plus the bits before its own.

enum {
    LOOPS_MAX = 4, // of a cell
    EDGES = 12,    // of a cell; edge 4 * axis + n begins at the n-th of the corners that are low along the axis
    TRIANGLES_MAX = 12,
    HALO_MAX = MESH_TILE_NODES_MAX + 1,
    WORDS_MAX = 3 * MESH_TILE_NODES_MAX * MESH_TILE_NODES_MAX * MESH_TILE_NODES_MAX / 64,
};

static const float NEAREST_NODE = 0.05f; // of an edge, from a vertex: triangles keep an area

// ---- marching cubes: the cases ----

/// What a cell has when the corners in its number are inside. Corner x + 2 y + 4 z; vertices from EDGES on are middles
/// of loops.
typedef struct cell_case {
    uint8_t triangle_count, middle_count;
    uint8_t triangles[TRIANGLES_MAX][3];
    uint8_t middle_edge_count[LOOPS_MAX];
    uint8_t middle_edges[LOOPS_MAX][EDGES];
} cell_case;

static cell_case cases[256];
static pthread_once_t cases_once = PTHREAD_ONCE_INIT;

/// Each face's corners, counter-clockwise seen from outside.
static const uint8_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};

static uint8_t low_corner(uint8_t edge)
{
    const uint8_t axis = edge / 4, n = edge % 4;
    const uint8_t below = n & ((1U << axis) - 1), above = (uint8_t)(n >> axis);
    return (uint8_t)(below | above << (axis + 1));
}

static uint8_t edge_between(uint8_t a, uint8_t b)
{
    for (int i = 0; i < EDGES; i++) {
        const uint8_t edge = (uint8_t)i;
        const uint8_t low = low_corner(edge), high = (uint8_t)(low | 1U << (edge / 4));
        if ((low == a && high == b) || (low == b && high == a)) {
            return edge;
        }
    }
    return EDGES;
}

static uint8_t faces_of(uint8_t edge)
{
    uint8_t bits = 0;
    for (int face = 0; face < 6; face++) {
        for (int i = 0; i < 4; i++) {
            bits |= edge_between(faces[face][i], faces[face][(i + 1) % 4]) == edge ? 1U << face : 0;
        }
    }
    return bits;
}

/// From each crossed edge the next one around a loop. On a face it is where a run of corners inside ends.
static void link_loops(unsigned inside, uint8_t next[EDGES])
{
    memset(next, EDGES, EDGES);
    for (int face = 0; face < 6; face++) {
        for (int i = 0; i < 4; i++) {
            if ((inside >> faces[face][i] & 1) != 0 || (inside >> faces[face][(i + 1) % 4] & 1) == 0) {
                continue; // the run doesn't begin here
            }
            int last = i + 1;
            while ((inside >> faces[face][(last + 1) % 4] & 1) != 0) {
                last++;
            }
            next[edge_between(faces[face][i], faces[face][(i + 1) % 4])] =
                edge_between(faces[face][last % 4], faces[face][(last + 1) % 4]);
        }
    }
}

/// A diagonal along a face could be one of the cell beyond, too, and then be of four triangles.
static bool fan_is_inside(const uint8_t *loop, int count, int apex)
{
    for (int i = 2; i <= count - 2; i++) {
        if ((faces_of(loop[apex]) & faces_of(loop[(apex + i) % count])) != 0) {
            return false;
        }
    }
    return true;
}

static void add_triangle(cell_case *to, uint8_t a, uint8_t b, uint8_t c)
{
    uint8_t *t = to->triangles[to->triangle_count++];
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

static void fill_loop(cell_case *to, const uint8_t *loop, int count)
{
    for (int apex = 0; apex < count; apex++) {
        if (!fan_is_inside(loop, count, apex)) {
            continue;
        }
        for (int i = 1; i <= count - 2; i++) {
            add_triangle(to, loop[apex], loop[(apex + i) % count], loop[(apex + i + 1) % count]);
        }
        return;
    }
    const uint8_t middle = to->middle_count++;
    to->middle_edge_count[middle] = (uint8_t)count;
    memcpy(to->middle_edges[middle], loop, (size_t)count);
    for (int i = 0; i < count; i++) {
        add_triangle(to, (uint8_t)(EDGES + middle), loop[i], loop[(i + 1) % count]);
    }
}

static void make_cases(void)
{
    for (unsigned inside = 1; inside < 255; inside++) {
        uint8_t next[EDGES];
        link_loops(inside, next);
        for (int first = 0; first < EDGES; first++) {
            uint8_t loop[EDGES];
            int count = 0;
            for (uint8_t edge = (uint8_t)first; next[edge] != EDGES;) {
                loop[count++] = edge;
                const uint8_t to = next[edge];
                next[edge] = EDGES;
                edge = to;
            }
            if (count > 0) {
                fill_loop(&cases[inside], loop, count);
            }
        }
    }
}

// ---- marching cubes: the tiles ----

/// What a slot's tile has.
typedef struct tile_part {
    uint32_t first_vertex, edge_vertices, middles;
    uint64_t first_triangle;
    uint32_t triangles;
} tile_part;

typedef struct extraction {
    const mesh_grid *grid;
    uint32_t words;    // of 64 edges, for each slot
    uint64_t *crossed; // a bit for each edge: 3 * node + axis
    uint32_t *before;  // for each word: the bits of the slot's words before it
    tile_part *parts;
    mesh *out;
} extraction;

static void tile_place(const mesh_grid *g, uint32_t tile, uint32_t at[3])
{
    at[0] = tile % g->tiles[0];
    at[1] = tile / g->tiles[0] % g->tiles[1];
    at[2] = tile / g->tiles[0] / g->tiles[1];
}

/// The slot of a tile's neighbour above by `up`, or what all its nodes are.
static int32_t slot_above(const mesh_grid *g, const uint32_t at[3], const uint32_t up[3])
{
    uint32_t to[3];
    for (int axis = 0; axis < 3; axis++) {
        to[axis] = at[axis] + up[axis];
        if (to[axis] >= g->tiles[axis]) {
            return MESH_TILE_OUTSIDE;
        }
    }
    return g->slots[((size_t)to[2] * g->tiles[1] + to[1]) * g->tiles[0] + to[0]];
}

/// A slot's nodes and those that follow in the tiles above, [z][y][x].
static void gather(const mesh_grid *g, uint32_t slot, float *values)
{
    const uint32_t n = g->tile_nodes, halo = n + 1;
    const size_t nodes = (size_t)n * n * n;
    uint32_t at[3];
    tile_place(g, g->tile_of[slot], at);
    for (uint32_t part = 0; part < 8; part++) {
        const uint32_t up[3] = {part & 1, part >> 1 & 1, part >> 2};
        const int32_t from = slot_above(g, at, up);
        for (uint32_t z = up[2] * n; z < n + up[2]; z++) {
            for (uint32_t y = up[1] * n; y < n + up[1]; y++) {
                float *row = values + ((size_t)z * halo + y) * halo;
                for (uint32_t x = up[0] * n; x < n + up[0]; x++) {
                    row[x] = from >= 0 ? g->values[(size_t)from * nodes + ((z % n) * n + y % n) * n + x % n]
                                       : (from == MESH_TILE_INSIDE ? -1.0f : 1.0f);
                }
            }
        }
    }
}

static unsigned case_at(const float *corner, uint32_t halo)
{
    unsigned inside = 0;
    for (unsigned c = 0; c < 8; c++) {
        inside |= (unsigned)(corner[((c >> 2) * halo + (c >> 1 & 1)) * halo + (c & 1)] < 0.0f) << c;
    }
    return inside;
}

static void count_tiles(void *context, uint32_t begin, uint32_t end)
{
    extraction *e = context;
    const uint32_t n = e->grid->tile_nodes, halo = n + 1;
    const uint32_t steps[3] = {1, halo, halo * halo};
    float values[HALO_MAX * HALO_MAX * HALO_MAX];
    for (uint32_t slot = begin; slot < end; slot++) {
        gather(e->grid, slot, values);
        uint64_t *crossed = e->crossed + (size_t)slot * e->words;
        tile_part *part = &e->parts[slot];
        uint32_t node = 0;
        for (uint32_t z = 0; z < n; z++) {
            for (uint32_t y = 0; y < n; y++) {
                for (uint32_t x = 0; x < n; x++, node++) {
                    const float *corner = values + ((size_t)z * halo + y) * halo + x;
                    for (uint32_t axis = 0; axis < 3; axis++) {
                        const uint64_t crosses = (corner[0] < 0.0f) != (corner[steps[axis]] < 0.0f);
                        crossed[(3 * node + axis) / 64] |= crosses << (3 * node + axis) % 64;
                    }
                    const cell_case *c = &cases[case_at(corner, halo)];
                    part->triangles += c->triangle_count;
                    part->middles += c->middle_count;
                }
            }
        }
        for (uint32_t word = 0; word < e->words; word++) {
            e->before[(size_t)slot * e->words + word] = part->edge_vertices;
            part->edge_vertices += (uint32_t)__builtin_popcountll(crossed[word]);
        }
    }
}

static uint32_t vertex_at(const extraction *e, int32_t slot, uint32_t node, uint32_t axis)
{
    TARN_ASSERT(slot >= 0); // mesh_grid's promise
    const uint32_t bit = 3 * node + axis;
    const size_t word = (size_t)slot * e->words + bit / 64;
    const uint64_t below = e->crossed[word] & ((1ULL << bit % 64) - 1);
    return e->parts[slot].first_vertex + e->before[word] + (uint32_t)__builtin_popcountll(below);
}

static float node_m(const mesh_grid *g, int axis, uint32_t tile, float node)
{
    return g->origin_m[axis] + g->spacing_m * ((float)(tile * g->tile_nodes) + node);
}

/// The vertices on the edges that begin at a node.
static void put_vertices(const extraction *e, const uint32_t at[3], const uint32_t place[3], const float *corner,
                         uint32_t halo, float **to)
{
    const uint32_t steps[3] = {1, halo, halo * halo};
    for (uint32_t axis = 0; axis < 3; axis++) {
        const float a = corner[0], b = corner[steps[axis]];
        if ((a < 0.0f) == (b < 0.0f)) {
            continue;
        }
        const float share = fminf(fmaxf(a / (a - b), NEAREST_NODE), 1.0f - NEAREST_NODE);
        for (uint32_t i = 0; i < 3; i++) {
            (*to)[i] = node_m(e->grid, (int)i, at[i], (float)place[i] + (i == axis ? share : 0.0f));
        }
        *to += 3;
    }
}

/// The vertices on a cell's edges.
static void find_vertices(const extraction *e, const cell_case *c, const int32_t slots[8], const uint32_t place[3],
                          uint32_t vertices[EDGES])
{
    const uint32_t n = e->grid->tile_nodes;
    for (uint32_t i = 0; i < c->triangle_count; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            const uint8_t edge = c->triangles[i][k];
            if (edge >= EDGES) {
                continue;
            }
            const uint32_t low = low_corner(edge);
            const uint32_t x = place[0] + (low & 1), y = place[1] + (low >> 1 & 1), z = place[2] + (low >> 2);
            const uint32_t part = (x == n ? 1 : 0) | (y == n ? 2 : 0) | (z == n ? 4 : 0);
            vertices[edge] = vertex_at(e, slots[part], ((z % n) * n + y % n) * n + x % n, edge / 4);
        }
    }
}

static void fill_vertices(void *context, uint32_t begin, uint32_t end)
{
    const extraction *e = context;
    const uint32_t n = e->grid->tile_nodes, halo = n + 1;
    float values[HALO_MAX * HALO_MAX * HALO_MAX];
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t at[3];
        gather(e->grid, slot, values);
        tile_place(e->grid, e->grid->tile_of[slot], at);
        float *to = e->out->positions_m + (size_t)3 * e->parts[slot].first_vertex;
        for (uint32_t z = 0; z < n; z++) {
            for (uint32_t y = 0; y < n; y++) {
                for (uint32_t x = 0; x < n; x++) {
                    put_vertices(e, at, (uint32_t[]){x, y, z}, values + ((size_t)z * halo + y) * halo + x, halo, &to);
                }
            }
        }
    }
}

static void put_middle(const mesh *out, const cell_case *c, uint32_t middle, const uint32_t vertices[EDGES],
                       uint32_t vertex)
{
    const uint32_t count = c->middle_edge_count[middle];
    float sum_m[3] = {0};
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            sum_m[axis] += out->positions_m[(size_t)3 * vertices[c->middle_edges[middle][i]] + axis];
        }
    }
    for (uint32_t axis = 0; axis < 3; axis++) {
        out->positions_m[(size_t)3 * vertex + axis] = sum_m[axis] / (float)count;
    }
}

static void fill_triangles(void *context, uint32_t begin, uint32_t end)
{
    const extraction *e = context;
    const uint32_t n = e->grid->tile_nodes, halo = n + 1;
    float values[HALO_MAX * HALO_MAX * HALO_MAX];
    for (uint32_t slot = begin; slot < end; slot++) {
        const tile_part *part = &e->parts[slot];
        uint32_t at[3], middle = part->first_vertex + part->edge_vertices;
        int32_t slots[8];
        gather(e->grid, slot, values);
        tile_place(e->grid, e->grid->tile_of[slot], at);
        for (uint32_t i = 0; i < 8; i++) {
            slots[i] = slot_above(e->grid, at, (uint32_t[]){i & 1, i >> 1 & 1, i >> 2});
        }
        uint32_t *to = e->out->triangles + 3 * part->first_triangle;
        for (uint32_t cell = 0; cell < n * n * n; cell++) {
            const uint32_t place[3] = {cell % n, cell / n % n, cell / n / n};
            const cell_case *c = &cases[case_at(values + ((size_t)place[2] * halo + place[1]) * halo + place[0], halo)];
            uint32_t vertices[EDGES + LOOPS_MAX];
            find_vertices(e, c, slots, place, vertices);
            for (uint32_t i = 0; i < c->middle_count; i++) {
                vertices[EDGES + i] = middle++;
                put_middle(e->out, c, i, vertices, vertices[EDGES + i]);
            }
            for (uint32_t i = 0; i < c->triangle_count; i++) {
                for (uint32_t k = 0; k < 3; k++) {
                    *to++ = vertices[c->triangles[i][k]];
                }
            }
        }
    }
}

/// Gives each slot its first vertex and triangle, and makes room for them.
static tarn_status make_room(extraction *e)
{
    uint64_t vertices = 0, triangles = 0;
    for (uint32_t slot = 0; slot < e->grid->slot_count; slot++) {
        e->parts[slot].first_vertex = (uint32_t)vertices;
        e->parts[slot].first_triangle = triangles;
        vertices += e->parts[slot].edge_vertices + e->parts[slot].middles;
        triangles += e->parts[slot].triangles;
        if (vertices > MESH_VERTICES_MAX || triangles > UINT32_MAX / 3) {
            return TARN_E_LIMIT;
        }
    }
    e->out->positions_m = malloc((vertices + 1) * 3 * sizeof(float));
    e->out->triangles = malloc((triangles + 1) * 3 * sizeof(uint32_t));
    if (e->out->positions_m == NULL || e->out->triangles == NULL) {
        return TARN_E_MEMORY;
    }
    e->out->vertex_count = (uint32_t)vertices;
    e->out->triangle_count = (uint32_t)triangles;
    return TARN_OK;
}

tarn_status mesh_extract(const mesh_grid *grid, uint32_t threads, mesh *out)
{
    enum { RANGE = 16 };
    pthread_once(&cases_once, make_cases);
    *out = (mesh){.vertex_count = 0};
    const size_t slots = grid->slot_count;
    extraction e = {.grid = grid, .out = out};
    e.words = (3 * grid->tile_nodes * grid->tile_nodes * grid->tile_nodes + 63) / 64;
    e.crossed = calloc(slots * e.words + 1, sizeof *e.crossed);
    e.before = malloc((slots * e.words + 1) * sizeof *e.before);
    e.parts = calloc(slots + 1, sizeof *e.parts);
    tarn_status status = e.crossed != NULL && e.before != NULL && e.parts != NULL ? TARN_OK : TARN_E_MEMORY;
    if (status == TARN_OK) {
        render_rows(threads, grid->slot_count, RANGE, count_tiles, &e);
        status = make_room(&e);
    }
    if (status == TARN_OK) {
        render_rows(threads, grid->slot_count, RANGE, fill_vertices, &e);
        render_rows(threads, grid->slot_count, RANGE, fill_triangles, &e);
    }
    free(e.crossed);
    free(e.before);
    free(e.parts);
    if (status != TARN_OK) {
        mesh_free(out);
    }
    return status;
}

// ---- parts that hang together ----
// Each edge is walked once in each direction, so that a walk over all triangles meets every neighbour of a vertex once.

static uint32_t root_of(uint32_t *parents, uint32_t v)
{
    while (parents[v] != v) {
        parents[v] = parents[parents[v]];
        v = parents[v];
    }
    return v;
}

static void join(uint32_t *parents, uint32_t a, uint32_t b)
{
    const uint32_t x = root_of(parents, a), y = root_of(parents, b);
    parents[x < y ? y : x] = x < y ? x : y;
}

/// Six times what lies between a triangle and a point: by those of a closed surface, six times its volume.
static double six_volumes_m3(const mesh *m, const uint32_t *t, const float *from_m)
{
    double side[3][3];
    for (int k = 0; k < 3; k++) {
        for (int axis = 0; axis < 3; axis++) {
            side[k][axis] = (double)m->positions_m[(size_t)3 * t[k] + (size_t)axis] - (double)from_m[axis];
        }
    }
    return side[0][0] * (side[1][1] * side[2][2] - side[1][2] * side[2][1]) +
           side[0][1] * (side[1][2] * side[2][0] - side[1][0] * side[2][2]) +
           side[0][2] * (side[1][0] * side[2][1] - side[1][1] * side[2][0]);
}

/// Which vertices hang together.
typedef struct mesh_parts {
    uint32_t *roots; // of each vertex: the first one of its part
    double *six_m3;  // of each root: six times its part's volume, negative of a hollow
} mesh_parts;

static void parts_free(mesh_parts *parts)
{
    free(parts->roots);
    free(parts->six_m3);
}

static void measure_parts(const mesh *m, mesh_parts *parts)
{
    memset(parts->six_m3, 0, (size_t)m->vertex_count * sizeof *parts->six_m3);
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t root = parts->roots[m->triangles[3 * i]];
        parts->six_m3[root] += six_volumes_m3(m, m->triangles + 3 * i, m->positions_m + (size_t)3 * root);
    }
}

static bool find_parts(const mesh *m, mesh_parts *parts)
{
    parts->roots = malloc((size_t)m->vertex_count * sizeof *parts->roots + 1);
    parts->six_m3 = malloc((size_t)m->vertex_count * sizeof *parts->six_m3 + 1);
    if (parts->roots == NULL || parts->six_m3 == NULL) {
        return false;
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        parts->roots[v] = v;
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        join(parts->roots, m->triangles[3 * i], m->triangles[3 * i + 1]);
        join(parts->roots, m->triangles[3 * i], m->triangles[3 * i + 2]);
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        parts->roots[v] = root_of(parts->roots, v);
    }
    measure_parts(m, parts);
    return true;
}

/// Takes away the parts whose roots are marked by a volume of 0.
static void drop_parts(mesh *m, mesh_parts *parts)
{
    uint32_t triangles = 0, vertices = 0;
    for (size_t i = 0; i < m->triangle_count; i++) {
        if (parts->six_m3[parts->roots[m->triangles[3 * i]]] != 0.0) {
            memmove(m->triangles + (size_t)3 * triangles++, m->triangles + 3 * i, 3 * sizeof *m->triangles);
        }
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        if (parts->six_m3[parts->roots[v]] != 0.0) {
            memmove(m->positions_m + (size_t)3 * vertices++, m->positions_m + (size_t)3 * v, 3 * sizeof(float));
        }
    }
    for (uint32_t v = m->vertex_count, left = vertices; v-- > 0;) { // roots come first, and so are needed longest
        parts->roots[v] = parts->six_m3[parts->roots[v]] != 0.0 ? --left : 0;
    }
    for (size_t i = 0; i < (size_t)3 * triangles; i++) {
        m->triangles[i] = parts->roots[m->triangles[i]];
    }
    m->triangle_count = triangles;
    m->vertex_count = vertices;
}

tarn_status mesh_drop_small(mesh *m, double hollow_m3, double speck_m3)
{
    mesh_parts parts;
    const bool has_room = find_parts(m, &parts);
    for (uint32_t v = 0; v < m->vertex_count && has_room; v++) {
        if (parts.six_m3[v] > -6.0 * hollow_m3 && parts.six_m3[v] < 6.0 * speck_m3) {
            parts.six_m3[v] = 0.0;
        }
    }
    if (has_room) {
        drop_parts(m, &parts);
    }
    parts_free(&parts);
    return has_room ? TARN_OK : TARN_E_MEMORY;
}

// ---- smoothing ----

typedef struct smoothing {
    const mesh *m;
    const float *shares;
    uint32_t *first;      // of each vertex's neighbours; one more than there are vertices
    uint32_t *neighbours; // as many as edges are walked
    float step;           // of the way to the neighbours' mean
    float *to_m;
} smoothing;

static bool find_neighbours(const mesh *m, smoothing *s)
{
    const size_t walks = (size_t)3 * m->triangle_count;
    s->first = calloc((size_t)m->vertex_count + 2, sizeof *s->first);
    s->neighbours = malloc(walks * sizeof *s->neighbours + 1);
    if (s->first == NULL || s->neighbours == NULL) {
        return false;
    }
    for (size_t i = 0; i < walks; i++) {
        s->first[m->triangles[i] + 2]++;
    }
    for (size_t v = 0; v < m->vertex_count; v++) {
        s->first[v + 2] += s->first[v + 1];
    }
    for (size_t i = 0; i < walks; i++) { // which makes each vertex's start the next one's
        s->neighbours[s->first[m->triangles[i] + 1]++] = m->triangles[i % 3 == 2 ? i - 2 : i + 1];
    }
    return true;
}

static void move_to_neighbours(void *context, uint32_t begin, uint32_t end)
{
    const smoothing *s = context;
    const float *from_m = s->m->positions_m;
    for (size_t v = begin; v < end; v++) {
        float sum_m[3] = {0};
        for (uint32_t i = s->first[v]; i < s->first[v + 1]; i++) {
            for (size_t axis = 0; axis < 3; axis++) {
                sum_m[axis] += from_m[(size_t)3 * s->neighbours[i] + axis];
            }
        }
        const float count = (float)(s->first[v + 1] - s->first[v]);
        const float step = count > 0.0f ? s->step * (s->shares != NULL ? s->shares[v] : 1.0f) : 0.0f;
        for (size_t axis = 0; axis < 3; axis++) {
            const float at_m = from_m[3 * v + axis];
            s->to_m[3 * v + axis] = step != 0.0f ? at_m + step * (sum_m[axis] / count - at_m) : at_m;
        }
    }
}

static void move_all(mesh *m, smoothing *s, float step, uint32_t threads)
{
    enum { RANGE = 4096 };
    s->step = step;
    render_rows(threads, m->vertex_count, RANGE, move_to_neighbours, s);
    float *moved_m = s->to_m;
    s->to_m = m->positions_m;
    m->positions_m = moved_m;
}

/// Brings small parts back to the volumes that they had, about their middles.
static bool restore_volumes(mesh *m, mesh_parts *parts, double small_m3)
{
    typedef struct part_middle {
        double sum_m[3], count, share;
    } part_middle;
    part_middle *middles = calloc((size_t)m->vertex_count + 1, sizeof *middles);
    if (middles == NULL) {
        return false;
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        middles[v].share = parts->six_m3[v];
    }
    measure_parts(m, parts);
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        const double before = middles[v].share, after = parts->six_m3[v];
        const bool is_small = before > 0.0 && before < 6.0 * small_m3 && after > 0.0;
        // Of what has become flat hardly anything is left to be scaled.
        middles[v].share = is_small ? fmin(cbrt(before / after), 1.25) : 1.0;
        part_middle *of = &middles[parts->roots[v]];
        of->count += 1.0;
        for (size_t axis = 0; axis < 3; axis++) {
            of->sum_m[axis] += (double)m->positions_m[(size_t)3 * v + axis];
        }
    }
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        const part_middle *of = &middles[parts->roots[v]];
        for (size_t axis = 0; axis < 3 && of->share != 1.0; axis++) {
            float *p = &m->positions_m[(size_t)3 * v + axis];
            const double middle_m = of->sum_m[axis] / of->count;
            *p = (float)(middle_m + of->share * ((double)*p - middle_m));
        }
    }
    free(middles);
    return true;
}

tarn_status mesh_smooth(mesh *m, uint32_t passes, const float *shares, double small_m3, uint32_t threads)
{
    const float in = 0.63f, out = -0.64f; // evens out what is shorter than some thirty edges, bit by bit
    mesh_parts parts;
    smoothing s = {.m = m, .shares = shares, .to_m = malloc((size_t)m->vertex_count * 3 * sizeof(float) + 1)};
    bool has_room = find_parts(m, &parts) && find_neighbours(m, &s) && s.to_m != NULL;
    for (uint32_t pass = 0; pass < passes && has_room; pass++) {
        move_all(m, &s, in, threads);
        move_all(m, &s, out, threads);
    }
    has_room = has_room && restore_volumes(m, &parts, small_m3);
    parts_free(&parts);
    free(s.first);
    free(s.neighbours);
    free(s.to_m);
    return has_room ? TARN_OK : TARN_E_MEMORY;
}

tarn_status mesh_normals(mesh *m)
{
    free(m->normals);
    m->normals = calloc((size_t)m->vertex_count * 3 + 1, sizeof(float));
    if (m->normals == NULL) {
        return TARN_E_MEMORY;
    }
    for (size_t i = 0; i < m->triangle_count; i++) {
        const uint32_t *t = m->triangles + 3 * i;
        const float *a = m->positions_m + (size_t)3 * t[0], *b = m->positions_m + (size_t)3 * t[1],
                    *c = m->positions_m + (size_t)3 * t[2];
        const float u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}, v[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        const float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
        for (size_t k = 0; k < 3; k++) {
            for (size_t axis = 0; axis < 3; axis++) {
                m->normals[(size_t)3 * t[k] + axis] += n[axis];
            }
        }
    }
    for (size_t i = 0; i < m->vertex_count; i++) {
        float *n = m->normals + 3 * i;
        const double length = sqrt((double)n[0] * n[0] + (double)n[1] * n[1] + (double)n[2] * n[2]);
        if (length > 0.0) {
            n[0] = (float)(n[0] / length);
            n[1] = (float)(n[1] / length);
            n[2] = (float)(n[2] / length);
        } else {
            n[1] = 1.0f;
        }
    }
    return TARN_OK;
}

void mesh_free(mesh *m)
{
    free(m->positions_m);
    free(m->normals);
    free(m->triangles);
    free(m->velocities_m_s);
    free(m->colours);
    free(m->channel);
    *m = (mesh){.vertex_count = 0};
}
