#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(physics_rest),   cmocka_unit_test(physics_surface), cmocka_unit_test(physics_drift),
        cmocka_unit_test(physics_volume), cmocka_unit_test(physics_wave),    cmocka_unit_test(physics_multigrid),
        cmocka_unit_test(physics_shear),  cmocka_unit_test(physics_fall),
    };
    const int failed = cmocka_run_group_tests_name("physics", tests, NULL, NULL);
    physics_print_table();
    return failed;
}
