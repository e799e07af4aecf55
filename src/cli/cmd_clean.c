/* `stave clean`: mends what a killed supervisor left behind. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/command_line.h"
#include "cli/leftovers.h"
#include "cli/run_killed.h"

enum { DEEPEST = 4 }; /* folders below the one named: of a study, of a set, of a run */

struct cleaning {
    int found, code;
};

static void say(const char *dir, const struct mended *m)
{
    struct str name = STR_INIT;

    str_add_printable(&name, dir);
    printf("%s: %d process%s ended, %d control group%s and %d folder%s removed\n", name.s,
           m->processes, m->processes == 1 ? "" : "es", m->groups, m->groups == 1 ? "" : "s",
           m->folders, m->folders == 1 ? "" : "s");
    str_release(&name);
}

/* What is at work mends itself: no failure. */
static void clean_one(const char *dir, struct cleaning *c)
{
    struct mended m;
    int rc;

    c->found++;
    rc = leftovers_mend(dir, getpid(), &m);
    if (rc == 0)
        rc = run_mark_killed(dir, "");
    if (rc == 0)
        say(dir, &m);
    else
        err_print("", err_reason());
    if (rc < 0 && rc != E_USAGE)
        c->code = EXIT_WORLD;
}

static void clean_below(const char *dir, int depth, struct cleaning *c)
{
    char *const path = file_join(dir, "leftovers.json");
    struct file_names names;

    if (file_exists(path))
        clean_one(dir, c);
    free(path);
    if (depth == DEEPEST || file_list(dir, &names) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *const child = file_join(dir, names.all[i]);
        if (names.all[i][0] != '.' && file_is_folder(child))
            clean_below(child, depth + 1, c);
        free(child);
    }
    file_names_release(&names);
}

static int work(const struct command_line *line, const void *settings)
{
    struct cleaning c = {.code = EXIT_REACHED};

    (void)settings;
    for (int i = 0; i < line->n_args; i++)
        if (!file_is_folder(line->args[i]))
            return err(E_USAGE, "%s is no folder", line->args[i]);
    for (int i = 0; i < line->n_args; i++)
        clean_below(line->args[i], 0, &c);
    if (line->n_args == 0)
        clean_below("runs", 0, &c);
    if (!c.found)
        puts("nothing is left to mend");
    return c.code;
}

static int run(const struct command *self, int argc, char **argv)
{
    return command_line_run(self, argc, argv, NULL, work);
}

static const struct opt_table *const tables[] = {NULL};

const struct command command_clean = {
    .name = "clean",
    .args = "[DIR...]",
    .min_args = 0,
    .max_args = 1 << 20,
    .summary = "Mend what a run left behind whose supervisor was killed",
    .about =
        "A run with --memory, --cache, --disk-limit or --ingest has a supervisor, a process that "
        "removes control group, fio and fio's files however the run ends. Should it be killed "
        "itself, leftovers.json in the run folder names what is left: for each one in DIR, runs by "
        "default, and in the folders below, fio is ended and its folder and the control groups are "
        "removed, and then the file. A process that did not start when the file says, and whatever "
        "does not have a name that a run gives, is left alone, and so is a run that is at work. A "
        "run that was killed is marked so in result.json.",
    .tables = tables,
    .run = run,
};
