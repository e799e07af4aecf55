#include "loader_models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"

enum { ROWS = 8, COLUMNS = 5 };

/* clang-format off */
#define GRID(threads, depth)                                                                       \
    {.n_dims = 2, .dim = {{"threads", 1, threads, SEARCH_LOG, 1, 1},                               \
                          {"prefetch", 1, depth, SEARCH_LOG, 0.25, 1}}}
#define SPLIT(threads, depth)                                                                      \
    {.n_dims = 3, .dim = {{"threads", 1, threads, SEARCH_LOG, 1, 1},                               \
                          {"prefetch", 1, depth, SEARCH_LOG, 0.25, 1},                             \
                          {"device share", 0, 100, SEARCH_LINEAR, 0.05, 0}}}
/* clang-format on */

/* Goes from 0 to 1 around x = 0, over a width of about 1. */
static double step_up(double x)
{
    return 1 / (1 + exp(-4 * x));
}

static double bump(double x)
{
    return exp(-x * x / 2);
}

/* How much of the time a ring of this depth covers bursts. */
static double covers(int depth, double burst)
{
    return depth / (depth + burst);
}

/* Cores in use grow the rate until the model is the limit at 10.5 threads. */
static double plateau(const struct loader_model *m, struct search_point p)
{
    (void)m;
    return fmin(380 * p.v[0] * covers(p.v[1], 0.4), 4000);
}

/* Threads that equal the cores fight with the model's own; twice as many win by their number. */
static double dip(const struct loader_model *m, struct search_point p)
{
    const double t = log2(p.v[0]);

    (void)m;
    return (3000 * (1 - exp(-p.v[0] / 4.0)) + 900 * step_up(t - 4.3) - 900 * bump((t - 4) / 0.4)) *
           covers(p.v[1], 0.3);
}

/* Two hills, the lower one nearer to the start. */
static double two_hills(const struct loader_model *m, struct search_point p)
{
    const double t = log2(p.v[0]), d = log2(p.v[1]);

    (void)m;
    return 1000 + 2300 * bump((t - 1.6) / 0.8) * bump((d - 1) / 1.2) +
           2900 * bump((t - 4.2) / 0.7) * bump((d - 2.8) / 1.1);
}

/* Deep rings push the data out of the page cache. */
static double cliff(const struct loader_model *m, struct search_point p)
{
    const double memory = p.v[1] * 1.0 + p.v[0] * 0.25;

    (void)m;
    return fmin(300 * p.v[0], 3600) * covers(p.v[1], 0.8) * (memory > 12 ? 0.55 : 1);
}

/* What is above the machine's memory can not be run. */
static double no_memory(const struct loader_model *m, struct search_point p)
{
    return p.v[1] * p.v[0] > 96 ? 0 : plateau(m, p) * (1 + 0.004 * p.v[1]);
}

/* Neither threads nor depth help alone. */
static double together(const struct loader_model *m, struct search_point p)
{
    (void)m;
    return 250 * fmin(fmin(p.v[0], 1.5 * p.v[1]), 14);
}

/* Every thread beyond three costs: a disk that seeks. */
static double seeks(const struct loader_model *m, struct search_point p)
{
    (void)m;
    return 900 * fmin(p.v[0], 3) * pow(fmax(p.v[0], 3) / 3, -0.35) * covers(p.v[1], 0.15);
}

/* Three local optima along the threads, the best one narrow in depth. */
static double waves(const struct loader_model *m, struct search_point p)
{
    const double t = log2(p.v[0]), d = log2(p.v[1]);

    (void)m;
    return 2000 + 250 * t + 350 * sin(2.2 * M_PI * t / 2) - 120 * (d - 2) * (d - 2);
}

static double flat(const struct loader_model *m, struct search_point p)
{
    (void)m;
    (void)p;
    return 500;
}

/* The device decodes its share at the cost of the model's own speed. */
static double split(const struct loader_model *m, struct search_point p)
{
    const double share = p.v[2] / 100.0, host = 260 * p.v[0] * covers(p.v[1], 0.5);
    const double data = fmin(share < 1 ? host / (1 - share) : 1e9, share > 0 ? 2600 / share : 1e9);

    (void)m;
    return 1 / (1 / data + 1 / (9000 * (1 - 0.35 * share)));
}

static void read_table(const char *file, double table[ROWS][COLUMNS])
{
    char path[200], line[400];
    int row = 0;

    snprintf(path, sizeof(path), "tests/golden/%s", file);
    FILE *const f = fopen(path, "r");

    if (!f)
        BUG("%s can not be read", path);
    while (row < ROWS && fgets(line, sizeof(line), f))
        if (line[0] != '#') {
            char *at = line;

            for (int c = 0; c < COLUMNS; c++)
                table[row][c] = strtod(at, &at);
            row++;
        }
    fclose(f);
    ASSERT(row == ROWS);
}

/* Between recorded places: linear in the logarithms. A grid of 16 threads takes the 8 recorded
 * ones at half their distance. */
static double recorded(const struct loader_model *m, struct search_point p)
{
    static const char *kept;
    static double table[ROWS][COLUMNS];

    if (kept != m->file)
        read_table(kept = m->file, table);
    const double t = (ROWS - 1) * (p.v[0] - 1) / (m->space.dim[0].max - 1.0), d = log2(p.v[1]);
    const int i = t >= ROWS - 1 ? ROWS - 2 : (int)t, j = d >= COLUMNS - 1 ? COLUMNS - 2 : (int)d;
    const double y = t - i, x = d - j;

    return (1 - y) * ((1 - x) * table[i][j] + x * table[i][j + 1]) +
           y * ((1 - x) * table[i + 1][j] + x * table[i + 1][j + 1]);
}

const struct loader_model loader_models[] = {
    {"plateau", GRID(32, 16), plateau, {96, 97, 85}, NULL},
    {"dip", GRID(32, 16), dip, {96, 97, 80}, NULL},
    {"two hills", GRID(32, 16), two_hills, {96, 97, 80}, NULL},
    {"cliff", GRID(32, 16), cliff, {85, 95, 30}, NULL},
    {"no memory", GRID(32, 16), no_memory, {96, 97, 85}, NULL},
    {"together", GRID(32, 16), together, {96, 97, 85}, NULL},
    {"seeks", GRID(32, 16), seeks, {96, 97, 85}, NULL},
    {"waves", GRID(32, 16), waves, {96, 97, 85}, NULL},
    {"flat", GRID(32, 16), flat, {96, 97, 85}, NULL},
    {"split", SPLIT(16, 8), split, {94, 95, 65}, NULL},
    {"recorded paced", GRID(16, 16), recorded, {98, 98, 50}, "loader_paced.txt"},
    {"recorded latent", GRID(16, 16), recorded, {98, 98, 50}, "loader_latent.txt"},
    {"recorded drain", GRID(16, 16), recorded, {88, 97, 45}, "loader_drain.txt"},
};
const int n_loader_models = (int)COUNT_OF(loader_models);

static void visit(const struct loader_model *m, int d, struct search_point p, double *best, int *n)
{
    if (d == m->space.n_dims) {
        *best = fmax(*best, m->rate(m, p));
        ++*n;
        return;
    }
    for (p.v[d] = m->space.dim[d].min; p.v[d] <= m->space.dim[d].max; p.v[d]++)
        visit(m, d + 1, p, best, n);
}

double loader_model_best(const struct loader_model *m, int *n)
{
    double best = 0;

    *n = 0;
    visit(m, 0, (struct search_point){{0}}, &best, n);
    return best;
}
