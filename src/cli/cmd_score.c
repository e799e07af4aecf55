/* `stave score`: what several runs are worth by the rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "cli/score_report.h"
#include "rules/ruleset.h"

struct score_settings {
    char *ruleset, *system;
    int json, table, unchecked;
};

/* clang-format off */
#define ROW(...) OPT_ROW(score_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("ruleset", OPT_STRING, ruleset, .arg = "ROUND",
        .help = "The round whose rules hold; else 0.5.0 or 0.6.0 where the lines have its format, and " RULESET_PINNED " otherwise"),
    ROW("system", OPT_STRING, system, .arg = "FILE", .help = "The system's description (JSON), where none is found beside the results"),
    ROW("unchecked", OPT_BOOL, unchecked, .dflt = "no", .help = "Let runs count whose logs the round's checks refuse; the result does not stand then"),
    ROW("table", OPT_BOOL, table, .dflt = "no", .help = "A line a result, also of a single one"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"score", rows, COUNT_OF(rows)};

/* Names come out of other people's logs and must not steer the terminal; lines stay lines. */
static void add_lines(struct str *out, const char *text)
{
    for (const char *end; *text; text = end + (*end == '\n')) {
        char *line;

        end = text + strcspn(text, "\n");
        line = xasprintf("%.*s", (int)(end - text), text);
        str_add_printable(out, line);
        str_add(out, *end ? "\n" : "");
        free(line);
    }
}

/* Folders that could not be read: the scores are printed, and are not all. */
static int tell_troubles(const struct results *s)
{
    struct str text = STR_INIT;

    add_lines(&text, s->troubles.s);
    fflush(stdout);
    fprintf(stderr, "stave: not scored: %s", text.s);
    str_release(&text);
    return EXIT_WORLD;
}

static int report(const struct results *s, const struct score_settings *own)
{
    struct str text = STR_INIT, out = STR_INIT;
    int stands = 1;

    if (own->json)
        score_report_json(s, &out);
    else if (s->n == 1 && !own->table)
        score_report_result(&s->list[0], &text);
    else
        score_report_table(s, &text);
    add_lines(&out, text.s ? text.s : "");
    fwrite(out.s, 1, out.len, stdout);
    str_release(&out);
    str_release(&text);
    if (s->troubles.len > 0)
        return tell_troubles(s);
    for (size_t i = 0; i < s->n; i++)
        stands = stands && s->list[i].stands;
    return stands ? EXIT_REACHED : EXIT_UNTRUSTWORTHY;
}

static int score(const struct command_line *line, const struct score_settings *own)
{
    struct results s = {
        .version = own->ruleset, .system = own->system, .unchecked = own->unchecked};
    int rc = results_find(&s, line->args, (size_t)line->n_args);

    if (rc == 0 && s.n == 0 && s.troubles.len == 0)
        rc = err(E_IO,
                 "%s: no run is here; a run's folder holds mlperf.log, a result's result_0.txt, "
                 "result_1.txt, ...",
                 line->args[0]);
    if (rc == 0)
        rc = s.n ? report(&s, own) : tell_troubles(&s);
    results_release(&s);
    return rc;
}

static int work(const struct command_line *line, const void *settings)
{
    const struct score_settings *const own = settings;

    return score(line, own);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct score_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_score = {
    .name = "score",
    .args = "DIR...",
    .min_args = 1,
    .max_args = 1000000,
    .summary = "Score runs as MLPerf does: drop best and worst, average, test the convergence",
    .about =
        "DIR is a run's folder, a log, a folder of run folders, a folder of result_*.txt, or any "
        "folder above these (ORG/results/SYSTEM/BENCHMARK): several results make a table. Runs and "
        "logs named one by one make one result a benchmark. The exit status is 4 when a result "
        "does "
        "not stand: too few runs, too many that did not converge, faster than the reference may "
        "be; "
        "each with a sentence.",
    .tables = tables,
    .run = run,
};
