/* fio's logs with --log_avg_msec: a line is "time, value, direction, block size, ..." and, since
 * fio 3.37 when asked for, "time, average, maximum, direction, block size, priority". Bandwidth is
 * in KiB a second, latency in ns; time in ms since 1970, the end of its second. A second without
 * any write has no line. Source: HOWTO.rst of fio, "Log File Formats". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "meter/ingest.h"

enum { WRITE = 1, MOST_FIELDS = 8, SECOND_MS = 1000 };
static const size_t largest_log = (size_t)1 << 30;

enum kind { BANDWIDTH, LATENCY };
struct sample {
    int64_t ms, second, job;
    enum kind kind;
    double value, most; /* most: NAN when not known */
};
struct samples {
    struct sample *all;
    size_t n, room;
    int64_t first_ms, last_ms; /* what lies outside is no sample of this run */
};

/* Fields of a line that are whole numbers; 0 when one of the first is none. */
static size_t split(const char *line, double *fields)
{
    size_t n = 0;

    while (n < MOST_FIELDS) {
        char *end;
        const double v = strtod(line, &end);
        if (end == line)
            return 0;
        fields[n++] = v;
        while (*end == ' ' || *end == '\t')
            end++;
        if (*end != ',')
            return *end == '\n' || *end == '\r' ? n : 0;
        line = end + 1;
    }
    return 0;
}

static int is_sane(double v)
{
    return v >= 0 && v < 0x1p53;
}

static void take_line(const char *line, struct sample s, struct samples *out)
{
    double f[MOST_FIELDS];
    const size_t n = split(line, f);
    const size_t both = n >= 6;

    if (n < 4 || f[2 + both] != WRITE || !is_sane(f[1]) || !is_sane(f[0]) ||
        f[0] < (double)out->first_ms || f[0] > (double)out->last_ms)
        return;
    s.ms = (int64_t)f[0];
    s.value = f[1];
    s.most = both && is_sane(f[2]) ? f[2] : NAN;
    if (out->n == out->room) {
        out->room = out->room ? 2 * out->room : 256;
        out->all = xrealloc(out->all, out->room * sizeof(*out->all));
    }
    out->all[out->n++] = s;
}

/* The last line of a fio that was killed may be torn: one that does not end is no line. */
static int read_log(const char *path, struct sample like, struct samples *out)
{
    char *text, *line, *end;
    size_t n;

    TRY(file_read(path, largest_log, &text, &n));
    for (line = text; (end = strchr(line, '\n')) != NULL; line = end + 1)
        take_line(line, like, out);
    free(text);
    return 0;
}

/* "fio_bw.3.log". Those of other kinds come along with what is wanted. */
static int is_log(const char *name, char *kind, int64_t *job)
{
    int end = 0;

    return sscanf(name, "fio_%7[a-z].%9" SCNd64 ".log%n", kind, job, &end) == 2 && end > 0 &&
           !name[end];
}

static int take_log(const char *run_dir, const char *name, struct samples *out)
{
    char kind[8];
    int64_t job;
    char *path;
    int rc = 0;

    if (!is_log(name, kind, &job))
        return 0;
    path = file_join(run_dir, name);
    if (strcmp(kind, "bw") == 0)
        rc = read_log(path, (struct sample){.kind = BANDWIDTH, .job = job}, out);
    else if (strcmp(kind, "lat") == 0)
        rc = read_log(path, (struct sample){.kind = LATENCY, .job = job}, out);
    unlink(path);
    free(path);
    return rc;
}

/* ---- seconds ---- */

static int by_second_and_job(const void *a, const void *b)
{
    const struct sample *const x = a, *const y = b;

    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* All logs have lines at about the same part of a second, the first line's, so seconds are counted
 * from half a second before that. */
static void find_seconds(struct samples *s)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < s->n; i++)
        if (s->all[i].ms < first)
            first = s->all[i].ms;
    for (size_t i = 0; i < s->n; i++)
        s->all[i].second = (s->all[i].ms - first + SECOND_MS / 2) / SECOND_MS;
    s->first_ms = first;
    if (s->n)
        qsort(s->all, s->n, sizeof(*s->all), by_second_and_job);
}

/* One second of one job, or of all: a mean latency is weighted by bandwidth, which is by writes. */
struct second {
    double kib_per_s, latency_ns, most_ns; /* NAN: not known */
};

static struct second of_job(const struct sample *s, size_t n)
{
    struct second j = {0, 0, NAN};
    int n_bandwidth = 0, n_latency = 0;

    for (size_t i = 0; i < n; i++)
        if (s[i].kind == BANDWIDTH) {
            j.kib_per_s += s[i].value;
            n_bandwidth++;
        } else {
            j.latency_ns += s[i].value;
            n_latency++;
            if (isnan(j.most_ns) || s[i].most > j.most_ns)
                j.most_ns = s[i].most;
        }
    j.kib_per_s = n_bandwidth ? j.kib_per_s / n_bandwidth : NAN;
    j.latency_ns = n_latency ? j.latency_ns / n_latency : NAN;
    return j;
}

static size_t n_of_same_job(const struct sample *s, const struct sample *end)
{
    size_t n = 1;

    while (s + n < end && by_second_and_job(s, s + n) == 0)
        n++;
    return n;
}

/* All samples of one second. */
static struct second of_all(const struct sample *s, const struct sample *end)
{
    struct second all = {NAN, NAN, NAN};
    double weights = 0, weighted = 0;

    while (s < end) {
        const size_t n = n_of_same_job(s, end);
        const struct second j = of_job(s, n);
        const double weight = j.kib_per_s > 0 ? j.kib_per_s : 1;
        if (!isnan(j.kib_per_s))
            all.kib_per_s = (isnan(all.kib_per_s) ? 0 : all.kib_per_s) + j.kib_per_s;
        if (!isnan(j.latency_ns)) {
            weights += weight;
            weighted += weight * j.latency_ns;
        }
        if (isnan(all.most_ns) || j.most_ns > all.most_ns)
            all.most_ns = j.most_ns;
        s += n;
    }
    if (weights > 0)
        all.latency_ns = weighted / weights;
    return all;
}

static void add_cell(struct str *out, double v)
{
    str_add(out, ",");
    if (!isnan(v))
        str_add_real(out, v);
}

static void add_row(struct str *out, int64_t ms, int64_t start_ms, struct second s)
{
    str_printf(out, "%" PRId64 ",%.3f", ms, (double)(ms - start_ms) / SECOND_MS);
    add_cell(out, s.kib_per_s * 1024);
    add_cell(out, s.latency_ns / 1e6);
    add_cell(out, s.most_ns / 1e6);
    str_add(out, "\n");
}

static void add_rows(const struct samples *s, int64_t start_ms, struct str *out)
{
    const struct second idle = {0, NAN, NAN};
    const struct sample *const end = s->all + s->n, *next;
    int64_t second = 0;

    for (const struct sample *at = s->all; at < end; at = next, second++) {
        for (; second < at->second; second++)
            add_row(out, s->first_ms + second * SECOND_MS, start_ms, idle);
        next = at;
        while (next < end && next->second == second)
            next++;
        add_row(out, s->first_ms + second * SECOND_MS, start_ms, of_all(at, next));
    }
}

static int write_rows(const char *run_dir, const struct samples *s, int64_t start_ms)
{
    char *const path = file_join(run_dir, "ingest.csv");
    struct str out = STR_INIT;
    int rc;

    str_add(&out, "time_ms,elapsed_s,ingest_write_bytes_per_s,ingest_latency_mean_ms,"
                  "ingest_latency_max_ms\n");
    add_rows(s, start_ms, &out);
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    free(path);
    return rc;
}

int ingest_write_csv(const char *run_dir, int64_t start_ms)
{
    struct samples s = {.first_ms = start_ms - SECOND_MS, .last_ms = clock_wall_ms() + SECOND_MS};
    struct file_names names;
    int rc = file_list(run_dir, &names), taken;

    for (size_t i = 0; i < names.n; i++) {
        taken = take_log(run_dir, names.all[i], &s);
        rc = rc < 0 ? rc : taken;
    }
    file_names_release(&names);
    find_seconds(&s);
    if (rc == 0 && s.n)
        rc = write_rows(run_dir, &s, start_ms);
    free(s.all);
    return rc;
}
