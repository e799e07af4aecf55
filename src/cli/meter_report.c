/* What samples.csv holds, in figures. */
#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/meter_sink.h"
#include "trace/samples.h"

static void add_level(struct str *out, const char *name, const struct samples_level *l)
{
    if (l->n == 0)
        return;
    json_add_key(out, name);
    str_add(out, "{");
    json_add_real(out, "mean", l->mean);
    json_add_real(out, "p50", l->p50);
    json_add_real(out, "p95", l->p95);
    str_add(out, "}");
}

static void add_total(struct str *out, const char *name, double growth)
{
    if (isnan(growth))
        return;
    json_add_key(out, name);
    str_add(out, "{");
    json_add_real(out, "total", growth);
    str_add(out, "}");
}

static void add_phase(struct str *out, const struct samples *s, const char *phase)
{
    const struct samples_where where = {.phase = phase};

    json_add_key(out, phase);
    str_add(out, "{");
    json_add_real(out, "seconds", samples_seconds(s, &where));
    for (size_t i = 0; i < s->n_columns; i++) {
        const struct samples_level l = samples_level(s, s->columns[i], &where);

        if (samples_is_total(s->names[i]))
            add_total(out, s->names[i], samples_growth(s, s->columns[i], &where));
        else
            add_level(out, s->names[i], &l);
    }
    str_add(out, "}");
}

static void add_json(struct str *out, const struct meter_report *r, const struct samples *s)
{
    str_add(out, ",\n  \"meter\": {");
    json_add_real(out, "hz", r->hz);
    json_add_real(out, "samples", (double)r->use.n_samples);
    json_add_real(out, "late_samples", (double)r->use.n_late);
    json_add_real(out, "sampler_cpu_ns", (double)r->use.sampler_cpu_ns);
    json_add_key(out, "phases");
    str_add(out, "{");
    for (size_t i = 0; i < s->n_phases; i++)
        add_phase(out, s, s->phases[i]);
    str_add(out, "}}");
}

/* ---- in a line ---- */

/* The phase that a run is about: the first of these that took time. */
static const char *main_phase(const struct samples *s)
{
    static const char *const phases[] = {"train", "warmup", "evaluate"};

    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (samples_seconds(s, &(struct samples_where){.phase = phases[i]}) > 0)
            return phases[i];
    return NULL;
}

static double mean_of(const struct samples *s, const char *phase, const char *column)
{
    return samples_level(s, samples_column(s, column), &(struct samples_where){.phase = phase})
        .mean;
}

static void add_bytes(struct str *out, const char *before, double bytes, const char *after)
{
    if (bytes >= 0x1p30)
        str_printf(out, "%s%.2f GiB%s", before, bytes / 0x1p30, after);
    else if (bytes >= 0)
        str_printf(out, "%s%.0f MiB%s", before, bytes / 0x1p20, after);
}

static void add_disk(struct str *out, const struct samples *s, const char *phase)
{
    const double read = mean_of(s, phase, "disk_read_bytes_per_s"),
                 write = mean_of(s, phase, "disk_write_bytes_per_s");

    if (!isnan(read) && !isnan(write))
        str_printf(out, "; disk %.1f MB/s read, %.1f MB/s written", read / 1e6, write / 1e6);
}

/* The number in "gpu3_sm_percent"; -1: another column. Only those that this process may use have
 * columns, so that numbers may be missing. */
static int accelerator_of(const char *column)
{
    int number, n = 0;

    return sscanf(column, "gpu%3d_sm_percent%n", &number, &n) == 1 && n > 0 && !column[n] ? number
                                                                                          : -1;
}

static void add_accelerators(struct str *out, const struct samples *s, const char *phase)
{
    double busy = 0, used = 0;
    int n = 0;

    for (size_t i = 0; i < s->n_columns; i++) {
        const int number = accelerator_of(s->names[i]);
        const double sm = number < 0 ? NAN : mean_of(s, phase, s->names[i]);
        char name[64];

        if (isnan(sm))
            continue;
        n++;
        snprintf(name, sizeof(name), "gpu%d_memory_used_bytes", number);
        busy += sm;
        used += fmax(0, mean_of(s, phase, name));
    }
    if (n > 0) {
        str_printf(out, "; %d accelerator%s %.0f %% busy", n, n > 1 ? "s" : "", busy / n);
        add_bytes(out, ", ", used, " in use");
    }
}

static void add_figures(struct str *out, const struct samples *s, const char *phase)
{
    const double process = mean_of(s, phase, "cpu_process_percent"),
                 machine = mean_of(s, phase, "cpu_machine_percent");

    str_printf(out, "meter, phase %s:", phase);
    if (!isnan(process))
        str_printf(out, " %.2f processors", process / 100);
    if (!isnan(machine))
        str_printf(out, " (machine %.2f)", machine / 100);
    add_bytes(out, "; memory ", mean_of(s, phase, "process_rss_bytes"), "");
    add_bytes(out, ", page cache of its group ", mean_of(s, phase, "memory_file_bytes"), "");
    add_disk(out, s, phase);
    add_accelerators(out, s, phase);
}

void meter_report_read(const struct meter_report *r, const char *path, struct str *json,
                       struct str *line)
{
    struct samples s;

    if (r->use.n_samples == 0)
        return;
    if (samples_read(path, NULL, &s) < 0) {
        warning("%s", err_reason());
        return;
    }
    add_json(json, r, &s);
    if (main_phase(&s))
        add_figures(line, &s, main_phase(&s));
    samples_release(&s);
}
