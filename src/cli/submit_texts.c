/* The files that reproduce a result, made of run.json. The words are ours; the names of the files
 * are MLPerf's. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/submit.h"
#include "rules/ruleset.h"

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *submit_word(const cJSON *run, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *const text = cJSON_GetStringValue(member(run, name));

    return text && *text && *text != '-' && text[strspn(text, letters)] == '\0' ? text : NULL;
}

static const char *word(const cJSON *run, const char *name)
{
    const char *const text = submit_word(run, name);

    return text ? text : "unknown";
}

static const char *version_of(const cJSON *run)
{
    const char *const text = cJSON_GetStringValue(member(run, "stave_version"));

    return text && *text && text[strspn(text, "0123456789.")] == '\0' ? text : STAVE_VERSION;
}

/* The round that the runs were judged by; NULL: the one that a run takes without being asked. */
static const char *other_ruleset(const cJSON *run)
{
    const char *const text = cJSON_GetStringValue(member(run, "ruleset"));

    return text && strcmp(text, RULESET_PINNED) != 0 && ruleset_find(text) ? text : NULL;
}

/* ---- config.yaml ---- */

/* What belongs to one run, or to the machine's folders. */
static int is_own(const char *option)
{
    static const char *const names[] = {"seed", "data-dir", "preset"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(option, names[i]) == 0)
            return 1;
    return 0;
}

static void add_option(const cJSON *v, struct str *out)
{
    char *text;

    if (is_own(v->string) || cJSON_IsNull(v))
        return;
    str_printf(out, "%s: ", v->string);
    if (cJSON_IsString(v)) {
        str_add_json(out, v->valuestring);
    } else {
        text = cJSON_PrintUnformatted(v);
        str_add(out, text ? text : "");
        cJSON_free(text);
    }
    str_add(out, "\n");
}

void submit_config(const cJSON *run, struct str *out)
{
    const cJSON *table, *option;

    str_printf(out,
               "# All settings of these runs of stave %s; seed, data and run folder are the "
               "command line's.\n",
               version_of(run));
    cJSON_ArrayForEach(table, member(run, "options"))
    {
        if (strcmp(table->string, "run") == 0)
            continue;
        str_printf(out, "\n# %s\n", table->string);
        cJSON_ArrayForEach(option, table)
        {
            add_option(option, out);
        }
    }
}

/* ---- scripts ---- */

/* The run began with weights that somebody gave. */
static int has_init(const cJSON *run)
{
    return cJSON_IsString(member(member(member(run, "options"), "run"), "init"));
}

static void begin_script(const char *about, struct str *out)
{
    str_printf(out, "#!/bin/bash\n# %s\nset -euo pipefail\n\n", about);
}

void submit_setup(const cJSON *run, struct str *out)
{
    begin_script("Builds the program from its sources and installs it: setup.sh SOURCES [PREFIX]",
                 out);
    str_printf(out,
               "sources=${1:?usage: setup.sh SOURCES [PREFIX]}\n"
               "prefix=${2:-$HOME/.local}\n"
               "cd \"$sources\"\n"
               "tools/setup\n"
               "make -j\"$(nproc)\" install PREFIX=\"$prefix\"\n"
               "\"$prefix/bin/stave\" --version | grep -x 'stave %s'\n"
               "echo \"put $prefix/bin into PATH\"\n",
               version_of(run));
}

void submit_datasets(const cJSON *run, struct str *out)
{
    const int sample = strcmp(word(run, "preset"), "sample") == 0;

    begin_script(sample ? "Makes the sample data set: init_datasets.sh DATA"
                        : "Converts the data set: init_datasets.sh DATA SOURCE, where SOURCE holds "
                          "train/CLASS and val/CLASS",
                 out);
    if (sample)
        str_printf(out,
                   "data=${1:?usage: init_datasets.sh DATA}\n"
                   "exec stave prepare %s --sample --to \"$data\"\n",
                   word(run, "workload"));
    else
        str_printf(out,
                   "data=${1:?usage: init_datasets.sh DATA SOURCE}\n"
                   "source=${2:?usage: init_datasets.sh DATA SOURCE}\n"
                   "exec stave prepare %s --from \"$source\" --to \"$data\"\n",
                   word(run, "workload"));
}

void submit_run_and_time(const cJSON *run, struct str *out)
{
    const char *const args = has_init(run) ? "DATA RUN WEIGHTS" : "DATA RUN";
    const char *const ruleset = other_ruleset(run);
    struct str about = STR_INIT;

    str_printf(&about,
               "One timed run: run_and_time.sh %s. RUN/mlperf.log is its log; a new seed is drawn.",
               args);
    begin_script(about.s, out);
    str_printf(out,
               "data=${1:?usage: run_and_time.sh %s}\n"
               "run=${2:?usage: run_and_time.sh %s}\n",
               args, args);
    if (has_init(run))
        str_printf(out, "weights=${3:?usage: run_and_time.sh %s}\n", args);
    str_printf(out,
               "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
               "exec stave run %s --preset %s --config \"$here/config.yaml\" --data-dir "
               "\"$data\" --out \"$run\"%s%s%s\n",
               word(run, "workload"), word(run, "preset"),
               has_init(run) ? " --init \"$weights\"" : "", ruleset ? " --ruleset " : "",
               ruleset ? ruleset : "");
    str_release(&about);
}

/* ---- documents ---- */

void submit_readme(const struct submit *s, const struct submit_result *r, struct str *out)
{
    const cJSON *const run = r->runs[0].run;
    const char *const rules = cJSON_GetStringValue(member(run, "rules"));

    str_printf(out,
               "# %s with stave %s\n\n"
               "Workload `%s`, preset `%s`, division %s, MLPerf Training ruleset %s. The results "
               "are %zu runs that differ in their seed.\n\n",
               r->benchmark, version_of(run), word(run, "workload"), word(run, "preset"),
               system_desc_get(&s->desc, "division"), s->o.package.ruleset, r->n_runs);
    str_printf(out,
               "## To reproduce them\n\n"
               "1. `./setup.sh SOURCES`: builds and installs the program.\n"
               "2. `./init_datasets.sh DATA%s`: the data.\n"
               "3. `./run_and_time.sh DATA RUN`, %zu times with a new folder RUN each: its "
               "exit status is 0 when the run reached its target and the log stands.\n\n"
               "`config.yaml` holds every setting.\n",
               strcmp(word(run, "preset"), "sample") == 0 ? "" : " SOURCE", r->n_runs);
    if (rules && *rules)
        str_printf(out, "\n## What the rules say of these settings\n\n```\n%s```\n", rules);
}

/* The options' tables without what belongs to one run. */
static void add_tables(const cJSON *run, struct str *out)
{
    const cJSON *table, *option;
    int n_tables = 0;

    cJSON_ArrayForEach(table, member(run, "options"))
    {
        int n = 0;

        if (strcmp(table->string, "run") == 0)
            continue;
        str_printf(out, "%s\n    ", n_tables++ ? "," : "");
        str_add_json(out, table->string);
        str_add(out, ": {");
        cJSON_ArrayForEach(option, table)
        {
            char *const text = cJSON_PrintUnformatted(option);

            if (!is_own(option->string)) {
                str_add(out, n++ ? ",\n      " : "\n      ");
                str_add_json(out, option->string);
                str_printf(out, ": %s", text ? text : "null");
            }
            cJSON_free(text);
        }
        str_add(out, "\n    }");
    }
}

void submit_details(const struct submit *s, const struct submit_result *r, struct str *out)
{
    const cJSON *const run = r->runs[0].run;
    const char *const values[][2] = {
        {"system", s->name},
        {"implementation", s->o.implementation},
        {"benchmark", r->benchmark},
        {"framework", system_desc_get(&s->desc, "framework")},
        {"ruleset", s->o.package.ruleset},
        {"division", system_desc_get(&s->desc, "division")},
        {"workload", word(run, "workload")},
        {"preset", word(run, "preset")},
    };

    str_add(out, "{");
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        str_printf(out, "%s\n  \"%s\": ", i ? "," : "", values[i][0]);
        str_add_json(out, values[i][1]);
    }
    str_add(out, ",\n  \"options\": {");
    add_tables(run, out);
    str_add(out, "\n  }\n}\n");
}
