/* A study's finding in a sentence. */
#include <math.h>
#include <string.h>

#include "cli/study.h"

void study_add_rate(double bytes_per_s, struct str *out)
{
    static const struct {
        double one;
        const char *unit;
    } units[] = {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
    size_t u = 0;

    while (u < 3 && bytes_per_s < units[u].one)
        u++;
    str_printf(out, "%.3g %s", bytes_per_s / units[u].one, units[u].unit);
}

void study_add_percent(double ratio, struct str *out)
{
    const double percent = 100 * ratio;

    str_printf(out, fabs(percent) < 10 ? "%.2g" : "%.0f", percent);
}

/* "12 % (9.2 to 15)" */
static void add_slowdown(const struct effect_slowdown *e, struct str *out)
{
    study_add_percent(e->ratio, out);
    str_add(out, " %");
    if (!isfinite(e->low))
        return;
    str_add(out, " (");
    study_add_percent(e->low, out);
    str_add(out, " to ");
    study_add_percent(e->high, out);
    str_add(out, ")");
}

/* What would have been seen. */
static void add_noise(const struct study_result *r, struct str *out)
{
    if (!isfinite(r->smallest.ratio))
        return;
    str_add(out, ", and the repeats tell differences of ");
    study_add_percent(r->smallest.ratio, out);
    str_add(out, " %");
}

static size_t n_runs_done(const struct study *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_runs; i++)
        n += s->runs[i].state == STUDY_DONE;
    return n;
}

/* The row of a condition that costs most of those told apart from the baseline; n_rows: none. */
static size_t find_worst(const struct study_result *r)
{
    size_t at = r->n_rows;

    for (size_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].slowdown.told_apart && r->rows[i].slowdown.ratio > 0 &&
            (at == r->n_rows || r->rows[i].slowdown.ratio > r->rows[at].slowdown.ratio))
            at = i;
    return at;
}

/* Of the comparison with the most. */
static size_t most_pairs(const struct study_result *r)
{
    size_t most = 0;

    for (size_t i = 0; i < r->n_rows; i++)
        most = r->rows[i].slowdown.n > most ? r->rows[i].slowdown.n : most;
    return most;
}

/* ---- ingest ---- */

static double ingest_of(const struct study_row *row)
{
    return row->figures[FIGURE_ingest_bytes_per_s].mean;
}

/* The most ingest below which no condition is told apart; 0: none. */
static double most_unnoticed(const struct study *s, const struct study_result *r)
{
    double least_noticed = INFINITY, most = 0;

    for (size_t i = 0; i < r->n_rows; i++)
        if (s->conditions[i].alone == ALONE_BOTH && r->rows[i].slowdown.told_apart &&
            r->rows[i].slowdown.ratio > 0)
            least_noticed = fmin(least_noticed, ingest_of(&r->rows[i]));
    for (size_t i = 0; i < r->n_rows; i++)
        if (s->conditions[i].alone == ALONE_BOTH && r->rows[i].slowdown.n > 1 &&
            ingest_of(&r->rows[i]) < least_noticed)
            most = fmax(most, ingest_of(&r->rows[i]));
    return most;
}

static void add_ingest_words(const struct study *s, struct study_result *r)
{
    const size_t worst = find_worst(r);
    const double unnoticed = most_unnoticed(s, r);

    if (worst < r->n_rows) {
        str_add(&r->words, "Ingest at ");
        study_add_rate(ingest_of(&r->rows[worst]), &r->words);
        str_add(&r->words, " slows training by ");
        add_slowdown(&r->rows[worst].slowdown, &r->words);
        if (unnoticed > 0) {
            str_add(&r->words, "; up to ");
            study_add_rate(unnoticed, &r->words);
            str_add(&r->words, " no slowdown can be told from noise");
            add_noise(r, &r->words);
        }
    } else if (unnoticed > 0) {
        str_add(&r->words, "No slowdown can be told from noise up to ");
        study_add_rate(unnoticed, &r->words);
        str_add(&r->words, " of ingest");
        add_noise(r, &r->words);
    } else {
        str_add(&r->words, "Nothing is known of what ingest costs");
    }
}

static void add_choice_words(const struct study *s, struct study_result *r)
{
    struct str *const out = &r->choice_words;
    const struct study_row *const row = &r->rows[r->choice.at];

    if (r->choice.certainty == EFFECT_NONE) {
        str_printf(out, "No setting costs training under %g %%", 100 * STUDY_LIMIT);
        return;
    }
    str_printf(out, "%s ingest that costs training under %g %%: --ingest \"%s\", ",
               r->choice.certainty == EFFECT_SURE ? "The most" : "Perhaps the most",
               100 * STUDY_LIMIT, s->conditions[r->choice.at].ingest);
    study_add_rate(ingest_of(row), out);
    str_add(out, ", slowdown ");
    add_slowdown(&row->slowdown, out);
    if (r->choice.certainty == EFFECT_LIKELY)
        str_add(out, isfinite(row->slowdown.high)
                         ? "; the repeats are too few or too noisy to be sure"
                         : " in one run, which says nothing of noise");
}

/* ---- studies ---- */

static void add_study_words(const struct study *s, struct study_result *r)
{
    const size_t worst = find_worst(r);

    if (s->n_conditions == 1) {
        str_printf(&r->words, "One condition, %zu run%s of each workload", s->n_repeats,
                   s->n_repeats == 1 ? "" : "s");
    } else if (worst < r->n_rows) {
        const struct study_row *const row = &r->rows[worst];
        str_printf(&r->words, "%s slows ", s->conditions[row->condition].name);
        str_printf(&r->words, "%s most, by ", s->workloads[row->workload].name);
        add_slowdown(&row->slowdown, &r->words);
        str_printf(&r->words, ", against %s", s->conditions[0].name);
    } else if (most_pairs(r) > 1) {
        str_add(&r->words, "No condition is slower than the first by more than noise");
        add_noise(r, &r->words);
    } else if (most_pairs(r) == 1) {
        str_add(&r->words, "One repeat does not tell a difference from noise");
    } else {
        str_add(&r->words,
                n_runs_done(s) == 0
                    ? "No run has been made yet"
                    : "No repeat has both the first condition and another one to compare");
    }
}

void study_add_words(const struct study *s, struct study_result *r)
{
    const size_t done = n_runs_done(s);

    if (r->has_choice) {
        add_ingest_words(s, r);
        add_choice_words(s, r);
    } else {
        add_study_words(s, r);
    }
    if (done < s->n_runs)
        str_printf(&r->words, "; so far %zu of %zu runs", done, s->n_runs);
}
