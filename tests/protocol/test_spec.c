// Holds protocol/SPEC.md, STREAM.md and PROBES.md to the code: its byte tables, its table of limits, its fields with
// types and ranges, its error codes and statuses are compared with the headers and tables that the code is compiled
// from, both ways.
#include "protocol/message_fields.h"
#include "protocol/point_set.h"
#include "protocol/residual.h"
#include "protocol/stream_layout.h"
#include "tests/protocol/test_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 4, CELL_BYTES = 256, ROWS_MAX = 64 };

/// A table row's cells, trimmed and without backquotes.
typedef struct spec_row {
    char cells[CELLS_MAX][CELL_BYTES];
} spec_row;

static char *spec;

enum { SPEC_BYTES_MAX = 1 << 20 };

/// The document and, behind it, its sections 8 and 9, and 11, which are files of their own.
static int load_spec(void **context)
{
    (void)context;
    static const char *const paths[] = {TARN_SPEC_PATH, TARN_STREAM_SPEC_PATH, TARN_PROBES_SPEC_PATH};
    size_t used = 0;
    spec = calloc(1, SPEC_BYTES_MAX);
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (file == NULL) {
            return -1;
        }
        const size_t read = fread(spec + used, 1, SPEC_BYTES_MAX - 1 - used, file);
        fclose(file);
        if (read == 0) {
            return -1;
        }
        used += read;
    }
    return 0;
}

static int free_spec(void **context)
{
    (void)context;
    free(spec);
    return 0;
}

static void parse_row(const char *line, size_t line_bytes, spec_row *row)
{
    memset(row, 0, sizeof *row);
    const char *end = line + line_bytes;
    for (int cell = 0; cell < CELLS_MAX && line < end && *line == '|'; cell++) {
        const char *begin = ++line;
        while (line < end && *line != '|') {
            line++;
        }
        const char *last = line;
        for (; begin < last && *begin == ' '; begin++) {
        }
        for (; begin < last && last[-1] == ' '; last--) {
        }
        for (size_t used = 0; begin < last && used < CELL_BYTES - 1; begin++) {
            if (*begin != '`') {
                row->cells[cell][used++] = *begin;
            }
        }
    }
}

/// The first table below a heading ("### 5.1 Header"), without its head. @return its rows
static int read_table(const char *heading, spec_row rows[ROWS_MAX])
{
    char pattern[256];
    snprintf(pattern, sizeof pattern, "\n%s\n", heading);
    const char *at = strstr(spec, pattern);
    if (at == NULL) {
        fail_msg("SPEC.md has no heading \"%s\"", heading);
        return 0;
    }
    at += strlen(pattern);
    int count = -2; // the head and the line below it
    for (bool inside = false; *at;) {
        size_t line_bytes = strcspn(at, "\n");
        if (*at == '|') {
            inside = true;
            if (count >= 0) {
                assert_true(count < ROWS_MAX);
                parse_row(at, line_bytes, &rows[count]);
            }
            count++;
        } else if (inside || *at == '#') {
            break;
        }
        at += line_bytes + (at[line_bytes] == '\n');
    }
    assert_true(count > 0);
    return count;
}

static void expect_cell(const char *where, const char *found, const char *expected)
{
    if (strcmp(found, expected) != 0) {
        fail_msg("SPEC.md, %s: \"%s\", the code has \"%s\"", where, found, expected);
    }
}

// ---- byte tables ----

typedef struct layout_field {
    const char *name;
    int offset;
    const char *type;
} layout_field;

#define LAYOUT_FIELD(id, name, offset, type) {name, offset, type},
static const layout_field header_fields[] = {TARN_STREAM_HEADER_FIELDS(LAYOUT_FIELD)};
static const layout_field body_fields[] = {TARN_FRAME_BODY_FIELDS(LAYOUT_FIELD)};
static const layout_field input_fields[] = {TARN_FRAME_INPUT_FIELDS(LAYOUT_FIELD)};
static const layout_field field_fields[] = {TARN_STREAM_FIELD_FIELDS(LAYOUT_FIELD)};
static const layout_field layer_fields[] = {TARN_STREAM_LAYER_FIELDS(LAYOUT_FIELD)};

static int type_bytes(const char *type)
{
    int bits = atoi(type + 1), count = 1;
    const char *bracket = strchr(type, '[');
    if (bracket != NULL) {
        count = atoi(bracket + 1);
    }
    return bits / 8 * count;
}

/// Compares a byte table with the layout, and the layout with itself: no gaps, no overlaps, the right size.
static void check_layout(const char *heading, const layout_field *fields, int field_count, int total_bytes)
{
    spec_row rows[ROWS_MAX];
    int row_count = read_table(heading, rows), offset = 0;
    assert_int_equal(row_count, field_count);
    for (int i = 0; i < field_count; i++) {
        assert_int_equal(fields[i].offset, offset);
        assert_int_equal(atoi(rows[i].cells[0]), offset);
        expect_cell(heading, rows[i].cells[1], fields[i].type);
        expect_cell(heading, rows[i].cells[2], fields[i].name);
        offset += type_bytes(fields[i].type);
    }
    assert_int_equal(offset, total_bytes);
}

static void byte_tables_are_the_layout_of_the_code(void **context)
{
    (void)context;
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
    check_layout("### 5.1 Header", header_fields, COUNT(header_fields), TARN_FRAME_HEADER_BYTES);
    check_layout("### 5.2 Input table", input_fields, COUNT(input_fields), TARN_FRAME_INPUT_BYTES);
    check_layout("### 5.3 Bodies", body_fields, COUNT(body_fields), TARN_FRAME_BODY_BYTES);
    check_layout("### 5.6 Fields", field_fields, COUNT(field_fields), TARN_STREAM_FIELD_BYTES);
    check_layout("### 9.2 Layer table", layer_fields, COUNT(layer_fields), TARN_STREAM_LAYER_BYTES);
}

// ---- limits ----

static void limits_are_the_constants_of_the_code(void **context)
{
    (void)context;
#define LIMIT(name)                                                                                                    \
    {                                                                                                                  \
        #name, name                                                                                                    \
    }
    static const struct {
        const char *name;
        long value;
    } limits[] = {
        LIMIT(TARN_PROTOCOL_VERSION),
        LIMIT(TARN_MESSAGE_BYTES_MAX),
        LIMIT(TARN_MESSAGE_SERVER_BYTES_MAX),
        LIMIT(TARN_MESSAGE_DEPTH_MAX),
        LIMIT(TARN_MESSAGE_OBJECTS_MAX),
        LIMIT(TARN_NAME_BYTES_MAX),
        LIMIT(TARN_TEXT_BYTES_MAX),
        LIMIT(TARN_VERSIONS_MAX),
        LIMIT(TARN_VIEWERS_MAX),
        LIMIT(TARN_PRESENCE_POINTS_MAX),
        LIMIT(TARN_PRESENCES_MAX),
        LIMIT(TARN_COLOUR_MAX),
        LIMIT(TARN_KEY_BYTES),
        LIMIT(TARN_PASS_BYTES_MAX),
        LIMIT(TARN_SCENES_MAX),
        LIMIT(TARN_PARAMETERS_MAX),
        LIMIT(TARN_TOOLS_MAX),
        LIMIT(TARN_CHANNELS_MAX),
        LIMIT(TARN_FIELDS_MAX),
        LIMIT(TARN_ADDED_MAX),
        LIMIT(TARN_LOCKS_MAX),
        LIMIT(TARN_LIVE_PROBES_MAX),
        LIMIT(TARN_PROBE_VALUES_MAX),
        LIMIT(TARN_READINGS_ROWS_MAX),
        LIMIT(TARN_READINGS_BYTES_MAX),
        LIMIT(TARN_BROWSER_BYTES_MAX),
        LIMIT(TARN_HAND_JOINTS),
        LIMIT(TARN_FRAMES_UNACKNOWLEDGED_MAX),
        LIMIT(TARN_FRAME_VERSION),
        LIMIT(TARN_FRAME_VERSION_CHANNEL),
        LIMIT(TARN_FRAME_VERSION_PLAIN),
        LIMIT(TARN_FRAME_VERSION_MIN),
        LIMIT(TARN_FRAME_HEADER_BYTES),
        LIMIT(TARN_FRAME_HEADER_BYTES_MAX),
        LIMIT(TARN_FRAME_BODY_BYTES),
        LIMIT(TARN_FRAME_INPUT_BYTES),
        LIMIT(TARN_FRAME_TILE_CELLS_LOG2),
        LIMIT(TARN_FRAME_CELLS_MAX),
        LIMIT(TARN_FRAME_PARTICLES_MAX),
        LIMIT(TARN_FRAME_TILES_MAX),
        LIMIT(TARN_FRAME_INPUTS_MAX),
        LIMIT(TARN_FRAME_BODIES_MAX),
        LIMIT(TARN_FRAME_CHANNEL_MAX),
        LIMIT(TARN_FRAME_FIELD_MAX),
        LIMIT(TARN_FRAME_FIELD_TILES_MAX),
        LIMIT(TARN_FRAME_ROTATION_ONE),
        LIMIT(TARN_STREAM_LAYER_BYTES),
        LIMIT(TARN_STREAM_LAYERS_MAX),
        LIMIT(TARN_STREAM_FIELD_BYTES),
        LIMIT(TARN_STREAM_STEP_MAX),
        LIMIT(TARN_STREAM_GROUP),
        LIMIT(TARN_SET_BITS_MAX),
        LIMIT(TARN_SET_POINTS_MAX),
        LIMIT(TARN_FLOW_MAX),
    };
    spec_row rows[ROWS_MAX];
    assert_int_equal(read_table("## 7. Limits", rows), COUNT(limits));
    for (int i = 0; i < COUNT(limits); i++) {
        char value[32];
        snprintf(value, sizeof value, "%ld", limits[i].value);
        expect_cell("limits", rows[i].cells[0], limits[i].name);
        expect_cell(limits[i].name, rows[i].cells[1], value);
    }
}

// ---- messages ----

/// A field's type as SPEC.md writes it.
static void type_text(const tarn_field *field, char text[CELL_BYTES])
{
    static const char *const types[] = {
        [TARN_FIELD_U32] = "u32",
        [TARN_FIELD_COLOUR] = "u32",
        [TARN_FIELD_U64] = "u64",
        [TARN_FIELD_F32] = "number",
        [TARN_FIELD_F64] = "f64",
        [TARN_FIELD_BOOL] = "bool",
        [TARN_FIELD_WORD] = "word",
        [TARN_FIELD_STRING] = "string",
        [TARN_FIELD_VECTOR] = "number[%u]",
        [TARN_FIELD_DIRECTION] = "unit[%u]",
        [TARN_FIELD_QUATERNION] = "unit[%u]",
        [TARN_FIELD_VERSIONS] = "u32[1..%u]",
        [TARN_FIELD_SCENES] = "string[0..%u]",
        [TARN_FIELD_JOINTS] = "number[%u]",
        [TARN_FIELD_CELLS] = "bytes",
        [TARN_FIELD_PARAMETERS] = "map[0..%u]",
        [TARN_FIELD_TOOLS] = "string[0..%u]",
        [TARN_FIELD_CHANNELS] = "map[0..%u]",
        [TARN_FIELD_FIELDS] = "map[0..%u]",
        [TARN_FIELD_LOCKED] = "string[0..%u]",
        [TARN_FIELD_ADDED] = "number[14][0..%u]",
        [TARN_FIELD_REMARKS] = "string[0..%u]",
        [TARN_FIELD_VIEWERS] = "map[0..%u]",
        [TARN_FIELD_POINTS] = "map[0..%u]",
        [TARN_FIELD_PRESENCES] = "map[0..%u]",
        [TARN_FIELD_PROBES] = "map[0..%u]",
        [TARN_FIELD_COLUMNS] = "string[0..%u]",
        [TARN_FIELD_VALUES] = "bytes",
        [TARN_FIELD_STATE] = "map",
    };
    const char *form = types[field->type], *mark = strstr(form, "%u");
    int before = mark != NULL ? (int)(mark - form) : (int)strlen(form);
    char count[16] = "";
    if (mark != NULL) {
        snprintf(count, sizeof count, "%u", (unsigned)field->count);
    }
    snprintf(text, CELL_BYTES, "%.*s%s%s", before, form, count, mark != NULL ? mark + 2 : "");
}

/// A field's range as SPEC.md writes it.
static void range_text(const tarn_field *field, char text[CELL_BYTES])
{
    text[0] = 0;
    if (field->type == TARN_FIELD_WORD) {
        for (int i = 0; field->words[i] != NULL; i++) {
            strcat(strcat(text, i ? ", " : ""), field->words[i]);
        }
    } else if (field->type != TARN_FIELD_BOOL && (field->min != 0 || field->max != 0)) {
        if (field->max > 1e38) {
            strcpy(text, "any finite");
        } else {
            snprintf(text, CELL_BYTES, "%.16g..%.16g", field->min, field->max);
        }
    }
}

static void check_shape(const char *heading, const tarn_shape *shape)
{
    spec_row rows[ROWS_MAX];
    if (read_table(heading, rows) != (int)shape->field_count) {
        fail_msg("SPEC.md, %s: another number of fields than the code's %u", heading, (unsigned)shape->field_count);
    }
    for (uint32_t i = 0; i < shape->field_count; i++) {
        const tarn_field *field = &shape->fields[i];
        char where[CELL_BYTES], text[CELL_BYTES];
        snprintf(where, sizeof where, "%s, %s", heading, field->key);
        expect_cell(where, rows[i].cells[0], field->key);
        type_text(field, text);
        expect_cell(where, rows[i].cells[1], text);
        range_text(field, text);
        expect_cell(where, rows[i].cells[2], text);
        const bool optional = strncmp(rows[i].cells[3], "optional", 8) == 0;
        if (optional != (field->need != TARN_FIELD_REQUIRED)) {
            fail_msg("SPEC.md, %s: optional in one of document and code only", where);
        }
    }
}

static void fields_are_those_of_the_code(void **context)
{
    (void)context;
    char heading[64];
    for (uint32_t i = 0; i < tarn_message_shape_count; i++) {
        snprintf(heading, sizeof heading, "#### %s", tarn_message_shapes[i].word);
        check_shape(heading, &tarn_message_shapes[i]);
    }
    for (int i = 0; i < TARN_INPUT_COUNT; i++) {
        snprintf(heading, sizeof heading, "#### input %s", tarn_input_shapes[i].word);
        assert_int_equal(tarn_input_shapes[i].value, i);
        check_shape(heading, &tarn_input_shapes[i]);
    }
    check_shape("#### state map", &tarn_state_shape);
    check_shape("#### parameter map", &tarn_parameter_shape);
    check_shape("#### channel map", &tarn_channel_shape);
    check_shape("#### viewer map", &tarn_viewer_shape);
    check_shape("#### point map", &tarn_point_shape);
    check_shape("#### presence map", &tarn_presence_shape);
    check_shape("#### probe map", &tarn_probe_shape);
}

static void every_heading_of_a_message_is_one_that_the_code_knows(void **context)
{
    (void)context;
    int headings = 0;
    for (const char *at = spec; (at = strstr(at, "\n#### ")) != NULL; at++) {
        headings++;
    }
    assert_int_equal(headings, (int)tarn_message_shape_count + TARN_INPUT_COUNT + 7);
}

// ---- errors ----

static void tools_are_those_of_the_code(void **context)
{
    (void)context;
    spec_row rows[ROWS_MAX];
    assert_int_equal(read_table("### 3.4 Tools", rows), TARN_TOOL_COUNT);
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        expect_cell("tools", rows[tool].cells[0], tarn_tool_name((tarn_tool)tool));
    }
}

static void error_codes_are_those_of_the_code(void **context)
{
    (void)context;
#define ERROR_CODE(name, code, closes) {"TARN_ERROR_" #name, code, closes},
    static const struct {
        const char *name;
        int code;
        bool closes;
    } codes[] = {TARN_ERRORS(ERROR_CODE)};
    spec_row rows[ROWS_MAX];
    assert_int_equal(read_table("## 4. Errors and close codes", rows), COUNT(codes));
    for (int i = 0; i < COUNT(codes); i++) {
        assert_int_equal(atoi(rows[i].cells[0]), codes[i].code);
        expect_cell("errors", rows[i].cells[1], codes[i].name);
        if (codes[i].closes) {
            assert_int_equal(atoi(rows[i].cells[2]), TARN_CLOSE_BASE + codes[i].code);
        } else {
            expect_cell(codes[i].name, rows[i].cells[2], "stays open");
        }
    }
}

static void statuses_that_are_named_exist(void **context)
{
    (void)context;
    for (const char *at = spec; (at = strstr(at, "`TARN_E_")) != NULL;) {
        size_t bytes = strcspn(++at, "`");
        bool known = false;
        for (int status = 0; status > -32; status--) {
            const char *name = tarn_status_name((tarn_status)status);
            known |= strlen(name) == bytes && strncmp(name, at, bytes) == 0;
        }
        if (!known) {
            fail_msg("SPEC.md names %.*s, which is no status", (int)bytes, at);
        }
    }
}

// ---- entropy coding ----

static void expect_table(const char *what, int context, const tarn_ans_table *table, const long *frequency, int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++) {
        if (table->from[i] != sum || frequency[i] < 1) {
            fail_msg("SPEC.md, %s %d: symbol %d begins at %ld, the code has %d", what, context, i, sum, table->from[i]);
        }
        sum += frequency[i];
    }
    assert_int_equal(sum, TARN_ANS_ONE);
    assert_int_equal(table->from[count], TARN_ANS_ONE);
}

static void sources_of_sets_are_those_of_the_code(void **context)
{
    (void)context;
    static tarn_set_tables tables;
    tarn_set_tables_make(&tables);
    spec_row rows[ROWS_MAX];
    assert_int_equal(read_table("### 8.2 Sets of particles", rows), TARN_SET_CONTEXTS);
    for (int i = 0; i < TARN_SET_CONTEXTS; i++) {
        long frequency[TARN_SET_COUNTS];
        char *at = rows[i].cells[1];
        for (int k = 0; k < TARN_SET_COUNTS; k++) {
            frequency[k] = strtol(at, &at, 10);
        }
        assert_int_equal(atoi(rows[i].cells[0]), i);
        expect_table("counts", i, &tables.count[i], frequency, TARN_SET_COUNTS);
    }
    for (int n = 2; n <= TARN_SET_HALVES; n++) {
        long frequency[TARN_SET_HALVES + 1], left = TARN_ANS_ONE;
        double pascal[TARN_SET_HALVES + 1] = {1.0};
        for (int row = 1; row <= n; row++) {
            for (int k = row; k > 0; k--) {
                pascal[k] += pascal[k - 1];
            }
        }
        for (int k = 0; k <= n; k++) {
            const long share = (long)(TARN_ANS_ONE * pascal[k] / (double)(1ll << n));
            left -= frequency[k] = share > 1 ? share : 1;
        }
        frequency[n / 2] += left;
        expect_table("halves", n, &tables.half[n], frequency, n + 1);
    }
}

static void read_frequencies(char *at, long *frequency, int count)
{
    for (int k = 0; k < count; k++) {
        frequency[k] = strtol(at, &at, 10);
    }
    assert_int_equal(*at, 0);
}

/// The class of a symbol: 000, 001, 011, 111, 00L, 01L, 11L, 0LL, 1LL, LLL.
static int class_of(int symbol)
{
    static const char *const classes[] = {"000", "001", "011", "111", "00L", "01L", "11L", "0LL", "1LL", "LLL"};
    char digits[4] = "";
    for (int k = 0; k < 3; k++) { // 0s first, then 1s, then Ls
        for (int axis = 0; axis < 3; axis++) {
            const int digit = symbol >> 2 * axis & 3, kind = digit == 2 ? 1 : digit == 3 ? 2 : digit;
            if (kind == k) {
                strcat(digits, k == 0 ? "0" : k == 1 ? "1" : "L");
            }
        }
    }
    for (int i = 0; i < 10; i++) {
        if (strcmp(classes[i], digits) == 0) {
            return i;
        }
    }
    fail_msg("%s is no class", digits);
    return 0;
}

static void sources_of_residuals_are_those_of_the_code(void **context)
{
    (void)context;
    static const int symbols[10] = {1, 6, 12, 8, 3, 12, 12, 3, 6, 1};
    static tarn_residual_tables tables;
    tarn_residual_tables_make(&tables);
    spec_row rows[ROWS_MAX];
    assert_int_equal(read_table("### 8.3 Residuals", rows), TARN_RESIDUAL_CONTEXTS);
    for (int i = 0; i < TARN_RESIDUAL_CONTEXTS; i++) {
        long share[10], frequency[TARN_RESIDUAL_SYMBOLS], left = 4096, c = 4080, decay = atol(rows[i].cells[2]);
        assert_int_equal(atoi(rows[i].cells[0]), i);
        read_frequencies(rows[i].cells[1], share, 10);
        for (int k = 1; k < TARN_RESIDUAL_SYMBOLS; k++) {
            const long of_class = share[class_of(k)] / symbols[class_of(k)];
            left -= frequency[k] = of_class > 1 ? of_class : 1;
        }
        frequency[0] = left;
        expect_table("residuals", i, &tables.symbol[i], frequency, TARN_RESIDUAL_SYMBOLS);
        for (int k = 0; k < TARN_RESIDUAL_EXCESSES; k++) {
            const long g = k < TARN_RESIDUAL_EXCESSES - 1 ? c * (256 - decay) / 256 : c;
            frequency[k] = 1 + g;
            c -= g;
        }
        expect_table("sizes", i, &tables.excess[i], frequency, TARN_RESIDUAL_EXCESSES);
    }
}

static void sources_of_numbers_and_colours_are_those_of_the_code(void **context)
{
    (void)context;
    static const char *const kinds[TARN_NUMBER_KINDS] = {"gap", "count", "deaths"};
    static tarn_code_tables tables;
    tarn_code_tables_make(&tables);
    spec_row rows[ROWS_MAX];
    long frequency[TARN_NUMBER_BITS_MAX + 1];
    assert_int_equal(read_table("### 8.4 Numbers", rows), TARN_NUMBER_KINDS);
    for (int i = 0; i < TARN_NUMBER_KINDS; i++) {
        expect_cell("numbers", rows[i].cells[0], kinds[i]);
        read_frequencies(rows[i].cells[1], frequency, TARN_NUMBER_BITS_MAX + 1);
        expect_table("numbers", i, &tables.number[i], frequency, TARN_NUMBER_BITS_MAX + 1);
    }
    assert_int_equal(read_table("### 8.5 Colours", rows), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atoi(rows[i].cells[0]), i);
        read_frequencies(rows[i].cells[1], frequency, 2);
        expect_table("colours", i, &tables.colour[i], frequency, 2);
    }
}

static void sources_of_known_nodes_are_those_of_the_code(void **context)
{
    (void)context;
    enum { PER_ROW = 12 };
    static tarn_code_tables tables;
    tarn_code_tables_make(&tables);
    spec_row rows[ROWS_MAX];
    long frequency[PER_ROW];
    assert_int_equal(read_table("### 8.6 Rows of nodes", rows), TARN_FLOW_ROW_CONTEXTS);
    for (int i = 0; i < TARN_FLOW_ROW_CONTEXTS; i++) {
        assert_int_equal(atoi(rows[i].cells[0]), i);
        read_frequencies(rows[i].cells[1], frequency, TARN_FLOW_ROW_STATES);
        expect_table("rows", i, &tables.row[i], frequency, TARN_FLOW_ROW_STATES);
    }
    assert_int_equal(read_table("### 8.7 Nodes of a row", rows), TARN_FLOW_BIT_CONTEXTS / PER_ROW);
    for (int i = 0; i < TARN_FLOW_BIT_CONTEXTS; i++) {
        assert_int_equal(atoi(rows[i / PER_ROW].cells[0]), i / PER_ROW * PER_ROW);
        read_frequencies(rows[i / PER_ROW].cells[1], frequency, PER_ROW);
        const long two[2] = {TARN_ANS_ONE - frequency[i % PER_ROW], frequency[i % PER_ROW]};
        expect_table("nodes", i, &tables.bit[i], two, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_tables_are_the_layout_of_the_code),
        cmocka_unit_test(limits_are_the_constants_of_the_code),
        cmocka_unit_test(fields_are_those_of_the_code),
        cmocka_unit_test(every_heading_of_a_message_is_one_that_the_code_knows),
        cmocka_unit_test(tools_are_those_of_the_code),
        cmocka_unit_test(error_codes_are_those_of_the_code),
        cmocka_unit_test(statuses_that_are_named_exist),
        cmocka_unit_test(sources_of_sets_are_those_of_the_code),
        cmocka_unit_test(sources_of_residuals_are_those_of_the_code),
        cmocka_unit_test(sources_of_numbers_and_colours_are_those_of_the_code),
        cmocka_unit_test(sources_of_known_nodes_are_those_of_the_code),
    };
    return cmocka_run_group_tests_name("SPEC.md against the code", tests, load_spec, free_spec);
}
