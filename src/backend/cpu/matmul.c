#include "backend/cpu/matmul.h"

int cpu_matmul_prepare(struct cpu_matmul *m, const struct cpu_dnnl *lib,
                       const struct cpu_matmul_shape *shape)
{
    static const struct dnnl_operand operands[] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                                                   {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                                                   {DNNL_ARG_DST, dnnl_query_dst_md},
                                                   {0}};
    dnnl_primitive_desc_t pd = NULL;
    int code;

    *m = (struct cpu_matmul){.lib = lib};
    TRY(dnnl_api_matmul(&pd, lib->engine, shape));
    code = dnnl_call_init(&m->call, lib, pd, operands);
    dnnl_primitive_desc_destroy(pd);
    m->scratch_bytes = m->call.scratch_bytes;
    return code;
}

int cpu_matmul_run(const struct cpu_matmul *m, const struct cpu_matmul_args *args)
{
    void *const pointers[] = {(void *)args->a, (void *)args->b, args->dst, args->scratch};

    return dnnl_call_run(&m->call, m->lib, pointers);
}

void cpu_matmul_release(struct cpu_matmul *m)
{
    dnnl_call_release(&m->call);
}
