// How silhouettes and the depth inside them have moved since the frame before, in three steps:
//
//     search   whole cells: where a window of this frame's picture was in the one before; fast arms move by more than
//              their width, which no gradient tells
//     refine   constraints on (u, v, w) in each cell, summed over its window, and solved together with its neighbours'
//     again    the same on the fine picture, from what was found
//
// Constraints. The silhouette's cover c moves along: c_x u + c_y v + c_t = 0. Depth Z moves along and changes by what
// goes away: Z_x u + Z_y v - w + Z_t = 0, the range flow constraint (H. Spies, B. Jahne, J. Barron, "Range flow
// estimation", 2002). Where depth jumps, as from an arm to the chest behind it, the jump moves along as an edge of a
// picture does. What neighbours share isn't their flow but a turn of both as one piece, so that an arm may swing: O.
// Sorkine, M. Alexa, "As-rigid-as-possible surface modeling", 2007, is that idea for surfaces. Sums over windows as
// Lucas and Kanade's, smoothness between neighbours as Horn and Schunck's; both at once is A. Bruhn, J. Weickert, C.
// Schnorr, "Lucas/Kanade meets Horn/Schunck", 2005. Smoothness ends where depth jumps and where another person begins.
//
// Times are such that flow lies where this frame's silhouette is: now(x) = before(x - flow).
#include "server/tool/kinect/motion_internal.h"

#include <math.h>
#include <string.h>

enum {
    REACH = 4,       ///< cells of the result that a window is looked for in, each way: 32 pixels of 640
    WINDOW = 2,      ///< cells around one, of the search
    SWEEPS = 48,     ///< of the solver
    REFINEMENTS = 4, ///< of the fine picture
    SPIN_EVERY = 3,  ///< sweeps
    TENSOR = 9,      ///< uu uv uw vv vw ww, u v w: of a constraint's square
};

static const float cover_noise = 0.4f;    ///< of a fine cell's cover, and of what its neighbours share
static const float depth_noise_m = 0.04f; ///< the same of its depth, at 2 m; grows with its square
static const float jump_m = 0.10f;        ///< of depth between neighbouring fine cells that is an edge
static const float jump_noise_m = 0.15f;
static const float bond_m = 0.10f; ///< of depth between cells that makes them strangers
static const float smoothness = 12.0f;
static const float rest = 0.065f;       ///< how strongly what no constraint holds is held at rest
static const float stay = 1.0f;         ///< what a window's match must gain for each cell that it is farther away
static const float cost_depth_m = 0.3f; ///< of depth that counts as much as all of the cover
static const float over_relaxed = 1.6f;

/// A picture at one of the two sizes.
typedef struct plane {
    const float *cover, *depth_m;
    long columns, rows;
    float per_unit; ///< of its cells for a fine cell
} plane;

static bool in_box(const motion_find *find, long x, long y)
{
    return x >= (long)find->box.from_x && x < (long)find->box.to_x && y >= (long)find->box.from_y &&
           y < (long)find->box.to_y;
}

// ---- search ----

static float cost_at(const motion_find *find, size_t at, size_t other)
{
    const float cover = fabsf(find->now.cell_cover[at] - find->before.cell_cover[other]);
    const float a = find->now.cell_depth_m[at], b = find->before.cell_depth_m[other];
    const float depth = a > 0 && b > 0 ? fabsf(a - b) / cost_depth_m : 0;
    return cover + fminf(depth, 1);
}

/// Sums of `cost` over windows into `sums`, by rows and then by columns.
static void sum_windows(motion_find *find)
{
    const long columns = find->columns;
    const motion_box box = find->box;
    for (long y = box.from_y; y < (long)box.to_y; y++) {
        for (long x = box.from_x; x < (long)box.to_x; x++) {
            float sum = 0;
            for (long i = -WINDOW; i <= WINDOW; i++) {
                sum += in_box(find, x + i, y) ? find->cost[y * columns + x + i] : 0;
            }
            find->sums[y * columns + x] = sum;
        }
    }
    for (long x = box.from_x; x < (long)box.to_x; x++) {
        for (long y = box.from_y; y < (long)box.to_y; y++) {
            float sum = 0;
            for (long i = -WINDOW; i <= WINDOW; i++) {
                sum += in_box(find, x, y + i) ? find->sums[(y + i) * columns + x] : 0;
            }
            find->cost[y * columns + x] = sum;
        }
    }
}

static void search(motion_find *find)
{
    const long columns = find->columns;
    const motion_box box = find->box;
    for (long y = box.from_y; y < (long)box.to_y; y++) {
        for (long x = box.from_x; x < (long)box.to_x; x++) {
            find->best[y * columns + x] = INFINITY;
        }
    }
    for (long dy = -REACH; dy <= REACH; dy++) {
        for (long dx = -REACH; dx <= REACH; dx++) {
            for (long y = box.from_y; y < (long)box.to_y; y++) {
                for (long x = box.from_x; x < (long)box.to_x; x++) {
                    const size_t at = (size_t)(y * columns + x);
                    // Outside of the box there is nobody.
                    find->cost[at] = in_box(find, x - dx, y - dy)
                                         ? cost_at(find, at, (size_t)((y - dy) * columns + x - dx))
                                         : find->now.cell_cover[at];
                }
            }
            sum_windows(find);
            const float far = stay * sqrtf((float)(dx * dx + dy * dy));
            for (long y = box.from_y; y < (long)box.to_y; y++) {
                for (long x = box.from_x; x < (long)box.to_x; x++) {
                    const size_t at = (size_t)(y * columns + x);
                    if (find->active[at] && find->cost[at] + far < find->best[at]) {
                        find->best[at] = find->cost[at] + far;
                        find->flow[3 * at] = 2 * (float)dx;
                        find->flow[3 * at + 1] = 2 * (float)dy;
                        find->flow[3 * at + 2] = 0;
                    }
                }
            }
        }
    }
}

// ---- constraints ----

static float sample(const float *values, const plane *p, float x, float y, bool is_depth)
{
    x = fminf(fmaxf(x, 0), (float)(p->columns - 1));
    y = fminf(fmaxf(y, 0), (float)(p->rows - 1));
    const long at_x = (long)x < p->columns - 1 ? (long)x : p->columns - 2;
    const long at_y = (long)y < p->rows - 1 ? (long)y : p->rows - 2;
    const float fx = x - (float)at_x, fy = y - (float)at_y;
    const float *at = values + at_y * p->columns + at_x;
    const float a = at[0], b = at[1], c = at[p->columns], d = at[p->columns + 1];
    if (is_depth) { // of people alone: what has none doesn't count
        const float wa = a > 0 ? (1 - fx) * (1 - fy) : 0, wb = b > 0 ? fx * (1 - fy) : 0;
        const float wc = c > 0 ? (1 - fx) * fy : 0, wd = d > 0 ? fx * fy : 0, sum = wa + wb + wc + wd;
        return sum > 0.25f ? (wa * a + wb * b + wc * c + wd * d) / sum : 0;
    }
    return (1 - fy) * ((1 - fx) * a + fx * b) + fy * ((1 - fx) * c + fx * d);
}

/// Adds a u + b v + c w + d = 0.
static void add(float *tensor, float a, float b, float c, float d, float weight)
{
    const float values[TENSOR] = {a * a, a * b, a * c, b * b, b * c, c * c, a * d, b * d, c * d};
    for (int i = 0; i < TENSOR; i++) {
        tensor[i] += weight * values[i];
    }
}

/// What one cell of a plane says about the flow, which is (u, v) there so far.
static void constrain(float *tensor, const plane *now, const plane *before, long x, long y, const float *flow,
                      float cell_m)
{
    const float s = now->per_unit, u = s * flow[0], v = s * flow[1], bx = (float)x - u, by = (float)y - v;
    const float *cover = now->cover + y * now->columns + x;
    const float cover_x = 0.25f * (cover[1] - cover[-1] + sample(before->cover, before, bx + 1, by, false) -
                                   sample(before->cover, before, bx - 1, by, false));
    const float cover_y =
        0.25f * (cover[now->columns] - cover[-now->columns] + sample(before->cover, before, bx, by + 1, false) -
                 sample(before->cover, before, bx, by - 1, false));
    const float cover_t = cover[0] - sample(before->cover, before, bx, by, false);
    add(tensor, cover_x * s, cover_y * s, 0, cover_t - cover_x * u - cover_y * v, 1 / (cover_noise * cover_noise));

    const float *depth = now->depth_m + y * now->columns + x;
    const float z[10] = {depth[0],
                         depth[1],
                         depth[-1],
                         depth[now->columns],
                         depth[-now->columns],
                         sample(before->depth_m, before, bx, by, true),
                         sample(before->depth_m, before, bx + 1, by, true),
                         sample(before->depth_m, before, bx - 1, by, true),
                         sample(before->depth_m, before, bx, by + 1, true),
                         sample(before->depth_m, before, bx, by - 1, true)};
    for (int i = 0; i < 10; i++) {
        if (z[i] <= 0) {
            return;
        }
    }
    const float depth_x = 0.25f * (z[1] - z[2] + z[6] - z[7]), depth_y = 0.25f * (z[3] - z[4] + z[8] - z[9]);
    const float depth_t = z[0] - z[5];
    float jump = fmaxf(fmaxf(fabsf(z[1] - z[2]), fabsf(z[3] - z[4])), fmaxf(fabsf(z[6] - z[7]), fabsf(z[8] - z[9])));
    jump = fmaxf(jump, fabsf(depth_t));
    if (jump > 2 * jump_m) {
        add(tensor, depth_x * s, depth_y * s, 0, depth_t - depth_x * u - depth_y * v,
            1 / (jump_noise_m * jump_noise_m));
    } else {
        const float noise_m = depth_noise_m * z[0] * z[0] * 0.25f;
        add(tensor, depth_x * s, depth_y * s, -cell_m, depth_t - depth_x * u - depth_y * v, 1 / (noise_m * noise_m));
    }
}

/// The constraints of all cells, from planes that have `scale` x `scale` cells for one of the result.
static void find_tensors(motion_find *find, const plane *now, const plane *before, long scale)
{
    for (long y = find->box.from_y; y < (long)find->box.to_y; y++) {
        for (long x = find->box.from_x; x < (long)find->box.to_x; x++) {
            const size_t at = (size_t)y * find->columns + (size_t)x;
            float *tensor = find->tensor + TENSOR * at;
            memset(tensor, 0, TENSOR * sizeof *tensor);
            if (!find->active[at]) {
                continue;
            }
            const float cell_m = 2 * (float)find->fine_pixels * find->now.cell_depth_m[at] / find->focal_pixels;
            for (long j = scale * y; j < scale * (y + 1); j++) {
                for (long i = scale * x; i < scale * (x + 1); i++) {
                    if (i > 0 && j > 0 && i + 1 < now->columns && j + 1 < now->rows) {
                        constrain(tensor, now, before, i, j, find->flow + 3 * at, cell_m);
                    }
                }
            }
        }
    }
}

// ---- solving ----

/// How much two cells are of one surface: 1 where depth is the same, 0 between people.
static float bond_of(const motion_find *find, size_t a, size_t b)
{
    if (!find->active[a] || !find->active[b] || find->person[a] != find->person[b]) {
        return 0;
    }
    const float apart = (find->now.cell_depth_m[a] - find->now.cell_depth_m[b]) / bond_m;
    return 1 / (1 + apart * apart * apart * apart);
}

static void find_bonds(motion_find *find)
{
    for (uint32_t y = find->box.from_y; y < find->box.to_y; y++) {
        for (uint32_t x = find->box.from_x; x < find->box.to_x; x++) {
            const size_t at = (size_t)y * find->columns + x;
            find->bond[2 * at] = x + 1 < find->box.to_x ? bond_of(find, at, at + 1) : 0;
            find->bond[2 * at + 1] = y + 1 < find->box.to_y ? bond_of(find, at, at + find->columns) : 0;
        }
    }
}

/// The four neighbours of a cell and their bonds; those outside of the box have none.
static void neighbours(const motion_find *find, uint32_t x, uint32_t y, size_t at, size_t other[4], float bond[4])
{
    other[0] = at - 1;
    other[1] = at + 1;
    other[2] = at - find->columns;
    other[3] = at + find->columns;
    bond[0] = x > find->box.from_x ? find->bond[2 * (at - 1)] : 0;
    bond[1] = find->bond[2 * at];
    bond[2] = y > find->box.from_y ? find->bond[2 * (at - find->columns) + 1] : 0;
    bond[3] = find->bond[2 * at + 1];
}

/// Inverse of a symmetric 3 x 3 matrix xx xy xz yy yz zz, which smoothness and rest make positive.
static void invert(const float m[6], float inverse[6])
{
    const float a = m[3] * m[5] - m[4] * m[4], b = m[2] * m[4] - m[1] * m[5], c = m[1] * m[4] - m[2] * m[3];
    const float scale = 1 / (m[0] * a + m[1] * b + m[2] * c);
    inverse[0] = a * scale;
    inverse[1] = b * scale;
    inverse[2] = c * scale;
    inverse[3] = (m[0] * m[5] - m[2] * m[2]) * scale;
    inverse[4] = (m[1] * m[2] - m[0] * m[4]) * scale;
    inverse[5] = (m[0] * m[3] - m[1] * m[1]) * scale;
}

/// Sums tensors over the window of each cell and prepares the matrices of the sweeps.
static void prepare(motion_find *find)
{
    for (uint32_t y = find->box.from_y; y < find->box.to_y; y++) {
        for (uint32_t x = find->box.from_x; x < find->box.to_x; x++) {
            const size_t at = (size_t)y * find->columns + x;
            if (!find->active[at]) {
                continue;
            }
            size_t other[4];
            float bond[4], *sum = find->smooth + TENSOR * at;
            neighbours(find, x, y, at, other, bond);
            const float bonds = bond[0] + bond[1] + bond[2] + bond[3];
            for (int i = 0; i < TENSOR; i++) {
                sum[i] = find->tensor[TENSOR * at + i];
                for (int n = 0; n < 4; n++) {
                    sum[i] += bond[n] > 0 ? 0.5f * bond[n] * find->tensor[TENSOR * other[n] + i] : 0;
                }
            }
            const float more = smoothness * bonds + rest;
            const float matrix[6] = {sum[0] + more, sum[1], sum[2], sum[3] + more, sum[4], sum[5] + more};
            invert(matrix, find->inverse + 6 * at);
        }
    }
}

/// How fast each cell turns in the picture, as far as its neighbours' flow tells, averaged with what they say.
static void find_spins(motion_find *find)
{
    static const float right[4] = {-1, 1, 0, 0}, down[4] = {0, 0, -1, 1};
    for (int pass = 0; pass < 2; pass++) {
        float *spins = pass == 0 ? find->cost : find->spin;
        for (uint32_t y = find->box.from_y; y < find->box.to_y; y++) {
            for (uint32_t x = find->box.from_x; x < find->box.to_x; x++) {
                const size_t at = (size_t)y * find->columns + x;
                size_t other[4];
                float bond[4], sum = 0, weight = 0;
                if (!find->active[at]) {
                    spins[at] = 0;
                    continue;
                }
                neighbours(find, x, y, at, other, bond);
                for (int n = 0; n < 4; n++) {
                    if (bond[n] > 0 && pass == 0) {
                        const float du = find->flow[3 * other[n]] - find->flow[3 * at];
                        const float dv = find->flow[3 * other[n] + 1] - find->flow[3 * at + 1];
                        sum += bond[n] * (right[n] * dv - down[n] * du);
                    } else if (bond[n] > 0) {
                        sum += bond[n] * find->cost[other[n]];
                    }
                    weight += bond[n];
                }
                if (pass == 1) {
                    sum += find->cost[at];
                    weight += 1;
                }
                spins[at] = weight > 0 ? sum / weight : 0;
            }
        }
    }
}

/// Gauss and Seidel's, over-relaxed, to and fro.
static void sweep(motion_find *find, bool backwards)
{
    static const float right[4] = {-1, 1, 0, 0}, down[4] = {0, 0, -1, 1};
    const motion_box box = find->box;
    for (uint32_t j = 0; j < box.to_y - box.from_y; j++) {
        const uint32_t y = backwards ? box.to_y - 1 - j : box.from_y + j;
        for (uint32_t i = 0; i < box.to_x - box.from_x; i++) {
            const uint32_t x = backwards ? box.to_x - 1 - i : box.from_x + i;
            const size_t at = (size_t)y * find->columns + x;
            if (!find->active[at]) {
                continue;
            }
            size_t other[4];
            float bond[4], *flow = find->flow + 3 * at;
            const float *sum = find->smooth + TENSOR * at, *m = find->inverse + 6 * at;
            float b[3] = {-sum[6], -sum[7], -sum[8]};
            neighbours(find, x, y, at, other, bond);
            for (int n = 0; n < 4; n++) {
                if (bond[n] > 0) {
                    // What the neighbour would have here if both turned together.
                    const float weight = smoothness * bond[n], *beside = find->flow + 3 * other[n];
                    const float spin = 0.5f * (find->spin[at] + find->spin[other[n]]);
                    b[0] += weight * (beside[0] + spin * down[n]);
                    b[1] += weight * (beside[1] - spin * right[n]);
                    b[2] += weight * beside[2];
                }
            }
            const float next[3] = {m[0] * b[0] + m[1] * b[1] + m[2] * b[2], m[1] * b[0] + m[3] * b[1] + m[4] * b[2],
                                   m[2] * b[0] + m[4] * b[1] + m[5] * b[2]};
            for (int k = 0; k < 3; k++) {
                flow[k] += over_relaxed * (next[k] - flow[k]);
            }
        }
    }
}

static void refine(motion_find *find, const plane *now, const plane *before, long scale)
{
    find_tensors(find, now, before, scale);
    prepare(find);
    for (int i = 0; i < SWEEPS; i++) {
        if (i % SPIN_EVERY == 0) {
            find_spins(find);
        }
        sweep(find, i % 2 == 1);
    }
    for (uint32_t y = find->box.from_y; y < find->box.to_y; y++) {
        for (uint32_t x = find->box.from_x; x < find->box.to_x; x++) {
            float *flow = find->flow + 3 * ((size_t)y * find->columns + x);
            const float far = sqrtf(flow[0] * flow[0] + flow[1] * flow[1]);
            const float most = 2 * REACH + 2;
            if (far > most) { // a solution that ran away
                flow[0] *= most / far;
                flow[1] *= most / far;
            }
        }
    }
}

void motion_flow_find(motion_find *find)
{
    const plane coarse_now = {find->now.cell_cover, find->now.cell_depth_m, find->columns, find->rows, 0.5f};
    const plane coarse_before = {find->before.cell_cover, find->before.cell_depth_m, find->columns, find->rows, 0.5f};
    const plane fine_now = {find->now.cover, find->now.depth_m, find->fine_columns, find->fine_rows, 1};
    const plane fine_before = {find->before.cover, find->before.depth_m, find->fine_columns, find->fine_rows, 1};
    search(find);
    find_bonds(find);
    refine(find, &coarse_now, &coarse_before, 1);
    for (int i = 0; i < REFINEMENTS; i++) {
        refine(find, &fine_now, &fine_before, 2);
    }
}
