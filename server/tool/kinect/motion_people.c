// People are connected parts of what stands before the ground: neighbours whose depths differ by less than an arm's
// thickness or two belong together, so that somebody behind somebody is another one. The largest six that are large
// enough for a person count; a small part that touches one is a limb of it. Numbers are kept by who is nearest to where
// somebody was.
#include "server/tool/kinect/motion_internal.h"

#include <math.h>
#include <string.h>

enum {
    PARTS_MAX = 4096, ///< of a frame; what comes after them is noise
    LIMB_ROUNDS = 8,  ///< fine cells by which limbs grow onto people
};

static const float cover_min = 0.5f;    ///< of a fine cell that belongs to a part
static const float step_m_max = 0.25f;  ///< between the depths of neighbours of one part
static const float area_m2_min = 0.06f; ///< of a part that is a person: a head and a shoulder
static const float stride_m_max = 0.6f; ///< that somebody's middle goes between two frames

/// What is gathered of a part.
typedef struct part {
    float area_m2, sum_x, sum_y, sum_depth;
    uint32_t cells;
} part;

static uint16_t root_of(uint16_t *parents, uint16_t part_)
{
    while (parents[part_] != part_) {
        parents[part_] = parents[parents[part_]];
        part_ = parents[part_];
    }
    return part_;
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
static uint32_t choose_parts(motion_find *find, uint16_t largest[MOTION_PEOPLE_MAX], part chosen[MOTION_PEOPLE_MAX])
{
    part parts[PARTS_MAX + 1];
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
            part *p = &parts[find->part[at]];
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
static void name_people(motion_find *find, const part chosen[MOTION_PEOPLE_MAX], uint32_t count)
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

void motion_people_find(motion_find *find)
{
    uint16_t largest[MOTION_PEOPLE_MAX];
    part chosen[MOTION_PEOPLE_MAX];
    find_parts(find);
    const uint32_t count = choose_parts(find, largest, chosen);
    name_people(find, chosen, count);
    mark_people(find, largest, count);
    draw_people(find);
}
