#include "data/likeness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "data/source.h"

enum { MOST_LOOKED_AT = 10000, N_SPLITS = 2 };

static int two_bytes(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

/* 8-bit tables only. The last of the 64 is 99 in the standard's table for brightness, which quality
 * q above 50 multiplies by (200 - 2 q) / 100. */
static void read_table(const uint8_t *p, size_t n, struct jpeg_facts *out)
{
    if (n < 65 || p[0] != 0 || out->quality)
        return;
    out->quality = p[64] <= 99 ? (int)lround(100.0 - p[64] * 50.0 / 99.0)
                               : (int)lround(5000.0 / (p[64] * 100.0 / 99.0));
}

static int read_frame(int marker, const uint8_t *p, size_t n, struct jpeg_facts *out)
{
    if (n < 9 || n < 6 + 3u * p[5] || p[5] == 0)
        return err(E_DATA, "a JPEG frame header of %zu bytes is too short", n);
    out->height = two_bytes(p + 1);
    out->width = two_bytes(p + 3);
    out->components = p[5];
    out->h = p[7] >> 4;
    out->v = p[7] & 15;
    out->progressive = marker == 0xC2;
    return 0;
}

int jpeg_facts(const uint8_t *bytes, size_t n, struct jpeg_facts *out)
{
    size_t at = 2;

    *out = (struct jpeg_facts){0};
    if (n < 2 || bytes[0] != 0xFF || bytes[1] != 0xD8)
        return err(E_DATA, "no JPEG file");
    while (at + 4 <= n && bytes[at] == 0xFF) {
        const int marker = bytes[at + 1];
        const size_t length = (size_t)two_bytes(bytes + at + 2);

        if (length < 2 || at + 2 + length > n)
            break;
        if (marker == 0xDB)
            read_table(bytes + at + 4, length - 2, out);
        if (marker >= 0xC0 && marker <= 0xC2)
            return read_frame(marker, bytes + at + 4, length - 2, out);
        at += 2 + length;
    }
    return err(E_DATA, "a JPEG file without a frame header that is known");
}

/* Sums over the pictures of a split. */
struct figures {
    uint64_t n, n_other; /* JPEG files; files that are none */
    double bytes, width, height, pixels;
    uint64_t n_500x375, n_375x500, n_500x333, n_500_long, n_longer;
    uint64_t n_grey, n_444, n_422, n_420, n_progressive, n_cmyk;
    double *pixels_of, *bytes_of, *bits_of, *quality_of; /* n each; sorted in the end */
};

static void add_size(struct figures *f, const struct jpeg_facts *j, size_t bytes)
{
    const double pixels = (double)j->width * j->height;
    const int longer = j->width > j->height ? j->width : j->height;

    f->bytes += (double)bytes;
    f->width += j->width;
    f->height += j->height;
    f->pixels += pixels;
    f->n_500x375 += j->width == 500 && j->height == 375;
    f->n_375x500 += j->width == 375 && j->height == 500;
    f->n_500x333 += j->width == 500 && j->height == 333;
    f->n_500_long += longer == 500;
    f->n_longer += longer > 500;
    f->pixels_of[f->n] = pixels;
    f->bytes_of[f->n] = (double)bytes;
    f->bits_of[f->n] = (double)bytes * 8.0 / pixels;
}

static void add(struct figures *f, const struct jpeg_facts *j, size_t bytes)
{
    add_size(f, j, bytes);
    f->n_grey += j->components == 1;
    f->n_444 += j->components == 3 && j->h == 1 && j->v == 1;
    f->n_422 += j->components == 3 && j->h == 2 && j->v == 1;
    f->n_420 += j->components == 3 && j->h == 2 && j->v == 2;
    f->n_progressive += (uint64_t)j->progressive;
    f->n_cmyk += j->components == 4;
    f->quality_of[f->n++] = j->quality;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int look_at(const struct source *s, uint64_t n, struct figures *f)
{
    struct sample sample = {0};
    struct jpeg_facts facts;
    int rc = 0;

    for (uint64_t i = 0; i < n && rc == 0; i++) {
        rc = source_read(s, i * s->n_samples / n, &sample);
        if (rc == 0 && jpeg_facts(sample.data, sample.n, &facts) == 0 && facts.width > 0 &&
            facts.height > 0)
            add(f, &facts, sample.n);
        else
            f->n_other++;
    }
    sample_release(&sample);
    return rc;
}

static int measure(const char *dir, const char *split, struct figures *f)
{
    double **const lists[] = {&f->pixels_of, &f->bytes_of, &f->bits_of, &f->quality_of};
    struct source *s;
    uint64_t n;
    int rc;

    TRY(source_open_split(dir, split, &s));
    n = s->n_samples < MOST_LOOKED_AT ? s->n_samples : MOST_LOOKED_AT;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        *lists[i] = xcalloc((size_t)n, sizeof(**lists[i]));
    rc = look_at(s, n, f);
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        qsort(*lists[i], (size_t)f->n, sizeof(**lists[i]), ascending);
    source_close(s);
    return rc == 0 && f->n == 0 ? err(E_DATA, "%s/%s holds no JPEG file", dir, split) : rc;
}

static double quantile(const double *sorted, uint64_t n, double u)
{
    return sorted[(uint64_t)(u * (double)(n - 1) + 0.5)];
}

/* A row of the table: how its number is written, and what is known of ImageNet's splits. */
struct likeness_row {
    const char *what, *format, *known[N_SPLITS];
};

static const char unknown[] = "no source";

/* In the order of values(). */
static const struct likeness_row rows[] = {
    {"bytes, mean", "%.0f", {"114660", "134130"}},
    {"bytes, 5 %", "%.0f", {unknown, unknown}},
    {"bytes, median", "%.0f", {unknown, unknown}},
    {"bytes, 95 %", "%.0f", {unknown, unknown}},
    {"bits per pixel, all bytes to all pixels", "%.2f", {unknown, "4.64"}},
    {"bits per pixel, 5 %", "%.2f", {unknown, unknown}},
    {"bits per pixel, 95 %", "%.2f", {unknown, unknown}},
    {"width, mean", "%.1f", {"469", "490.4"}},
    {"height, mean", "%.1f", {"387", "430.3"}},
    {"pixels, mean", "%.0f", {unknown, "231326"}},
    {"pixels, 5 %", "%.0f", {unknown, "140530"}},
    {"pixels, 25 %", "%.0f", {unknown, "182000"}},
    {"pixels, median", "%.0f", {unknown, "187500"}},
    {"pixels, 75 %", "%.0f", {unknown, "200000"}},
    {"pixels, 95 %", "%.0f", {unknown, "318080"}},
    {"500 x 375", "%.1f %%", {unknown, "31.0 %"}},
    {"375 x 500", "%.1f %%", {unknown, "9.5 %"}},
    {"500 x 333", "%.1f %%", {unknown, "5.6 %"}},
    {"long side 500", "%.1f %%", {unknown, "84.7 %"}},
    {"long side above 500", "%.1f %%", {unknown, "8.8 %"}},
    {"4:4:4", "%.1f %%", {"vast majority", unknown}},
    {"4:2:2", "%.1f %%", {unknown, unknown}},
    {"4:2:0", "%.1f %%", {unknown, unknown}},
    {"grey", "%.1f %%", {"1.8 %", unknown}},
    {"progressive", "%.1f %%", {unknown, unknown}},
    {"CMYK", "%.3f %%", {"0.002 %", unknown}},
    {"quality, median", "%.0f", {"96 (most frequent)", unknown}},
};

static void values(const struct figures *f, double *v)
{
    const double n = (double)f->n, percent = 100.0 / n;
    const double all[COUNT_OF(rows)] = {
        f->bytes / n,
        quantile(f->bytes_of, f->n, 0.05),
        quantile(f->bytes_of, f->n, 0.5),
        quantile(f->bytes_of, f->n, 0.95),
        f->bytes * 8.0 / f->pixels,
        quantile(f->bits_of, f->n, 0.05),
        quantile(f->bits_of, f->n, 0.95),
        f->width / n,
        f->height / n,
        f->pixels / n,
        quantile(f->pixels_of, f->n, 0.05),
        quantile(f->pixels_of, f->n, 0.25),
        quantile(f->pixels_of, f->n, 0.5),
        quantile(f->pixels_of, f->n, 0.75),
        quantile(f->pixels_of, f->n, 0.95),
        (double)f->n_500x375 * percent,
        (double)f->n_375x500 * percent,
        (double)f->n_500x333 * percent,
        (double)f->n_500_long * percent,
        (double)f->n_longer * percent,
        (double)f->n_444 * percent,
        (double)f->n_422 * percent,
        (double)f->n_420 * percent,
        (double)f->n_grey * percent,
        (double)f->n_progressive * percent,
        (double)f->n_cmyk * percent,
        quantile(f->quality_of, f->n, 0.5),
    };

    memcpy(v, all, sizeof(all));
}

static void add_table(const struct figures f[N_SPLITS], struct str *out)
{
    double v[N_SPLITS][COUNT_OF(rows)];

    for (int k = 0; k < N_SPLITS; k++)
        values(&f[k], v[k]);
    str_printf(out,
               "| | ImageNet, training | here, %llu pictures | ImageNet, validation | here, %llu "
               "pictures |\n|---|---|---|---|---|\n",
               (unsigned long long)f[0].n, (unsigned long long)f[1].n);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        str_printf(out, "| %s", rows[i].what);
        for (int k = 0; k < N_SPLITS; k++) {
            char text[32];

            snprintf(text, sizeof(text), rows[i].format, v[k][i]);
            str_printf(out, " | %s | %s", rows[i].known[k], text);
        }
        str_add(out, " |\n");
    }
    if (f[0].n_other + f[1].n_other)
        str_printf(out, "%llu files are no JPEG files\n",
                   (unsigned long long)(f[0].n_other + f[1].n_other));
}

int likeness_of(const char *dir, struct str *out)
{
    struct figures f[N_SPLITS] = {0};
    int rc = measure(dir, "train", &f[0]);

    if (rc == 0)
        rc = measure(dir, "val", &f[1]);
    if (rc == 0)
        add_table(f, out);
    for (int k = 0; k < N_SPLITS; k++) {
        free(f[k].pixels_of);
        free(f[k].bytes_of);
        free(f[k].bits_of);
        free(f[k].quality_of);
    }
    return rc;
}
