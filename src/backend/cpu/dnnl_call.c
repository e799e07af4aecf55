#include "backend/cpu/dnnl_call.h"

#include <omp.h>
#include <stdio.h>

#include "backend/cpu/dnnl_api.h"

/* oneDNN counts on getting the very number of threads that a primitive was made for, and computes
 * wrongly with fewer: neither OMP_DYNAMIC nor OMP_THREAD_LIMIT may take one away. */
int cpu_dnnl_open(struct cpu_dnnl *lib, int threads)
{
    ASSERT(threads >= 1);
    if (threads > omp_get_thread_limit())
        threads = omp_get_thread_limit();
    *lib = (struct cpu_dnnl){.threads = threads};
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    DNNL_TRY(dnnl_engine_create(&lib->engine, dnnl_cpu, 0));
    DNNL_TRY(dnnl_stream_create(&lib->stream, lib->engine, dnnl_stream_default_flags));
    return 0;
}

void cpu_dnnl_close(struct cpu_dnnl *lib)
{
    if (lib->stream)
        dnnl_stream_destroy(lib->stream);
    if (lib->engine)
        dnnl_engine_destroy(lib->engine);
    *lib = (struct cpu_dnnl){0};
}

size_t dnnl_call_aligned(size_t bytes)
{
    return (bytes + DNNL_CALL_ALIGN - 1) / DNNL_CALL_ALIGN * DNNL_CALL_ALIGN;
}

size_t dnnl_call_operand_bytes(dnnl_primitive_desc_t pd, const struct dnnl_operand *operand)
{
    return dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, operand->query, 0));
}

static int add_operand(struct dnnl_call *call, const struct cpu_dnnl *lib, dnnl_primitive_desc_t pd,
                       struct dnnl_operand operand)
{
    dnnl_exec_arg_t *arg = &call->args[call->n_args];

    ASSERT(call->n_args < DNNL_CALL_OPERANDS);
    DNNL_TRY(dnnl_memory_create(&arg->memory, dnnl_primitive_desc_query_md(pd, operand.query, 0),
                                lib->engine, DNNL_MEMORY_NONE));
    arg->arg = operand.arg;
    call->n_args++;
    return 0;
}

static int fill(struct dnnl_call *call, const struct cpu_dnnl *lib, dnnl_primitive_desc_t pd,
                const struct dnnl_operand *operands)
{
    static const struct dnnl_operand scratchpad = {DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md};
    const char *impl = NULL;

    DNNL_TRY(dnnl_primitive_create(&call->primitive, pd));
    DNNL_TRY(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl));
    snprintf(call->impl, sizeof(call->impl), "%s", impl);
    for (; operands->arg; operands++)
        TRY(add_operand(call, lib, pd, *operands));
    call->scratch_bytes = dnnl_call_operand_bytes(pd, &scratchpad);
    if (call->scratch_bytes > 0)
        TRY(add_operand(call, lib, pd, scratchpad));
    return 0;
}

int dnnl_call_init(struct dnnl_call *call, const struct cpu_dnnl *lib, dnnl_primitive_desc_t pd,
                   const struct dnnl_operand *operands)
{
    int code;

    *call = (struct dnnl_call){0};
    code = fill(call, lib, pd, operands);
    if (code < 0)
        dnnl_call_release(call);
    return code;
}

void dnnl_call_release(struct dnnl_call *call)
{
    for (int i = 0; i < call->n_args; i++)
        dnnl_memory_destroy(call->args[i].memory);
    if (call->primitive)
        dnnl_primitive_destroy(call->primitive);
    *call = (struct dnnl_call){0};
}

int dnnl_call_run(const struct dnnl_call *call, const struct cpu_dnnl *lib, void *const *pointers)
{
    for (int i = 0; i < call->n_args; i++)
        DNNL_TRY(dnnl_memory_set_data_handle(call->args[i].memory, pointers[i]));
    DNNL_TRY(dnnl_primitive_execute(call->primitive, lib->stream, call->n_args, call->args));
    DNNL_TRY(dnnl_stream_wait(lib->stream));
    return 0;
}
