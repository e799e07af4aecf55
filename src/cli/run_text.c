#include <math.h>
#include <stdio.h>

#include "cli/run.h"
#include "cli/run_folder.h"
#include "cli/run_set.h"
#include "cli/set_drive.h"

long long run_later(const struct run *r)
{
    return set_size(&r->setup, r->own.runs) - 1;
}

void run_print_needs(struct run *r, const struct train_needs *n)
{
    struct str json = STR_INIT, rules = STR_INIT;
    const char *const division = r->setup.workload->rules(&r->setup.settings, &r->task, &rules);

    command_line_add_json(&r->setup.line, &json);
    printf("settings: %s\ndivision: %s\n%s", json.s, division, rules.s);
    printf("data: %llu training and %llu evaluation samples\n", (unsigned long long)r->task.n_train,
           (unsigned long long)r->task.n_eval);
    printf("model: %lld parameters%s\n", n->parameters,
           r->task.parameters ? ", as many as this model must have" : "");
    printf("memory: %.1f MiB weights and optimiser state, %.1f MiB activations, %.1f MiB a batch "
           "read ahead\n",
           (double)n->weights / 0x1p20, (double)n->activations / 0x1p20, (double)n->batch / 0x1p20);
    machine_print_memory(&r->setup.machine);
    printf("processors: %d to use (%s); allowed: %s\n", r->setup.machine.cpus.count,
           r->setup.machine.cpus.how, r->setup.machine.cpus.mask);
    printf("disk: about %.1f MiB for checkpoints, three while one is written\n",
           (double)(3 + 2 * run_later(r)) * (double)n->checkpoint / 0x1p20);
    if (run_later(r))
        printf("runs: %lld, one after the other, each with a seed of its own\n", run_later(r) + 1);
    str_release(&json);
    str_release(&rules);
}

static void print_metered(const struct run *r)
{
    if (r->metered_line.len)
        printf("%s\n", r->metered_line.s);
    if (r->origins_text.len)
        printf("%s", r->origins_text.s);
}

static void print_evaluation(const struct run *r)
{
    const struct train_result *const t = &r->result;

    printf("%s: %s %.4f", r->task.name, r->task.metric->title, t->quality);
    if (r->setup.settings.train.target > 0)
        printf(" (target %.4f)", r->setup.settings.train.target);
    for (size_t i = 1; i < t->n_values; i++)
        printf("%s %s %.10g", i > 1 ? "," : ";", t->values[i].name, t->values[i].value);
    if (!isnan(t->eval_loss))
        printf("; loss %.4f", t->eval_loss);
    printf("; %.1f %s/s", (double)r->task.n_eval / (double)t->last_eval_ns * 1e9, r->task.unit);
    if (t->bad_samples)
        printf("; %llu bad samples", (unsigned long long)t->bad_samples);
    printf("\nevaluated the weights of %s; run folder: %s\n", r->own.init, r->dir);
    print_metered(r);
}

static void print_data(const struct run *r)
{
    const struct train_result *const t = &r->result;

    printf("%s, data, into nothing: %s after %lld epochs, %lld batches, %.1f s; %.1f %s/s",
           r->task.name, train_status_name(t->status), t->epochs, t->steps, (double)t->run_ns / 1e9,
           (double)t->samples / (double)t->train_ns * 1e9, r->task.unit);
    if (t->bad_samples)
        printf("; %llu bad samples", (unsigned long long)t->bad_samples);
    printf("\nrun folder: %s\n", r->dir);
    print_metered(r);
}

void run_print_result(const struct run *r)
{
    const struct train_result *const t = &r->result;
    struct str json = STR_INIT;

    if (r->own.json) {
        run_folder_result_json(&r->setup, &r->task, t, &json);
        fputs(json.s, stdout);
        str_release(&json);
        return;
    }
    if (r->own.only == ONLY_DATA) {
        print_data(r);
        return;
    }
    if (r->own.only == ONLY_EVALUATE && t->n_values) {
        print_evaluation(r);
        return;
    }
    printf("%s: %s after %lld epochs, %lld steps, %.1f s", r->task.name,
           train_status_name(t->status), t->epochs, t->steps, (double)t->run_ns / 1e9);
    if (!isnan(t->quality))
        printf("; %s %.4f", r->task.metric->title, t->quality);
    if (!isnan(t->quality) && r->setup.settings.train.target > 0)
        printf(" (target %.4f)", r->setup.settings.train.target);
    for (size_t i = 1; i < t->n_values; i++) /* counts */
        printf(", %.17g %s", t->values[i].value, t->values[i].name);
    if (t->train_ns > 0 && t->samples > 0)
        printf("; %.1f %s/s, %.1f %% of training spent waiting for data",
               (double)t->samples / (double)t->train_ns * 1e9, r->task.unit,
               100 * (double)t->wait_ns / (double)t->train_ns);
    if (t->bad_samples)
        printf("; %llu bad samples", (unsigned long long)t->bad_samples);
    if (t->resumed)
        printf("\nresumed: the log covers the last start only, so it is no timed result");
    printf("\n%s division under MLPerf ruleset %s; run folder: %s\n", r->division,
           workload_ruleset(r->setup.workload, &r->setup.settings), r->dir);
    print_metered(r);
}
