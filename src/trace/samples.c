#include "trace/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void samples_release(struct samples *s)
{
    for (size_t i = 0; i < s->n_columns; i++) {
        free(s->names[i]);
        free(s->columns ? s->columns[i] : NULL);
    }
    for (size_t i = 0; i < s->n_phases; i++)
        free(s->phases[i]);
    free(s->names);
    free(s->columns);
    free(s->elapsed_s);
    free(s->seconds);
    free(s->time_ms);
    free(s->epoch);
    free(s->phase);
    *s = (struct samples){0};
}

const double *samples_column(const struct samples *s, const char *name)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (strcmp(s->names[i], name) == 0)
            return s->columns[i];
    return NULL;
}

int samples_is_total(const char *name)
{
    static const char *const totals[] = {
        "loader_asked_bytes", "io_read_bytes",    "io_write_bytes",   "io_called_read_bytes",
        "disk_read_bytes",    "disk_write_bytes", "store_read_bytes", "store_write_bytes"};

    for (size_t i = 0; i < COUNT_OF(totals); i++)
        if (strcmp(totals[i], name) == 0)
            return 1;
    return 0;
}

int samples_has(const struct samples *s, size_t row, const struct samples_where *where)
{
    const double at = s->elapsed_s[row];

    return (!where->phase || strcmp(s->phases[s->phase[row]], where->phase) == 0) &&
           (where->epoch == 0 || s->epoch[row] == where->epoch) && at >= where->from_s &&
           (where->to_s <= 0 || at <= where->to_s);
}

double samples_seconds(const struct samples *s, const struct samples_where *where)
{
    double seconds = 0;

    for (size_t i = 0; i < s->n_rows; i++)
        if (samples_has(s, i, where))
            seconds += s->seconds[i];
    return seconds;
}

static void swap(double *v, ptrdiff_t a, ptrdiff_t b)
{
    const double t = v[a];

    v[a] = v[b];
    v[b] = t;
}

/* Hoare's selection: v[k] becomes what stands there in order, nothing larger before it and nothing
 * smaller behind. Pivots are drawn, so that no file makes it slow on purpose. */
static double take_in_order(double *v, ptrdiff_t n, ptrdiff_t k)
{
    unsigned long long draw = 88172645463325252ULL; /* xorshift64, Marsaglia 2003 */
    ptrdiff_t from = 0, to = n - 1;

    while (from < to) {
        ptrdiff_t i = from, j = to;
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        const double pivot = v[from + (ptrdiff_t)(draw % (unsigned long long)(to - from + 1))];
        do {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j)
                swap(v, i++, j--);
        } while (i <= j);
        if (j < k)
            from = i;
        if (k < i)
            to = j;
    }
    return v[k];
}

/* Between the two numbers around the place, as most statistics programs do. */
static double quantile(double *v, size_t n, double share)
{
    const double place = share * (double)(n - 1);
    const size_t k = (size_t)place;
    const double low = take_in_order(v, (ptrdiff_t)n, (ptrdiff_t)k);
    double high = INFINITY;

    for (size_t i = k + 1; i < n; i++)
        high = fmin(high, v[i]);
    return k + 1 < n ? low + (high - low) * (place - (double)k) : low;
}

static double mean_of(double sum, double weighted, double weight, size_t n)
{
    return weight > 0 ? weighted / weight : sum / (double)n;
}

struct samples_level samples_level(const struct samples *s, const double *numbers,
                                   const struct samples_where *where)
{
    struct samples_level l = {0, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, weighted = 0, weight = 0, *known;

    if (!numbers)
        return l;
    known = xmalloc((s->n_rows + 1) * sizeof(*known));
    for (size_t i = 0; i < s->n_rows; i++) {
        if (isnan(numbers[i]) || !samples_has(s, i, where))
            continue;
        known[l.n++] = numbers[i];
        sum += numbers[i];
        weighted += numbers[i] * s->seconds[i];
        weight += s->seconds[i];
        l.least = fmin(l.least, numbers[i]);
        l.most = fmax(l.most, numbers[i]);
    }
    if (l.n > 0) {
        l.mean = mean_of(sum, weighted, weight, l.n);
        l.p50 = quantile(known, l.n, 0.5);
        l.p95 = quantile(known, l.n, 0.95);
    }
    free(known);
    return l;
}

double samples_growth(const struct samples *s, const double *numbers,
                      const struct samples_where *where)
{
    double last = NAN, growth = NAN;

    for (size_t i = 0; numbers && i < s->n_rows; i++) {
        if (isnan(numbers[i]))
            continue;
        if (!isnan(last) && samples_has(s, i, where))
            growth = (isnan(growth) ? 0 : growth) + fmax(0, numbers[i] - last);
        last = numbers[i];
    }
    return growth;
}
