#include "cli/study_setups.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct one {
    struct setup setup;
    void *own;    /* settings of the command */
    char **words; /* that the line borrows; NULL: the program's own */
};

struct setups {
    const struct command *command;
    const struct study_command *study;
    struct one *all; /* as many as there is room for: structures do not move */
    size_t n;
};

static int parse(struct setups *v, int argc, char **argv)
{
    struct one *const o = &v->all[v->n++];

    o->own = xcalloc(1, v->study->options_bytes);
    return setup_parse(&o->setup, v->command, argc, argv, v->study->options, o->own);
}

/* The line's words with one workload only: heap, the words themselves the line's. */
static char **words_for(const struct command_line *l, const char *workload)
{
    char **const words = xcalloc((size_t)l->argc + 1, sizeof(*words));
    int n = 0;

    for (int i = 0; i < l->argc; i++) {
        int other = 0;
        for (int k = 0; k < l->n_args; k++)
            other |= l->argv[i] == l->args[k] && l->argv[i] != workload;
        if (!other)
            words[n++] = l->argv[i];
    }
    return words;
}

static int count(char *const *words)
{
    int n = 0;

    while (words[n])
        n++;
    return n;
}

static int check_names(const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return err(E_USAGE, "%s is there twice; --repeats N runs every condition N times",
                           names[i]);
    return 0;
}

/* Every workload behind the first. */
static int parse_others(struct setups *v)
{
    const struct command_line *const first = &v->all[0].setup.line;
    int rc = check_names(first->args, first->n_args);

    for (int i = 1; i < first->n_args && rc == 0; i++) {
        char **const words = words_for(first, first->args[i]);
        v->all[v->n].words = words;
        rc = parse(v, count(words), words);
    }
    return rc;
}

static int work(struct setups *v)
{
    struct setup **const setups = xcalloc(v->n, sizeof(struct setup *));
    int rc;

    for (size_t i = 0; i < v->n; i++)
        setups[i] = &v->all[i].setup;
    rc = v->study->work(setups, v->n, v->all[0].own);
    free(setups);
    return rc;
}

int study_setups_run(const struct command *c, int argc, char **argv, struct study_command s)
{
    struct setups v = {
        .command = c, .study = &s, .all = xcalloc((size_t)c->max_args, sizeof(*v.all))};
    int rc = parse(&v, argc, argv);

    if (rc == 0)
        rc = parse_others(&v);
    if (rc == 0)
        rc = work(&v);
    else if (rc > 0)
        rc = EXIT_REACHED;
    for (size_t i = 0; i < v.n; i++) {
        setup_release(&v.all[i].setup);
        free(v.all[i].own);
        free(v.all[i].words);
    }
    free(v.all);
    return rc;
}
