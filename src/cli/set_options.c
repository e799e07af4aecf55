#include "cli/set_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

/* Options that say how the set is made, not what its runs are. */
static int is_of_the_set(const char *name)
{
    static const char *const names[] = {"out",        "resume",     "export", "only",
                                        "dry-run",    "json",       "runs",   "seed",
                                        "until-sure", "keep-going", "repeats"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (opt_same_name(names[i], name))
            return 1;
    return 0;
}

/* ---- what starts a run ---- */

struct words {
    char **s;
    size_t n;
};

static void add(struct words *w, char *word)
{
    w->s = xrealloc(w->s, (w->n + 1) * sizeof(*w->s));
    w->s[w->n++] = word;
}

static void add_pair(struct words *w, char *pair)
{
    add(w, xstrdup("-o"));
    add(w, pair);
}

static void add_row(struct words *w, const struct opt_row *row, const void *settings)
{
    struct str pair = STR_INIT;

    str_printf(&pair, "%s=", row->name);
    opt_add_text(row, settings, &pair);
    add_pair(w, str_detach(&pair));
}

static int is_left_out(const struct opt_table *t, const char *owner)
{
    return owner && strcmp(t->owner, owner) == 0;
}

char **set_argv(const struct command_line *l, const char *workload, struct set_overrides o)
{
    struct words w = {0};

    add(&w, xstrdup("stave"));
    add(&w, xstrdup(o.command ? o.command : l->command->name));
    add(&w, xstrdup(workload));
    for (int i = 0; i < l->n_bound; i++)
        for (size_t k = 0; k < l->bound[i].table->n_rows; k++)
            if (!is_of_the_set(l->bound[i].table->rows[k].name) &&
                !is_left_out(l->bound[i].table, o.leave_out))
                add_row(&w, &l->bound[i].table->rows[k], l->bound[i].settings);
    add_pair(&w, xasprintf("out=%s", o.out));
    add_pair(&w, xasprintf("clear-cache=%s", o.clear));
    if (o.seed)
        add_pair(&w, xasprintf("seed=%llu", (unsigned long long)o.seed));
    if (o.resume)
        add_pair(&w, xstrdup("resume=yes"));
    if (o.n_check) {
        add_pair(&w, xasprintf("runs=%d", o.n_check));
        add_pair(&w, xstrdup("dry-run=yes"));
    }
    add(&w, NULL);
    return w.s;
}

void set_argv_free(char **argv)
{
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* ---- going on ---- */

/* A value of JSON as opt_set takes it; heap. */
static char *text_of(const cJSON *v)
{
    struct str text = STR_INIT;

    if (cJSON_IsBool(v))
        str_add(&text, cJSON_IsTrue(v) ? "yes" : "no");
    else if (cJSON_IsNumber(v))
        str_printf(&text, "%.17g", v->valuedouble);
    else
        str_add(&text, cJSON_IsString(v) ? v->valuestring : "");
    return str_detach(&text);
}

static int same_value(const struct opt_row *row, const void *settings, const cJSON *v)
{
    struct str json = STR_INIT;
    cJSON *is;
    int same;

    opt_add_json(row, settings, &json);
    is = json_parse(json.s, json.len, NULL);
    same = cJSON_Compare(is, v, 1);
    cJSON_Delete(is);
    str_release(&json);
    return same;
}

static int refuse(const struct opt_row *row, const cJSON *v, const struct set_origin *from)
{
    char *const was = text_of(v);
    const int rc =
        err(E_USAGE,
            "the runs in %s have %s %s, and the runs of a %s are alike; leave out --%s "
            "or start another %s",
            from->dir, row->name, *was ? was : "not set", from->what, row->name, from->what);

    free(was);
    return rc;
}

static int restore_row(struct command_line *l, const struct command_binding *b, size_t k,
                       const cJSON *v, const struct set_origin *from)
{
    const struct opt_row *const row = &b->table->rows[k];
    char *text;
    int rc;

    if (!v)
        return err(E_DATA, "%s/%s does not say %s", from->dir, from->file, row->name);
    if (same_value(row, b->settings, v))
        return 0;
    if (command_line_says(l, row->name))
        return refuse(row, v, from);
    text = text_of(v);
    rc = opt_set(row, b->settings, text, from->file);
    free(text);
    return rc < 0 ? err_prefix(E_DATA, "%s/", from->dir) : 0;
}

static int restore(struct command_line *l, const cJSON *options, const struct set_origin *from)
{
    for (int i = 0; i < l->n_bound; i++) {
        const struct command_binding *const b = &l->bound[i];
        const cJSON *const table = cJSON_GetObjectItemCaseSensitive(options, b->table->owner);
        for (size_t k = 0; k < b->table->n_rows; k++)
            if (!is_of_the_set(b->table->rows[k].name))
                TRY(restore_row(l, b, k,
                                cJSON_GetObjectItemCaseSensitive(table, b->table->rows[k].name),
                                from));
    }
    return 0;
}

int set_options_restore(struct command_line *l, const struct set_origin *from)
{
    cJSON *const doc = json_parse(from->options, strlen(from->options), NULL);
    int rc;

    if (l->n_configs)
        rc = err(E_USAGE,
                 "the runs in %s go on with the options they began with; leave out "
                 "--config",
                 from->dir);
    else
        rc = restore(l, doc, from);
    cJSON_Delete(doc);
    return rc;
}
