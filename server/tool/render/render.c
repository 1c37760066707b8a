// From particles to a picture. Everything is drawn with twice the pixels each way and averaged at the end, which makes
// edges smooth:
//
//     solids -> depth, light of their pixels --+
//     particles -> surface (depth, thickness) -+-> light per pixel -> tank's edges -> picture
//           or -> puffs (light, what they let through), over that light and the edges behind
//     both -> shadows on the floor ------------+
//
// All of it happens in the tank's frame: where the tank is turned, the camera and the room are turned the other way.
// A pixel of liquid is a mix of what its surface mirrors and what is seen through it (Fresnel's equations, Schlick's
// approximation): the ray is bent by Snell's law, followed to a solid or to where it leaves the tank, and what it
// finds there is dimmed by the liquid's thickness (Beer-Lambert), to which the liquid adds the light that it scatters.
#include "server/tool/render/render.h"

#include "server/tool/render/render_gas.h"
#include "server/tool/render/render_room.h"
#include "server/tool/render/render_rows.h"
#include "server/tool/render/render_solids.h"
#include "server/tool/render/render_surface.h"

#include <stdlib.h>

enum { SAMPLES = 2, SHADE_ROWS = 16, GAMMA_STEPS = 4096 };

static const float SCALED_PER_SPACING = 0.8f; // optical depth of a particle that shows a value

struct render {
    uint32_t width, height; // of the picture
    uint32_t threads;
    vec3 size_m;
    float spacing_m;
    float optical_m; // liquid as thick as this is of medium depth to the eye
    camera room_cam; // of the larger picture, in the room
    camera cam;      // the same in the tank's frame
    room around;
    surface *water; // NULL where there is smoke or dye
    gas *puffs;     // NULL where there is water
    solids *stuff;
    float *solid_depth; // of the larger picture; SURFACE_NO_DEPTH where there is none
    vec3 *light;        // of the larger picture
    float *shadow;
    uint8_t gamma[GAMMA_STEPS + 1];
    uint8_t *rgb;   // during render_draw
    bool is_scaled; // the same: the liquid's colours are values
};

/// What the picture shows: all places that the tank gets to.
static box3 seen_box(const export_info *info)
{
    const float *lo = info->reach_min_m, *hi = info->reach_max_m;
    box3 seen = {{lo[0], lo[1], lo[2]}, {hi[0], hi[1], hi[2]}};
    bool stays = lo[0] >= hi[0] || lo[1] >= hi[1] || lo[2] >= hi[2];
    return stays ? (box3){{0, 0, 0}, {info->size_m[0], info->size_m[1], info->size_m[2]}} : seen;
}

/// The camera, the room, and what the picture is made in.
static bool allocate(render *r, const export_info *info)
{
    uint32_t width = SAMPLES * r->width, height = SAMPLES * r->height;
    box3 seen = seen_box(info);
    r->room_cam = camera_fit(seen, info->is_flat, (float)width, (float)height);
    float distance_m = camera_project(&r->room_cam, vec3_scale(r->size_m, 0.5f), &(float){0}, &(float){0});
    float sample_m = distance_m / r->room_cam.focal_px, tank_m = sqrtf(vec3_dot(r->size_m, r->size_m));
    r->light = malloc((size_t)width * height * sizeof(vec3));
    r->solid_depth = malloc((size_t)width * height * sizeof(float));
    r->shadow = malloc(ROOM_SHADOW_FLOATS * sizeof(float));
    if (r->light == NULL || r->solid_depth == NULL || r->shadow == NULL ||
        (info->drawing == EXPORT_WATER
             ? surface_create(width, height, r->size_m, r->spacing_m, r->threads, &r->water)
             : gas_create(info, r->width, r->height, SAMPLES, r->threads, &r->puffs)) != TARN_OK ||
        solids_create(info, fmaxf(0.25f * sample_m, 2e-5f * tank_m), &r->stuff) != TARN_OK) {
        return false;
    }
    r->around = room_make(r->size_m, SAMPLES * sample_m, r->shadow);
    r->around.is_flat = info->is_flat;
    r->around.table_m = fminf(seen.min.y, 0.0f);
    return true;
}

tarn_status render_create(const export_info *info, render **out)
{
    if (info->width < RENDER_PIXELS_MIN || info->width > RENDER_PIXELS_MAX || info->height < RENDER_PIXELS_MIN ||
        info->height > RENDER_PIXELS_MAX) {
        return TARN_E_ARGUMENT;
    }
    render *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return TARN_E_MEMORY;
    }
    r->width = info->width;
    r->height = info->height;
    r->threads = info->threads != 0 ? info->threads : render_rows_threads();
    r->size_m = (vec3){info->size_m[0], info->size_m[1], info->size_m[2]};
    r->spacing_m = info->spacing_m;
    r->optical_m = info->is_flat ? 1.2f * r->size_m.z : cbrtf(r->size_m.x * r->size_m.y * r->size_m.z);
    if (!allocate(r, info)) {
        render_destroy(r);
        return TARN_E_MEMORY;
    }
    for (int i = 0; i <= GAMMA_STEPS; i++) {
        float c = (float)i / GAMMA_STEPS;
        c = c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1.0f / 2.4f) - 0.055f;
        r->gamma[i] = (uint8_t)(255.0f * c + 0.5f);
    }
    *out = r;
    return TARN_OK;
}

void render_destroy(render *r)
{
    if (r != NULL) {
        surface_destroy(r->water);
        gas_destroy(r->puffs);
        solids_destroy(r->stuff);
        free(r->light);
        free(r->solid_depth);
        free(r->shadow);
        free(r);
    }
}

// ---- the liquid's surface ----

/// SURFACE_NO_DEPTH where there is none.
static float water_depth(const render *r, size_t at)
{
    return r->water != NULL ? surface_depth(r->water)[at] : SURFACE_NO_DEPTH;
}

static vec3 surface_point(const camera *cam, uint32_t x, uint32_t y, float depth_m)
{
    return vec3_along(cam->eye, camera_ray(cam, (float)x + 0.5f, (float)y + 0.5f), depth_m);
}

/// The step to the neighbour on the side where the depth changes less: the other may lie across an edge.
static vec3 surface_slope(const render *r, uint32_t x, uint32_t y, bool across, vec3 here)
{
    uint32_t width = SAMPLES * r->width, height = SAMPLES * r->height;
    const float *at = surface_depth(r->water) + (size_t)y * width + x;
    size_t stride = across ? 1 : width;
    bool has_before = across ? x > 0 : y > 0, has_after = across ? x + 1 < width : y + 1 < height;
    float before = has_before ? at[-(ptrdiff_t)stride] : SURFACE_NO_DEPTH,
          after = has_after ? at[stride] : SURFACE_NO_DEPTH;
    if (fabsf(after - *at) <= fabsf(before - *at)) {
        return vec3_sub(surface_point(&r->cam, across ? x + 1 : x, across ? y : y + 1, after), here);
    }
    return vec3_sub(here, surface_point(&r->cam, across ? x - 1 : x, across ? y : y - 1, before));
}

/// Liquid that touches a wall on our side is flat there, like the glass; particles alone would make it bumpy.
static vec3 flatten_at_walls(const render *r, vec3 point, vec3 normal)
{
    const vec3 walls[] = {{1, 0, 0}, {-1, 0, 0}, {0, 0, 1}, {0, 0, -1}};
    const float gaps_m[] = {r->size_m.x - point.x, point.x, r->size_m.z - point.z, point.z};
    for (int i = 0; i < 4; i++) {
        if (vec3_dot(walls[i], r->cam.back) > 0.0f) {
            float flat = smoothf(-1.3f * r->spacing_m, -0.2f * r->spacing_m, -gaps_m[i]) *
                         smoothf(0.25f, 0.65f, vec3_dot(walls[i], normal));
            normal = vec3_normal(vec3_mix(normal, walls[i], flat));
        }
    }
    return normal;
}

/// @param here   where the surface is
/// @param point  the same, or where the ray enters the tank in front of it
static vec3 surface_normal(const render *r, uint32_t x, uint32_t y, vec3 here, vec3 point, vec3 view)
{
    vec3 across = surface_slope(r, x, y, true, here), down = surface_slope(r, x, y, false, here);
    vec3 normal = vec3_normal(vec3_cross(down, across));
    normal = flatten_at_walls(r, point, normal);
    float facing = vec3_dot(normal, view);
    // A surface that we see looks towards us.
    return facing < -0.02f ? normal : vec3_normal(vec3_along(normal, view, -facing - 0.02f));
}

/// How far a ray from inside the tank gets.
static float way_out_m(vec3 size_m, vec3 from, vec3 direction)
{
    const float size[3] = {size_m.x, size_m.y, size_m.z}, at[3] = {from.x, from.y, from.z},
                d[3] = {direction.x, direction.y, direction.z};
    float nearest = 1e30f;
    for (int axis = 0; axis < 3; axis++) {
        if (fabsf(d[axis]) > 1e-6f) {
            float wall = d[axis] > 0.0f ? size[axis] : 0.0f;
            nearest = fminf(nearest, (wall - at[axis]) / d[axis]);
        }
    }
    return fmaxf(nearest, 0.0f);
}

// ---- solids ----

/// @param view  unit vector towards the point
static vec3 shade_solid(const render *r, vec3 point, const solids_hit *hit, vec3 view)
{
    const vec3 below = {0.30f, 0.29f, 0.28f}, above = {0.50f, 0.52f, 0.55f}, sun = {0.52f, 0.51f, 0.48f};
    float facing = vec3_dot(hit->normal, r->around.light);
    float up = room_direction(&r->around, hit->normal).y;
    vec3 light = vec3_mix(below, above, 0.5f + 0.5f * up);
    light = vec3_along(light, (vec3){1, 1, 1}, 0.12f * fmaxf(-vec3_dot(hit->normal, view), 0.0f));
    float glint = 0.0f;
    if (facing > 0.0f &&
        !solids_block(r->stuff, vec3_along(point, hit->normal, 0.4f * r->spacing_m), r->around.light)) {
        light = vec3_along(light, sun, facing);
        vec3 away = vec3_along(view, hit->normal, -2.0f * vec3_dot(view, hit->normal));
        glint = 0.22f * powf(fmaxf(vec3_dot(away, r->around.light), 0.0f), 40.0f);
    }
    return vec3_along(vec3_mul(hit->colour, light), (vec3){1, 1, 1}, glint);
}

/// What a ray within the tank comes to: a solid, the floor, or the room. Sides of containers that it leaves on its way
/// are added.
/// @param view     goes on in the room
/// @param way_m    where a solid was hit: how far; else left as it is
static bool meet(const render *r, vec3 from, vec3 inward, vec3 view, vec3 *light, float *way_m)
{
    float out_m = way_out_m(r->size_m, from, inward);
    solids_hit hit;
    bool is_hit = solids_any(r->stuff) && solids_trace(r->stuff, from, inward, out_m, &hit);
    if (is_hit) {
        *way_m = hit.way_m;
        out_m = hit.way_m;
        *light = shade_solid(r, vec3_along(from, inward, hit.way_m), &hit, inward);
    } else {
        vec3 exit = vec3_along(from, inward, out_m);
        *light = exit.y <= 1e-4f * r->size_m.y
                     ? room_floor(&r->around, exit.x, exit.z)
                     : room_light(&r->around, exit, vec3_normal(vec3_mix(inward, view, 0.7f)));
    }
    if (solids_any_glass(r->stuff)) {
        solids_glass_seen glass = solids_glass(r->stuff, from, inward, out_m);
        *light = vec3_mix(*light, glass.left_colour, glass.left);
    }
    return is_hit;
}

static void trace_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    uint32_t width = SAMPLES * r->width;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            size_t at = (size_t)y * width + x;
            vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
            solids_hit hit;
            r->solid_depth[at] = SURFACE_NO_DEPTH;
            if (solids_trace(r->stuff, r->cam.eye, view, 1e30f, &hit)) {
                vec3 point = vec3_along(r->cam.eye, view, hit.way_m);
                r->solid_depth[at] = -hit.way_m * vec3_dot(view, r->cam.back);
                r->light[at] = shade_solid(r, point, &hit, view);
            }
        }
    }
}

static void shade_floor_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    for (uint32_t z = begin; z < end; z++) {
        for (uint32_t x = 0; x < ROOM_SHADOW_CELLS; x++) {
            r->around.shade[(size_t)z * ROOM_SHADOW_CELLS + x] =
                solids_block(r->stuff, room_shade_cell(&r->around, x, z), r->around.light) ? 1.0f : 0.0f;
        }
    }
}

static void draw_solids(render *r, const export_frame *frame)
{
    solids_place(r->stuff, frame);
    if (!solids_any(r->stuff)) {
        size_t pixels = (size_t)SAMPLES * SAMPLES * r->width * r->height;
        for (size_t i = 0; i < pixels; i++) {
            r->solid_depth[i] = SURFACE_NO_DEPTH;
        }
        return;
    }
    render_rows(r->threads, ROOM_SHADOW_CELLS, SHADE_ROWS, shade_floor_rows, r);
    room_soften_shade(&r->around);
    render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, trace_rows, r);
}

// ---- a pixel of liquid ----

/// Snell's law into water; a unit vector.
static vec3 bend(vec3 view, vec3 normal)
{
    const float ratio = 1.0f / 1.333f;
    float cosine = -vec3_dot(view, normal);
    float inner = sqrtf(fmaxf(1.0f - ratio * ratio * (1.0f - cosine * cosine), 0.0f));
    return vec3_normal(vec3_along(vec3_scale(view, ratio), normal, ratio * cosine - inner));
}

static vec3 inside_tank(vec3 size_m, vec3 p)
{
    return (vec3){clampf(p.x, 0, size_m.x), clampf(p.y, 0, size_m.y), clampf(p.z, 0, size_m.z)};
}

/// What is seen through the surface: what lies behind, dimmed, and the light that the liquid scatters.
/// @param is_hidden  straight behind the surface is a solid
static vec3 seen_through(const render *r, const surface_inside *in, bool is_hidden, vec3 point, vec3 normal, vec3 view)
{
    vec3 from = inside_tank(r->size_m, point), inward = bend(view, normal);
    // Thin liquid, and a drop before more of it, bend a ray twice, to and fro: only what is thick shows its back
    // elsewhere.
    float thick = smoothf(0.5f * r->spacing_m, 4.0f * r->spacing_m, in->thickness_m) * (1.0f - in->drop);
    inward = vec3_normal(vec3_mix(view, inward, thick));
    vec3 behind;
    float way_m = 0.0f, thickness_m = in->thickness_m, in_air = 1.0f;
    if (meet(r, from, inward, view, &behind, &way_m)) {
        // The bent ray's liquid is not known: it is what the straight one goes through, if that ends at a solid too.
        thickness_m = is_hidden ? in->front_m : fminf(thickness_m, way_m);
        in_air = smoothf(1.0f * r->spacing_m, 3.5f * r->spacing_m, way_m);
    }
    float depth = thickness_m / r->optical_m;
    // Where a body of liquid thins out towards its outline it keeps some colour, or one couldn't tell where it ends.
    depth += 0.10f * (1.0f - in->spray) * smoothf(0.0f, 1.5f * r->spacing_m, in->thickness_m);
    vec3 absorb = {5.6f, 1.7f, 0.8f}, scatter = {0.012f, 0.115f, 0.215f};
    if (in->has_colour) {
        const vec3 c = in->colour;
        absorb = (vec3){-1.9f * logf(c.x + 0.02f), -1.9f * logf(c.y + 0.02f), -1.9f * logf(c.z + 0.02f)};
        absorb = (vec3){fmaxf(absorb.x, 0.2f), fmaxf(absorb.y, 0.2f), fmaxf(absorb.z, 0.2f)};
        scatter = vec3_scale(c, 0.75f);
    }
    if (r->is_scaled) {
        const float cover = 1.0f - expf(-SCALED_PER_SPACING * in->thickness_m / r->spacing_m);
        return vec3_mix(behind, vec3_scale(in->colour, 0.55f + 0.45f * vec3_dot(normal, r->around.light)), cover);
    }
    vec3 through = {expf(-absorb.x * depth), expf(-absorb.y * depth), expf(-absorb.z * depth)};
    float lit = 0.5f + 0.5f * vec3_dot(normal, r->around.light);
    vec3 light = vec3_along(vec3_mul(behind, through), scatter, (1.0f - expf(-3.0f * depth)) * lit);
    // Drops in the air are white: they mirror and bend light every which way.
    float spray = 0.75f * in->spray * smoothf(0.0f, 2.0f * r->spacing_m, in->thickness_m + 0.7f * r->spacing_m);
    spray = fmaxf(spray, 0.45f * in->drop) * (0.2f + 0.8f * in_air); // on a solid they are a film
    return vec3_mix(light, vec3_scale((vec3){0.92f, 0.95f, 0.97f}, 0.75f + 0.25f * lit), spray);
}

/// What the surface mirrors: the room, a wide lamp above, and the sun's glint.
static vec3 mirrored(const render *r, vec3 point, vec3 normal, vec3 view)
{
    vec3 away = vec3_along(view, normal, -2.0f * vec3_dot(view, normal));
    vec3 up = room_direction(&r->around, away);
    vec3 light = up.y < 0.0f ? vec3_scale(room_light(&r->around, point, away), 0.6f) : room_sky(&r->around, away);
    solids_hit hit;
    if (solids_any(r->stuff) &&
        solids_trace(r->stuff, vec3_along(point, normal, 0.5f * r->spacing_m), away, 1e30f, &hit)) {
        return shade_solid(r, vec3_along(point, away, hit.way_m), &hit, away);
    }
    if (up.y > 0.05f) {
        float x = up.x / up.y, z = up.z / up.y;
        float lamp =
            smoothf(-1.5f, -1.1f, x) * smoothf(-0.5f, -0.1f, -x) * smoothf(-1.6f, -1.2f, z) * smoothf(-0.4f, 0.0f, -z);
        light = vec3_along(light, (vec3){1, 1, 1}, 2.4f * lamp);
    }
    float glint = fmaxf(vec3_dot(away, r->around.light), 0.0f);
    return vec3_along(light, (vec3){1.0f, 0.97f, 0.92f}, 10.0f * powf(glint, 240.0f));
}

static vec3 shade_water(const render *r, uint32_t x, uint32_t y, float depth_m)
{
    vec3 ray = camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f), view = vec3_normal(ray);
    const box3 tank = {{0, 0, 0}, r->size_m};
    float entry_m, exit_m;
    if (!box3_cut(&tank, r->cam.eye, ray, &entry_m, &exit_m)) { // spheres of particles at a wall reach through it
        return room_light(&r->around, r->cam.eye, view);
    }
    vec3 here = surface_point(&r->cam, x, y, depth_m);
    vec3 point = depth_m > entry_m ? here : vec3_along(r->cam.eye, ray, entry_m);
    vec3 normal = surface_normal(r, x, y, here, point, view);
    surface_inside in = surface_look(r->water, x, y);
    if (r->around.is_flat) { // a sheet between two panes, as thick as the tank wherever there is more than a drop
        normal = (vec3){0, 0, 1};
        in.thickness_m = r->size_m.z * smoothf(0.05f, 0.6f, in.thickness_m / r->size_m.z);
    }
    float slant = clampf(1.0f + vec3_dot(view, normal), 0.0f, 1.0f);
    float mirror = 0.02f + 0.98f * slant * slant * slant * slant * slant;
    mirror *= smoothf(0.2f * r->spacing_m, 2.0f * r->spacing_m, in.thickness_m); // a rim has no normal worth the name
    mirror *= 1.0f - 0.8f * in.drop;
    bool is_hidden = r->solid_depth[(size_t)y * SAMPLES * r->width + x] < SURFACE_NO_DEPTH;
    vec3 through = seen_through(r, &in, is_hidden, point, normal, view);
    return vec3_mix(through, mirrored(r, point, normal, view), fminf(mirror, 0.75f));
}

/// Sides of containers before all else; and, where no liquid is before them, those behind.
static void add_glass(render *r, uint32_t x, uint32_t y)
{
    if (!solids_any_glass(r->stuff)) {
        return;
    }
    size_t at = (size_t)y * SAMPLES * r->width + x;
    float water_m = water_depth(r, at), solid_m = r->solid_depth[at];
    vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
    float per_depth = -1.0f / vec3_dot(view, r->cam.back);
    // Spheres of particles reach through the glass.
    float far_m = fminf(solid_m, water_m + 2.0f * r->spacing_m) * per_depth;
    solids_glass_seen glass = solids_glass(r->stuff, r->cam.eye, view, far_m);
    if (water_m >= solid_m) {
        r->light[at] = vec3_mix(r->light[at], glass.left_colour, glass.left);
    }
    r->light[at] = vec3_mix(r->light[at], glass.entered_colour, glass.entered);
}

static void shade_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    uint32_t width = SAMPLES * r->width;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            size_t at = (size_t)y * width + x;
            const float water_m = water_depth(r, at);
            if (water_m < r->solid_depth[at]) {
                r->light[at] = shade_water(r, x, y, water_m);
            } else if (r->solid_depth[at] >= SURFACE_NO_DEPTH) {
                vec3 view = vec3_normal(camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f));
                r->light[at] = room_light(&r->around, r->cam.eye, view);
            }
            add_glass(r, x, y);
        }
    }
}

// ---- the tank's edges ----

/// A line of the tank, as wide as `half_px` to each side; behind liquid it is dimmed as the liquid dims.
static void draw_edge(render *r, vec3 from, vec3 to, float half_px, float strength)
{
    const vec3 colour = {0.16f, 0.19f, 0.23f};
    float ax, ay, bx, by;
    float depth_a = camera_project(&r->cam, from, &ax, &ay), depth_b = camera_project(&r->cam, to, &bx, &by);
    float dx = bx - ax, dy = by - ay, length2 = fmaxf(dx * dx + dy * dy, 1e-6f);
    float reach = half_px + 1.0f;
    int width = (int)(SAMPLES * r->width), height = (int)(SAMPLES * r->height);
    int left = (int)fmaxf(fminf(ax, bx) - reach, 0), right = (int)fminf(fmaxf(ax, bx) + reach, (float)width - 1);
    int top = (int)fmaxf(fminf(ay, by) - reach, 0), bottom = (int)fminf(fmaxf(ay, by) + reach, (float)height - 1);
    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            float px = (float)x + 0.5f - ax, py = (float)y + 0.5f - ay;
            float t = clampf((px * dx + py * dy) / length2, 0.0f, 1.0f);
            float ox = px - t * dx, oy = py - t * dy;
            float alpha = strength * clampf(half_px + 0.5f - sqrtf(ox * ox + oy * oy), 0.0f, 1.0f);
            if (alpha <= 0.0f) {
                continue;
            }
            size_t at = (size_t)y * (size_t)width + (size_t)x;
            float depth_m = 1.0f / ((1.0f - t) / depth_a + t / depth_b); // 1/depth is linear in the picture
            if (r->solid_depth[at] < depth_m - 0.1f * r->spacing_m) {
                continue;
            }
            if (water_depth(r, at) < depth_m - r->spacing_m) {
                surface_inside in = surface_look(r->water, (uint32_t)x, (uint32_t)y);
                alpha *= expf(-6.0f * in.thickness_m / r->optical_m);
            }
            r->light[at] = vec3_mix(r->light[at], colour, alpha);
        }
    }
}

static void draw_edges(render *r, bool of_front)
{
    vec3 s = r->size_m;
    float half_px = fmaxf(0.5f * SAMPLES, 0.0012f * SAMPLES * (float)r->height);
    for (int axis = 0; axis < 3; axis++) {
        for (int corner = 0; corner < 4; corner++) {
            float u = corner & 1 ? 1.0f : 0.0f, v = corner & 2 ? 1.0f : 0.0f;
            vec3 from = axis == 0   ? (vec3){0, u * s.y, v * s.z}
                        : axis == 1 ? (vec3){u * s.x, 0, v * s.z}
                                    : (vec3){u * s.x, v * s.y, 0};
            vec3 to = axis == 0   ? (vec3){s.x, from.y, from.z}
                      : axis == 1 ? (vec3){from.x, s.y, from.z}
                                  : (vec3){from.x, from.y, s.z};
            vec3 middle = vec3_sub(vec3_mix(from, to, 0.5f), vec3_scale(s, 0.5f));
            if ((vec3_dot(middle, r->cam.back) > 0.0f) == of_front) {
                draw_edge(r, from, to, half_px, of_front ? 0.85f : 0.45f);
            }
        }
    }
}

// ---- smoke and dye ----

/// Over what is behind them.
static void add_puffs_rows(void *context, uint32_t begin, uint32_t end)
{
    render *r = context;
    const uint32_t width = SAMPLES * r->width;
    const box3 tank = {{0, 0, 0}, r->size_m};
    const vec3 clear_per_m = gas_clear_per_m(r->puffs);
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < width; x++) {
            const size_t at = (size_t)y * width + x;
            const gas_seen seen = gas_look(r->puffs, x / SAMPLES, y / SAMPLES);
            const vec3 ray = camera_ray(&r->cam, (float)x + 0.5f, (float)y + 0.5f);
            vec3 behind = r->light[at];
            float entry_m, exit_m;
            if (box3_cut(&tank, r->cam.eye, ray, &entry_m, &exit_m)) {
                const float wet = fmaxf(fminf(exit_m, r->solid_depth[at]) - entry_m, 0.0f) * sqrtf(vec3_dot(ray, ray));
                behind.x *= expf(-clear_per_m.x * wet);
                behind.y *= expf(-clear_per_m.y * wet);
                behind.z *= expf(-clear_per_m.z * wet);
            }
            r->light[at] = vec3_add(vec3_mul(behind, seen.through), seen.light);
        }
    }
}

/// A section of a particle times its optical depth is for the shadow what a volume of liquid is.
static tarn_status draw_gas(render *r, const export_frame *frame, const float *solid_depth)
{
    const tarn_status status = gas_draw(r->puffs, &r->cam, frame, r->around.light, solid_depth);
    if (status == TARN_OK) {
        r->around.absorbs = (vec3){1, 1, 1};
        r->around.absorb_per_m = 1.0f;
        room_cast(&r->around, frame->positions_m, frame->particle_count, gas_shadow_m2(r->puffs));
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, shade_rows, r);
        draw_edges(r, false);
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, add_puffs_rows, r);
        draw_edges(r, true);
    }
    return status;
}

static tarn_status draw_water(render *r, const export_frame *frame, const float *solid_depth)
{
    r->is_scaled = frame->scaled != NULL;
    const tarn_status status = surface_draw(r->water, &r->cam, frame, solid_depth);
    if (status == TARN_OK) {
        room_cast(&r->around, frame->positions_m, frame->particle_count, r->spacing_m * r->spacing_m * r->spacing_m);
        render_rows(r->threads, SAMPLES * r->height, SHADE_ROWS, shade_rows, r);
        draw_edges(r, false);
        draw_edges(r, true);
    }
    return status;
}

// ---- to bytes ----

/// Bright light bends over towards white instead of being cut off.
static uint8_t tone(const render *r, float light)
{
    float kept = light < 0.7f ? light : 0.7f + 0.3f * (1.0f - expf(-(light - 0.7f) / 0.3f));
    return r->gamma[(int)(clampf(kept, 0.0f, 1.0f) * GAMMA_STEPS + 0.5f)];
}

static void average_rows(void *context, uint32_t begin, uint32_t end)
{
    const render *r = context;
    for (uint32_t y = begin; y < end; y++) {
        for (uint32_t x = 0; x < r->width; x++) {
            vec3 sum = {0};
            for (uint32_t k = 0; k < SAMPLES * SAMPLES; k++) {
                size_t row = (size_t)y * SAMPLES + k / SAMPLES;
                vec3 light = r->light[row * SAMPLES * r->width + (size_t)x * SAMPLES + k % SAMPLES];
                // A single glint must not whiten the whole pixel.
                light = (vec3){fminf(light.x, 2.0f), fminf(light.y, 2.0f), fminf(light.z, 2.0f)};
                sum = vec3_along(sum, light, 1.0f / (SAMPLES * SAMPLES));
            }
            uint8_t *pixel = r->rgb + ((size_t)y * r->width + x) * 3;
            pixel[0] = tone(r, sum.x);
            pixel[1] = tone(r, sum.y);
            pixel[2] = tone(r, sum.z);
        }
    }
}

tarn_status render_draw(render *r, const export_frame *frame, uint8_t *rgb)
{
    room_turn(&r->around, &frame->pose);
    r->cam = camera_in_frame(&r->room_cam, &r->around.turn, room_middle(&r->around), r->around.moved_m);
    draw_solids(r, frame);
    const float *solid_depth = solids_any(r->stuff) ? r->solid_depth : NULL;
    const tarn_status status = r->water != NULL ? draw_water(r, frame, solid_depth) : draw_gas(r, frame, solid_depth);
    if (status == TARN_OK) {
        r->rgb = rgb;
        render_rows(r->threads, r->height, SHADE_ROWS, average_rows, r);
    }
    return status;
}
