#include "backend/cpu/conv.h"

#include <stdio.h>

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

static int prepare_reorder(struct cpu_conv *c, dnnl_primitive_desc_t conv_pd,
                           const struct cpu_conv_shape *shape)
{
    static const struct dnnl_operand from_to[] = {
        {DNNL_ARG_FROM, dnnl_query_src_md}, {DNNL_ARG_TO, dnnl_query_dst_md}, {0}};
    dnnl_primitive_desc_t pd = NULL;
    int code;

    TRY(dnnl_api_conv_reorder(&pd, conv_pd, shape, c->direction));
    if (!pd)
        return 0;
    code = dnnl_call_init(&c->reorder, c->lib, pd, from_to);
    dnnl_primitive_desc_destroy(pd);
    c->weights_bytes = dnnl_call_aligned(
        dnnl_call_operand_bytes(conv_pd, &operands[c->direction][weights_place(c->direction)]));
    return code;
}

static int prepare(struct cpu_conv *c, dnnl_primitive_desc_t pd, const struct cpu_conv_shape *shape)
{
    TRY(dnnl_call_init(&c->conv, c->lib, pd, operands[c->direction]));
    TRY(prepare_reorder(c, pd, shape));
    ASSERT(c->reorder.scratch_bytes == 0);
    c->scratch_bytes = c->weights_bytes + c->conv.scratch_bytes;
    snprintf(c->impl, sizeof(c->impl), "%s%s", c->conv.impl,
             c->reorder.primitive ? "+reorder" : "");
    return 0;
}

int cpu_conv_prepare_direct(struct cpu_conv *c, const struct cpu_dnnl *lib,
                            const struct cpu_conv_shape *shape, enum cpu_conv_direction direction)
{
    dnnl_primitive_desc_t pd = NULL;
    int code;

    *c = (struct cpu_conv){.lib = lib, .direction = direction};
    TRY(dnnl_api_conv(&pd, lib->engine, shape, direction));
    code = prepare(c, pd, shape);
    dnnl_primitive_desc_destroy(pd);
    if (code < 0)
        cpu_conv_release(c);
    return code;
}

int cpu_conv_prepare(struct cpu_conv *c, const struct cpu_dnnl *lib,
                     const struct cpu_conv_shape *shape, enum cpu_conv_direction direction)
{
    const char *why;
    int code = 0;

    if (!cpu_conv_gemm_wins(shape, direction, &why)) {
        code = cpu_conv_prepare_direct(c, lib, shape, direction);
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

int cpu_conv_run(const struct cpu_conv *c, const struct cpu_conv_args *args)
{
    char *const scratch = args->scratch;
    void *pointers[DNNL_CALL_OPERANDS] = {(void *)args->a, (void *)args->b, args->dst,
                                          scratch + c->weights_bytes};
    void **const weights = &pointers[weights_place(c->direction)];

    if (c->gemm.matmul.call.primitive)
        return cpu_conv_gemm_run(&c->gemm, args);
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
