/* `stave list`: what there is to run here. */
#include <stdio.h>

#include "backend/backend.h"
#include "base/cpus.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "workloads/workload.h"

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

static int run(const struct command *self, int argc, char **argv)
{
    struct command_line line;
    int rc;

    command_line_init(&line, self, argc, argv);
    rc = command_line_parse(&line);
    if (rc == 0) {
        print_workloads();
        rc = print_devices();
    }
    command_line_release(&line);
    return rc < 0 ? rc : EXIT_REACHED;
}

const struct command command_list = {
    .name = "list",
    .summary = "Show the workloads, their presets and data, and what this machine can run",
    .run = run,
};
