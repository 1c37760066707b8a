// The stages, one after the other, and at the end their order: start at motion_find_frame.
#include "server/tool/kinect/motion.h"
#include "protocol/assert.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// ---- what the stages share ----
// Fine cells are where silhouettes are found; two by two they are a cell of the result, in which motion is found.

/// The silhouettes of one frame, per fine cell, and the same per cell of the result.
typedef struct motion_picture {
    float *cover;   ///< how much of the fine cell people cover, 0..1
    float *depth_m; ///< of people; 0: none
    float *cell_cover, *cell_depth_m;
} motion_picture;

/// Rows and columns [from, to) of cells of the result.
typedef struct motion_box {
    uint32_t from_x, from_y, to_x, to_y;
} motion_box;

struct motion_find {
    motion_settings settings;
    uint32_t fine_pixels;             ///< along a fine cell's side
    uint32_t fine_columns, fine_rows; ///< even
    uint32_t columns, rows;           ///< half as many
    float focal_pixels;

    // ground, per pixel
    uint16_t *ground_mm; ///< 0: not known
    uint8_t *seen;    ///< frames that speak for another ground: any, where none is known; in a row, where it is farther
    double watched_s; ///< since the first frame, at most learn_s
    bool learning;
    float measured;

    // per fine cell
    uint16_t *valid, *covered;          ///< pixels that were measured; that somebody covers
    uint32_t *sum_mm;                   ///< of those that somebody covers
    uint16_t *nearest_mm, *farthest_mm; ///< of these
    float *cover, *depth_m;             ///< of what stands before the ground, before it is known who that is
    bool *unknown;
    float *soft;
    uint16_t *part; ///< connected parts, 1...; 0: none
    uint8_t *who;   ///< 0: nobody, i + 1: people[i]
    float *rest_s;  ///< how long a person who doesn't move has been there

    // people
    uint16_t *parents;
    uint32_t part_count;
    uint32_t person_count, next_number;
    motion_person people[MOTION_PEOPLE_MAX];
    bool moves[MOTION_PEOPLE_MAX];

    motion_picture now, before;
    bool has_before;
    double before_s;
    double pace_s;  ///< from one picture to the next, in the mean
    motion_box box; ///< around all people of both frames

    // flow, per cell of the result
    float *flow;    ///< [3]: fine cells right and down, and away in cells' widths, from the frame before to this one
    float *tensor;  ///< [9]: of the constraints
    float *smooth;  ///< the same, summed over neighbours
    float *inverse; ///< [6]
    float *spin;    ///< how fast a cell turns in the picture
    float *bond;    ///< [2]: to the right and down
    float *cost, *best, *sums;
    bool *active;

    // result, per cell
    float *motion, *motion_before; ///< [3]: blurred over time
    float *velocity, *presence, *kept_depth_m;
    uint8_t *person;
    bool *was_active;
    motion_result result;
};

// ---- people ----
// People are connected parts of what stands before the ground: neighbours whose depths differ by less than an arm's
// thickness or two belong together, so that somebody behind somebody is another one. The largest six that are large
// enough for a person count; a small part that touches one is a limb of it. Numbers are kept by who is nearest to where
// somebody was.

enum {
    PARTS_MAX = 4096, ///< of a frame; what comes after them is noise
    LIMB_ROUNDS = 8,  ///< fine cells by which limbs grow onto people
};

static const float cover_min = 0.5f;    ///< of a fine cell that belongs to a part
static const float step_m_max = 0.25f;  ///< between the depths of neighbours of one part
static const float area_m2_min = 0.06f; ///< of a part that is a person: a head and a shoulder
static const float stride_m_max = 0.6f; ///< that somebody's middle goes between two frames

/// What is gathered of a part.
typedef struct blob {
    float area_m2, sum_x, sum_y, sum_depth;
    uint32_t cells;
} blob;

static uint16_t root_of(uint16_t *parents, uint16_t part)
{
    while (parents[part] != part) {
        parents[part] = parents[parents[part]];
        part = parents[part];
    }
    return part;
}

static bool connected(const motion_find *find, size_t a, size_t b)
{
    return find->part[b] != 0 && fabsf(find->depth_m[a] - find->depth_m[b]) < step_m_max;
}

/// Numbers connected parts, from 1; those that meet later get one root.
static void find_parts(motion_find *find)
{
    const uint32_t columns = find->fine_columns;
    uint16_t *parents = find->parents;
    find->part_count = 0;
    for (uint32_t y = 0; y < find->fine_rows; y++) {
        for (uint32_t x = 0; x < columns; x++) {
            const size_t at = (size_t)y * columns + x;
            find->part[at] = 0;
            if (find->cover[at] < cover_min) {
                continue;
            }
            uint16_t root = 0;
            const size_t others[4] = {at - 1, at - columns, at - columns - 1, at - columns + 1};
            const bool is_there[4] = {x > 0, y > 0, x > 0 && y > 0, x + 1 < columns && y > 0};
            for (int i = 0; i < 4; i++) {
                if (is_there[i] && connected(find, at, others[i])) {
                    const uint16_t other = root_of(parents, find->part[others[i]]);
                    if (root == 0) {
                        root = other;
                    } else {
                        parents[other > root ? other : root] = other > root ? root : other;
                        root = other > root ? root : other;
                    }
                }
            }
            if (root == 0 && find->part_count < PARTS_MAX) {
                root = (uint16_t)++find->part_count;
                parents[root] = root;
            }
            find->part[at] = root;
        }
    }
}

/// Puts the largest parts first into `largest`. @return how many are people
static uint32_t choose_parts(motion_find *find, uint16_t largest[MOTION_PEOPLE_MAX], blob chosen[MOTION_PEOPLE_MAX])
{
    blob parts[PARTS_MAX + 1];
    const float fine_pixels = (float)find->fine_pixels;
    uint32_t count = 0;
    memset(parts, 0, (find->part_count + 1) * sizeof *parts);
    for (uint32_t y = 0; y < find->fine_rows; y++) {
        for (uint32_t x = 0; x < find->fine_columns; x++) {
            const size_t at = (size_t)y * find->fine_columns + x;
            if (find->part[at] == 0) {
                continue;
            }
            find->part[at] = root_of(find->parents, find->part[at]);
            blob *p = &parts[find->part[at]];
            const float side_m = fine_pixels * find->depth_m[at] / find->focal_pixels;
            p->area_m2 += side_m * side_m * find->cover[at];
            p->sum_x += (float)x;
            p->sum_y += (float)y;
            p->sum_depth += find->depth_m[at];
            p->cells++;
        }
    }
    for (uint32_t i = 1; i <= find->part_count; i++) {
        if (parts[i].area_m2 < area_m2_min) {
            continue;
        }
        uint32_t place = count < MOTION_PEOPLE_MAX ? count : MOTION_PEOPLE_MAX;
        for (; place > 0 && parts[i].area_m2 > chosen[place - 1].area_m2; place--) {
            if (place < MOTION_PEOPLE_MAX) {
                chosen[place] = chosen[place - 1];
                largest[place] = largest[place - 1];
            }
        }
        if (place < MOTION_PEOPLE_MAX) {
            chosen[place] = parts[i];
            largest[place] = (uint16_t)i;
            count += count < MOTION_PEOPLE_MAX;
        }
    }
    return count;
}

/// Whoever was nearest to here in the frame before is who is here; others are new.
static void name_people(motion_find *find, const blob chosen[MOTION_PEOPLE_MAX], uint32_t count)
{
    motion_person before[MOTION_PEOPLE_MAX];
    const uint32_t before_count = find->person_count;
    bool taken[MOTION_PEOPLE_MAX] = {false};
    memcpy(before, find->people, sizeof before);
    find->person_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const float cells = (float)chosen[i].cells;
        motion_person *p = &find->people[i];
        *p = (motion_person){.middle_x = 0.5f * chosen[i].sum_x / cells,
                             .middle_y = 0.5f * chosen[i].sum_y / cells,
                             .depth_m = chosen[i].sum_depth / cells,
                             .area_m2 = chosen[i].area_m2};
        float nearest_m = stride_m_max;
        uint32_t who = MOTION_PEOPLE_MAX;
        for (uint32_t j = 0; j < before_count; j++) {
            const float cell_m = 2 * (float)find->fine_pixels * p->depth_m / find->focal_pixels;
            const float dx = (p->middle_x - before[j].middle_x) * cell_m;
            const float dy = (p->middle_y - before[j].middle_y) * cell_m, dz = p->depth_m - before[j].depth_m;
            const float far_m = sqrtf(dx * dx + dy * dy + dz * dz);
            if (!taken[j] && far_m < nearest_m) {
                nearest_m = far_m;
                who = j;
            }
        }
        p->number = who < MOTION_PEOPLE_MAX ? before[who].number : ++find->next_number;
        if (who < MOTION_PEOPLE_MAX) {
            taken[who] = true;
        }
    }
}

/// Marks the cells of people, and lets small parts that touch them grow onto them, a cell a round.
static void mark_people(motion_find *find, const uint16_t largest[MOTION_PEOPLE_MAX], uint32_t count)
{
    const uint32_t columns = find->fine_columns, rows = find->fine_rows;
    uint8_t person_of[PARTS_MAX + 1];
    memset(person_of, 0, find->part_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        person_of[largest[i]] = (uint8_t)(i + 1);
    }
    for (size_t at = 0; at < (size_t)columns * rows; at++) {
        find->who[at] = find->part[at] != 0 ? person_of[find->part[at]] : 0;
    }
    for (int round = 0; round < LIMB_ROUNDS && count > 0; round++) {
        bool grew = false;
        for (uint32_t y = 1; y + 1 < rows; y++) {
            for (uint32_t x = 1; x + 1 < columns; x++) {
                const size_t at = (size_t)y * columns + x;
                if (find->part[at] == 0 || person_of[find->part[at]] != 0) {
                    continue;
                }
                const uint8_t beside[4] = {find->who[at - 1], find->who[at + 1], find->who[at - columns],
                                           find->who[at + columns]};
                for (int i = 0; i < 4 && person_of[find->part[at]] == 0; i++) {
                    person_of[find->part[at]] = beside[i];
                    grew |= beside[i] != 0;
                }
            }
        }
        if (!grew) {
            return;
        }
        for (size_t at = 0; at < (size_t)columns * rows; at++) {
            find->who[at] = find->part[at] != 0 ? person_of[find->part[at]] : 0;
        }
    }
}

/// This frame's picture: people alone, with their soft edges.
static void draw_people(motion_find *find)
{
    const uint32_t columns = find->fine_columns, rows = find->fine_rows;
    for (uint32_t y = 0; y < rows; y++) {
        for (uint32_t x = 0; x < columns; x++) {
            const size_t at = (size_t)y * columns + x;
            uint8_t who = find->who[at];
            // A cell that is covered by less than half has no part of its own.
            if (who == 0 && find->part[at] == 0 && find->cover[at] > 0) {
                who |= x > 0 ? find->who[at - 1] : 0;
                who |= x + 1 < columns ? find->who[at + 1] : 0;
                who |= y > 0 ? find->who[at - columns] : 0;
                who |= y + 1 < rows ? find->who[at + columns] : 0;
            }
            find->now.cover[at] = who != 0 ? find->cover[at] : 0;
            find->now.depth_m[at] = who != 0 ? find->depth_m[at] : 0;
        }
    }
}

/// Finds people among what stands before the ground: `who`, `people`, and this frame's picture.
static void motion_people_find(motion_find *find)
{
    uint16_t largest[MOTION_PEOPLE_MAX];
    blob chosen[MOTION_PEOPLE_MAX];
    find_parts(find);
    const uint32_t count = choose_parts(find, largest, chosen);
    name_people(find, chosen, count);
    mark_people(find, largest, count);
    draw_people(find);
}

// ---- the ground ----
// What is there without people, pixel by pixel: a running median, which moves by a millimetre a frame towards what is
// measured, and which noise and single wrong values don't pull away. Three exceptions:
//
//     farther than the ground   for some frames in a row: what stood there has left, and the ground goes there quickly
//     nearer                    somebody, or something new: the ground stays, until it has been at rest for long; where
//                               it is too small for somebody the ground was wrong, and comes slowly
//     no ground known           dark or far surfaces: it is learnt after some time without people
//
// A Kinect measures disparity, so that noise and steps grow with the square of depth, and so does what counts as
// nearer.

enum {
    TOLERANCE_MM = 45,    ///< that a pixel must be before the ground, and its square's share:
    TOLERANCE_SHIFT = 16, ///< + z^2 / 65536 mm, 137 mm at 3 m
    EDGE_MM = 250,        ///< of depth within a fine cell that are two bodies
    SEEN_MIN = 60,        ///< frames in which something was measured until it is a ground
    FAR_MIN = 3,          ///< frames in a row in which it is farther until the ground goes there,
    LEAVE_SHIFT = 3,      ///< by an eighth of what is missing a frame
    HEAL_SHIFT = 7,       ///< and nearer, where nobody is, by so much less
    HOLE_REACH = 6,       ///< fine cells in which a hole's edge is looked for
    HOLE_SIDES = 3,       ///< of four on which people must be, for a hole to be in one
};

/// Depths around a hole in one body; what differs by more is the gap between two.
static const float body_m = 0.25f;
/// Cells of which fewer pixels were measured than this share are holes.
static const float valid_min = 0.25f;

static uint32_t tolerance_mm(uint32_t mm)
{
    return TOLERANCE_MM + (mm * mm >> TOLERANCE_SHIFT);
}

/// One row of pixels into its row of fine cells.
static void compare_row(const motion_find *find, const uint16_t *mm, const uint16_t *ground, uint32_t fine_row)
{
    const uint32_t near_mm = (uint32_t)(find->settings.near_m * 1000), far_mm = (uint32_t)(find->settings.far_m * 1000);
    const uint32_t unknown_mm = find->learning ? 0 : UINT16_MAX;
    const size_t row = (size_t)fine_row * find->fine_columns;
    for (uint32_t cell = 0, x = 0; x < find->settings.width; cell++) {
        const uint32_t end =
            x + find->fine_pixels < find->settings.width ? x + find->fine_pixels : find->settings.width;
        uint32_t valid = 0, covered = 0, sum_mm = 0, nearest = UINT16_MAX, farthest = 0;
        for (; x < end; x++) {
            const uint32_t z = mm[x], behind = ground[x] != 0 ? ground[x] : unknown_mm;
            const uint32_t is_somebody = z >= near_mm && z <= far_mm && z + tolerance_mm(z) < behind;
            valid += z != 0;
            covered += is_somebody;
            sum_mm += is_somebody ? z : 0;
            nearest = is_somebody && z < nearest ? z : nearest;
            farthest = is_somebody && z > farthest ? z : farthest;
        }
        find->valid[row + cell] = (uint16_t)(find->valid[row + cell] + valid);
        find->covered[row + cell] = (uint16_t)(find->covered[row + cell] + covered);
        find->sum_mm[row + cell] += sum_mm;
        find->nearest_mm[row + cell] =
            (uint16_t)(nearest < find->nearest_mm[row + cell] ? nearest : find->nearest_mm[row + cell]);
        find->farthest_mm[row + cell] =
            (uint16_t)(farthest > find->farthest_mm[row + cell] ? farthest : find->farthest_mm[row + cell]);
    }
}

/// From a hole in one direction: the index of the first cell that isn't one, where people cover it; -1: none.
static long look(const motion_find *find, uint32_t x, uint32_t y, int dx, int dy)
{
    long at_x = x, at_y = y;
    for (int i = 0; i < HOLE_REACH; i++) {
        at_x += dx;
        at_y += dy;
        if (at_x < 0 || at_y < 0 || at_x >= (long)find->fine_columns || at_y >= (long)find->fine_rows) {
            return -1;
        }
        const long at = at_y * (long)find->fine_columns + at_x;
        if (!find->unknown[at]) {
            return find->cover[at] >= 0.5f ? at : -1;
        }
    }
    return -1;
}

/// A hole that people surround is part of one. One beside them is the shadow that they throw in the projector's light:
/// it shows the ground, and has them on one side only.
static void fill_holes(motion_find *find)
{
    static const int sides[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    for (uint32_t y = 0; y < find->fine_rows; y++) {
        for (uint32_t x = 0; x < find->fine_columns; x++) {
            const size_t at = (size_t)y * find->fine_columns + x;
            if (!find->unknown[at]) {
                continue;
            }
            float depth_m = 0, nearest_m = INFINITY, farthest_m = 0;
            int count = 0;
            for (int i = 0; i < 4; i++) {
                const long found = look(find, x, y, sides[i][0], sides[i][1]);
                if (found >= 0) {
                    depth_m += find->depth_m[found];
                    nearest_m = fminf(nearest_m, find->depth_m[found]);
                    farthest_m = fmaxf(farthest_m, find->depth_m[found]);
                    count++;
                }
            }
            // What is filled stays unknown until all are done, so that it doesn't depend on their order.
            const bool inside = count >= HOLE_SIDES && farthest_m - nearest_m < body_m;
            find->cover[at] = inside ? 1 : 0;
            find->depth_m[at] = inside ? depth_m / (float)count : 0;
        }
    }
}

/// Sorts the pixels into ground and people, and counts them by fine cell: `cover`, `depth_m`, holes filled.
static void motion_ground_compare(motion_find *find, const uint16_t *mm)
{
    const size_t fine_count = (size_t)find->fine_columns * find->fine_rows;
    uint64_t measured = 0;
    memset(find->valid, 0, fine_count * sizeof *find->valid);
    memset(find->covered, 0, fine_count * sizeof *find->covered);
    memset(find->sum_mm, 0, fine_count * sizeof *find->sum_mm);
    memset(find->nearest_mm, 0xff, fine_count * sizeof *find->nearest_mm);
    memset(find->farthest_mm, 0, fine_count * sizeof *find->farthest_mm);
    for (uint32_t y = 0; y < find->settings.height; y++) {
        const size_t row = (size_t)y * find->settings.width;
        compare_row(find, mm + row, find->ground_mm + row, y / find->fine_pixels);
    }
    for (size_t i = 0; i < fine_count; i++) {
        const uint32_t valid = find->valid[i], covered = find->covered[i];
        measured += valid;
        find->unknown[i] = (float)valid < valid_min * (float)(find->fine_pixels * find->fine_pixels);
        find->cover[i] = find->unknown[i] ? 0 : (float)covered / (float)valid;
        // A mean of two bodies would be a bridge between them: what is in front counts.
        const bool is_edge = find->farthest_mm[i] > find->nearest_mm[i] + EDGE_MM;
        const float mean_m = covered > 0 ? (float)find->sum_mm[i] * 0.001f / (float)covered : 0;
        find->depth_m[i] = is_edge ? (float)find->nearest_mm[i] * 0.001f : mean_m;
    }
    find->measured = (float)measured / ((float)find->settings.width * (float)find->settings.height);
    fill_holes(find);
}

/// Learns where nobody is, as `who` says.
static void motion_ground_learn(motion_find *find, const uint16_t *mm, double dt_s)
{
    const bool learning = find->learning;
    for (uint32_t y = 0; y < find->settings.height; y++) {
        const size_t row = (size_t)y * find->settings.width;
        const size_t cells = (size_t)(y / find->fine_pixels) * find->fine_columns;
        for (uint32_t x = 0, cell = 0; x < find->settings.width; cell++) {
            const uint32_t end =
                x + find->fine_pixels < find->settings.width ? x + find->fine_pixels : find->settings.width;
            const bool is_somebody = find->who[cells + cell] != 0;
            const bool is_furniture = is_somebody && find->rest_s[cells + cell] > find->settings.rest_s;
            for (; x < end; x++) {
                const uint32_t z = mm[row + x], ground = find->ground_mm[row + x];
                uint32_t next = ground;
                if (z == 0) {
                    continue;
                }
                uint8_t *seen = &find->seen[row + x];
                const bool is_far = ground != 0 && z > ground + tolerance_mm(ground);
                if (ground == 0) {
                    *seen = (uint8_t)(is_somebody && !is_furniture ? 0 : *seen < SEEN_MIN ? *seen + 1 : SEEN_MIN);
                    next = learning || *seen == SEEN_MIN ? z : 0;
                } else if (is_far && *seen + 1 >= FAR_MIN) {
                    next = ground + ((z - ground) >> LEAVE_SHIFT);
                } else if (is_far) {
                    *seen = (uint8_t)(*seen + 1);
                } else if (z + tolerance_mm(z) >= ground) {
                    next = ground + (z > ground) - (z < ground);
                } else if (is_furniture) {
                    next = z;
                } else if (!is_somebody) {
                    next = ground - ((ground - z) >> HEAL_SHIFT) - 1;
                }
                if (next != 0 && !is_far) {
                    *seen = 0;
                }
                find->ground_mm[row + x] = (uint16_t)next;
            }
        }
    }
    find->watched_s += dt_s;
    find->learning = find->watched_s < find->settings.learn_s;
}

// ---- flow ----
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

// ---- flow: search ----

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

// ---- flow: constraints ----

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

// ---- flow: solving ----

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

/// Finds `flow` between the two pictures, inside `box`.
static void motion_flow_find(motion_find *find)
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

// ---- made and freed ----

const motion_settings motion_settings_usual = {
    .width = 640,
    .height = 480,
    .view_deg = 57,
    .near_m = 0.5f,
    .far_m = 4.0f,
    .dead_zone_m_s = 0.1f,
    .half_life_s = 0.02f,
    .learn_s = 1.0f,
    .rest_s = 60,
};

static uint32_t fine_pixels_of(uint32_t width)
{
    const uint32_t pixels = (width + MOTION_FINE_ACROSS - 1) / MOTION_FINE_ACROSS;
    return pixels > 0 ? pixels : 1;
}

void motion_find_size(uint32_t width, uint32_t height, uint32_t *columns, uint32_t *rows)
{
    const uint32_t pixels = 2 * fine_pixels_of(width);
    *columns = (width + pixels - 1) / pixels;
    *rows = (height + pixels - 1) / pixels;
}

static void *zeros(bool *whole, size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    *whole &= memory != NULL;
    return memory;
}

static void make_picture(motion_picture *picture, bool *whole, size_t fine_count, size_t count)
{
    picture->cover = zeros(whole, fine_count, sizeof(float));
    picture->depth_m = zeros(whole, fine_count, sizeof(float));
    picture->cell_cover = zeros(whole, count, sizeof(float));
    picture->cell_depth_m = zeros(whole, count, sizeof(float));
}

static void free_picture(motion_picture *picture)
{
    free(picture->cover);
    free(picture->depth_m);
    free(picture->cell_cover);
    free(picture->cell_depth_m);
}

static bool take_memory(motion_find *find)
{
    const size_t pixels = (size_t)find->settings.width * find->settings.height;
    const size_t fine = (size_t)find->fine_columns * find->fine_rows, cells = (size_t)find->columns * find->rows;
    bool whole = true;
    find->ground_mm = zeros(&whole, pixels, sizeof *find->ground_mm);
    find->seen = zeros(&whole, pixels, sizeof *find->seen);
    find->valid = zeros(&whole, fine, sizeof *find->valid);
    find->covered = zeros(&whole, fine, sizeof *find->covered);
    find->sum_mm = zeros(&whole, fine, sizeof *find->sum_mm);
    find->nearest_mm = zeros(&whole, fine, sizeof *find->nearest_mm);
    find->farthest_mm = zeros(&whole, fine, sizeof *find->farthest_mm);
    find->cover = zeros(&whole, fine, sizeof *find->cover);
    find->depth_m = zeros(&whole, fine, sizeof *find->depth_m);
    find->unknown = zeros(&whole, fine, sizeof *find->unknown);
    find->part = zeros(&whole, fine, sizeof *find->part);
    find->soft = zeros(&whole, fine, sizeof(float));
    find->who = zeros(&whole, fine, sizeof *find->who);
    find->rest_s = zeros(&whole, fine, sizeof *find->rest_s);
    find->parents = zeros(&whole, PARTS_MAX + 1, sizeof *find->parents);
    make_picture(&find->now, &whole, fine, cells);
    make_picture(&find->before, &whole, fine, cells);
    find->flow = zeros(&whole, 3 * cells, sizeof(float));
    find->tensor = zeros(&whole, 9 * cells, sizeof(float));
    find->smooth = zeros(&whole, 9 * cells, sizeof(float));
    find->inverse = zeros(&whole, 6 * cells, sizeof(float));
    find->spin = zeros(&whole, cells, sizeof(float));
    find->bond = zeros(&whole, 2 * cells, sizeof(float));
    find->cost = zeros(&whole, cells, sizeof(float));
    find->best = zeros(&whole, cells, sizeof(float));
    find->sums = zeros(&whole, cells, sizeof(float));
    find->active = zeros(&whole, cells, sizeof(bool));
    find->motion = zeros(&whole, 3 * cells, sizeof(float));
    find->motion_before = zeros(&whole, 3 * cells, sizeof(float));
    find->velocity = zeros(&whole, 3 * cells, sizeof(float));
    find->presence = zeros(&whole, cells, sizeof(float));
    find->kept_depth_m = zeros(&whole, cells, sizeof(float));
    find->person = zeros(&whole, cells, sizeof *find->person);
    find->was_active = zeros(&whole, cells, sizeof(bool));
    return whole;
}

motion_find *motion_find_make(const motion_settings *settings)
{
    TARN_ASSERT(settings->width >= 64 && settings->width <= 1280 && settings->height >= 64 && settings->height <= 1024);
    TARN_ASSERT(settings->view_deg >= 10 && settings->view_deg <= 120);
    TARN_ASSERT(settings->near_m >= 0.2f && settings->near_m < settings->far_m && settings->far_m <= 10);
    motion_find *find = calloc(1, sizeof *find);
    if (find == NULL) {
        return NULL;
    }
    find->settings = *settings;
    find->fine_pixels = fine_pixels_of(settings->width);
    motion_find_size(settings->width, settings->height, &find->columns, &find->rows);
    find->fine_columns = 2 * find->columns;
    find->fine_rows = 2 * find->rows;
    find->focal_pixels = 0.5f * (float)settings->width / tanf(settings->view_deg * 0.5f * 0.017453293f);
    find->learning = settings->learn_s > 0;
    if (!take_memory(find)) {
        motion_find_free(find);
        return NULL;
    }
    find->result = (motion_result){.columns = find->columns,
                                   .rows = find->rows,
                                   .cell_pixels = 2 * (float)find->fine_pixels,
                                   .focal_pixels = find->focal_pixels,
                                   .presence = find->presence,
                                   .velocity = find->velocity,
                                   .depth_m = find->kept_depth_m,
                                   .person = find->person};
    return find;
}

void motion_find_limit(motion_find *find, float near_m, float far_m, float dead_zone_m_s)
{
    TARN_ASSERT(near_m >= 0.2f && near_m < far_m && far_m <= 10 && dead_zone_m_s >= 0);
    find->settings.near_m = near_m;
    find->settings.far_m = far_m;
    find->settings.dead_zone_m_s = dead_zone_m_s;
}

void motion_find_free(motion_find *find)
{
    if (find == NULL) {
        return;
    }
    free_picture(&find->now);
    free_picture(&find->before);
    void *const memory[] = {find->ground_mm,  find->seen,          find->valid,    find->covered,  find->sum_mm,
                            find->nearest_mm, find->farthest_mm,   find->cover,    find->depth_m,  find->unknown,
                            find->soft,       find->part,          find->who,      find->rest_s,   find->parents,
                            find->flow,       find->tensor,        find->smooth,   find->inverse,  find->spin,
                            find->bond,       find->cost,          find->best,     find->sums,     find->active,
                            find->motion,     find->motion_before, find->velocity, find->presence, find->kept_depth_m,
                            find->person,     find->was_active};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        free(memory[i]);
    }
    free(find);
}

// ---- from pictures to what is shown ----
// What stands before and behind the flow: pictures that are softened, a box around people, and what of the flow people
// get to see: velocities in metres a second, blurred over time, without what is slower than noise.

enum {
    MARGIN = 2, ///< cells around people in which motion is looked for
    SOFTENINGS = 3,
    PACE_OF = 8,   ///< pictures that the mean pace is of
    CALM_BLUR = 2, ///< half-lives that what hardly moves is blurred for besides
};

static const double gap_s_max = 1.0;
static const float active_min = 0.1f; ///< presence in a cell in which motion is looked for
static const float shown_min = 0.15f; ///< presence in a cell whose motion is shown: less is mostly background

/// Two by two fine cells, and where people are in them.
static void draw_cells(motion_find *find)
{
    const size_t fine_columns = find->fine_columns;
    for (uint32_t y = 0; y < find->rows; y++) {
        for (uint32_t x = 0; x < find->columns; x++) {
            const size_t at = (size_t)y * find->columns + x, first = 2 * (y * fine_columns + x);
            const size_t four[4] = {first, first + 1, first + fine_columns, first + fine_columns + 1};
            float cover = 0, depth_m = 0, weight = 0;
            uint8_t person = 0;
            for (int i = 0; i < 4; i++) {
                const float part = find->now.depth_m[four[i]] > 0 ? find->now.cover[four[i]] : 0;
                cover += 0.25f * find->now.cover[four[i]];
                depth_m += part * find->now.depth_m[four[i]];
                weight += part;
                person = find->who[four[i]] != 0 ? find->who[four[i]] : person;
            }
            find->now.cell_cover[at] = cover;
            find->now.cell_depth_m[at] = weight > 0 ? depth_m / weight : 0;
            find->person[at] = person;
            find->active[at] = person != 0 && cover >= active_min && weight > 0;
        }
    }
}

/// One pass of 1 2 1 along rows or columns; `step` is the distance between neighbours.
static void soften_line(float *values, size_t count, size_t step)
{
    float before = values[0];
    for (size_t i = 0; i < count; i++) {
        const float here = values[i * step], after = i + 1 < count ? values[(i + 1) * step] : here;
        values[i * step] = 0.25f * before + 0.5f * here + 0.25f * after;
        before = here;
    }
}

static void soften(float *values, size_t columns, size_t rows)
{
    for (size_t y = 0; y < rows; y++) {
        soften_line(values + y * columns, columns, 1);
    }
    for (size_t x = 0; x < columns; x++) {
        soften_line(values + x, rows, columns);
    }
}

/// Softens the fine picture: edges that tremble by a pixel are then quieter, and slopes that can be followed. Depth is
/// that of people alone, also a little beside them.
static void soften_picture(motion_find *find)
{
    const size_t fine_count = (size_t)find->fine_columns * find->fine_rows;
    float *weight = find->soft, *cover = find->now.cover, *depth_m = find->now.depth_m;
    for (size_t at = 0; at < fine_count; at++) {
        weight[at] = depth_m[at] > 0 ? cover[at] : 0;
        depth_m[at] *= weight[at];
    }
    for (int pass = 0; pass < SOFTENINGS; pass++) {
        soften(cover, find->fine_columns, find->fine_rows);
        soften(weight, find->fine_columns, find->fine_rows);
        soften(depth_m, find->fine_columns, find->fine_rows);
    }
    for (size_t at = 0; at < fine_count; at++) {
        depth_m[at] = weight[at] > 0.2f ? depth_m[at] / weight[at] : 0;
    }
}

/// A box around people of both frames. @return whether there are any
static bool find_box(motion_find *find)
{
    motion_box box = {find->columns, find->rows, 0, 0};
    for (uint32_t y = 0; y < find->rows; y++) {
        for (uint32_t x = 0; x < find->columns; x++) {
            const size_t at = (size_t)y * find->columns + x;
            if (find->active[at] || find->before.cell_cover[at] > 0) {
                box.from_x = x < box.from_x ? x : box.from_x;
                box.from_y = y < box.from_y ? y : box.from_y;
                box.to_x = x >= box.to_x ? x + 1 : box.to_x;
                box.to_y = y >= box.to_y ? y + 1 : box.to_y;
            }
        }
    }
    if (box.to_x == 0) {
        find->box = (motion_box){0};
        return false;
    }
    find->box.from_x = box.from_x > MARGIN ? box.from_x - MARGIN : 0;
    find->box.from_y = box.from_y > MARGIN ? box.from_y - MARGIN : 0;
    find->box.to_x = box.to_x + MARGIN < find->columns ? box.to_x + MARGIN : find->columns;
    find->box.to_y = box.to_y + MARGIN < find->rows ? box.to_y + MARGIN : find->rows;
    return true;
}

/// Motion of the frame before at a place between cells, of cells that had people. @return whether there were any
static bool sample_motion(const motion_find *find, float x, float y, float motion[3])
{
    const float left = floorf(x), top = floorf(y);
    float sum = 0;
    motion[0] = motion[1] = motion[2] = 0;
    for (int i = 0; i < 4; i++) {
        const float cx = left + (float)(i % 2), cy = top + (float)(i / 2);
        const float weight = (1 - fabsf(x - cx)) * (1 - fabsf(y - cy));
        if (cx < 0 || cy < 0 || cx >= (float)find->columns || cy >= (float)find->rows) {
            continue;
        }
        const size_t at = (size_t)cy * find->columns + (size_t)cx;
        if (find->was_active[at]) {
            for (int k = 0; k < 3; k++) {
                motion[k] += weight * find->motion_before[3 * at + (size_t)k];
            }
            sum += weight;
        }
    }
    for (int k = 0; k < 3 && sum > 0; k++) {
        motion[k] /= sum;
    }
    return sum > 0.25f;
}

/// The share of the motion before that stays. What hardly moves is blurred for longer: there noise is most of it, and
/// nobody sees that it comes late.
static float kept(const motion_find *find, double dt_s, const float before[3], const float now[3])
{
    const float b = before[0] * before[0] + before[1] * before[1], n = now[0] * now[0] + now[1] * now[1];
    const float calm_m_s = 1.2f * find->settings.dead_zone_m_s, ratio = fmaxf(b, n) / fmaxf(calm_m_s * calm_m_s, 1e-6f);
    const float half_life_s = find->settings.half_life_s * (1 + CALM_BLUR / (1 + ratio * ratio));
    return half_life_s > 0 ? exp2f(-(float)dt_s / half_life_s) : 0;
}

/// Takes the flow over into velocities. They are blurred over time, along with what moves: an arm's motion is averaged
/// with that of the same arm, where it was before. Where nobody is nothing moves: what was stirred there goes on by
/// itself.
static void blur(motion_find *find, double dt_s, bool flows)
{
    const size_t count = (size_t)find->columns * find->rows;
    memcpy(find->motion_before, find->motion, 3 * count * sizeof *find->motion);
    for (size_t at = 0; at < count; at++) {
        float *motion = find->motion + 3 * at;
        if (flows && find->active[at]) {
            const float fine_m = (float)find->fine_pixels * find->now.cell_depth_m[at] / find->focal_pixels;
            const float scale = fine_m / (float)dt_s, *flow = find->flow + 3 * at;
            const float now[3] = {scale * flow[0], -scale * flow[1], 2 * scale * flow[2]};
            float before[3];
            const float x = (float)(at % find->columns) - 0.5f * flow[0];
            const float y = (float)(at / find->columns) - 0.5f * flow[1];
            const float keep = sample_motion(find, x, y, before) ? kept(find, dt_s, before, now) : 0;
            for (int i = 0; i < 3; i++) {
                motion[i] = keep * before[i] + (1 - keep) * now[i];
            }
        } else {
            motion[0] = motion[1] = motion[2] = 0;
        }
        find->kept_depth_m[at] = find->active[at] ? find->now.cell_depth_m[at] : find->kept_depth_m[at];
    }
    memcpy(find->was_active, find->active, count * sizeof *find->active);
}

/// What is shown of the motion.
static void show(motion_find *find)
{
    const float dead = find->settings.dead_zone_m_s;
    memset(find->moves, 0, sizeof find->moves);
    for (size_t at = 0; at < (size_t)find->columns * find->rows; at++) {
        const float *motion = find->motion + 3 * at;
        float *velocity = find->velocity + 3 * at;
        const float along = sqrtf(motion[0] * motion[0] + motion[1] * motion[1]);
        // A pixel is the longer the farther it is, and a step of depth the deeper.
        const float z = find->kept_depth_m[at], dead_along = dead * fmaxf(1, 0.45f * z);
        const float dead_away = dead * fmaxf(1, 0.5f * z * z);
        const bool shown = find->now.cell_cover[at] >= shown_min;
        const bool moves = shown && along >= dead_along, goes = shown && fabsf(motion[2]) >= dead_away;
        velocity[0] = moves ? motion[0] : 0;
        velocity[1] = moves ? motion[1] : 0;
        velocity[2] = goes ? motion[2] : 0;
        find->presence[at] = find->active[at] ? find->now.cell_cover[at] : 0;
        if (find->active[at] && (moves || goes)) {
            find->moves[find->person[at] - 1] = true;
        }
    }
}

/// How long each fine cell has been somebody's who doesn't move.
static void count_rest(motion_find *find, double dt_s)
{
    for (size_t at = 0; at < (size_t)find->fine_columns * find->fine_rows; at++) {
        const uint8_t who = find->who[at];
        find->rest_s[at] = who != 0 && !find->moves[who - 1] ? find->rest_s[at] + (float)dt_s : 0;
    }
}

// ---- the stages in their order ----

const motion_result *motion_find_frame(motion_find *find, const uint16_t *mm, double time_s)
{
    const double passed_s = find->has_before ? time_s - find->before_s : 0;
    const bool follows = passed_s > 0 && passed_s <= gap_s_max;
    // A stamp that came late makes the next way to it short, and would make speeds of it that nobody has.
    const double dt_s = follows ? fmax(passed_s, 0.5 * find->pace_s) : 0;
    find->pace_s += follows ? (passed_s - find->pace_s) / (find->pace_s > 0 ? PACE_OF : 1) : 0;

    motion_ground_compare(find, mm);
    if (find->learning) {
        memset(find->cover, 0, (size_t)find->fine_columns * find->fine_rows * sizeof *find->cover);
    }
    motion_people_find(find);
    draw_cells(find);
    soften_picture(find);
    const bool flows = find_box(find) && follows;
    if (flows) {
        motion_flow_find(find);
    }
    blur(find, follows ? dt_s : 1, flows);
    show(find);
    count_rest(find, dt_s);
    motion_ground_learn(find, mm, dt_s);

    const motion_picture picture = find->before;
    find->before = find->now;
    find->now = picture;
    find->before_s = time_s;
    find->has_before = true;
    find->result.person_count = find->person_count;
    memcpy(find->result.people, find->people, sizeof find->people);
    find->result.learning = find->learning;
    find->result.measured = find->measured;
    return &find->result;
}
