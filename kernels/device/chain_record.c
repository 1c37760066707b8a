// Arguments are compared word by word: a block has one copy, and changes only what differs from launch to launch. A row
// of launches that differ in nothing but a word that counts up, such as the sweeps over a level, is one operation.
#include "kernels/device/chain_record.h"
#include "protocol/assert.h"

#include <stdlib.h>
#include <string.h>

bool chain_record_begin(chain_record *record, const tarn_chain *chain)
{
    memset(record, 0, sizeof *record);
    record->chain = chain;
    record->loop = -1;
    if (chain->cuda == NULL) {
        return false;
    }
    (void)chain->cuda(&record->lanes, &record->args_bytes);
    TARN_ASSERT(record->args_bytes % sizeof(uint32_t) == 0);
    record->args = malloc((size_t)TILE_CHAIN_OPS_MAX * record->args_bytes);
    return record->args != NULL;
}

void chain_record_refuse(chain_record *record, const char *why)
{
    record->why = record->why != NULL ? record->why : why;
}

static tile_chain_op *add(chain_record *record)
{
    if (record->op_count == TILE_CHAIN_OPS_MAX) {
        chain_record_refuse(record, "it has too many launches");
    }
    return record->why == NULL ? &record->op[record->op_count++] : NULL;
}

static uint32_t number_of(const tarn_chain *chain, const tarn_kernel *kernel)
{
    uint32_t number = 0;
    while (number < TARN_CHAIN_KERNELS_MAX && chain->kernels[number] != kernel && chain->kernels[number] != NULL) {
        number++;
    }
    return number < TARN_CHAIN_KERNELS_MAX && chain->kernels[number] == kernel ? number : TILE_CHAIN_LOOP;
}

static uint32_t word_of(const chain_record *record, uint32_t op, uint32_t word)
{
    uint32_t value;
    memcpy(&value, record->args + (size_t)op * record->args_bytes + word * sizeof value, sizeof value);
    return value;
}

/// Adds a launch to the last operation, where it is that once more with its word one further.
/// @return whether it was that
static bool is_once_more(chain_record *record, const tile_chain_op *launch, const void *args)
{
    if (record->op_count == 0 || record->why != NULL) {
        return false;
    }
    tile_chain_op *last = &record->op[record->op_count - 1];
    uint32_t found = TILE_CHAIN_NO_WORD;
    if (last->what != launch->what || last->count != launch->count || last->most != launch->most) {
        return false;
    }
    for (uint32_t word = 0; word < record->args_bytes / sizeof(uint32_t); word++) {
        uint32_t own;
        memcpy(&own, (const unsigned char *)args + word * sizeof own, sizeof own);
        const uint32_t first = word_of(record, record->op_count - 1, word);
        if (own == first) {
            continue;
        }
        if (own != first + last->times || found != TILE_CHAIN_NO_WORD || (last->times > 1 && word != last->word)) {
            return false;
        }
        found = word;
    }
    if (found != TILE_CHAIN_NO_WORD) {
        last->word = found;
        last->times++;
    }
    return found != TILE_CHAIN_NO_WORD;
}

void chain_record_launch(chain_record *record, const tarn_kernel *kernel, const void *args, const uint32_t *count,
                         uint32_t count_max)
{
    const uint32_t number = number_of(record->chain, kernel);
    if (number == TILE_CHAIN_LOOP) {
        chain_record_refuse(record, "one of its kernels isn't in the chain's list");
    }
    const tile_chain_op like = {
        .count = count, .what = number, .most = count_max, .times = 1, .word = TILE_CHAIN_NO_WORD};
    tile_chain_op *op = count_max > 0 && !is_once_more(record, &like, args) ? add(record) : NULL;
    if (op != NULL) {
        uint32_t lanes, args_bytes;
        (void)kernel->cuda(&lanes, &args_bytes);
        TARN_ASSERT(args_bytes == record->args_bytes);
        *op = like;
        memcpy(record->args + (size_t)(record->op_count - 1) * args_bytes, args, args_bytes);
        record->most = count_max > record->most ? count_max : record->most;
    }
}

void chain_record_loop(chain_record *record, const uint32_t *go, uint32_t times)
{
    TARN_ASSERT(record->loop < 0);
    tile_chain_op *op = add(record);
    if (op != NULL) {
        *op = (tile_chain_op){.count = go, .what = TILE_CHAIN_LOOP, .most = times};
        record->loop = (int)record->op_count - 1;
    }
}

void chain_record_loop_end(chain_record *record)
{
    tile_chain_op *op = add(record);
    if (op != NULL) {
        *op = (tile_chain_op){
            .count = record->op[record->loop].count, .what = TILE_CHAIN_NEXT, .to = (uint32_t)record->loop + 1};
        record->op[record->loop].to = record->op_count;
        record->loop = -1;
    }
}

static bool is_launch(const chain_record *record, uint32_t op)
{
    return record->op[op].what < TILE_CHAIN_LOOP;
}

/// Which words differ from those of the first launch, or count.
static void find_words(chain_record *record)
{
    for (uint32_t word = 0; word < record->args_bytes / sizeof(uint32_t); word++) {
        bool differs = false;
        for (uint32_t op = 0; op < record->op_count && !differs; op++) {
            differs = is_launch(record, op) &&
                      (record->op[op].word == word || word_of(record, op, word) != word_of(record, 0, word));
        }
        if (differs && record->word_count == TILE_CHAIN_WORDS_MAX) {
            chain_record_refuse(record, "its arguments differ in too many words");
            return;
        }
        if (differs) {
            record->word[record->word_count++] = word;
        }
    }
}

/// Gives an operation the set of its words, a new one or one that is there.
static void find_set(chain_record *record, uint32_t op)
{
    uint32_t own[TILE_CHAIN_WORDS_MAX], set = 0;
    const size_t bytes = record->word_count * sizeof own[0];
    for (uint32_t i = 0; i < record->word_count; i++) {
        own[i] = word_of(record, op, record->word[i]);
    }
    while (set < record->set_count && memcmp(record->set + set * record->word_count, own, bytes) != 0) {
        set++;
    }
    if (set == TILE_CHAIN_SETS_MAX) {
        chain_record_refuse(record, "its arguments are too many");
        return;
    }
    if (set == record->set_count) {
        memcpy(record->set + set * record->word_count, own, bytes);
        record->set_count++;
    }
    record->op[op].set = set;
}

bool chain_record_end(chain_record *record)
{
    if (record->why == NULL && (record->op_count == 0 || !is_launch(record, 0))) {
        chain_record_refuse(record, "it doesn't begin with a launch");
    }
    if (record->why == NULL) {
        TARN_ASSERT(record->loop < 0);
        find_words(record);
    }
    for (uint32_t op = 0; op < record->op_count && record->why == NULL; op++) {
        if (is_launch(record, op)) {
            find_set(record, op);
        }
    }
    return record->why == NULL;
}

tile_chain_program chain_record_program(const chain_record *record, const void *ops, const void *sets, const void *args,
                                        void *meeting)
{
    tile_chain_program program = {.ops = ops,
                                  .sets = sets,
                                  .args = args,
                                  .meeting = meeting,
                                  .op_count = record->op_count,
                                  .set_count = record->set_count,
                                  .word_count = record->word_count};
    memcpy(program.word, record->word, sizeof program.word);
    return program;
}

void chain_record_free(chain_record *record)
{
    free(record->args);
    record->args = NULL;
}
