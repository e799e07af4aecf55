/* The barrel as a drawing: SVG whose colours are the page's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/barrel.h"
#include "report/text.h"

/* Units of the drawing. The barrel narrows towards its bottom. */
enum { LEFT = 40, STAVE = 72, TOP = 46, BOTTOM = 316, NAMES = 340, HEIGHT = 352 };
static const double narrow = 0.86; /* width at the bottom over that at the top */

struct drawing {
    const struct barrel *b;
    struct str *out;
    enum stave staves[N_STAGE_STAVES];
    int n;
    double low, high; /* of the scale, samples per second */
};

static double y_of(const struct drawing *d, double rate)
{
    const double share = log(rate / d->low) / log(d->high / d->low);

    return BOTTOM - (BOTTOM - TOP) * fmin(1, fmax(0, share));
}

/* Where x of the widest part lies at this height. */
static double x_of(const struct drawing *d, double x, double y)
{
    const double middle = LEFT + d->n * STAVE / 2.0;

    return middle + (x - middle) * (1 - (1 - narrow) * (y - TOP) / (BOTTOM - TOP));
}

static void choose_scale(struct drawing *d)
{
    double least = d->b->level > 0 ? d->b->level : INFINITY, most = d->b->level;
    double decades;

    for (enum stave s = 0; s < N_STAGE_STAVES; s++) {
        const double rate = d->b->alone[s];

        if (rate > 0) {
            d->staves[d->n++] = s;
            least = fmin(least, rate);
            most = fmax(most, rate);
        }
    }
    most = fmin(most, least * 1e6);
    decades = fmax(0.3, log10(most / least));
    d->low = least / pow(10, fmax(0.35, 0.4 * decades));
    d->high = most;
}

static void add_edges(const struct drawing *d, double left, double right, double top)
{
    str_printf(d->out, "%.1f,%.1f %.1f,%.1f %.1f,%d %.1f,%d", x_of(d, left, top), top,
               x_of(d, right, top), top, x_of(d, right, BOTTOM), BOTTOM, x_of(d, left, BOTTOM),
               BOTTOM);
}

static void add_stave(const struct drawing *d, int i)
{
    const enum stave s = d->staves[i];
    const double rate = d->b->alone[s], y = y_of(d, rate), x = LEFT + i * STAVE;
    const double middle = x_of(d, x + STAVE / 2.0, y);
    const int is_shortest = s == d->b->shortest;

    str_printf(d->out, "<polygon class=\"plank%s\" points=\"", is_shortest ? " short" : "");
    add_edges(d, x + 1.5, x + STAVE - 1.5, y);
    str_add(d->out, "\"/>\n");
    if (is_shortest) {
        str_add(d->out, "<polygon fill=\"url(#hatch)\" points=\"");
        add_edges(d, x + 1.5, x + STAVE - 1.5, y);
        str_add(d->out, "\"/>\n");
        str_printf(d->out,
                   "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\">%s</text><path class=\"arrow\" "
                   "d=\"M%.1f %.1fl-5 -8h10z\"/>",
                   middle, y - 34, d->b->balanced ? "lowest" : "shortest", middle, y - 20);
    }
    str_printf(d->out, "<text class=\"value%s\" x=\"%.1f\" y=\"%.1f\">",
               is_shortest ? " short" : "", middle, y - 6);
    text_add_number(d->out, rate);
    str_printf(d->out, "</text>\n<text class=\"name%s\" x=\"%.1f\" y=\"%d\">%s</text>\n",
               is_shortest ? " short" : "", x_of(d, x + STAVE / 2.0, BOTTOM), NAMES, stave_name(s));
}

/* 1, 10, 100 ... between the ends of the scale. */
static void add_scale(const struct drawing *d)
{
    const int right = LEFT + d->n * STAVE;

    for (double tick = pow(10, ceil(log10(d->low))); tick <= d->high * 1.0001; tick *= 10) {
        const double y = y_of(d, tick);

        str_printf(d->out,
                   "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" "
                   "y=\"%.1f\">",
                   LEFT, y, right, LEFT - 5, y + 3.5);
        if (tick >= 1e6)
            str_printf(d->out, "%gM", tick / 1e6);
        else if (tick >= 1e4)
            str_printf(d->out, "%gk", tick / 1e3);
        else
            text_add_number(d->out, tick);
        str_add(d->out, "</text>\n");
    }
}

static void add_water(const struct drawing *d)
{
    const double left = LEFT + 1.5, right = LEFT + d->n * STAVE - 1.5, y = y_of(d, d->b->level);
    const double from = x_of(d, left, y), to = x_of(d, right, y), wave = (to - from) / 12;

    str_printf(d->out, "<path class=\"water\" d=\"M%.1f %.1f", from, y);
    for (int i = 0; i < 12; i++)
        str_printf(d->out, "q%.1f %s2.5 %.1f 0", wave / 2, i % 2 ? "" : "-", wave);
    str_printf(d->out, "L%.1f %dL%.1f %dz\"/>\n", x_of(d, right, BOTTOM), BOTTOM,
               x_of(d, left, BOTTOM), BOTTOM);
    str_printf(d->out, "<text class=\"level\" x=\"%.1f\" y=\"%.1f\">level ", x_of(d, left, y) + 8,
               fmin(y + 19, BOTTOM - 6));
    text_add_number(d->out, d->b->level);
    str_add(d->out, "</text>\n");
}

static void add_hoop(const struct drawing *d, double y)
{
    const double left = LEFT, right = LEFT + d->n * STAVE, below = y + 9;

    str_printf(d->out,
               "<polygon class=\"hoop\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
               x_of(d, left, y), y, x_of(d, right, y), y, x_of(d, right, below), below,
               x_of(d, left, below), below);
}

static void add_title(const struct drawing *d)
{
    str_add(d->out, "<title>The staves: ");
    for (int i = 0; i < d->n; i++) {
        str_printf(d->out, "%s%s ", i ? ", " : "", stave_name(d->staves[i]));
        text_add_number(d->out, d->b->alone[d->staves[i]]);
    }
    str_add(d->out, "; level ");
    text_add_number(d->out, d->b->level > 0 ? d->b->level : NAN);
    str_add(d->out, " ");
    text_add(d->out, d->b->unit);
    str_add(d->out, " per second</title>\n");
}

void barrel_draw(const struct barrel *b, struct str *out)
{
    struct drawing d = {.b = b, .out = out};

    choose_scale(&d);
    str_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", LEFT + N_STAGE_STAVES * STAVE + 6,
               HEIGHT);
    add_title(&d);
    add_scale(&d);
    for (int i = 0; i < d.n; i++)
        add_stave(&d, i);
    if (b->level > 0)
        add_water(&d);
    add_hoop(&d, BOTTOM - 24);
    str_add(out, "</svg>");
}
