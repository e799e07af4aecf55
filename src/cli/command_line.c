#include "cli/command_line.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/version.h"

/* Keys of argp: a row's letter (not h, not o), else KEY_ROW + its place among all bound rows. */
enum { KEY_HELP = 'h', KEY_PAIR = 'o', KEY_CONFIG = 256, KEY_VERSION, KEY_ROW };

struct command_setting {
    const struct opt_row *row;
    void *settings;
    const char *value;
    char *where;
};

struct found {
    const struct opt_row *row;
    void *settings;
};

void command_line_init(struct command_line *l, const struct command *c, int argc, char **argv)
{
    const size_t n = (size_t)argc;

    *l = (struct command_line){.command = c, .argc = argc, .argv = argv};
    l->args = xcalloc(n, sizeof(*l->args));
    l->configs = xcalloc(n, sizeof(*l->configs));
    l->settings = xcalloc(n, sizeof(*l->settings));
}

void command_line_bind(struct command_line *l, const struct opt_table *table, void *settings)
{
    ASSERT(l->n_bound < COMMAND_LINE_TABLES);
    opt_defaults(table, settings);
    l->bound[l->n_bound++] = (struct command_binding){.table = table, .settings = settings};
}

void command_line_release(struct command_line *l)
{
    for (int i = 0; i < l->n_bound; i++)
        opt_release(l->bound[i].table, l->bound[i].settings);
    for (int i = 0; i < l->n_settings; i++)
        free(l->settings[i].where);
    free(l->args);
    free(l->configs);
    free(l->settings);
    *l = (struct command_line){.command = l->command};
}

static struct found find_name(const struct command_line *l, const char *name)
{
    for (int i = 0; i < l->n_bound; i++) {
        const struct opt_row *row = opt_find(l->bound[i].table, name);
        if (row)
            return (struct found){row, l->bound[i].settings};
    }
    return (struct found){NULL, NULL};
}

static struct found find_key(const struct command_line *l, int key)
{
    int n = KEY_ROW;

    for (int i = 0; i < l->n_bound; i++)
        for (size_t r = 0; r < l->bound[i].table->n_rows; r++, n++) {
            const struct opt_row *row = &l->bound[i].table->rows[r];
            if (key == n || (key && key == row->letter))
                return (struct found){row, l->bound[i].settings};
        }
    return (struct found){NULL, NULL};
}

static int unknown(const struct command_line *l, const char *name, const char *where)
{
    static const char *const common[] = {"config", "help", "version"};
    const char *nearest = NULL;
    int best = INT_MAX;

    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (opt_nearer(name, common[i], &best))
            nearest = common[i];
    for (int i = 0; i < l->n_bound; i++)
        for (size_t r = 0; r < l->bound[i].table->n_rows; r++)
            if (opt_nearer(name, l->bound[i].table->rows[r].name, &best))
                nearest = l->bound[i].table->rows[r].name;
    if (nearest)
        return err(E_USAGE, "%s: no option is called %.100s; did you mean %s?", where, name,
                   nearest);
    return err(E_USAGE, "%s: no option is called %.100s; stave %s --help lists them", where, name,
               l->command->name);
}

int command_line_set(struct command_line *l, const char *name, const char *value, const char *where)
{
    const struct found f = find_name(l, name);

    return f.row ? opt_set(f.row, f.settings, value, where) : unknown(l, name, where);
}

static int set_from_file(void *line, const char *key, const char *value, const char *where)
{
    char *place = xasprintf("%s: %.100s", where, key);
    struct command_line *l = line;
    const int rc =
        find_name(l, key).row ? command_line_set(l, key, value, place) : unknown(l, key, where);

    free(place);
    return rc;
}

static void keep(struct command_line *l, struct found f, const char *value, char *where)
{
    l->settings[l->n_settings++] = (struct command_setting){
        .row = f.row, .settings = f.settings, .value = value ? value : "yes", .where = where};
}

/* -o key=value */
static int keep_pair(struct command_line *l, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char *name, *where;
    struct found f;
    int rc = 0;

    if (!equals || equals == pair)
        return err(E_USAGE, "-o: \"%.100s\" does not fit; expected key=value", pair);
    name = xasprintf("%.*s", (int)(equals - pair), pair);
    where = xasprintf("-o %.100s", name);
    f = find_name(l, name);
    if (f.row) {
        keep(l, f, equals + 1, where);
    } else {
        rc = unknown(l, name, "-o");
        free(where);
    }
    free(name);
    return rc;
}

/* A failure when the long option word can not be what was typed, else 0. */
static int check_long(const struct command_line *l, const char *word)
{
    char *name = xasprintf("%.*s", (int)strcspn(word + 2, "="), word + 2);
    int rc = 0;

    if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0)
        rc = strchr(word, '=') ? err(E_USAGE, "--%s takes no value", name) : 0;
    else if (!find_name(l, name).row && strcmp(name, "config") != 0)
        rc = unknown(l, name, l->command->name);
    free(name);
    return rc;
}

/* The same for letters; whatever follows a known one is its value. */
static int check_letter(const struct command_line *l, const char *word)
{
    if (find_key(l, word[1]).row || word[1] == KEY_PAIR || word[1] == KEY_HELP)
        return 0;
    return err(E_USAGE, "no option is called -%c; stave %s --help lists them", word[1],
               l->command->name);
}

/* argp stopped at the word before state->next, or inside a cluster of letters at it: say which
 * option it was, and what may have been meant. */
static int explain_error(const struct command_line *l, const struct argp_state *state)
{
    for (int i = state->next - 1; i <= state->next && i < state->argc; i++) {
        const char *word = state->argv[i];
        if (word[0] == '-' && word[1])
            TRY(word[1] == '-' ? check_long(l, word) : check_letter(l, word));
    }
    return err(E_USAGE, "%s needs a value", state->argv[state->next - 1]);
}

static error_t on_row(struct command_line *l, int key, const char *value)
{
    const struct found f = find_key(l, key);

    if (!f.row)
        return ARGP_ERR_UNKNOWN;
    keep(l, f, value, xasprintf("--%s", f.row->name));
    return 0;
}

static error_t on_key(int key, char *value, struct argp_state *state)
{
    struct command_line *l = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        l->args[l->n_args++] = value;
        return 0;
    case KEY_CONFIG:
        l->configs[l->n_configs++] = value;
        return 0;
    case KEY_PAIR:
        l->error = keep_pair(l, value);
        return l->error ? EINVAL : 0;
    case KEY_HELP:
        argp_help(state->root_argp, stdout,
                  ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC | ARGP_HELP_BUG_ADDR,
                  state->name);
        l->error = 1;
        return EINVAL;
    case KEY_VERSION:
        version_print(stdout);
        l->error = 1;
        return EINVAL;
    case ARGP_KEY_ERROR:
        if (!l->error)
            l->error = explain_error(l, state);
        return 0;
    default:
        return on_row(l, key, value);
    }
}

/* Text that argp keeps pointers into, freed after parsing. */
struct texts {
    char **s;
    size_t n;
};

static char *own(struct texts *t, char *s)
{
    t->s = xrealloc(t->s, (t->n + 1) * sizeof(*t->s));
    return t->s[t->n++] = s;
}

static char *row_doc(const struct opt_row *row)
{
    struct str doc = STR_INIT;

    str_add(&doc, row->help);
    command_add_limits(row, &doc);
    return str_detach(&doc);
}

static struct argp_option row_option(const struct opt_row *row, int key, struct texts *t)
{
    return (struct argp_option){
        .name = row->name,
        .key = row->letter ? row->letter : key,
        .arg = row->type == OPT_BOOL ? "yes|no"
               : row->arg            ? row->arg
                                     : "VALUE",
        .flags = row->type == OPT_BOOL ? OPTION_ARG_OPTIONAL : 0,
        .doc = own(t, row_doc(row)),
    };
}

/* The same row with underscores, not shown. */
static struct argp_option twin_option(const struct opt_row *row, struct texts *t)
{
    char *name = own(t, xstrdup(row->name));

    for (char *p = name; *p; p++)
        if (*p == '-')
            *p = '_';
    return (struct argp_option){.name = name, .flags = OPTION_ALIAS | OPTION_HIDDEN};
}

static struct argp_option *build_options(const struct command_line *l, struct texts *t)
{
    static const struct argp_option common[] = {
        {.doc = "Settings from elsewhere", .group = 0},
        {.name = "config",
         .key = KEY_CONFIG,
         .arg = "FILE",
         .doc = "Read settings from a YAML file of lines name: value; options win over it"},
        {.name = NULL, .key = KEY_PAIR, .arg = "KEY=VALUE", .doc = "Set any option by name"},
    };
    static const struct argp_option last[] = {
        {.name = "help", .key = KEY_HELP, .doc = "Print this and end", .group = -1},
        {.name = "version", .key = KEY_VERSION, .doc = "Print the version and end", .group = -1},
        {0},
    };
    size_t n = COUNT_OF(common) + COUNT_OF(last), at = 0;
    struct argp_option *o;
    int key = KEY_ROW;

    for (int i = 0; i < l->n_bound; i++)
        n += 1 + 2 * l->bound[i].table->n_rows;
    o = xcalloc(n, sizeof(*o));
    for (int i = 0; i < l->n_bound; i++) {
        const struct opt_table *table = l->bound[i].table;
        o[at++] = (struct argp_option){.doc = table->owner};
        for (size_t r = 0; r < table->n_rows; r++) {
            o[at++] = row_option(&table->rows[r], key++, t);
            if (strchr(table->rows[r].name, '-'))
                o[at++] = twin_option(&table->rows[r], t);
        }
    }
    if (l->n_bound) {
        memcpy(o + at, common, sizeof(common));
        at += COUNT_OF(common);
    }
    memcpy(o + at, last, sizeof(last));
    return o;
}

static int run_argp(struct command_line *l)
{
    struct texts t = {0};
    struct argp_option *options = build_options(l, &t);
    const struct command *c = l->command;
    char *name = own(&t, xasprintf("stave %s", c->name));
    char *doc =
        own(&t, xasprintf("%s.%s%s", c->summary, c->about ? "\v" : "", c->about ? c->about : ""));
    const struct argp argp = {
        .options = options, .parser = on_key, .args_doc = c->args, .doc = doc};
    char *const called = l->argv[0];
    error_t failed;

    l->argv[0] = name;
    failed = argp_parse(&argp, l->argc, l->argv, ARGP_SILENT, NULL, l);
    l->argv[0] = called;
    for (size_t i = 0; i < t.n; i++)
        free(t.s[i]);
    free(t.s);
    free(options);
    if (failed == ENOMEM && !l->error)
        return err(E_NOMEM, "out of memory while reading the command line");
    if (failed && !l->error)
        BUG("argp: %s without a reason", strerror(failed));
    return l->error;
}

static int check_args(const struct command_line *l)
{
    const struct command *c = l->command;

    if (l->n_args < c->min_args)
        return err(E_USAGE, "stave %s needs %s; stave %s --help says more", c->name,
                   c->args ? c->args : "an argument", c->name);
    if (l->n_args > c->max_args)
        return err(E_USAGE, "stave %s does not take \"%.100s\"; stave %s --help says more", c->name,
                   l->args[c->max_args], c->name);
    return 0;
}

int command_line_parse(struct command_line *l)
{
    const int rc = run_argp(l);

    if (rc)
        return rc;
    TRY(check_args(l));
    for (int i = 0; i < l->n_configs; i++)
        TRY(config_load(l->configs[i], set_from_file, l));
    for (int i = 0; i < l->n_settings; i++) {
        const struct command_setting *s = &l->settings[i];
        TRY(opt_set(s->row, s->settings, s->value, s->where));
    }
    return 0;
}

/* 1 when the option typed as "--name" or "-x" takes the next word as its value. */
static int takes_next(const struct command_line *l, const char *typed)
{
    const struct opt_row *row;

    if (strchr(typed, '='))
        return 0;
    if (typed[1] != '-' && typed[2])
        return 0; /* -oKEY=VALUE, -x8 */
    row = typed[1] == '-' ? find_name(l, typed + 2).row : find_key(l, typed[1]).row;
    if (strcmp(typed, "--help") == 0 || strcmp(typed, "--version") == 0)
        return 0;
    return !row || row->type != OPT_BOOL;
}

const char *command_line_first_arg(const struct command_line *l)
{
    for (int i = 1; i < l->argc; i++) {
        const char *word = l->argv[i];
        if (strcmp(word, "--") == 0)
            return i + 1 < l->argc ? l->argv[i + 1] : NULL;
        if (word[0] != '-' || !word[1])
            return word;
        i += takes_next(l, word);
    }
    return NULL;
}

int command_line_says(const struct command_line *l, const char *name)
{
    for (int i = 0; i < l->n_settings; i++)
        if (opt_same_name(l->settings[i].row->name, name))
            return 1;
    return 0;
}

const char **command_line_said(const struct command_line *l, const char *name, size_t *n)
{
    const char **const values = xcalloc((size_t)l->n_settings + 1, sizeof(*values));

    *n = 0;
    for (int i = 0; i < l->n_settings; i++)
        if (opt_same_name(l->settings[i].row->name, name))
            values[(*n)++] = l->settings[i].value;
    return values;
}

void command_line_add_json(const struct command_line *l, struct str *out)
{
    str_add(out, "{");
    for (int i = 0; i < l->n_bound; i++) {
        const struct opt_table *t = l->bound[i].table;
        str_add(out, i ? ", " : "");
        str_add_json(out, t->owner);
        str_add(out, ": {");
        for (size_t r = 0; r < t->n_rows; r++) {
            str_add(out, r ? ", " : "");
            str_add_json(out, t->rows[r].name);
            str_add(out, ": ");
            opt_add_json(&t->rows[r], l->bound[i].settings, out);
        }
        str_add(out, "}");
    }
    str_add(out, "}");
}

/* Appends ", NAME: DEFAULT" when the option's value is another. */
static void add_default(const struct opt_row *row, const void *settings, struct str *out)
{
    struct str is = STR_INIT, was = STR_INIT;

    opt_add_json(row, settings, &is);
    opt_add_default_json(row, &was);
    if (strcmp(is.s, was.s) != 0) {
        json_add_key(out, row->name);
        str_add(out, was.s);
    }
    str_release(&is);
    str_release(&was);
}

void command_line_add_defaults(const struct command_line *l, struct str *out)
{
    str_add(out, "{");
    for (int i = 0; i < l->n_bound; i++) {
        const struct opt_table *const t = l->bound[i].table;
        struct str members = STR_INIT;

        str_add(&members, "{");
        for (size_t r = 0; r < t->n_rows; r++)
            add_default(&t->rows[r], l->bound[i].settings, &members);
        if (members.len > 1) {
            json_add_key(out, t->owner);
            str_printf(out, "%s}", members.s);
        }
        str_release(&members);
    }
    str_add(out, "}");
}

int command_line_run(const struct command *c, int argc, char **argv, void *settings,
                     command_work *work)
{
    struct command_line line;
    int rc;

    command_line_init(&line, c, argc, argv);
    if (settings)
        command_line_bind(&line, c->tables[0], settings);
    rc = command_line_parse(&line);
    if (rc == 0)
        rc = work(&line, settings);
    else if (rc > 0)
        rc = EXIT_REACHED;
    command_line_release(&line);
    return rc;
}
