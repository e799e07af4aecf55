#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "rules/rcp.h"
#include "rules/ruleset.h"

/* ---- tests in words ---- */

static void add_value(const struct rule_value *v, struct str *out)
{
    if (v->text)
        str_add(out, v->text);
    else if (v->is_bool)
        str_add(out, v->number != 0 ? "true" : "false");
    else
        str_printf(out, "%.10g", v->number);
}

static void add_values(const struct rule_test *t, const char *between, struct str *out)
{
    for (size_t i = 0; i < t->n_values; i++) {
        str_add(out, i == 0 ? "" : i + 1 == t->n_values ? between : ", ");
        add_value(&t->values[i], out);
    }
}

static void add_place(const struct rule_test *t, struct str *out)
{
    switch (t->op) {
    case RULE_AFTER:
        str_printf(out, "%s before it", t->name);
        return;
    case RULE_BEFORE:
        str_printf(out, "no %s before it", t->name);
        return;
    case RULE_INIT_LIMIT:
        str_add(out, "no more time since the first init_start than the initialisation may take");
        return;
    case RULE_IN_ORDER:
        str_add(out, "epochs, evaluations and blocks that nest and count on");
        return;
    default:
        BUG("no such test: %d", (int)t->op);
    }
}

static void add_op(const struct rule_test *t, struct str *out)
{
    switch (t->op) {
    case RULE_GREATER:
        str_printf(out, "more than %.10g", t->number);
        return;
    case RULE_AT_LEAST:
        str_printf(out, t->number == 0 ? "0 or more" : "at least %.10g", t->number);
        return;
    case RULE_LESS:
        str_printf(out, "less than %.10g", t->number);
        return;
    case RULE_AT_MOST:
        str_printf(out, "at most %.10g", t->number);
        return;
    case RULE_EQUALS:
    case RULE_ONE_OF:
        add_values(t, " or ", out);
        return;
    case RULE_NOT_EMPTY:
        str_add(out, "anything but an empty text");
        return;
    case RULE_MULTIPLE:
        str_printf(out, "a multiple of %.10g", t->number);
        return;
    case RULE_DIVIDES:
        str_printf(out, "%.10g divided by a whole number", t->number);
        return;
    case RULE_POWER_OF_TWO:
        str_printf(out, "%.10g times a power of two", t->number);
        return;
    case RULE_WHOLE:
        str_add(out, "a whole number");
        return;
    case RULE_IS_INTEGER:
        str_add(out, "a number without fraction and exponent");
        return;
    case RULE_IS_BOOLEAN:
        str_add(out, "true or false");
        return;
    case RULE_HAS:
        str_add(out, "the member ");
        add_values(t, " or ", out);
        return;
    case RULE_WITH:
        str_add(out, "metadata ");
        add_values(t, " or ", out);
        return;
    default:
        add_place(t, out);
    }
}

static void add_subject(const struct rule_test *t, struct str *out)
{
    if (t->subject == RULE_OF_META)
        str_printf(out, "metadata %s ", t->name);
    else if (t->subject == RULE_OF_MEMBER)
        str_printf(out, "%s ", t->name);
    else if (t->subject == RULE_OF_ITEM)
        str_printf(out, "item %d ", t->item);
    else if (t->subject == RULE_OF_LENGTH)
        str_add(out, "as many items as ");
    else if (t->subject == RULE_OF_BENCHMARK)
        str_add(out, "the benchmark ");
}

void rule_add_wanted(const struct rule_test *t, struct str *out)
{
    for (const struct rule_test *x = t; x; x = x->or_else) {
        str_add(out, x == t ? "" : ", or ");
        if (x->op != RULE_AFTER && x->op != RULE_BEFORE)
            add_subject(x, out);
        add_op(x, out);
        if (x->when == RULE_BATCH_BELOW)
            str_printf(out, " for batches below %.10g", x->when_batch);
        else if (x->when == RULE_BATCH_FROM)
            str_printf(out, " for batches from %.10g on", x->when_batch);
        else if (x->when == RULE_WHEN_META)
            str_printf(out, " where there is metadata %s", x->when_name);
    }
}

/* ---- a round ---- */

static void add_tests(const struct rule_tests *tests, const char *before, struct str *line)
{
    for (size_t i = 0; i < tests->n; i++) {
        str_printf(line, "%s%s", line->len ? "; " : "", before);
        rule_add_wanted(&tests->all[i], line);
    }
}

static void add_count(const struct rule_key *k, struct str *out)
{
    struct str text = STR_INIT;

    if (k->count == RULE_SOME_OR)
        str_printf(&text, "1+ or %s", k->other);
    else if (k->count == RULE_ONE_IF)
        str_printf(&text, "1 if %s", k->other_value);
    else if (k->count == RULE_SOME)
        str_printf(&text, "%d+", k->least);
    else
        str_add(&text, k->count == RULE_ONCE ? "1" : k->count == RULE_ANY ? "any" : "setting");
    str_printf(out, "%-18s ", text.s);
    str_release(&text);
}

static void add_key(const struct rule_key *k, struct str *out)
{
    struct str line = STR_INIT;

    str_add(&line, "");
    str_printf(out, "  %-40s ", k->name);
    add_count(k, out);
    add_tests(&k->tests, "", &line);
    if (k->tensors)
        str_printf(&line, "%severy one of the %zu names of %s, once", line.len ? "; " : "",
                   k->list->n, k->tensors);
    for (size_t i = 0; i < k->reaches.n; i++) {
        str_add(&line, i ? " and " : line.len ? "; in at least one record: " : "at least once: ");
        rule_add_wanted(&k->reaches.all[i], &line);
    }
    add_tests(&k->text, "by the rules' text ", &line);
    str_add(out, line.s);
    while (out->len && out->s[out->len - 1] == ' ')
        out->s[--out->len] = '\0';
    str_add(out, "\n");
    str_release(&line);
}

static void add_sheet(const struct rule_sheet *s, struct str *out)
{
    str_printf(out, "\n%s:\n", s->depth == 0 ? "every log" : s->name);
    for (size_t i = 0; i < s->n_keys; i++)
        add_key(&s->keys[i], out);
}

static void add_target(const struct rule_benchmark *b, struct str *out)
{
    str_printf(out, "%.10g", b->target);
    if (b->lower_is_better)
        str_add(out, " or less");
    if (b->target2 != 0)
        str_printf(out, ", %.10g", b->target2);
}

void rule_add_schedule(const struct rule_benchmark *b, struct str *out)
{
    if (b->eval_every == 1)
        str_add(out, "after every epoch");
    else if (b->eval_every > 0)
        str_printf(out, "every %lld epochs, first after epoch %lld to %lld", b->eval_every,
                   b->eval_first, b->eval_last);
    else if (b->eval_at[0])
        str_printf(out, "after the epochs %s", b->evaluate + strlen("at "));
    else if (b->evaluate)
        str_add(out, b->evaluate);
}

static void add_facts(const struct rule_benchmark *b, struct str *out)
{
    str_printf(out, "%-18s %-20s target ", b->name, b->title);
    add_target(b, out);
    str_printf(out, " (%s), %d runs", b->metric, b->n_runs);
    if (b->n_drop > 1)
        str_printf(out, " of which the %d best and the %d worst do not count", b->n_drop,
                   b->n_drop);
    if (b->evaluate)
        str_add(out, "; evaluated ");
    rule_add_schedule(b, out);
    if (b->published_weights)
        str_add(out, "; starts from published weights");
    if (b->note)
        str_printf(out, "; %s", b->note);
    str_add(out, "\n");
}

static void add_limits(const struct ruleset *r, struct str *out)
{
    str_printf(out, "ruleset %s: ", r->version);
    if (r->format == MLLOG_FORMAT_05)
        str_add(out, "no time limit of the initialisation\n");
    else if (r->init_limit_by_division)
        str_printf(out, "initialisation within %.10g minutes (open division: %.10g)\n",
                   r->init_limit_ms / 60e3, r->open_init_limit_ms / 60e3);
    else
        str_printf(out, "initialisation within %.10g minutes\n", r->init_limit_ms / 60e3);
}

void ruleset_print(const struct ruleset *r, struct str *out)
{
    add_limits(r, out);
    for (size_t i = 0; i < r->n_benchmarks; i++)
        add_facts(&r->benchmarks[i], out);
}

/* "closed resnet lars" is a sheet of resnet. */
static int is_of(const struct rule_sheet *s, const char *benchmark)
{
    const char *at = strncmp(s->name, "closed ", 7) == 0 ? s->name + 7
                     : strncmp(s->name, "open ", 5) == 0 ? s->name + 5
                                                         : s->name;
    const size_t n = strlen(benchmark);

    return strncmp(at, benchmark, n) == 0 && (at[n] == '\0' || at[n] == ' ');
}

static void add_points(const struct ruleset *r, const struct rule_benchmark *b, struct str *out)
{
    struct rcp_points points;

    if (rcp_load(&points, r->version, b->name) < 0)
        BUG("%s", err_reason()); /* the file is our own */
    if (points.n)
        str_printf(out,
                   "\nreference convergence, %s to the target, and the floor below which a closed "
                   "result is refused:\n",
                   rcp_unit(b->name, points.points[0].mean));
    for (size_t i = 0; i < points.n; i++)
        str_printf(out, "  batch %-8.10g mean %-12.8g floor %.8g%s\n", points.points[i].batch,
                   points.points[i].mean, points.points[i].floor,
                   points.points[i].pruned ? "  (not used: its neighbours ask for less)" : "");
    rcp_release(&points);
}

void ruleset_print_benchmark(const struct ruleset *r, const struct rule_benchmark *b,
                             struct str *out)
{
    add_limits(r, out);
    add_facts(b, out);
    for (size_t i = 0; i < r->n_sheets; i++) {
        const struct rule_sheet *const s = &r->sheets[i];

        if (s->depth == 0 || strcmp(s->name, "closed") == 0 || strcmp(s->name, "open") == 0 ||
            strcmp(s->name, "level 2") == 0 || is_of(s, b->name))
            add_sheet(s, out);
    }
    add_points(r, b, out);
}
