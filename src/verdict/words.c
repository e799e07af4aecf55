/* The verdict in sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verdict/verdict.h"

struct rate_text {
    char s[40];
};

/* Three digits and more: whole, with a comma before every three. */
static struct rate_text rate(double r)
{
    struct rate_text t;
    char digits[32];
    size_t n, to = 0;

    if (!(r >= 100 && r < 1e15)) {
        snprintf(t.s, sizeof(t.s), "%.3g", r);
        return t;
    }
    snprintf(digits, sizeof(digits), "%.0f", r);
    n = strlen(digits);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            t.s[to++] = ',';
        t.s[to++] = digits[i];
    }
    t.s[to] = '\0';
    return t;
}

static double share_of_loader(const struct staves *s, enum stave i)
{
    double all = 0;

    for (int k = 0; k < N_LOADER_STAVES; k++)
        all += s->busy_s[k];
    return all > 0 ? 100 * s->busy_s[i] / all : 0;
}

static const char *plural(double n)
{
    return n == 1 ? "" : "s";
}

/* "9 more threads and 7 more processors" */
static void add_need(const struct verdict *v, struct str *out)
{
    if (v->more_threads > 0)
        str_printf(out, "%.0f more thread%s", v->more_threads, plural(v->more_threads));
    if (v->more_threads > 0 && v->more_cpus > 0)
        str_add(out, " and ");
    if (v->more_cpus > 0)
        str_printf(out, "%.0f more processor%s", v->more_cpus, plural(v->more_cpus));
}

static void add_read(const struct staves *s, const struct verdict *v, struct str *out)
{
    str_printf(out, "Reading alone gives %s %s/s (%.1f MB/s) with %d thread%s",
               rate(s->alone[STAVE_READ]).s, s->unit, s->alone[STAVE_READ] * s->sample_bytes / 1e6,
               s->threads, plural(s->threads));
    if (s->read_more > s->alone[STAVE_READ] * (1 + VERDICT_TOLERANCE))
        str_printf(out, " and %s with %d: more threads or reads in flight would raise the level",
                   rate(s->read_more).s, s->more_threads);
    else if (s->read_more > 0)
        str_printf(out,
                   " and %s with %d, so it is the storage: a faster drive, or memory that holds "
                   "the data set, would raise the level",
                   rate(s->read_more).s, s->more_threads);
    else
        str_add(out, "; faster storage, or memory that holds the data set, would raise the level");
    str_printf(out, " to %s.\n", rate(v->next).s);
}

static void add_loader_stage(const struct staves *s, const struct verdict *v, struct str *out)
{
    str_printf(out, "The %d loader thread%s spend%s %.0f %% of the time there; alone it reaches %s",
               s->threads, plural(s->threads), s->threads == 1 ? "s" : "",
               share_of_loader(s, v->shortest), rate(s->alone[v->shortest]).s);
    if (v->more_threads > 0 || v->more_cpus > 0) {
        str_add(out, "; ");
        add_need(v, out);
        str_printf(out, " would raise the level to %s, which is the model's", rate(v->next).s);
    }
    str_add(out, ".\n");
}

static void add_cores(const struct staves *s, const struct verdict *v, struct str *out)
{
    const double starved = s->loader < s->device ? s->loader_starved : s->device_starved;

    if (v->others)
        str_printf(out,
                   "%.0f %% of the time is lost waiting for a processor, and this run does not get "
                   "all %g: other processes take them. Without these the level would be about "
                   "%s.\n",
                   100 * starved, s->cpus, rate(v->next).s);
    else if (v->more_cpus > 0) {
        str_printf(out,
                   "A sample takes %.3g ms of processors in the loader and %.3g ms in the model, "
                   "and there are %g; ",
                   1e3 * s->loader_cpu_s, 1e3 * s->device_cpu_s, s->cpus);
        add_need(v, out);
        str_printf(out, " would raise the level to %s.\n", rate(v->next).s);
    } else
        str_printf(out,
                   "%.0f %% of the time is lost waiting for a processor, and this run has all %g: "
                   "fewer threads would lose nothing, more processors would gain.\n",
                   100 * starved, s->cpus);
}

static void add_device(const struct staves *s, const struct verdict *v, struct str *out)
{
    str_printf(out,
               "Data keeps up: the loader could feed %s; a faster %s would raise the level up to "
               "that.\n",
               rate(s->loader).s, v->shortest == STAVE_COPY ? "way to the device" : "device");
}

static void add_why(const struct staves *s, const struct verdict *v, struct str *out)
{
    static void (*const add[])(const struct staves *, const struct verdict *,
                               struct str *) = {[STAVE_READ] = add_read,
                                                [STAVE_DECODE] = add_loader_stage,
                                                [STAVE_AUGMENT] = add_loader_stage,
                                                [STAVE_COPY] = add_device,
                                                [STAVE_COMPUTE] = add_device,
                                                [STAVE_CORES] = add_cores};

    add[v->shortest](s, v, out);
}

static void add_prediction(const struct staves *s, const struct verdict *v, struct str *out)
{
    const double off = v->level > 0 ? 100 * (s->run / v->level - 1) : 0;

    str_printf(out, "Predicted %s %s/s, measured %s (%+.1f %%).", rate(v->level).s, s->unit,
               rate(s->run).s, off);
    if (off < -100 * VERDICT_TOLERANCE)
        str_printf(out,
                   " Together the stages cost each other that much: they share processors%s and "
                   "memory bandwidth.",
                   s->run_starved > VERDICT_STARVED ? " (threads waited for one)" : "");
    else if (off > 100 * VERDICT_TOLERANCE)
        str_add(out, " The machine was faster than while the stages ran alone; measure again.");
    str_add(out, "\n");
}

void verdict_add_words(const struct staves *s, const struct verdict *v, struct str *out)
{
    if (v->balanced)
        str_printf(out,
                   "Balanced: the loader gives %s %s/s and the model takes %s, level within %.0f "
                   "%%; raising one alone gains nothing.\n",
                   rate(s->loader).s, s->unit, rate(s->device).s, 100 * VERDICT_TOLERANCE);
    else {
        str_printf(
            out, "%s is the shortest stave: %s %s/s, the loader gives %s and the model takes %s.\n",
            stave_name(v->shortest), rate(v->level).s, s->unit, rate(s->loader).s,
            rate(s->device).s);
        add_why(s, v, out);
    }
    if (s->run > 0)
        add_prediction(s, v, out);
}
