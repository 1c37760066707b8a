// Prints what other languages have of the C tables: the page's TypeScript, and the scenes' schema with the parts that
// follow from the models. compare.sh beside it compares them with the files in the tree, and renews these. Start at
// main.
#include "kernels/model.h"
#include "protocol/message_fields.h"
#include "protocol/stream_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 110 };

// ---- TypeScript ----

/// "export const NAME = [...] as const;", in lines of its own where it doesn't fit in one.
static void print_words(const char *name, const char *const *words)
{
    size_t columns = strlen("export const  = [] as const;") + strlen(name);
    for (int i = 0; words[i] != NULL; i++) {
        columns += strlen(words[i]) + (i > 0 ? 4 : 2);
    }
    const bool fits = columns <= COLUMNS_MAX;
    printf("export const %s = [%s", name, fits ? "" : "\n");
    for (int i = 0; words[i] != NULL; i++) {
        printf(fits ? "%s\"%s\"" : "%s  \"%s\"", i == 0 ? "" : fits ? ", " : ",\n", words[i]);
    }
    printf("%s] as const;\n", fits ? "" : ",\n");
}

/// The words of the kinds of some shapes.
static void print_kinds(const char *name, const tarn_shape *shapes, uint32_t count, int from_client)
{
    const char *words[64] = {NULL};
    uint32_t word_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (from_client < 0 || tarn_message_from_client((tarn_message_kind)shapes[i].value) == (from_client != 0)) {
            words[word_count++] = shapes[i].word;
        }
    }
    print_words(name, words);
}

static const tarn_field *field_of(const tarn_shape *shape, const char *key)
{
    for (uint32_t i = 0; i < shape->field_count; i++) {
        if (strcmp(shape->fields[i].key, key) == 0) {
            return &shape->fields[i];
        }
    }
    fprintf(stderr, "the message \"%s\" has no field \"%s\"\n", shape->word, key);
    exit(EXIT_FAILURE);
}

static const tarn_shape *message_of(tarn_message_kind kind)
{
    uint32_t i = 0;
    while (tarn_message_shapes[i].value != (int)kind) {
        i++;
    }
    return &tarn_message_shapes[i];
}

static void print_range(const tarn_shape *shape, const char *key)
{
    const tarn_field *field = field_of(shape, key);
    printf("  %s: { min: %.16g, max: %.16g },\n", key, field->min, field->max);
}

static void print_locks(void)
{
    printf("/** What may be locked: tools, and these. */\nexport const LOCKS = [...TOOLS");
    for (int bit = TARN_TOOL_COUNT; bit < TARN_LOCK_BITS; bit++) {
        if (tarn_lock_word(bit) != NULL) {
            printf(", \"%s\"", tarn_lock_word(bit));
        }
    }
    printf("] as const;\n");
}

static void print_vocabulary(void)
{
    const tarn_shape *pointer = &tarn_input_shapes[TARN_INPUT_POINTER];
    printf("\n// Words.\n");
    print_kinds("CLIENT_KINDS", tarn_message_shapes, tarn_message_shape_count, 1);
    print_kinds("SERVER_KINDS", tarn_message_shapes, tarn_message_shape_count, 0);
    print_kinds("INPUT_KINDS", tarn_input_shapes, TARN_INPUT_COUNT, -1);
    print_words("TOOLS", field_of(pointer, "tool")->words);
    print_words("PHASES", field_of(pointer, "phase")->words);
    print_words("SIDES", field_of(&tarn_input_shapes[TARN_INPUT_HAND], "side")->words);
    print_words("ACTIONS", field_of(message_of(TARN_MESSAGE_CONTROL), "action")->words);
    print_words("ROLES", field_of(message_of(TARN_MESSAGE_JOINED), "role")->words);
    print_words("MODERATIONS", field_of(message_of(TARN_MESSAGE_MODERATE), "action")->words);
    print_locks();
    print_words("PARTS", field_of(&tarn_point_shape, "part")->words);
    print_words("PROBE_ACTIONS", field_of(message_of(TARN_MESSAGE_PROBE), "action")->words);
    print_words("PROBE_KINDS", tarn_probe_shows_names);
}

static void print_limits(void)
{
    const tarn_shape *pointer = &tarn_input_shapes[TARN_INPUT_POINTER];
    const tarn_shape *view = message_of(TARN_MESSAGE_VIEW);
    printf("\n// Limits.\n");
    printf("export const NAME_BYTES_MAX = %d;\n", TARN_NAME_BYTES_MAX);
    printf("export const PASS_BYTES_MAX = %d;\n", TARN_PASS_BYTES_MAX);
    printf("export const TOOLS_MAX = %d;\n", TARN_TOOLS_MAX);
    printf("export const LOCKS_MAX = %d;\n", TARN_LOCKS_MAX);
    printf("export const LIVE_PROBES_MAX = %d;\n", TARN_LIVE_PROBES_MAX);
    printf("export const PROBE_VALUES_MAX = %d;\n", TARN_PROBE_VALUES_MAX);
    printf("export const READINGS_ROWS_MAX = %d;\n", TARN_READINGS_ROWS_MAX);
    printf("export const READINGS_BYTES_MAX = %d;\n", TARN_READINGS_BYTES_MAX);
    printf("export const BROWSER_BYTES_MAX = %d;\n", TARN_BROWSER_BYTES_MAX);
    printf("export const CHANNELS_MAX = %d;\n", TARN_CHANNELS_MAX);
    printf("export const FIELDS_MAX = %d;\n", TARN_FIELDS_MAX);
    printf("export const HAND_JOINTS = %d;\n", TARN_HAND_JOINTS);
    printf("/** Solids that people put into a tank, and numbers of one. */\n");
    printf("export const ADDED_MAX = %d;\n", TARN_ADDED_MAX);
    printf("export const ADDED_VALUES = %d;\n", TARN_ADDED_VALUES);
    printf("export const REMARKS_MAX = %d;\n", TARN_REMARKS_MAX);
    printf("/** Of coordinates, absolutely. */\n");
    printf("export const COORDINATE_M_MAX = %g;\n", TARN_MESSAGE_COORDINATE_M_MAX);
    printf("/** Of velocities, m/s and rad/s, for each component. */\n");
    printf("export const SPEED_MAX = %g;\n", TARN_MESSAGE_SPEED_MAX);
    printf("export const RANGE = {\n");
    print_range(pointer, "radius_m");
    print_range(pointer, "strength");
    print_range(view, "mbit_per_s");
    print_range(view, "frames_per_s");
    print_range(view, "particles");
    printf("} as const;\n");
}

static void print_error(const char *name, int code)
{
    printf("  ");
    for (; *name != '\0'; name++) {
        putchar(*name - 'A' + 'a');
    }
    printf(": %d,\n", code);
}

static void print_errors(void)
{
    printf("\n// Errors. The WebSocket's close code is CLOSE_BASE + the error's where the connection ends with it.\n");
    printf("export const CLOSE_BASE = %d;\n", TARN_CLOSE_BASE);
    printf("export const ERROR = {\n");
#define ERROR_LINE(name, code, closes) print_error(#name, code);
    TARN_ERRORS(ERROR_LINE)
    printf("} as const;\n");
    printf("export const CLOSING_ERRORS: readonly number[] = [");
    const char *separator = "";
#define ERROR_CLOSES(name, code, closes)                                                                               \
    if (closes) {                                                                                                      \
        printf("%s%d", separator, code);                                                                               \
        separator = ", ";                                                                                              \
    }
    TARN_ERRORS(ERROR_CLOSES)
    printf("];\n");
}

static void print_frames(void)
{
    printf("\n// Frames.\n");
    printf("/** First bytes of one (\"TRNF\"); a message is a msgpack map and never begins so. */\n");
    printf("export const FRAME_MAGIC = 0x%x;\n", TARN_FRAME_MAGIC);
    printf("export const FRAME_HEADER_BYTES = %d;\n", TARN_FRAME_HEADER_BYTES);
    printf("export const FRAME_BODIES_MAX = %d;\n", TARN_FRAME_BODIES_MAX);
    printf("/** A key frame needs no other; base frames refer to the last key or base frame, extra frames too, but "
           "nothing "
           "to them. */\n");
    printf("export const FRAME_KIND = { key: %d, base: %d, extra: %d } as const;\n", TARN_STREAM_KEY, TARN_STREAM_BASE,
           TARN_STREAM_EXTRA);
    printf("/** Where fields of the header lie. */\n");
    printf("export const FRAME_AT = { kind: %d, epoch: %d, step: %d, number: %d } as const;\n", STREAM_AT_KIND,
           STREAM_AT_EPOCH, STREAM_AT_STEP, STREAM_AT_NUMBER);
}

static void print_typescript(void)
{
    printf("// The protocol's words, numbers and limits (protocol/SPEC.md). Made from the C tables by "
           "tests/tables/compare.sh "
           "--write;\n// a test compares them.\n\n");
    printf("export const SUBPROTOCOL = \"%s\";\n", TARN_PROTOCOL_SUBPROTOCOL);
    printf("export const VERSION = %d;\n", TARN_PROTOCOL_VERSION);
    print_vocabulary();
    print_limits();
    print_errors();
    print_frames();
}

// ---- the schema ----

static void print_model_rule(void)
{
    printf("    \"model\": {\n      \"description\": \"What flows in the tank. Which other fields a scene may have "
           "follows from it.");
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        printf(" %s: %s.", tarn_model_at(i)->name, tarn_model_at(i)->text);
    }
    printf("\",\n      \"enum\": [");
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        printf("%s\"%s\"", i > 0 ? ", " : "", tarn_model_at(i)->name);
    }
    printf("],\n      \"default\": \"%s\"\n    },\n", tarn_model_at(0)->name);
}

static void print_parameter_rule(const tarn_parameter_spec *spec, int indent)
{
    printf("%*s\"%s\": {\n", indent, "", spec->name);
    printf("%*s\"description\": \"%s\",\n", indent + 2, "", spec->text);
    if (spec->role == TARN_PLAYS_GRAVITY) {
        printf("%*s\"type\": [\"number\", \"array\"],\n", indent + 2, "");
        printf("%*s\"minItems\": 3,\n%*s\"maxItems\": 3,\n", indent + 2, "", indent + 2, "");
        printf("%*s\"items\": { \"type\": \"number\", \"minimum\": %.7g, \"maximum\": %.7g },\n", indent + 2, "",
               -(double)spec->max, (double)spec->max);
    } else {
        printf("%*s\"type\": \"%s\",\n", indent + 2, "",
               (spec->traits & TARN_PARAMETER_IS_WHOLE) != 0 ? "integer" : "number");
    }
    printf("%*s\"minimum\": %.7g,\n", indent + 2, "", (double)spec->min);
    printf("%*s\"maximum\": %.7g,\n", indent + 2, "", (double)spec->max);
    printf("%*s\"default\": %.7g\n%*s},\n", indent + 2, "", (double)spec->initial, indent, "");
}

static void print_carried_rule(const tarn_carried_spec *spec, int indent)
{
    printf("%*s\"%s\": {\n", indent, "", spec->name);
    printf("%*s\"description\": \"%s\",\n%*s\"type\": \"number\",\n", indent + 2, "", spec->text, indent + 2, "");
    printf("%*s\"minimum\": %.7g,\n%*s\"maximum\": %.7g,\n", indent + 2, "", (double)spec->min, indent + 2, "",
           (double)spec->max);
    printf("%*s\"default\": %.7g\n%*s},\n", indent + 2, "", (double)spec->initial, indent, "");
}

/// Where rules made from the tables stand: "model" and parameters among a scene's fields, parameters in its solver,
/// what particles carry before the rule that closes these.
typedef enum rule_place { PLACE_MODEL, PLACE_SCENE, PLACE_SOLVER, PLACE_CARRIED, PLACE_COUNT } rule_place;
static const int indents[PLACE_COUNT] = {4, 4, 8, 8};

static bool carries(const tarn_model *model, const char *name)
{
    bool does = false;
    for (uint32_t k = 0; k < model->carried_count; k++) {
        does = does || strcmp(model->carried[k].name, name) == 0;
    }
    return does;
}

/// What several models' particles carry is the first one's.
static void print_carried_rules(void)
{
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        for (uint32_t k = 0; k < tarn_model_at(i)->carried_count; k++) {
            const tarn_carried_spec *spec = &tarn_model_at(i)->carried[k];
            bool known = false;
            for (uint32_t before = 0; before < i; before++) {
                known = known || carries(tarn_model_at(before), spec->name);
            }
            if (!known) {
                print_carried_rule(spec, indents[PLACE_CARRIED]);
            }
        }
    }
}

static bool stands_in(const tarn_parameter_spec *spec, rule_place place)
{
    return ((spec->traits & TARN_PARAMETER_IS_SOLVER) != 0) == (place == PLACE_SOLVER);
}

/// The place of the rule that a line begins; PLACE_COUNT: it begins none that follows from the tables.
static rule_place place_of(const char *line)
{
    const int indent = (int)strspn(line, " ");
    char name[64];
    if (sscanf(line + indent, "\"%63[a-z0-9_]\": {", name) != 1) {
        return PLACE_COUNT;
    }
    if (indent == indents[PLACE_MODEL] && strcmp(name, "model") == 0) {
        return PLACE_MODEL;
    }
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        if (indent == indents[PLACE_CARRIED] && carries(tarn_model_at(i), name)) {
            return PLACE_CARRIED;
        }
        const int id = tarn_model_parameter_find(tarn_model_at(i), name);
        for (rule_place place = PLACE_SCENE; id >= 0 && place <= PLACE_SOLVER; place++) {
            if (indent == indents[place] && stands_in(tarn_model_parameter(tarn_model_at(i), (uint32_t)id), place)) {
                return place;
            }
        }
    }
    return PLACE_COUNT;
}

/// All rules of a place; a parameter that several models have is the first one's.
static void print_rules(rule_place place)
{
    if (place == PLACE_MODEL) {
        print_model_rule();
        return;
    }
    for (uint32_t i = 0; i < tarn_model_count(); i++) {
        const tarn_model *model = tarn_model_at(i);
        for (uint32_t id = 0; id < model->parameter_count; id++) {
            bool known = false;
            for (uint32_t before = 0; before < i; before++) {
                known = known || tarn_model_parameter_find(tarn_model_at(before), model->parameters[id].name) >= 0;
            }
            if (!known && stands_in(&model->parameters[id], place)) {
                print_parameter_rule(&model->parameters[id], indents[place]);
            }
        }
    }
}

/// Whether the rule that a line is part of ends with it.
static bool ends_rule(const char *line, int indent, bool is_first)
{
    const size_t length = strcspn(line, "\n");
    const bool closes = length > 1 && (line[length - 1] == '}' || (line[length - 1] == ',' && line[length - 2] == '}'));
    return closes && (is_first || (int)strspn(line, " ") == indent);
}

/// Copies a schema; the rules that follow from the tables are made anew where the first of their place stood.
static bool print_schema(const char *path)
{
    char line[4096];
    bool printed[PLACE_COUNT] = {false};
    rule_place skipped = PLACE_COUNT;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strcmp(line, "        \"$comment\": { \"description\": \"Nobody reads it.\", \"type\": \"string\" }\n") ==
            0) {
            print_carried_rules();
            printed[PLACE_CARRIED] = true;
        }
        const bool is_first = skipped == PLACE_COUNT;
        const rule_place place = is_first ? place_of(line) : skipped;
        if (place == PLACE_COUNT) {
            fputs(line, stdout);
            continue;
        }
        if (!printed[place] && place != PLACE_CARRIED) {
            print_rules(place);
            printed[place] = true;
        }
        skipped = ends_rule(line, indents[place], is_first) ? PLACE_COUNT : place;
    }
    fclose(file);
    return printed[PLACE_MODEL] && printed[PLACE_SCENE] && printed[PLACE_SOLVER] && printed[PLACE_CARRIED];
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "typescript") == 0) {
        print_typescript();
        return EXIT_SUCCESS;
    }
    if (argc == 3 && strcmp(argv[1], "schema") == 0) {
        return print_schema(argv[2]) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    fprintf(stderr, "usage: %s typescript, or %s schema FILE\n", argv[0], argv[0]);
    return 2;
}
