/* Columns of numbers as text in a page: small, and exact to the last bit. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "report/table.h"

enum { BASE64_LINE = 3 };

static void add_base64(struct str *out, const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += BASE64_LINE) {
        const size_t k = n - i < BASE64_LINE ? n - i : BASE64_LINE;
        const unsigned v =
            (unsigned)p[i] << 16 | (k > 1 ? p[i + 1] : 0u) << 8 | (k > 2 ? p[i + 2] : 0u);
        const char four[] = {digits[v >> 18], digits[v >> 12 & 63],
                             k > 1 ? digits[v >> 6 & 63] : '=', k > 2 ? digits[v & 63] : '='};
        str_add_bytes(out, four, sizeof(four));
    }
}

/* The whole number that stands for v under this scale, exactly; NAN when there is none. */
static double whole_of(double v, double scale)
{
    const double w = rint(v * scale);

    return fabs(w) < 0x1p53 && w / scale == v ? w : NAN;
}

/* How a column is packed: see table.h. */
struct packing {
    double scale, from;
};

/* The first cell that is known as a whole number, or 0. */
static double first_of(const double *v, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            return isnan(whole_of(v[i], scale)) ? 0 : whole_of(v[i], scale);
    return 0;
}

/* Differences in 32 bits; 0 when some do not fit. */
static int to_differences(const double *v, size_t n, struct packing p, int32_t *out)
{
    double before = p.from;

    for (size_t i = 0; i < n; i++) {
        double w;

        if (isnan(v[i])) {
            out[i] = INT32_MIN;
            continue;
        }
        w = whole_of(v[i], p.scale);
        if (!(fabs(w - before) < 0x1p31))
            return 0;
        out[i] = (int32_t)(w - before);
        before = w;
    }
    return 1;
}

/* All first bytes of the items, then all second ones: runs of equal bytes. */
static unsigned char *by_planes(const void *items, size_t n, size_t width)
{
    const unsigned char *const from = items;
    unsigned char *const to = xmalloc(n * width + 1);

    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < n; i++)
            to[k * n + i] = from[i * width + k];
    return to;
}

static void add_packed(struct str *out, const void *items, size_t n, size_t width)
{
    unsigned char *const planes = by_planes(items, n, width);
    uLongf size = compressBound(n * width);
    unsigned char *const small = xmalloc(size);

    if (compress2(small, &size, planes, n * width, 6) != Z_OK)
        out_of_memory(size);
    add_base64(out, small, size);
    free(small);
    free(planes);
}

static struct packing pack_column(const double *v, size_t n, struct str *out)
{
    int32_t *const whole = xmalloc((n + 1) * sizeof(*whole));

    for (double scale = 1; scale <= 1e6; scale *= 10) {
        const struct packing p = {scale, first_of(v, n, scale)};

        if (to_differences(v, n, p, whole)) {
            add_packed(out, whole, n, sizeof(*whole));
            free(whole);
            return p;
        }
    }
    free(whole);
    add_packed(out, v, n, sizeof(*v));
    return (struct packing){0};
}

void table_pack(const struct table *t, struct str *json, struct str *blocks, int *next_id)
{
    str_printf(json, "{\"n\": %zu, \"words\": [", t->n_rows);
    for (size_t i = 0; i < t->words.n; i++) {
        str_add(json, i ? ", " : "");
        str_add_json(json, t->words.all[i]);
    }
    str_add(json, "], \"columns\": [");
    for (size_t i = 0; i < t->n_columns; i++) {
        struct packing p;

        str_printf(blocks, "<script type=\"text/plain\" id=\"c%d\">", *next_id);
        p = pack_column(t->columns[i].v, t->n_rows, blocks);
        str_add(blocks, "</script>\n");
        str_add(json, i ? ", {\"name\": " : "{\"name\": ");
        str_add_json(json, t->columns[i].name);
        str_printf(json, ", \"scale\": %.0f, \"from\": %.0f, \"id\": \"c%d\"}", p.scale, p.from,
                   (*next_id)++);
    }
    str_add(json, "]}");
}
