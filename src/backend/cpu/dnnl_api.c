#include "backend/cpu/dnnl_api.h"

#include <oneapi/dnnl/dnnl_debug.h>
#include <stddef.h>
#include <string.h>

int dnnl_api_failed(dnnl_status_t status, const char *call)
{
    const int code = status == dnnl_out_of_memory   ? E_NOMEM
                     : status == dnnl_runtime_error ? E_IO
                                                    : E_UNSUPPORTED;

    if (status == dnnl_unimplemented)
        return err(code, "oneDNN %d.%d has no implementation of it for these types and shapes",
                   DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
    return err(code, "oneDNN %d.%d: %.*s: %s", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR,
               (int)strcspn(call, "("), call, dnnl_status2str(status));
}

enum { MAX_DIMS = 5 };

/* Operands of one primitive, in the library's order of dimensions. A NULL strides pointer asks the
 * library to choose. */
struct dims {
    int count;
    dnnl_dims_t size, stride;
    enum dtype type;
};

static dnnl_data_type_t data_type(const struct dims *d)
{
    return d->type == DT_BF16 ? dnnl_bf16 : dnnl_f32;
}

#if DNNL_VERSION_MAJOR < 3

struct layout {
    dnnl_memory_desc_t md;
};
#define MD(l) (&(l)->md)
#define POST_OPS_SUM(ops) dnnl_post_ops_append_sum(ops, 1)

static dnnl_status_t layout_init(struct layout *l, const struct dims *d)
{
    return dnnl_memory_desc_init_by_strides(&l->md, d->count, d->size, data_type(d), d->stride);
}

static dnnl_status_t layout_init_any(struct layout *l, const struct dims *d)
{
    return dnnl_memory_desc_init_by_tag(&l->md, d->count, d->size, data_type(d),
                                        dnnl_format_tag_any);
}

static void layout_release(struct layout *l)
{
    (void)l;
}

#else

struct layout {
    dnnl_memory_desc_t md;
};
#define MD(l) ((l)->md)
#define POST_OPS_SUM(ops) dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef)

static dnnl_status_t layout_init(struct layout *l, const struct dims *d)
{
    return dnnl_memory_desc_create_with_strides(&l->md, d->count, d->size, data_type(d), d->stride);
}

static dnnl_status_t layout_init_any(struct layout *l, const struct dims *d)
{
    return dnnl_memory_desc_create_with_tag(&l->md, d->count, d->size, data_type(d),
                                            dnnl_format_tag_any);
}

static void layout_release(struct layout *l)
{
    if (l->md)
        dnnl_memory_desc_destroy(l->md);
}

#endif

struct conv_parts {
    struct layout x, w, y, dw;
    dnnl_dims_t stride, dilate, pad;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t hint; /* the forward one, for both gradients */
};

#if DNNL_VERSION_MAJOR < 3

static dnnl_status_t conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                  const struct conv_parts *p)
{
    dnnl_convolution_desc_t d;
    const dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &d, dnnl_forward_training, dnnl_convolution_direct, MD(&p->x), MD(&p->w), NULL, MD(&p->y),
        p->stride, p->dilate, p->pad, p->pad);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &d, p->attr, engine, NULL);
}

static dnnl_status_t conv_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                        const struct conv_parts *p)
{
    dnnl_convolution_desc_t d;
    const dnnl_status_t status = dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, MD(&p->x), MD(&p->w), MD(&p->y), p->stride, p->dilate, p->pad,
        p->pad);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &d, p->attr, engine, p->hint);
}

static dnnl_status_t conv_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                           const struct conv_parts *p)
{
    dnnl_convolution_desc_t d;
    const dnnl_status_t status = dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, MD(&p->x), MD(&p->dw), NULL, MD(&p->y), p->stride, p->dilate,
        p->pad, p->pad);

    return status != dnnl_success ? status
                                  : dnnl_primitive_desc_create(pd, &d, p->attr, engine, p->hint);
}

static dnnl_status_t matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, struct layout l[3],
                            dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t d;
    const dnnl_status_t status = dnnl_matmul_desc_init(&d, MD(&l[0]), MD(&l[1]), NULL, MD(&l[2]));

    return status != dnnl_success ? status : dnnl_primitive_desc_create(pd, &d, attr, engine, NULL);
}

#else

static dnnl_status_t conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                  const struct conv_parts *p)
{
    return dnnl_convolution_forward_primitive_desc_create(
        pd, engine, dnnl_forward_training, dnnl_convolution_direct, MD(&p->x), MD(&p->w), NULL,
        MD(&p->y), p->stride, p->dilate, p->pad, p->pad, p->attr);
}

static dnnl_status_t conv_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                        const struct conv_parts *p)
{
    return dnnl_convolution_backward_data_primitive_desc_create(
        pd, engine, dnnl_convolution_direct, MD(&p->x), MD(&p->w), MD(&p->y), p->stride, p->dilate,
        p->pad, p->pad, p->hint, p->attr);
}

static dnnl_status_t conv_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                           const struct conv_parts *p)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, engine, dnnl_convolution_direct, MD(&p->x), MD(&p->dw), NULL, MD(&p->y), p->stride,
        p->dilate, p->pad, p->pad, p->hint, p->attr);
}

static dnnl_status_t matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, struct layout l[3],
                            dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(pd, engine, MD(&l[0]), MD(&l[1]), NULL, MD(&l[2]),
                                             attr);
}

#endif

static int64_t or_one(int64_t v)
{
    return v ? v : 1;
}

int64_t cpu_conv_out_h(const struct cpu_conv_shape *s)
{
    return (s->h + 2 * s->pad_h - s->kh) / or_one(s->stride_h) + 1;
}

int64_t cpu_conv_out_w(const struct cpu_conv_shape *s)
{
    return (s->w + 2 * s->pad_w - s->kw) / or_one(s->stride_w) + 1;
}

/* The library names dimensions n, c, h, w whatever their order in memory. */
static struct dims input(const struct cpu_conv_shape *s)
{
    const int64_t row = s->w * s->c;

    return (struct dims){4, {s->n, s->c, s->h, s->w}, {s->h * row, 1, row, s->c}, s->type};
}

static struct dims output(const struct cpu_conv_shape *s)
{
    const int64_t oh = cpu_conv_out_h(s), ow = cpu_conv_out_w(s), row = ow * s->out;

    return (struct dims){4, {s->n, s->out, oh, ow}, {oh * row, 1, row, s->out}, s->type};
}

static struct dims weights(const struct cpu_conv_shape *s, enum dtype type)
{
    const int64_t g = or_one(s->groups), in = s->c / g, out = s->out / g;
    const int64_t per_out = s->kh * s->kw * in;

    if (s->swapped)
        return (struct dims){
            4, {out, in, s->kh, s->kw}, {1, s->kh * s->kw * out, s->kw * out, out}, type};
    if (g == 1)
        return (struct dims){4, {out, in, s->kh, s->kw}, {per_out, 1, s->kw * in, in}, type};
    return (struct dims){
        5, {g, out, in, s->kh, s->kw}, {out * per_out, per_out, 1, s->kw * in, in}, type};
}

static int attr_init(dnnl_primitive_attr_t *attr)
{
    DNNL_TRY(dnnl_primitive_attr_create(attr)); /* from here on the caller's to destroy */
    DNNL_TRY(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user));
    return 0;
}

static int conv_parts_init(struct conv_parts *p, const struct cpu_conv_shape *s)
{
    const struct dims x = input(s), y = output(s);
    const struct dims w = weights(s, s->type), dw = weights(s, DT_F32);

    *p = (struct conv_parts){.stride = {or_one(s->stride_h), or_one(s->stride_w)},
                             .pad = {s->pad_h, s->pad_w}};
    DNNL_TRY(layout_init(&p->x, &x));
    DNNL_TRY(layout_init_any(&p->w, &w));
    DNNL_TRY(layout_init_any(&p->dw, &dw));
    DNNL_TRY(layout_init(&p->y, &y));
    return attr_init(&p->attr);
}

static void conv_parts_release(struct conv_parts *p)
{
    layout_release(&p->x);
    layout_release(&p->w);
    layout_release(&p->y);
    layout_release(&p->dw);
    if (p->attr)
        dnnl_primitive_attr_destroy(p->attr);
    if (p->hint)
        dnnl_primitive_desc_destroy(p->hint);
}

static int conv_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, struct conv_parts *p,
                       enum cpu_conv_direction direction)
{
    if (direction == CPU_CONV_FORWARD) {
        DNNL_TRY(conv_forward(pd, engine, p));
        return 0;
    }
    DNNL_TRY(conv_forward(&p->hint, engine, p));
    if (direction == CPU_CONV_BACKWARD_DATA)
        DNNL_TRY(conv_backward_data(pd, engine, p));
    else
        DNNL_TRY(conv_backward_weights(pd, engine, p));
    return 0;
}

int dnnl_api_conv(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const struct cpu_conv_shape *s,
                  enum cpu_conv_direction direction)
{
    struct conv_parts p;
    int code = conv_parts_init(&p, s);

    if (code == 0)
        code = conv_create(pd, engine, &p, direction);
    conv_parts_release(&p);
    return code;
}

/* dst += the result, in place of dst = the result. */
static int attr_accumulate(dnnl_primitive_attr_t attr)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t status = dnnl_post_ops_create(&ops);

    if (status == dnnl_success)
        status = POST_OPS_SUM(ops);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(attr, ops);
    if (ops)
        dnnl_post_ops_destroy(ops);
    return status == dnnl_success ? 0 : dnnl_api_failed(status, "dnnl_post_ops_append_sum");
}

static int matmul_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                         const struct cpu_matmul_shape *s, struct layout l[3],
                         dnnl_primitive_attr_t *attr)
{
    const struct dims a = {
        2, {s->m, s->k}, {s->trans_a ? 1 : s->k, s->trans_a ? s->m : 1}, s->type};
    const struct dims b = {
        2, {s->k, s->n}, {s->trans_b ? 1 : s->n, s->trans_b ? s->k : 1}, s->type};
    const struct dims dst = {2, {s->m, s->n}, {s->n, 1}, s->dst_type};

    DNNL_TRY(layout_init(&l[0], &a));
    DNNL_TRY(layout_init(&l[1], &b));
    DNNL_TRY(layout_init(&l[2], &dst));
    TRY(attr_init(attr));
    if (s->accumulate)
        TRY(attr_accumulate(*attr));
    DNNL_TRY(matmul(pd, engine, l, *attr));
    return 0;
}

int dnnl_api_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                    const struct cpu_matmul_shape *s)
{
    struct layout l[3] = {0};
    dnnl_primitive_attr_t attr = NULL;
    const int code = matmul_create(pd, engine, s, l, &attr);

    if (attr)
        dnnl_primitive_attr_destroy(attr);

    for (size_t i = 0; i < COUNT_OF(l); i++)
        layout_release(&l[i]);
    return code;
}

static dnnl_status_t reorder(dnnl_primitive_desc_t *pd, dnnl_primitive_desc_t conv_pd,
                             const struct layout *plain, enum cpu_conv_direction direction)
{
    const dnnl_query_t what =
        direction == CPU_CONV_BACKWARD_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    dnnl_engine_t engine = NULL;
    const dnnl_status_t status = dnnl_primitive_desc_query(conv_pd, dnnl_query_engine, 0, &engine);

    if (status != dnnl_success)
        return status;
    if (dnnl_memory_desc_equal(MD(plain), dnnl_primitive_desc_query_md(conv_pd, what, 0)))
        return dnnl_success;
    if (direction == CPU_CONV_BACKWARD_WEIGHTS)
        return dnnl_reorder_primitive_desc_create(
            pd, dnnl_primitive_desc_query_md(conv_pd, what, 0), engine, MD(plain), engine, NULL);
    return dnnl_reorder_primitive_desc_create(
        pd, MD(plain), engine, dnnl_primitive_desc_query_md(conv_pd, what, 0), engine, NULL);
}

int dnnl_api_conv_reorder(dnnl_primitive_desc_t *pd, dnnl_primitive_desc_t conv_pd,
                          const struct cpu_conv_shape *s, enum cpu_conv_direction direction)
{
    const struct dims d = weights(s, direction == CPU_CONV_BACKWARD_WEIGHTS ? DT_F32 : s->type);
    struct layout plain = {0};
    dnnl_status_t status;

    *pd = NULL;
    DNNL_TRY(layout_init(&plain, &d));
    status = reorder(pd, conv_pd, &plain, direction);
    layout_release(&plain);
    return status == dnnl_success ? 0 : dnnl_api_failed(status, "dnnl_reorder_primitive_desc");
}
