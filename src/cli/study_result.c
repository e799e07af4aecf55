/* What the runs of a study come to: one row a workload and condition, and the comparisons. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/study.h"

/* The run of a repeat that counts, or NULL. */
static const struct study_run *find_run(const struct study *s, size_t workload, size_t condition,
                                        size_t repeat)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        const struct study_run *const r = &s->runs[i];
        if (r->workload == workload && r->condition == condition && r->repeat == repeat)
            return r->state == STUDY_DONE && r->stands ? r : NULL;
    }
    return NULL;
}

/* A figure of every repeat, NAN where there is none: n_repeats numbers. */
static void gather(const struct study *s, const struct study_row *row, enum study_figure figure,
                   double *out)
{
    for (size_t k = 0; k < s->n_repeats; k++) {
        const struct study_run *const r = find_run(s, row->workload, row->condition, k + 1);
        out[k] = r ? r->figures[figure] : NAN;
    }
}

/* The rates of every repeat that can be set beside those of the first condition: the two of a
 * repeat are both of what is behind the warm-up, or both of the whole run. */
static void gather_rates(const struct study *s, const struct study_row *row, double *out)
{
    gather(s, row, FIGURE_train_samples_per_s, out);
    for (size_t k = 0; k < s->n_repeats; k++) {
        const struct study_run *const first = find_run(s, row->workload, 0, k + 1);
        const struct study_run *const r = find_run(s, row->workload, row->condition, k + 1);
        if (first && r && first->whole != r->whole)
            out[k] = NAN;
    }
}

/* Of those that stand: how many, and where their data came from, "mixed" where they differ. */
static void count_runs(const struct study *s, struct study_row *row)
{
    for (size_t k = 1; k <= s->n_repeats; k++) {
        const struct study_run *const r = find_run(s, row->workload, row->condition, k);
        row->n += r != NULL;
        if (!r || !r->origin[0])
            continue;
        if (row->origin[0] && strcmp(row->origin, r->origin) != 0)
            memcpy(row->origin, "mixed", sizeof("mixed"));
        else
            memcpy(row->origin, r->origin, sizeof(row->origin));
    }
}

static void judge_row(const struct study *s, struct study_row *row, double *rates, double *values)
{
    const struct study_row first = {.workload = row->workload};

    for (int f = 0; f < N_FIGURES; f++) {
        gather(s, row, (enum study_figure)f, values);
        row->figures[f] = effect_spread(values, s->n_repeats);
    }
    gather(s, &first, FIGURE_train_samples_per_s, rates);
    gather_rates(s, row, values);
    row->slowdown = effect_slowdown(rates, values, row->condition ? s->n_repeats : 0);
    count_runs(s, row);
}

static void judge_smallest(struct study_result *out)
{
    struct effect_slowdown *const all = xcalloc(out->n_rows + 1, sizeof(*all));

    for (size_t i = 0; i < out->n_rows; i++)
        all[i] = out->rows[i].slowdown;
    out->smallest = effect_smallest_of_all(all, out->n_rows);
    free(all);
}

/* Of the conditions that train, workload by workload, as one ranking each; the study's is that of
 * its first workload. */
static void judge_ranking(const struct study *s, struct study_result *out)
{
    double *const values = xcalloc(s->n_repeats * s->n_conditions + 1, sizeof(*values)),
                  *const column = xcalloc(s->n_repeats + 1, sizeof(*column));
    size_t n = 0, at = 0;

    for (size_t c = 0; c < s->n_conditions; c++)
        n += s->conditions[c].alone != ALONE_INGEST;
    for (size_t c = 0; c < s->n_conditions; c++) {
        if (s->conditions[c].alone == ALONE_INGEST)
            continue;
        gather_rates(s, &out->rows[c], column);
        for (size_t k = 0; k < s->n_repeats; k++)
            values[k * n + at] = column[k];
        at++;
    }
    out->ranking = effect_ranking(values, s->n_repeats, n);
    free(values);
    free(column);
}

/* What ingest reaches beside the training, against what it costs. */
static void judge_choice(const struct study *s, struct study_result *out)
{
    struct effect_offer *const offers = xcalloc(s->n_conditions + 1, sizeof(*offers));

    out->has_choice = strcmp(s->kind, "ingest") == 0;
    for (size_t c = 0; c < s->n_conditions; c++)
        offers[c] = (struct effect_offer){
            .gain = s->conditions[c].alone == ALONE_BOTH
                        ? out->rows[c].figures[FIGURE_ingest_bytes_per_s].mean
                        : NAN,
            .cost = out->rows[c].slowdown,
        };
    out->choice = effect_choose(offers, s->n_conditions, STUDY_LIMIT);
    free(offers);
}

void study_judge(const struct study *s, struct study_result *out)
{
    double *const rates = xcalloc(s->n_repeats + 1, sizeof(*rates)), *const values =
                                                                         xcalloc(s->n_repeats + 1,
                                                                                 sizeof(*values));

    *out = (struct study_result){.n_rows = s->n_workloads * s->n_conditions};
    out->rows = xcalloc(out->n_rows + 1, sizeof(*out->rows));
    for (size_t i = 0; i < out->n_rows; i++) {
        out->rows[i].workload = i / s->n_conditions;
        out->rows[i].condition = i % s->n_conditions;
        judge_row(s, &out->rows[i], rates, values);
    }
    judge_smallest(out);
    judge_ranking(s, out);
    judge_choice(s, out);
    free(rates);
    free(values);
    study_add_words(s, out);
}

void study_result_release(struct study_result *r)
{
    free(r->rows);
    str_release(&r->words);
    str_release(&r->choice_words);
    *r = (struct study_result){0};
}
