// The table of figures. Cases run as programs of their own, beside each other: each saves its rows as lines of text
// with tabs between the fields, and the last one loads them all and prints them in order.
#include "tests/physics/physics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 256, NAME_BYTES = 80, UNIT_BYTES = 16, BOUND_BYTES = 32, FIELDS = 6 };

typedef struct table_row {
    char name[NAME_BYTES];
    double measured;
    char unit[UNIT_BYTES], bound[BOUND_BYTES];
    physics_need need;
    int within; ///< or -1: there is no bound
} table_row;

static table_row rows[ROWS_MAX];
static int row_count, case_first; ///< case_first: of the case that runs

static void add_row(physics_need need, const char *name, double measured, const char *unit, const char *bound,
                    int within)
{
    if (row_count == ROWS_MAX) {
        fprintf(stderr, "physics_table.c: more than %d rows\n", ROWS_MAX);
        exit(1);
    }
    table_row *row = &rows[row_count++];
    *row = (table_row){.measured = measured, .need = need, .within = within};
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->unit, sizeof row->unit, "%s", unit);
    snprintf(row->bound, sizeof row->bound, "%s", bound);
}

void physics_within(physics_need need, const char *name, double measured, double reference, double tolerance,
                    const char *unit)
{
    char bound[BOUND_BYTES];
    snprintf(bound, sizeof bound, "%.5g +- %.3g", reference, tolerance);
    add_row(need, name, measured, unit, bound, fabs(measured - reference) <= tolerance);
}

void physics_within_percent(physics_need need, const char *name, double measured, double reference, double percent,
                            const char *unit)
{
    char bound[BOUND_BYTES];
    snprintf(bound, sizeof bound, "%.5g +- %.3g %%", reference, percent);
    add_row(need, name, measured, unit, bound, fabs(measured / reference - 1.0) <= percent / 100.0);
}

void physics_at_most(physics_need need, const char *name, double measured, double limit, const char *unit)
{
    char bound[BOUND_BYTES];
    snprintf(bound, sizeof bound, "<= %.5g", limit);
    add_row(need, name, measured, unit, bound, measured <= limit);
}

void physics_figure(const char *name, double measured, const char *unit)
{
    add_row(PHYSICS_REPORTED, name, measured, unit, "", -1);
}

void physics_table_lost(const char *case_name)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s did not end", case_name);
    add_row(PHYSICS_REQUIRED, name, NAN, "", "", 0);
}

void physics_table_begin(void)
{
    case_first = row_count;
}

int physics_table_missed(void)
{
    int missed = 0;
    for (int i = case_first; i < row_count; i++) {
        missed += rows[i].need == PHYSICS_REQUIRED && rows[i].within == 0;
    }
    return missed;
}

int physics_table_save(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return -1;
    }
    for (int i = case_first; i < row_count; i++) {
        fprintf(file, "%s\t%.9g\t%s\t%s\t%d\t%d\n", rows[i].name, rows[i].measured, rows[i].unit, rows[i].bound,
                (int)rows[i].need, rows[i].within);
    }
    const int failed = ferror(file);
    return fclose(file) == 0 && !failed ? 0 : -1;
}

int physics_table_load(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    char line[512];
    int status = 0;
    while (status == 0 && fgets(line, sizeof line, file) != NULL) {
        char *rest = line, *field[FIELDS];
        int fields = 0;
        line[strcspn(line, "\n")] = '\0';
        while (fields < FIELDS && rest != NULL) {
            field[fields++] = strsep(&rest, "\t");
        }
        if (fields == FIELDS && rest == NULL) {
            add_row(field[4][0] == '1' ? PHYSICS_REQUIRED : PHYSICS_REPORTED, field[0], strtod(field[1], NULL),
                    field[2], field[3], atoi(field[5]));
        } else {
            status = -1;
        }
    }
    fclose(file);
    return status;
}

void physics_table_print(FILE *to, bool as_markdown)
{
    const char *const line = as_markdown ? "| %s | %s | %s | %s | %s | %s |\n" : "%-58s %12s %-8s %-22s %-9s %s\n";
    fprintf(to, line, "case", "measured", "unit", "bound", "required", "status");
    if (as_markdown) {
        fputs("|---|---|---|---|---|---|\n", to);
    }
    for (int i = 0; i < row_count; i++) {
        const table_row *row = &rows[i];
        char measured[32];
        snprintf(measured, sizeof measured, "%.5g", row->measured);
        const bool bounded = row->within >= 0;
        fprintf(to, line, row->name, measured, row->unit, row->bound,
                !bounded                        ? ""
                : row->need == PHYSICS_REQUIRED ? "yes"
                                                : "no",
                !bounded      ? ""
                : row->within ? "ok"
                              : "NOT WITHIN");
    }
}
