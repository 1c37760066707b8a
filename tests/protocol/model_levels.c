#include "tests/protocol/model_levels.h"

#include "protocol/level_code.h"

void model_levels_write(model_levels *group, const tarn_code_tables *tables, model_bytes *bytes)
{
    uint8_t context[TARN_STREAM_GROUP], room[2 * TARN_STREAM_GROUP], *end = room + sizeof room;
    int16_t steps[TARN_STREAM_GROUP];
    tarn_level_guess guess = {0, 0};
    for (uint32_t i = 0; i < group->count; i++) {
        const int32_t expected = tarn_level_expect(&guess, group->last[i]);
        steps[i] = (int16_t)((group->truth[i] - expected) / (1 << (group->form - 1)));
        group->levels[i] = (uint8_t)tarn_level_of(expected, steps[i], group->form);
        tarn_level_follow(&guess, group->last[i], group->levels[i]);
        guess.change = group->forgets ? 0 : guess.change;
    }
    if (group->count == 0) {
        return;
    }
    const tarn_residual_tables *residual = &tables->residual;
    const uint8_t *at = tarn_level_write(end, residual, group->levels, steps, group->form, group->count, context);
    if (at == NULL) {
        at = tarn_level_write(end, residual, group->levels, steps, 0, group->count, context);
    }
    model_append(bytes, at, (size_t)(end - at));
}
