/* `stave check`: MLPerf logs against a ruleset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "rules/check.h"
#include "rules/ruleset.h"

struct check_settings {
    char *ruleset;
    int json, quiet, all;
};

/* clang-format off */
#define ROW(...) OPT_ROW(check_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("ruleset", OPT_STRING, ruleset, .arg = "ROUND",
        .help = "The round whose rules hold; else 0.5.0 or 0.6.0 where the lines have its format, and " RULESET_PINNED " otherwise"),
    ROW("quiet", OPT_BOOL, quiet, .dflt = "no", .help = "Print no warnings and notes"),
    ROW("all", OPT_BOOL, all, .dflt = "no", .help = "Print every finding, also of a kind that comes again and again"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"check", rows, COUNT_OF(rows)};

/* Findings of one kind that are printed: a log of a gigabyte may hold millions. */
static const size_t most_printed[N_RULE_SEVERITIES] = {100, 100, 3, 3};

/* Findings of one name. */
struct kind {
    char *name;
    enum rule_severity severity;
    size_t n;
};

/* One file being checked. */
struct report {
    const struct check_settings *own;
    const char *path;
    struct str json; /* of its findings */
    size_t n;
    struct kind *kinds;
    size_t n_kinds;
};

static struct kind *kind_of(struct report *r, const struct rule_finding *f)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        if (r->kinds[i].severity == f->severity && strcmp(r->kinds[i].name, f->name) == 0)
            return &r->kinds[i];
    r->kinds = xrealloc(r->kinds, (r->n_kinds + 1) * sizeof(*r->kinds));
    r->kinds[r->n_kinds] = (struct kind){.name = xstrdup(f->name), .severity = f->severity};
    return &r->kinds[r->n_kinds++];
}

/* How many of a kind were not printed. */
static size_t left_out(const struct report *r, const struct kind *k)
{
    const size_t most = most_printed[k->severity];

    return r->own->all || k->n <= most ? 0 : k->n - most;
}

static void report_release(struct report *r)
{
    for (size_t i = 0; i < r->n_kinds; i++)
        free(r->kinds[i].name);
    free(r->kinds);
    str_release(&r->json);
}

/* ---- text ---- */

/* What a log holds may move a terminal's cursor. */
static void put_clean(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            printf("\\x%02x", (unsigned char)*s);
        else
            putchar(*s);
}

static void print_finding(const struct report *r, const struct rule_finding *f)
{
    put_clean(r->path);
    if (f->line)
        printf(":%zu:%zu", f->line, f->column);
    printf(": %s: ", rule_severity_name(f->severity));
    if (f->key[0]) {
        put_clean(f->key);
        printf(": ");
    }
    put_clean(f->found);
    if (f->expected[0]) {
        printf("; expected ");
        put_clean(f->expected);
    }
    printf(" [%s; %s]\n", f->name, f->rule);
}

static void print_left_out(const struct report *r)
{
    for (size_t i = 0; i < r->n_kinds; i++) {
        const struct kind *const k = &r->kinds[i];
        const size_t n = left_out(r, k);

        if (n == 0)
            continue;
        put_clean(r->path);
        printf(": %s: %zu more of %s; --all prints them\n", rule_severity_name(k->severity), n,
               k->name);
    }
}

static void print_verdict(const struct report *r, const struct rule_verdict *v)
{
    const char *const how = !v->guessed ? "" : ", by the format of its lines";

    print_left_out(r);
    put_clean(r->path);
    printf(": %s under ruleset %s%s", v->stands ? "stands" : "does not stand", v->version, how);
    if (v->benchmark[0])
        printf("; %s%s%s", v->division, v->division[0] ? " " : "", v->benchmark);
    printf("; %zu records", v->n_records);
    for (enum rule_severity s = 0; s < N_RULE_SEVERITIES; s++)
        if (v->n[s])
            printf(", %zu %s%s", v->n[s], rule_severity_name(s),
                   v->n[s] > 1 && s != RULE_STRICT ? "s" : "");
    if (v->official_accepts && !v->stands)
        printf("; the official checker accepts it");
    printf("\n");
}

/* ---- JSON ---- */

static void add_member(struct str *out, const char *name, const char *value)
{
    str_printf(out, ", \"%s\": ", name);
    str_add_json(out, value);
}

static void add_finding(struct report *r, const struct rule_finding *f)
{
    struct str *const out = &r->json;

    str_printf(out, "%s\n    {\"severity\": \"%s\"", r->n++ ? "," : "",
               rule_severity_name(f->severity));
    add_member(out, "name", f->name);
    if (f->line)
        str_printf(out, ", \"line\": %zu, \"column\": %zu", f->line, f->column);
    if (f->key[0])
        add_member(out, "key", f->key);
    add_member(out, "found", f->found);
    if (f->expected[0])
        add_member(out, "expected", f->expected);
    add_member(out, "rule", f->rule);
    str_add(out, "}");
}

static void print_json(const struct report *r, const struct rule_verdict *v)
{
    struct str out = STR_INIT;

    str_add(&out, "  {\"file\": ");
    str_add_json(&out, r->path);
    str_printf(&out, ", \"stands\": %s, \"official_accepts\": %s, \"ruleset\": \"%s\"",
               v->stands ? "true" : "false", v->official_accepts ? "true" : "false", v->version);
    str_printf(&out, ", \"guessed\": %s", v->guessed ? "true" : "false");
    if (v->division[0])
        add_member(&out, "division", v->division);
    if (v->benchmark[0])
        add_member(&out, "benchmark", v->benchmark);
    str_printf(&out, ", \"records\": %zu", v->n_records);
    for (enum rule_severity s = 0; s < N_RULE_SEVERITIES; s++)
        str_printf(&out, ", \"%s\": %zu", rule_severity_name(s), v->n[s]);
    str_printf(&out, ", \"findings\": [%s], \"left_out\": {", r->json.len ? r->json.s : "");
    for (size_t i = 0, n = 0; i < r->n_kinds; i++)
        if (left_out(r, &r->kinds[i])) {
            str_add(&out, n++ ? ", " : "");
            str_add_json(&out, r->kinds[i].name);
            str_printf(&out, ": %zu", left_out(r, &r->kinds[i]));
        }
    printf("%s}}", out.s);
    str_release(&out);
}

/* ---- files ---- */

static int on_finding(void *context, const struct rule_finding *f)
{
    struct report *const r = context;
    struct kind *kind;

    if (r->own->quiet && f->severity > RULE_STRICT)
        return 0;
    kind = kind_of(r, f);
    kind->n++;
    if (left_out(r, kind))
        return 0;
    if (r->own->json)
        add_finding(r, f);
    else
        print_finding(r, f);
    return 0;
}

/* Says why a file can not be read; the others are checked all the same. */
static void print_unreadable(const struct check_settings *own, const char *path)
{
    struct str out = STR_INIT;

    if (!own->json) {
        err_print("", err_reason());
        return;
    }
    str_add(&out, "  {\"file\": ");
    str_add_json(&out, path);
    add_member(&out, "error", err_reason());
    printf("%s}", out.s);
    str_release(&out);
}

/* Returns the exit code for this file. */
static int check_file(const struct check_settings *own, const struct ruleset *ruleset,
                      const char *path)
{
    struct report r = {.own = own, .path = path};
    struct rule_verdict verdict;
    const int rc =
        rules_check_file(path, ruleset, &(struct rule_visitor){on_finding, &r}, &verdict);

    if (rc < 0)
        print_unreadable(own, path);
    else if (own->json)
        print_json(&r, &verdict);
    else
        print_verdict(&r, &verdict);
    report_release(&r);
    return rc < 0 ? EXIT_WORLD : verdict.stands ? EXIT_REACHED : EXIT_UNTRUSTWORTHY;
}

static int check_files(const struct check_settings *own, struct command_line *line)
{
    const struct ruleset *const ruleset = own->ruleset ? ruleset_find(own->ruleset) : NULL;
    int worst = EXIT_REACHED;

    if (own->ruleset && !ruleset)
        return ruleset_unknown(own->ruleset);
    if (own->json)
        printf("[\n");
    for (int i = 0; i < line->n_args; i++) {
        const int code = check_file(own, ruleset, line->args[i]);

        if (own->json)
            printf("%s\n", i + 1 < line->n_args ? "," : "");
        if (code == EXIT_WORLD || worst == EXIT_REACHED)
            worst = code;
    }
    if (own->json)
        printf("]\n");
    return worst;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct check_settings own;
    struct command_line line;
    int rc;

    command_line_init(&line, self, argc, argv);
    command_line_bind(&line, &options, &own);
    rc = command_line_parse(&line);
    rc = rc == 0 ? check_files(&own, &line) : rc < 0 ? rc : EXIT_REACHED;
    command_line_release(&line);
    return rc;
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_check = {
    .name = "check",
    .args = "FILE...",
    .min_args = 1,
    .max_args = 1 << 20,
    .summary = "Hold MLPerf logs against the rules of a round",
    .about =
        "Says of each log whether it stands, and of each finding where it is, what was expected "
        "and which rule asks for it. An error is what the official compliance checker refuses, "
        "too; strict is what it accepts and we do not, each kind with a name (docs/rules.md says "
        "why); warnings and notes leave a log standing. Lines of the rounds 0.5 (:::MLPv0.5.0), "
        "0.6 (:::MLL) and later (:::MLLOG) are read. The exit status is 0 when all logs stand, 4 "
        "when one does not, 3 when one can not be read.",
    .tables = tables,
    .run = run,
};
