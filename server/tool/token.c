// `tarn token`: mints, lists and revokes tokens, with no server. One command line for the three, told apart by its
// first word.
#include "server/base/token.h"
#include "server/base/options.h"
#include "server/base/text.h"
#include "server/tool/tool.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    OPTION_SECRET = 256,
    OPTION_STORE,
    OPTION_SESSION,
    OPTION_ROLE,
    OPTION_EXPIRES,
    OPTION_NOTE,
    ID_BYTES = 9, // of the ids that are drawn: 12 letters
    DAYS_MAX = 3660,
};

typedef struct token_arguments {
    const char *words[2]; ///< what to do, and with what
    int word_count;
    const char *secret, *store, *session, *note;
    int role;        ///< -1: not said
    int64_t lasts_s; ///< 0: until it is revoked
} token_arguments;

static const struct argp_option token_options[] = {
    {"secret", OPTION_SECRET, "FILE", 0,
     "mint: the key to sign with: DIR/secret of tarnd --store DIR, or the first of tarnd --token-keys FILE", 0},
    {"store", OPTION_STORE, "DIR", 0, "The folder of tarnd --store DIR; for mint instead of --secret DIR/secret", 0},
    {"session", OPTION_SESSION, "NAME", 0, "mint: the tank that it opens, such as main", 0},
    {"role", OPTION_ROLE, "watch|play|own", 0, "mint: what whoever has it may do there", 0},
    {"expires", OPTION_EXPIRES, "TIME", 0,
     "mint: after 90s, 30m, 2h or 7d, at most 3660d (default: never, but it may be revoked)", 0},
    {"note", OPTION_NOTE, "TEXT", 0, "mint: what it is for, at most 100 bytes, for list; the token doesn't have it", 0},
    {0},
};

/// "2h" in seconds. @return 0: it is no such time
static int64_t read_time_s(const char *text)
{
    static const char units[] = "smhd";
    static const int64_t unit_s[] = {1, 60, 3600, 86400};
    const size_t digits = strspn(text, "0123456789");
    const char *unit = digits >= 1 && digits <= 9 && text[digits] ? strchr(units, text[digits]) : NULL;
    if (unit == NULL || text[digits + 1] != 0) {
        return 0;
    }
    const int64_t time_s = strtol(text, NULL, 10) * unit_s[unit - units];
    return time_s <= DAYS_MAX * (int64_t)86400 ? time_s : 0;
}

static void read_note(struct argp_state *state, const char *text, token_arguments *arguments)
{
    if (strlen(text) > TARN_TOKEN_NOTE_BYTES_MAX || !tarn_is_printable(text)) {
        argp_error(state, "--note: found %zu bytes, allowed are at most %d, all for reading", strlen(text),
                   TARN_TOKEN_NOTE_BYTES_MAX);
    }
    arguments->note = text;
}

static void check(struct argp_state *state, const token_arguments *arguments)
{
    const char *what = arguments->word_count > 0 ? arguments->words[0] : "";
    const bool is_mint = strcmp(what, "mint") == 0, is_list = strcmp(what, "list") == 0;
    const int words = is_mint || is_list ? 1 : 2;
    if (!is_mint && !is_list && strcmp(what, "revoke") != 0) {
        argp_error(state, "found \"%s\", allowed are mint, list and revoke ID", what);
    } else if (arguments->word_count != words) {
        argp_error(state, words == 2 ? "revoke: the token's id is missing" : "found \"%s\", allowed are options only",
                   arguments->word_count > 1 ? arguments->words[1] : "");
    } else if (is_mint && (arguments->secret == NULL) == (arguments->store == NULL)) {
        argp_error(state, "mint: allowed is one of --secret FILE and --store DIR");
    } else if (is_mint && (arguments->session == NULL || arguments->role < 0)) {
        argp_error(state, "mint: --session NAME and --role watch|play|own are missing");
    } else if (!is_mint && arguments->store == NULL) {
        argp_error(state, "%s: --store DIR is missing", what);
    } else if (words == 2 && !tarn_token_word_valid(arguments->words[1], TARN_TOKEN_ID_BYTES_MAX)) {
        argp_error(state, "revoke: found \"%s\", allowed are 1 to %d letters, digits, - and _", arguments->words[1],
                   TARN_TOKEN_ID_BYTES_MAX);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    token_arguments *arguments = state->input;
    switch (key) {
    case OPTION_SECRET:
        arguments->secret = text;
        return 0;
    case OPTION_STORE:
        arguments->store = text;
        return 0;
    case OPTION_SESSION:
        if (text[0] == 0 || strlen(text) > TARN_NAME_BYTES_MAX || !tarn_is_printable(text)) {
            argp_error(state, "--session: found \"%s\", allowed are 1 to %d bytes", text, TARN_NAME_BYTES_MAX);
        }
        arguments->session = text;
        return 0;
    case OPTION_ROLE:
        arguments->role = tarn_role_find(text);
        if (arguments->role < 0) {
            argp_error(state, "--role: found \"%s\", allowed are watch, play and own", text);
        }
        return 0;
    case OPTION_EXPIRES:
        arguments->lasts_s = read_time_s(text);
        if (arguments->lasts_s == 0) {
            argp_error(state, "--expires: found \"%s\", allowed are times such as 90s, 30m, 2h and 7d, at most %dd",
                       text, DAYS_MAX);
        }
        return 0;
    case OPTION_NOTE:
        read_note(state, text, arguments);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->word_count == 2) {
            argp_error(state, "found \"%s\", allowed are mint, list and revoke ID", text);
        }
        arguments->words[arguments->word_count++] = text;
        return 0;
    case ARGP_KEY_END:
        check(state, arguments);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int fail(const char *sentence)
{
    fprintf(stderr, "tarn token: %s\n", sentence);
    return EXIT_FAILURE;
}

/// A file of the store's folder, or beside the secret.
static void path_of(const token_arguments *arguments, const char *name, char path[PATH_MAX])
{
    const char *slash = arguments->secret != NULL ? strrchr(arguments->secret, '/') : NULL;
    if (arguments->store != NULL) {
        snprintf(path, PATH_MAX, "%s/%s", arguments->store, name);
    } else {
        snprintf(path, PATH_MAX, "%.*s%s", slash != NULL ? (int)(slash - arguments->secret + 1) : 0,
                 slash != NULL ? arguments->secret : "", name);
    }
}

/// It is noted before it is printed: what nobody knows of can't be revoked.
static int mint(const token_arguments *arguments)
{
    char path[PATH_MAX];
    uint8_t drawn[ID_BYTES];
    tarn_token_keys keys;
    tarn_pass text;
    tarn_text why;
    tarn_token_issued issued = {0};
    path_of(arguments, "secret", path);
    if (tarn_token_keys_read(&keys, arguments->secret != NULL ? arguments->secret : path, why) != TARN_OK) {
        return fail(why);
    }
    if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        return fail("there are no random numbers");
    }
    tarn_base64url_write(drawn, sizeof drawn, issued.token.id);
    if (issued.token.id[0] == '-') {
        issued.token.id[0] = '_'; // or it would look like an option
    }
    snprintf(issued.token.session, sizeof issued.token.session, "%s", arguments->session);
    issued.token.role = (tarn_role)arguments->role;
    issued.token.issued_s = time(NULL);
    issued.token.until_s = arguments->lasts_s > 0 ? issued.token.issued_s + arguments->lasts_s : 0;
    snprintf(issued.note, sizeof issued.note, "%s", arguments->note != NULL ? arguments->note : "");
    if (tarn_token_write(&issued.token, &keys.keys[0], text) != TARN_OK) {
        return fail("the token would be longer than 512 bytes, which is all that a link takes");
    }
    path_of(arguments, "tokens", path);
    if (tarn_tokens_note(path, &issued, why) != TARN_OK) {
        return fail(why);
    }
    printf("%s\n", text);
    fprintf(stderr, "its id is %s\n", issued.token.id);
    return EXIT_SUCCESS;
}

static tarn_tokens_revoked revoked;

static void print_issued(void *user, const tarn_token_issued *issued)
{
    const tarn_token *token = &issued->token;
    char until[32] = "never";
    struct tm date;
    const time_t until_s = (time_t)token->until_s;
    if (until_s != 0 && gmtime_r(&until_s, &date) != NULL) {
        strftime(until, sizeof until, "%Y-%m-%d %H:%M:%SZ", &date);
    }
    const char *state = tarn_tokens_revoked_has(&revoked, token->id) ? "revoked"
                        : until_s != 0 && until_s <= *(time_t *)user ? "expired"
                                                                     : "valid";
    printf("%-12s  %-7s  %-5s  %-20s  %-12s  %s\n", token->id, state, tarn_role_word(token->role), until,
           token->session, issued->note);
}

/// Whether it is a folder that a server or `mint` has used: another one is a slip.
static bool is_store(const token_arguments *arguments)
{
    static const char *const files[] = {"secret", "tokens", "revoked"};
    char path[PATH_MAX];
    bool is = arguments->store == NULL;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        path_of(arguments, files[i], path);
        is |= access(path, F_OK) == 0;
    }
    if (!is) {
        fprintf(stderr, "tarn token: %s: found no tokens, allowed is a folder that tarnd was given by --store\n",
                arguments->store);
    }
    return is;
}

static int list(const token_arguments *arguments)
{
    char path[PATH_MAX];
    tarn_text why;
    time_t now_s = time(NULL);
    if (!is_store(arguments)) {
        return EXIT_FAILURE;
    }
    path_of(arguments, "revoked", path);
    const tarn_status read = tarn_tokens_revoked_read(&revoked, path, why);
    if (read != TARN_OK) {
        fail(why); // the others are listed all the same
    }
    if (read == TARN_E_IO) {
        return EXIT_FAILURE;
    }
    path_of(arguments, "tokens", path);
    printf("%-12s  %-7s  %-5s  %-20s  %-12s  %s\n", "id", "state", "role", "expires", "session", "note");
    const tarn_status listed = tarn_tokens_issued_read(path, print_issued, &now_s, why);
    return listed != TARN_OK ? fail(why) : read != TARN_OK ? EXIT_FAILURE : EXIT_SUCCESS;
}

typedef struct sought_token {
    const char *id;
    bool is_there;
} sought_token;

static void look_at_issued(void *user, const tarn_token_issued *issued)
{
    sought_token *sought = user;
    sought->is_there |= strcmp(issued->token.id, sought->id) == 0;
}

static int revoke_id(const token_arguments *arguments)
{
    char path[PATH_MAX];
    tarn_text why;
    sought_token sought = {.id = arguments->words[1]};
    if (!is_store(arguments)) {
        return EXIT_FAILURE;
    }
    path_of(arguments, "revoked", path);
    if (tarn_tokens_revoke(path, sought.id, why) != TARN_OK) {
        return fail(why);
    }
    path_of(arguments, "tokens", path);
    if (tarn_tokens_issued_read(path, look_at_issued, &sought, why) == TARN_OK && !sought.is_there) {
        fprintf(stderr, "tarn token: none of the id \"%s\" was minted here; it is revoked all the same\n", sought.id);
    }
    return EXIT_SUCCESS;
}

int tool_token(int argc, char **argv)
{
    static const struct argp argp = {
        .options = token_options,
        .parser = parse,
        .args_doc = "mint\nlist\nrevoke ID",
        .doc =
            "Tokens: a role in a tank, for a time, which stand in links wherever a key may: "
            "http://HOST/?session=NAME#key=TOKEN.\v"
            "mint prints a token and, on standard error, its id, and notes it in the folder of the secret; list "
            "shows what was minted with a folder's secret; revoke shuts out who came by a token within a second. A "
            "token has at most 512 bytes; a folder lists 4096 and revokes 4096. Tokens of tarnd --token-keys without "
            "--store can't be revoked.",
    };
    token_arguments arguments = {.role = -1};
    tarn_options_parse(&argp, argc, argv, 0, &arguments);
    return strcmp(arguments.words[0], "mint") == 0   ? mint(&arguments)
           : strcmp(arguments.words[0], "list") == 0 ? list(&arguments)
                                                     : revoke_id(&arguments);
}
