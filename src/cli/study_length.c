#include "cli/study_length.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/run_folder.h"

static const double enough_s = 2; /* of training that tells how fast steps are */
enum { FIRST_STEPS = 4, LONGER = 64, MAX_TRIALS = 4, LEAST_STEPS = 10 };

static int says_length(const struct command_line *l)
{
    return command_line_says(l, "epochs") || command_line_says(l, "target");
}

void study_apply_length(const struct study *s, size_t workload, struct setup *setup)
{
    struct train_settings *const t = &setup->settings.train;
    const struct study_workload *const w = &s->workloads[workload];

    t->steps = w->steps;
    if (t->steps == 0)
        return;
    if (!w->says_evaluations) {
        t->eval_every = 1000000;
        t->eval_offset = 0;
    }
    if (!w->says_checkpoints)
        t->checkpoint_every = 0;
}

static int read_seconds(const char *folder, double *out)
{
    const cJSON *ns;
    cJSON *result;

    TRY(run_folder_read_json(folder, "result.json", &result));
    ns = cJSON_GetObjectItemCaseSensitive(result, "train_ns");
    *out = cJSON_IsNumber(ns) ? ns->valuedouble / 1e9 : 0;
    cJSON_Delete(result);
    return *out > 0 ? 0 : err(E_DATA, "%s/result.json does not say how long it trained", folder);
}

/* The trial in this folder: the seconds that it trained. */
static int try_in(const char *folder, size_t workload, struct length_trial trial, double *seconds)
{
    struct child_end end = {0};
    int rc = trial.run(trial.context, workload, folder, &end);

    if (rc == 0 && end.code)
        rc = err(E_DATA,
                 "the run that is to say how long the others are to be ended with code %d; give "
                 "their length with --steps",
                 end.code);
    if (rc == 0)
        rc = read_seconds(folder, seconds);
    return rc;
}

/* One trial of these steps, in a folder that nobody else has. */
static int try_steps(const struct study *s, size_t workload, struct length_trial trial,
                     double *seconds)
{
    char *const folder = file_join(s->dir, "length-XXXXXX");
    int rc;

    if (mkdtemp(folder)) {
        rc = try_in(folder, workload, trial, seconds);
        file_remove_tree(folder);
    } else {
        rc = err(E_IO, "make a folder %s: %s", folder, strerror(errno));
    }
    free(folder);
    return rc;
}

/* Trials grow until they are long enough to tell. */
static int measure(struct study *s, size_t workload, struct setup *setup, struct length_trial trial)
{
    struct study_workload *const w = &s->workloads[workload];
    double seconds = 0, a_step = 0;

    w->steps = FIRST_STEPS;
    for (int i = 0; i < MAX_TRIALS && seconds < enough_s; i++) {
        if (i)
            w->steps *= (long long)fmin(LONGER, ceil(1.5 * enough_s / seconds));
        study_apply_length(s, workload, setup);
        TRY(try_steps(s, workload, trial, &seconds));
        a_step = seconds / (double)w->steps;
    }
    w->steps = (long long)fmax(LEAST_STEPS, ceil((s->warm_s + STUDY_SECONDS) / a_step));
    fprintf(stderr,
            "%s: %lld steps a run, about %.3g s each: %.3g s a step in a run that is thrown "
            "away\n",
            w->name, w->steps, a_step * (double)w->steps, a_step);
    return 0;
}

int study_length(struct study *s, size_t workload, struct setup *setup, struct length_trial trial)
{
    struct study_workload *const w = &s->workloads[workload];
    const struct command_line *const l = &setup->line;

    w->says_evaluations = command_line_says(l, "eval-every") || command_line_says(l, "eval-offset");
    w->says_checkpoints = command_line_says(l, "checkpoint-every");
    w->steps = setup->settings.train.steps;
    if (w->steps == 0 && !says_length(l))
        TRY(measure(s, workload, setup, trial));
    study_apply_length(s, workload, setup);
    return 0;
}
