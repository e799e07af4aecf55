/* `stave check`: MLPerf logs against a ruleset. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/command_line.h"
#include "rules/check.h"
#include "rules/ruleset.h"

struct check_settings {
    char *ruleset;
    int json, quiet;
};

/* clang-format off */
#define ROW(...) OPT_ROW(check_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("ruleset", OPT_STRING, ruleset, .arg = "ROUND",
        .help = "The round whose rules hold; else 0.5.0 or 0.6.0 where the lines have its format, and " RULESET_PINNED " otherwise"),
    ROW("quiet", OPT_BOOL, quiet, .dflt = "no", .help = "Print no warnings and notes"),
    ROW("json", OPT_BOOL, json, .dflt = "no", .help = "Print one JSON document"),
};
/* clang-format on */

static const struct opt_table options = {"check", rows, COUNT_OF(rows)};

/* One file being checked. */
struct report {
    const struct check_settings *own;
    const char *path;
    struct str json; /* of its findings */
    size_t n;
};

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

static void print_verdict(const struct report *r, const struct rule_verdict *v)
{
    const char *const how = !v->guessed ? "" : ", by the format of its lines";

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
    printf("%s, \"findings\": [%s]}", out.s, r->json.len ? r->json.s : "");
    str_release(&out);
}

/* ---- files ---- */

static int on_finding(void *context, const struct rule_finding *f)
{
    struct report *const r = context;

    if (r->own->quiet && f->severity > RULE_STRICT)
        return 0;
    if (r->own->json)
        add_finding(r, f);
    else
        print_finding(r, f);
    return 0;
}

static int check_file(const struct check_settings *own, const struct ruleset *ruleset,
                      const char *path, int *stands)
{
    struct report r = {.own = own, .path = path};
    struct rule_verdict verdict;
    const int rc =
        rules_check_file(path, ruleset, &(struct rule_visitor){on_finding, &r}, &verdict);

    if (rc == 0 && own->json)
        print_json(&r, &verdict);
    else if (rc == 0)
        print_verdict(&r, &verdict);
    str_release(&r.json);
    *stands = verdict.stands;
    return rc;
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
        int stands, rc;

        rc = check_file(own, ruleset, line->args[i], &stands);
        if (rc < 0)
            return rc;
        if (own->json)
            printf("%s\n", i + 1 < line->n_args ? "," : "");
        if (!stands)
            worst = EXIT_UNTRUSTWORTHY;
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
