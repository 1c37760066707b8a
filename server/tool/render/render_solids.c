// Rays against signed distances of walls and shapes: start at solids_trace.
#include "server/tool/render/render_solids.h"

#include <stdlib.h>

enum { STEPS_MAX = 160 };

static const float FIELD_STRIDE = 0.9f; // of the distance: between nodes it is only nearly one
static const vec3 STONE = {0.36f, 0.36f, 0.37f};

/// A solid where it is. Its shape is never inverted here: a container is a hollow that rays enter and leave.
typedef struct placed {
    tarn_shape shape;
    bool is_glass, is_cut; // cut: at the tank's walls
    vec3 colour;
    box3 box;       // around the shape, in its frame
    float smooth_m; // over which a normal is taken
    mat3 turn;      // from the shape's frame
    vec3 at_m;
    vec3 middle_m; // of a sphere around it
    float radius_m;
} placed;

struct solids {
    uint32_t count;
    bool any, any_glass;
    box3 tank;
    float fine_m;
    const tarn_solid *from;
    const tarn_distance_field *fields;
    placed solid[];
};

static float linear(uint8_t srgb)
{
    float c = (float)srgb / 255.0f;
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

static void prepare(const solids *s, const tarn_solid *from, placed *p)
{
    const uint8_t *c = from->colour;
    *p = (placed){.shape = from->shape,
                  .is_glass = from->shape.inverted != 0,
                  .is_cut = from->motion != TARN_MOTION_FREE,
                  .colour =
                      c[0] == 0 && c[1] == 0 && c[2] == 0 ? STONE : (vec3){linear(c[0]), linear(c[1]), linear(c[2])}};
    p->shape.inverted = 0;
    const tarn_pose still = {.rotation = {0, 0, 0, 1}};
    double min_m[3], max_m[3];
    tarn_shape_bounds_m(&p->shape, &still, s->fields, min_m, max_m);
    p->box = (box3){{(float)min_m[0], (float)min_m[1], (float)min_m[2]},
                    {(float)max_m[0], (float)max_m[1], (float)max_m[2]}};
    p->smooth_m = s->fine_m;
    if (p->shape.kind == TARN_SHAPE_FIELD) {
        p->smooth_m = fmaxf(p->smooth_m, 0.75f * p->shape.half_m[0] * s->fields[p->shape.field].spacing_m);
    }
    vec3 half = vec3_scale(vec3_sub(p->box.max, p->box.min), 0.5f);
    p->radius_m = sqrtf(vec3_dot(half, half));
}

tarn_status solids_create(const export_info *info, float fine_m, solids **out)
{
    solids *s = calloc(1, sizeof *s + info->solid_count * sizeof(placed));
    if (s == NULL) {
        return TARN_E_MEMORY;
    }
    s->count = info->solid_count;
    s->tank = (box3){{0, 0, 0}, {info->size_m[0], info->size_m[1], info->size_m[2]}};
    s->fine_m = fine_m;
    s->from = info->solids;
    s->fields = info->fields;
    for (uint32_t i = 0; i < s->count; i++) {
        prepare(s, &info->solids[i], &s->solid[i]);
        s->any |= !s->solid[i].is_glass;
        s->any_glass |= s->solid[i].is_glass;
    }
    *out = s;
    return TARN_OK;
}

void solids_destroy(solids *s)
{
    free(s);
}

static void place(placed *p, const tarn_pose *pose)
{
    double m[3][3];
    tarn_pose_matrix(pose, m);
    for (int row = 0; row < 3; row++) {
        p->turn.row[row] = (vec3){(float)m[row][0], (float)m[row][1], (float)m[row][2]};
    }
    p->at_m = (vec3){pose->position_m[0], pose->position_m[1], pose->position_m[2]};
    p->middle_m = vec3_add(mat3_mul(&p->turn, vec3_mix(p->box.min, p->box.max, 0.5f)), p->at_m);
}

void solids_place(solids *s, const export_frame *frame)
{
    for (uint32_t i = 0; i < s->count; i++) {
        place(&s->solid[i], &s->from[i].pose);
    }
    for (uint32_t b = 0; b < frame->body_count; b++) {
        if (frame->bodies[b].solid < s->count) {
            place(&s->solid[frame->bodies[b].solid], &frame->bodies[b].pose);
        }
    }
}

bool solids_any(const solids *s)
{
    return s->any;
}

bool solids_any_glass(const solids *s)
{
    return s->any_glass;
}

// ---- rays ----

/// A ray, and the part of it that lies in the tank.
typedef struct ray {
    vec3 from, direction;
    float in_m, out_m; // in_m above out_m: it misses the tank
} ray;

static ray make_ray(const solids *s, vec3 from, vec3 direction)
{
    ray r = {.from = from, .direction = direction};
    if (!box3_cut(&s->tank, from, direction, &r.in_m, &r.out_m)) {
        r.in_m = 1e30f;
        r.out_m = -1e30f;
    }
    return r;
}

static float distance_m(const solids *s, const placed *p, vec3 local)
{
    return (float)tarn_shape_distance_m(&p->shape, s->fields, (double[3]){local.x, local.y, local.z});
}

/// A ray in a solid's frame and where it passes the solid's box.
typedef struct passage {
    vec3 from, direction;
    float begin_m, end_m;
} passage;

static bool passes(const placed *p, const ray *r, float far_m, passage *way)
{
    vec3 arm = vec3_sub(p->middle_m, r->from);
    float along_m = vec3_dot(arm, r->direction);
    if (vec3_dot(arm, arm) - along_m * along_m > p->radius_m * p->radius_m || along_m < -p->radius_m) {
        return false;
    }
    way->from = mat3_back(&p->turn, vec3_sub(r->from, p->at_m));
    way->direction = mat3_back(&p->turn, r->direction);
    if (!box3_cut(&p->box, way->from, way->direction, &way->begin_m, &way->end_m)) {
        return false;
    }
    if (p->is_cut) {
        way->begin_m = fmaxf(way->begin_m, r->in_m);
        way->end_m = fminf(way->end_m, r->out_m);
    }
    way->end_m = fminf(way->end_m, far_m);
    return way->begin_m <= way->end_m;
}

/// To where the distance becomes less than `fine_m`: from outside in; with `side` -1 from inside out.
static bool march(const solids *s, const placed *p, const passage *way, float side, float *way_m)
{
    float stride = p->shape.kind == TARN_SHAPE_FIELD ? FIELD_STRIDE : 1.0f;
    float at_m = way->begin_m;
    for (int step = 0; step < STEPS_MAX && at_m <= way->end_m; step++) {
        float off_m = side * distance_m(s, p, vec3_along(way->from, way->direction, at_m));
        if (off_m < s->fine_m) {
            *way_m = at_m;
            return true;
        }
        at_m += fmaxf(stride * off_m, 0.5f * s->fine_m);
    }
    return false;
}

static vec3 shape_normal(const solids *s, const placed *p, vec3 local)
{
    float h = p->smooth_m;
    vec3 slope = {
        distance_m(s, p, (vec3){local.x + h, local.y, local.z}) -
            distance_m(s, p, (vec3){local.x - h, local.y, local.z}),
        distance_m(s, p, (vec3){local.x, local.y + h, local.z}) -
            distance_m(s, p, (vec3){local.x, local.y - h, local.z}),
        distance_m(s, p, (vec3){local.x, local.y, local.z + h}) -
            distance_m(s, p, (vec3){local.x, local.y, local.z - h}),
    };
    return vec3_normal(mat3_mul(&p->turn, slope));
}

/// Of the tank's wall at a point of it, outwards.
static vec3 wall_normal(const solids *s, vec3 point)
{
    const vec3 walls[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    const float gaps_m[] = {s->tank.max.x - point.x, point.x, s->tank.max.y - point.y, point.y,
                            s->tank.max.z - point.z, point.z};
    int nearest = 0;
    for (int i = 1; i < 6; i++) {
        nearest = fabsf(gaps_m[i]) < fabsf(gaps_m[nearest]) ? i : nearest;
    }
    return walls[nearest];
}

/// Where the tank's wall cuts a solid, the cut is as flat as the wall.
static vec3 hit_normal(const solids *s, const placed *p, const ray *r, const passage *way, float way_m)
{
    vec3 local = vec3_along(way->from, way->direction, way_m);
    bool is_at_wall = p->is_cut && r->in_m > 0.0f && way_m <= r->in_m + s->fine_m;
    if (is_at_wall && distance_m(s, p, local) < -s->fine_m) {
        return wall_normal(s, vec3_along(r->from, r->direction, way_m));
    }
    return shape_normal(s, p, local);
}

bool solids_trace(const solids *s, vec3 from, vec3 direction, float far_m, solids_hit *hit)
{
    const placed *first = NULL;
    passage first_way = {.begin_m = 0.0f};
    ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass && passes(p, &r, far_m, &way) && march(s, p, &way, 1.0f, &way_m)) {
            first = p;
            first_way = way;
            far_m = way_m;
        }
    }
    if (first == NULL) {
        return false;
    }
    *hit = (solids_hit){.way_m = far_m, .normal = hit_normal(s, first, &r, &first_way, far_m), .colour = first->colour};
    return true;
}

bool solids_block(const solids *s, vec3 from, vec3 direction)
{
    ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass && passes(p, &r, 1e30f, &way) && march(s, p, &way, 1.0f, &way_m)) {
            return true;
        }
    }
    return false;
}

// ---- containers ----

/// Glass hides more where it is seen from the side.
static void add_glass(float *hidden, vec3 *colour, const placed *p, float cosine)
{
    float slant = 1.0f - fminf(fabsf(cosine), 1.0f);
    float here = 0.07f + 0.45f * slant * slant;
    *colour = *hidden > 0.0f ? vec3_mix(*colour, p->colour, 0.5f) : p->colour;
    *hidden = 1.0f - (1.0f - *hidden) * (1.0f - here);
}

solids_glass_seen solids_glass(const solids *s, vec3 from, vec3 direction, float far_m)
{
    solids_glass_seen seen = {.entered = 0.0f};
    ray r = make_ray(s, from, direction);
    for (uint32_t i = 0; i < s->count; i++) {
        const placed *p = &s->solid[i];
        passage way;
        float way_m;
        if (!p->is_glass || !passes(p, &r, far_m, &way) || !march(s, p, &way, 1.0f, &way_m)) {
            continue;
        }
        vec3 local = vec3_along(way.from, way.direction, way_m);
        if (distance_m(s, p, local) > -s->fine_m) { // else it began inside, or at the tank's wall
            add_glass(&seen.entered, &seen.entered_colour, p, vec3_dot(shape_normal(s, p, local), direction));
        }
        way.begin_m = way_m + 3.0f * s->fine_m;
        if (march(s, p, &way, -1.0f, &way_m)) {
            local = vec3_along(way.from, way.direction, way_m);
            add_glass(&seen.left, &seen.left_colour, p, vec3_dot(shape_normal(s, p, local), direction));
        }
    }
    return seen;
}
