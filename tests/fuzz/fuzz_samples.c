/* samples.csv and ingest.csv read back. What is accepted is consistent: time does not run
 * backwards, a phase has a name, a mean lies between the least and the most, phases add up to the
 * whole, and what is left out and what is kept are all lines there are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "trace/samples.h"

const char *const fuzz_words[] = {"time_ms,elapsed_s",
                                  ",phase,epoch",
                                  "cpu_machine_percent",
                                  "io_read_bytes",
                                  "\n1,2,",
                                  "warmup",
                                  "0.000001",
                                  "18446744073709551615",
                                  "1e308",
                                  "-1",
                                  "\r\n",
                                  NULL};

static size_t count_newlines(const uint8_t *data, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    return lines;
}

static void check_rows(const struct samples *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        ASSERT(isfinite(s->time_ms[i]) && s->elapsed_s[i] >= 0 && s->seconds[i] >= 0);
        ASSERT(i == 0 || s->elapsed_s[i] >= s->elapsed_s[i - 1]);
        ASSERT(s->phase[i] < s->n_phases && s->epoch[i] >= 0);
        for (size_t k = 0; k < s->n_columns; k++)
            ASSERT(!isinf(s->columns[k][i]));
    }
}

/* Large numbers of both signs round differently in another order. */
static int is_near(double a, double b, double size)
{
    return fabs(a - b) <= 1e-9 * (size + 1);
}

static void check_phases(const struct samples *s)
{
    const struct samples_where all = {0};
    double seconds = 0;

    for (size_t i = 0; i < s->n_phases; i++)
        seconds += samples_seconds(s, &(struct samples_where){.phase = s->phases[i]});
    ASSERT(is_near(seconds, samples_seconds(s, &all), seconds));
}

static void check_column(const struct samples *s, const double *v)
{
    const struct samples_where all = {0};
    const struct samples_level l = samples_level(s, v, &all);
    const double whole = samples_growth(s, v, &all);
    double growth = 0, largest = 0;

    for (size_t i = 0; i < s->n_rows; i++)
        if (!isnan(v[i]))
            largest = fmax(largest, fabs(v[i]));
    if (l.n == 0 || largest > 1e100)
        return;
    ASSERT(l.least <= l.p50 && l.p50 <= l.p95 && l.p95 <= l.most);
    ASSERT(l.mean >= l.least - 1e-9 * largest && l.mean <= l.most + 1e-9 * largest);
    for (size_t i = 0; i < s->n_phases; i++) {
        const double part = samples_growth(s, v, &(struct samples_where){.phase = s->phases[i]});
        growth += isnan(part) ? 0 : part;
    }
    ASSERT(isnan(whole) ? growth == 0
                        : is_near(growth, whole, largest * (double)s->n_rows) && whole >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *const path = fuzz_put("samples.csv", data, n);
    struct samples s, f;
    const int rc = samples_read_memory((const char *)data, n, &s);
    const int from_file = samples_read(path, NULL, &f);

    ASSERT(rc == from_file);
    if (rc < 0) {
        fuzz_refused(rc);
        return 0;
    }
    ASSERT(s.n_rows + s.n_left_out + 1 == count_newlines(data, n));
    ASSERT(s.n_rows == f.n_rows && s.n_columns == f.n_columns && s.n_phases == f.n_phases);
    check_rows(&s);
    check_phases(&s);
    for (size_t i = 0; i < s.n_columns; i++) {
        ASSERT(samples_column(&s, s.names[i]) == s.columns[i]);
        check_column(&s, s.columns[i]);
    }
    samples_release(&s);
    samples_release(&f);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "time_ms,elapsed_s,phase,epoch,cpu_machine_percent,io_read_bytes\n"
        "1700000000000,0.000,init,,,0\n1700000000100,0.100,init,,99.5,4096\n"
        "1700000000200,0.200,train,1,180,8192\n1700000000300,0.300,train,1,,\n"
        "1700000000400,0.400,evaluate,,20.25,9000\n17000000005",
        "time_ms,elapsed_s,ingest_write_bytes_per_s,ingest_latency_mean_ms\n"
        "1700000000000,1.000,1048576,0.25\n1700000001000,2.000,,\n"};

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
