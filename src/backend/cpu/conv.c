#include "backend/cpu/conv.h"

#include <stdio.h>
#include <string.h>

/* Operands in the order a, b, dst of cpu_conv_args. */
static const struct dnnl_operand operands[][DNNL_CALL_OPERANDS] = {
    [CPU_CONV_FORWARD] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                          {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                          {DNNL_ARG_DST, dnnl_query_dst_md}},
    [CPU_CONV_BACKWARD_DATA] = {{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                                {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md}},
    [CPU_CONV_BACKWARD_WEIGHTS] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                                   {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                                   {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md}},
};

/* Where the weights stand among a, b, dst. */
static int weights_place(enum cpu_conv_direction direction)
{
    return direction == CPU_CONV_BACKWARD_WEIGHTS ? 2 : 1;
}

/* The direction of the library's primitive. */
static enum cpu_conv_direction direction_of(const struct cpu_conv *c)
{
    return c->turned.kh ? CPU_CONV_FORWARD : c->direction;
}

static int prepare_reorder(struct cpu_conv *c, dnnl_primitive_desc_t conv_pd,
                           const struct cpu_conv_shape *shape)
{
    static const struct dnnl_operand from_to[] = {
        {DNNL_ARG_FROM, dnnl_query_src_md}, {DNNL_ARG_TO, dnnl_query_dst_md}, {0}};
    dnnl_primitive_desc_t pd = NULL;
    int code;

    TRY(dnnl_api_conv_reorder(&pd, conv_pd, shape, direction_of(c)));
    if (!pd)
        return 0;
    code = dnnl_call_init(&c->reorder, c->lib, pd, from_to);
    dnnl_primitive_desc_destroy(pd);
    c->weights_bytes = dnnl_call_aligned(
        dnnl_call_operand_bytes(conv_pd, &operands[direction_of(c)][weights_place(c->direction)]));
    return code;
}

static int prepare(struct cpu_conv *c, dnnl_primitive_desc_t pd, const struct cpu_conv_shape *shape)
{
    TRY(dnnl_call_init(&c->conv, c->lib, pd, operands[direction_of(c)]));
    TRY(prepare_reorder(c, pd, shape));
    ASSERT(c->reorder.scratch_bytes == 0);
    c->scratch_bytes = c->weights_bytes + c->turned_bytes + c->conv.scratch_bytes;
    snprintf(c->impl, sizeof(c->impl), "%s%s%s", c->turned.kh ? "turned+" : "", c->conv.impl,
             c->reorder.primitive ? "+reorder" : "");
    return 0;
}

/* The convolution from dy to dx; a tap of dy outside the image is padding of kernel - 1 - pad. */
static struct cpu_conv_shape turned(const struct cpu_conv_shape *s)
{
    return (struct cpu_conv_shape){.n = s->n,
                                   .h = cpu_conv_out_h(s),
                                   .w = cpu_conv_out_w(s),
                                   .c = s->out,
                                   .out = s->c,
                                   .kh = s->kh,
                                   .kw = s->kw,
                                   .pad_h = s->kh - 1 - s->pad_h,
                                   .pad_w = s->kw - 1 - s->pad_w,
                                   .type = s->type,
                                   .swapped = 1};
}

static int prepare_library(struct cpu_conv *c, const struct cpu_conv_shape *shape)
{
    dnnl_primitive_desc_t pd = NULL;
    int code;

    TRY(dnnl_api_conv(&pd, c->lib->engine, shape, direction_of(c)));
    code = prepare(c, pd, shape);
    dnnl_primitive_desc_destroy(pd);
    if (code < 0)
        cpu_conv_release(c);
    return code;
}

int cpu_conv_prepare_direct(struct cpu_conv *c, const struct cpu_dnnl *lib,
                            const struct cpu_conv_shape *shape, enum cpu_conv_direction direction)
{
    *c = (struct cpu_conv){.lib = lib, .direction = direction};
    return prepare_library(c, shape);
}

int cpu_conv_turns(const struct cpu_conv_shape *s, enum cpu_conv_direction direction)
{
    return direction == CPU_CONV_BACKWARD_DATA && s->kh * s->kw > 1 && s->stride_h <= 1 &&
           s->stride_w <= 1 && s->groups <= 1 && s->pad_h < s->kh && s->pad_w < s->kw;
}

int cpu_conv_prepare_turned(struct cpu_conv *c, const struct cpu_dnnl *lib,
                            const struct cpu_conv_shape *shape)
{
    ASSERT(cpu_conv_turns(shape, CPU_CONV_BACKWARD_DATA));
    *c =
        (struct cpu_conv){.lib = lib, .direction = CPU_CONV_BACKWARD_DATA, .turned = turned(shape)};
    c->turned_bytes = dnnl_call_aligned((size_t)(shape->c * shape->kh * shape->kw * shape->out) *
                                        dtype_size(shape->type));
    return prepare_library(c, &c->turned);
}

static int prepare_fastest(struct cpu_conv *c, const struct cpu_dnnl *lib,
                           const struct cpu_conv_shape *shape, enum cpu_conv_direction direction)
{
    return cpu_has_avx512() && cpu_conv_turns(shape, direction)
               ? cpu_conv_prepare_turned(c, lib, shape)
               : cpu_conv_prepare_direct(c, lib, shape, direction);
}

int cpu_conv_prepare(struct cpu_conv *c, const struct cpu_dnnl *lib,
                     const struct cpu_conv_shape *shape, enum cpu_conv_direction direction)
{
    const char *why;
    int code = 0;

    if (!cpu_conv_gemm_wins(shape, direction, &why)) {
        code = prepare_fastest(c, lib, shape, direction);
        c->why = why;
        return code;
    }
    *c = (struct cpu_conv){.lib = lib, .direction = direction, .why = why};
    TRY(cpu_conv_gemm_prepare(&c->gemm, lib, shape, direction));
    c->scratch_bytes = c->gemm.scratch_bytes;
    snprintf(c->impl, sizeof(c->impl), "%s%s", c->gemm.patch_bytes ? "patches+" : "",
             c->gemm.matmul.call.impl);
    return 0;
}

static int run_reorder(const struct cpu_conv *c, void *from, void *to)
{
    return dnnl_call_run(&c->reorder, c->lib, (void *[]){from, to});
}

/* Each kernel [kh][kw] by half a turn: its taps in the opposite order. */
static void turn(const struct cpu_conv_shape *s, const char *src, char *dst)
{
    const size_t tap = (size_t)s->out * dtype_size(s->type);
    const int64_t taps = s->kh * s->kw;

    for (int64_t c = 0; c < s->c; c++)
        for (int64_t k = 0; k < taps; k++)
            memcpy(dst + (size_t)(c * taps + taps - 1 - k) * tap,
                   src + (size_t)(c * taps + k) * tap, tap);
}

int cpu_conv_run(const struct cpu_conv *c, const struct cpu_conv_args *args)
{
    char *const scratch = args->scratch, *const turned_room = scratch + c->weights_bytes;
    void *pointers[DNNL_CALL_OPERANDS] = {(void *)args->a, (void *)args->b, args->dst,
                                          turned_room + c->turned_bytes};
    void **const weights = &pointers[weights_place(c->direction)];

    if (c->gemm.matmul.call.primitive)
        return cpu_conv_gemm_run(&c->gemm, args);
    if (c->turned.kh) {
        turn(&c->turned, args->b, turned_room);
        *weights = turned_room;
    }
    if (!c->reorder.primitive)
        return dnnl_call_run(&c->conv, c->lib, pointers);
    if (c->direction != CPU_CONV_BACKWARD_WEIGHTS)
        TRY(run_reorder(c, *weights, scratch));
    *weights = scratch;
    TRY(dnnl_call_run(&c->conv, c->lib, pointers));
    return c->direction == CPU_CONV_BACKWARD_WEIGHTS ? run_reorder(c, scratch, args->dst) : 0;
}

void cpu_conv_release(struct cpu_conv *c)
{
    cpu_conv_gemm_release(&c->gemm);
    dnnl_call_release(&c->conv);
    dnnl_call_release(&c->reorder);
}
