/* `stave list`: what there is to run here. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/cpus.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "rules/ruleset.h"
#include "workloads/workload.h"

struct list_settings {
    int rules;
};

static const struct opt_row rows[] = {
    OPT_ROW(list_settings, "rules", OPT_BOOL, rules, .dflt = "no",
            .help = "Print MLPerf's rules: of all rounds, of one, or of one benchmark of it"),
};
static const struct opt_table options = {"list", rows, COUNT_OF(rows)};

static void print_workloads(void)
{
    puts("Workloads:");
    for (int i = 0; workloads[i]; i++) {
        const struct workload *const w = workloads[i];

        printf("  %-10s %s\n             data: %s\n", w->name, w->help, w->data);
        for (const struct preset *p = w->presets; p->name; p++)
            printf("             preset %s%s: %s\n", p->name, p == w->presets ? " (default)" : "",
                   p->help);
    }
}

static int print_devices(void)
{
    struct cpus cpus;

    puts("\nDevices of this build (--device), the default first:");
    for (int i = 0; backends[i]; i++) {
        struct device *d = NULL;
        struct str line = STR_INIT;
        const int rc = backends[i]->open(&(struct device_options){0}, &d);

        if (rc == 0)
            backends[i]->describe(d, &line);
        else
            str_printf(&line, "not here: %s", err_reason());
        printf("  %-10s %s\n             %s\n", backends[i]->name, backends[i]->help, line.s);
        if (rc == 0)
            backends[i]->close(d);
        str_release(&line);
    }
    TRY(cpus_find("", &cpus));
    printf("\nProcessors: %d to use (%s)\n", cpus.count, cpus.how);
    return 0;
}

/* ---- rules ---- */

static void print_rounds(void)
{
    puts("Rounds of MLPerf Training; stave list --rules ROUND [BENCHMARK] prints one:");
    for (const char *const *v = ruleset_versions(); *v; v++) {
        const struct ruleset *const r = ruleset_find(*v);

        printf("  %s %s", *v, strcmp(*v, RULESET_PINNED) == 0 ? "(pinned)" : "        ");
        for (size_t i = 0; i < r->n_benchmarks; i++)
            printf(" %s", r->benchmarks[i].name);
        puts("");
    }
}

static int print_rules(const char *const *args, int n_args)
{
    const struct ruleset *const r = n_args ? ruleset_find(args[0]) : NULL;
    const struct rule_benchmark *const b = r && n_args > 1 ? ruleset_benchmark(r, args[1]) : NULL;
    struct str out = STR_INIT;

    if (n_args == 0) {
        print_rounds();
        return 0;
    }
    if (!r)
        return ruleset_unknown(args[0]);
    if (n_args > 1 && !b)
        return err(E_USAGE, "round %s has no benchmark \"%s\"; stave list --rules %s names them",
                   args[0], args[1], args[0]);
    str_add(&out, "");
    if (b)
        ruleset_print_benchmark(r, b, &out);
    else
        ruleset_print(r, &out);
    fputs(out.s, stdout);
    str_release(&out);
    return 0;
}

static int print_here(const struct command_line *line)
{
    if (line->n_args)
        return err(E_USAGE, "stave list takes arguments only with --rules");
    print_workloads();
    return print_devices();
}

static int work(const struct command_line *line, const void *settings)
{
    const struct list_settings *const own = settings;

    return own->rules ? print_rules(line->args, line->n_args) : print_here(line);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct list_settings own;

    return command_line_run(self, argc, argv, &own, work);
}

static const struct opt_table *const tables[] = {&options, NULL};

const struct command command_list = {
    .name = "list",
    .args = "[ROUND [BENCHMARK]]",
    .max_args = 2,
    .summary = "Show the workloads, their presets and data, and what this machine can run",
    .tables = tables,
    .run = run,
};
