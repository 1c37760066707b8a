#include "tests/server/pool_server.h"

#include <stddef.h>

server_process pool_server;

int pool_server_start(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL};
    server_start(&pool_server, arguments);
    return 0;
}

int pool_server_stop(void **state)
{
    (void)state;
    server_stop(&pool_server);
    return 0;
}
