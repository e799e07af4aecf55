#include "cli/setup.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/err.h"

/* clang-format off */
#define ROW(...) OPT_ROW(setup_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("preset", OPT_STRING, preset, .arg = "NAME", .letter = 'p', .help = "Named settings of the workload, see stave list"),
    ROW("device", OPT_STRING, device, .arg = "NAME", .help = "Backend that computes, see stave list; the first one by default"),
    ROW("threads", OPT_INT, threads, .dflt = "0", .min = 0, .max = 4096, .arg = "N",
        .help = "Processors that compute; 0: as many as affinity and cgroup allow"),
};
/* clang-format on */

const struct opt_table setup_options = {"machine", rows, COUNT_OF(rows)};

static void bind(struct setup *s, const struct command *c, int argc, char **argv,
                 const struct opt_table *extra, void *extra_settings)
{
    command_line_init(&s->line, c, argc, argv);
    if (extra)
        command_line_bind(&s->line, extra, extra_settings);
    command_line_bind(&s->line, &setup_options, &s->own);
    for (const struct opt_table *const *t = c->tables; *t; t++)
        if (*t == &conditions_options)
            command_line_bind(&s->line, *t, &s->conditions);
    if (!s->workload && c->min_args == 0)
        return;
    command_line_bind(&s->line, &train_options, &s->settings.train);
    command_line_bind(&s->line, &data_options, &s->settings.data);
    if (s->workload)
        command_line_bind(&s->line, s->workload->options, s->settings.own);
}

static int unknown_workload(const char *name)
{
    struct str names = STR_INIT;

    for (int i = 0; workloads[i]; i++)
        str_printf(&names, "%s%s", i ? ", " : "", workloads[i]->name);
    err(E_USAGE, "no workload is called %s; there are: %s", name, names.s);
    str_release(&names);
    return E_USAGE;
}

static int find_workload(struct setup *s)
{
    const char *const name = command_line_first_arg(&s->line);

    if (!name)
        return 0; /* the parser says what is missing, or answers --help */
    s->workload = workload_find(name);
    return s->workload ? 0 : unknown_workload(name);
}

/* The name was looked for before the options were understood: a shortened flag in front of it looks
 * like an option with a value. */
static int check_workload(const struct setup *s)
{
    const char *const name = s->line.n_args ? s->line.args[0] : NULL;

    if (!name || (s->workload && strcmp(s->workload->name, name) == 0))
        return 0; /* some commands do without */
    return err(E_USAGE,
               "%.100s stands behind an option that is not written out; name the workload "
               "first, or write the option's whole name",
               name);
}

static int apply_preset(struct setup *s)
{
    s->preset = preset_find(s->workload, s->own.preset);
    if (!s->preset)
        return err(E_USAGE, "%s has no preset %s; stave list shows them", s->workload->name,
                   s->own.preset);
    for (const char *const(*p)[2] = s->preset->settings; (*p)[0]; p++)
        TRY(command_line_set(&s->line, (*p)[0], (*p)[1], "preset"));
    return 0;
}

/* The preset stands below everything that is said elsewhere, but its name may be said anywhere: the
 * line is read twice. */
int setup_parse(struct setup *s, const struct command *c, int argc, char **argv,
                const struct opt_table *extra, void *extra_settings)
{
    char *preset;
    int rc;

    *s = (struct setup){0};
    bind(s, c, argc, argv, extra, extra_settings);
    rc = find_workload(s);
    if (rc == 0 && s->workload) {
        command_line_release(&s->line);
        s->settings.own = xcalloc(1, s->workload->settings_bytes);
        bind(s, c, argc, argv, extra, extra_settings);
    }
    if (rc == 0)
        rc = command_line_parse(&s->line);
    if (rc == 0)
        rc = check_workload(s);
    if (rc != 0 || !s->workload)
        return rc;
    preset = s->own.preset ? xstrdup(s->own.preset) : NULL;
    command_line_release(&s->line);
    bind(s, c, argc, argv, extra, extra_settings);
    s->own.preset = preset;
    rc = apply_preset(s);
    return rc < 0 ? rc : command_line_parse(&s->line);
}

void setup_release(struct setup *s)
{
    command_line_release(&s->line);
    free(s->settings.own);
    *s = (struct setup){0};
}

/* A precision that the device lacks is float32 instead: the settings then say so, too. */
static void settle_precision(struct train_settings *t, const struct engine *e)
{
    if (e->backend->supports(e->device, train_precision(t)) == 0)
        return;
    warning("%s; training in f32 instead of %s", err_reason(), precision_names[t->precision]);
    t->precision = PRECISION_F32;
}

int setup_engine(struct setup *s, struct engine *out)
{
    const char *const name = s->own.device ? s->own.device : backends[0]->name;

    machine_find("", &s->machine);
    TRY(engine_open(out, name, (struct device_options){.threads = (int)s->own.threads}));
    s->settings.computes = out->backend->computes;
    settle_precision(&s->settings.train, out);
    return 0;
}
