#include "rules/result_twice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "rules/log.h"
#include "rules/result.h"

static void add_mark(struct result_run *run, char *mark)
{
    run->marks = xrealloc(run->marks, (run->n_marks + 1) * sizeof(*run->marks));
    run->marks[run->n_marks++] = mark;
}

/* Start, stop and every evaluation, in all digits; NULL for a run without an end. */
static char *course_of(const struct log *l)
{
    struct str s = STR_INIT;

    if (isnan(l->run_start_ms) || isnan(l->run_stop_ms))
        return NULL;
    str_printf(&s, "%.17g %.17g", l->run_start_ms, l->run_stop_ms);
    for (size_t i = 0; i < l->n_evaluations; i++) {
        const struct log_evaluation *const e = &l->evaluations[i];

        str_printf(&s, " %.17g", e->value);
        for (size_t k = 0; k < e->n_members; k++)
            str_printf(&s, ",%.17g", e->members[k].value);
    }
    return s.s;
}

void result_marks_take(struct result_run *run, const struct log *l)
{
    run->course = course_of(l);
    for (size_t i = 0; i < l->n_seeds; i++) {
        const struct log_seed *const s = &l->seeds[i];

        if (strcmp(s->value, "null") != 0)
            add_mark(run, xasprintf("%.40s (%.80s:%lld)", s->value, s->file ? s->file : "no file",
                                    s->lineno));
    }
}

void result_marks_release(struct result_run *run)
{
    for (size_t i = 0; i < run->n_marks; i++)
        free(run->marks[i]);
    free(run->marks);
    free(run->course);
}

struct mark {
    const char *text;
    size_t run;
};

static int by_text(const void *a, const void *b)
{
    const struct mark *const x = a, *const y = b;
    const int order = strcmp(x->text, y->text);

    return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* first[i]: of the marks that run i shares with earlier runs, one, with the first run that has it;
 * its text is NULL without any. */
static void find_shared(struct mark *marks, size_t n, struct mark *first)
{
    size_t head = 0;

    qsort(marks, n, sizeof(*marks), by_text);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(marks[i].text, marks[head].text) != 0)
            head = i;
        else if (marks[i].run != marks[head].run && !first[marks[i].run].text)
            first[marks[i].run] = marks[head];
    }
}

/* The same of the runs' seeds or of their courses. */
static struct mark *shared(const struct result *r, int courses)
{
    struct mark *const first = xcalloc(r->n_runs + 1, sizeof(*first)), *marks;
    size_t n = 0;

    for (size_t i = 0; i < r->n_runs; i++)
        n += courses ? 1 : r->runs[i].n_marks;
    marks = xmalloc((n + 1) * sizeof(*marks));
    n = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        const struct result_run *const run = &r->runs[i];

        for (size_t k = 0; !courses && k < run->n_marks; k++)
            marks[n++] = (struct mark){run->marks[k], i};
        if (courses && run->course)
            marks[n++] = (struct mark){run->course, i};
    }
    find_shared(marks, n, first);
    free(marks);
    return first;
}

static void tell_seed(struct result *r, size_t run, const struct mark *same, int round)
{
    const char *const a = r->runs[run].name, *const b = r->runs[same->run].name;

    if (round >= 11 || r->own)
        str_printf(&r->problems, "%s and %s log the same seed, %s: they are one run twice.\n", a, b,
                   same->text);
    else if (round >= 10)
        str_printf(&r->notes, "%s and %s log the same seed, %s.\n", a, b, same->text);
}

void result_find_twice(struct result *r, int round)
{
    struct mark *const courses = shared(r, 1), *const seeds = shared(r, 0);

    for (size_t i = 0; i < r->n_runs; i++)
        if (courses[i].text)
            str_printf(&r->problems,
                       "%s and %s have the same start, stop and evaluations: they are one run "
                       "twice.\n",
                       r->runs[i].name, r->runs[courses[i].run].name);
        else if (seeds[i].text)
            tell_seed(r, i, &seeds[i], round);
    free(courses);
    free(seeds);
}
