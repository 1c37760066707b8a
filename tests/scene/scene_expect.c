#include "tests/scene/scene_expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka.h needs the headers above it.
#include <cmocka.h>

tarn_status scene_read_probe(const char *text, tarn_scene *scene, char *why)
{
    why[0] = '\0';
    return tarn_scene_read_text("a.json", NULL, "a", text, strlen(text), scene, why, TARN_SCENE_WHY_BYTES);
}

const char *scene_with(const char *more)
{
    static char text[65536];
    int bytes = snprintf(text, sizeof text, "{" GOOD_SIZE "," GOOD_BLOCKS ",%s}", more);
    assert_in_range(bytes, 1, sizeof text - 1);
    for (char *c = strchr(text, '\''); c != NULL; c = strchr(c, '\'')) {
        *c = '"';
    }
    return text;
}

void scene_expect_refusal(const char *text, tarn_status status, const char *const *parts)
{
    static tarn_scene scene, untouched;
    char why[TARN_SCENE_WHY_BYTES];
    memset(&scene, 0x5a, sizeof scene);
    memcpy(&untouched, &scene, sizeof scene);
    tarn_status found = scene_read_probe(text, &scene, why);
    if (found != status) {
        print_error("%s\nwas answered with %d: %s\n", text, found, why);
    }
    assert_int_equal(found, status);
    assert_memory_equal(&scene, &untouched, sizeof scene);
    for (; *parts != NULL; parts++) {
        if (strstr(why, *parts) == NULL) {
            print_error("\"%s\" isn't in: %s\n", *parts, why);
        }
        assert_non_null(strstr(why, *parts));
    }
}
