/* Convolutions for tests: awkward shapes, inputs in either type, and what all three directions must
 * give, by the plainest loop in double. Include after cmocka.h. */
#ifndef STAVE_TESTS_CONV_CASE_H
#define STAVE_TESTS_CONV_CASE_H

#include "backend/cpu/dnnl_api.h"
#include "guarded.h"
#include "narrowed.h"

static const struct cpu_conv_shape conv_shapes[] = {
    {.n = 2,
     .h = 11,
     .w = 9,
     .c = 3,
     .out = 16,
     .kh = 7,
     .kw = 7,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 3,
     .pad_w = 3},
    {.n = 1, .h = 1, .w = 1, .c = 64, .out = 32, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
    {.n = 3,
     .h = 2,
     .w = 2,
     .c = 48,
     .out = 24,
     .kh = 3,
     .kw = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h = 1,
     .pad_w = 1},
    {.n = 2, .h = 5, .w = 6, .c = 10, .out = 3, .kh = 1, .kw = 1},
    {.n = 2, .h = 7, .w = 5, .c = 40, .out = 9, .kh = 1, .kw = 1, .stride_h = 2, .stride_w = 2},
    {.n = 2, .h = 4, .w = 4, .c = 128, .out = 8, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
    {.n = 2,
     .h = 6,
     .w = 3,
     .c = 1,
     .out = 1,
     .kh = 3,
     .kw = 2,
     .stride_h = 1,
     .stride_w = 2,
     .pad_h = 2,
     .pad_w = 0},
    {.n = 2, .h = 5, .w = 7, .c = 8, .out = 16, .kh = 3, .kw = 2, .pad_h = 2, .pad_w = 0},
    {.n = 1, .h = 4, .w = 4, .c = 32, .out = 64, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
    /* patches of more than one block, in either type */
    {.n = 4, .h = 32, .w = 32, .c = 128, .out = 3, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1},
};

struct conv_case {
    struct cpu_conv_shape s;
    size_t nx, nw, ny;
    float *x, *w, *dy;
    double *y, *dx, *dw;
};

static inline void conv_tap(struct conv_case *k, size_t ix, size_t iw, size_t iy)
{
    k->y[iy] += (double)k->x[ix] * (double)k->w[iw];
    k->dx[ix] += (double)k->dy[iy] * (double)k->w[iw];
    k->dw[iw] += (double)k->dy[iy] * (double)k->x[ix];
}

/* All (ky, kx) of one (image, oy, ox, out, in). */
static inline void conv_taps(struct conv_case *k, int64_t at[5])
{
    const struct cpu_conv_shape *s = &k->s;
    const int64_t oh = cpu_conv_out_h(s), ow = cpu_conv_out_w(s);

    for (int64_t ky = 0; ky < s->kh; ky++)
        for (int64_t kx = 0; kx < s->kw; kx++) {
            const int64_t iy = at[1] * s->stride_h + ky - s->pad_h;
            const int64_t ix = at[2] * s->stride_w + kx - s->pad_w;

            if (iy >= 0 && iy < s->h && ix >= 0 && ix < s->w)
                conv_tap(k, (size_t)(((at[0] * s->h + iy) * s->w + ix) * s->c + at[4]),
                         (size_t)(((at[3] * s->kh + ky) * s->kw + kx) * s->c + at[4]),
                         (size_t)(((at[0] * oh + at[1]) * ow + at[2]) * s->out + at[3]));
        }
}

/* Inputs are numbers of the shape's type. */
static inline struct conv_case conv_case(struct cpu_conv_shape s)
{
    struct conv_case k;
    int64_t at[5];

    s.stride_h = s.stride_h ? s.stride_h : 1;
    s.stride_w = s.stride_w ? s.stride_w : 1;
    k.s = s;
    k.nx = (size_t)(s.n * s.h * s.w * s.c);
    k.nw = (size_t)(s.out * s.kh * s.kw * s.c);
    k.ny = (size_t)(s.n * cpu_conv_out_h(&s) * cpu_conv_out_w(&s) * s.out);
    k.x = random_floats(k.nx);
    k.w = random_floats(k.nw);
    k.dy = random_floats(k.ny);
    if (s.type == DT_BF16) {
        k.x = widened(narrowed(k.x, k.nx), k.nx);
        k.w = widened(narrowed(k.w, k.nw), k.nw);
        k.dy = widened(narrowed(k.dy, k.ny), k.ny);
    }
    k.y = zeros(k.ny);
    k.dx = zeros(k.nx);
    k.dw = zeros(k.nw);
    for (at[0] = 0; at[0] < s.n; at[0]++)
        for (at[1] = 0; at[1] < cpu_conv_out_h(&s); at[1]++)
            for (at[2] = 0; at[2] < cpu_conv_out_w(&s); at[2]++)
                for (at[3] = 0; at[3] < s.out; at[3]++)
                    for (at[4] = 0; at[4] < s.c; at[4]++)
                        conv_taps(&k, at);
    return k;
}

static inline const void *input_of(const struct conv_case *k, enum cpu_conv_direction d, int which)
{
    const float *const first = d == CPU_CONV_BACKWARD_DATA ? k->dy : k->x;
    const float *const second = d == CPU_CONV_BACKWARD_WEIGHTS ? k->dy : k->w;
    const size_t n_first = d == CPU_CONV_BACKWARD_DATA ? k->ny : k->nx;
    const size_t n_second = d == CPU_CONV_BACKWARD_WEIGHTS ? k->ny : k->nw;

    if (k->s.type == DT_F32)
        return which ? second : first;
    return which ? narrowed(second, n_second) : narrowed(first, n_first);
}

/* bf16 results are within one rounding, and a little for sums that stop beside a tie. */
static inline void assert_result(const void *dst, enum dtype type, const double *want, size_t n)
{
    if (type == DT_F32)
        assert_near(dst, want, n, 5e-4); /* sums of thousands of terms */
    else
        assert_near(widened(dst, n), want, n, 1.0 / 256);
}

/* What a direction gives: how much of which type. */
struct conv_result {
    const double *want;
    size_t n;
    enum dtype type;
};

static inline struct conv_result result_of(const struct conv_case *k, enum cpu_conv_direction d)
{
    if (d == CPU_CONV_FORWARD)
        return (struct conv_result){k->y, k->ny, k->s.type};
    if (d == CPU_CONV_BACKWARD_DATA)
        return (struct conv_result){k->dx, k->nx, k->s.type};
    return (struct conv_result){k->dw, k->nw, DT_F32};
}

#endif
