/* One prepared oneDNN primitive with its memory objects: everything expensive happens in
 * dnnl_call_init, running it binds pointers and executes, and allocates nothing.
 * cpu_dnnl is the library opened for a number of threads: engine and stream. Owner: whoever opened
 * it; calls prepared from it must be released before it closes. One thread at a time, and always
 * the same one, because the OpenMP thread count belongs to the calling thread. */
#ifndef STAVE_BACKEND_CPU_DNNL_CALL_H
#define STAVE_BACKEND_CPU_DNNL_CALL_H

#include <oneapi/dnnl/dnnl.h>
#include <stddef.h>

struct cpu_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads; /* at most OMP_THREAD_LIMIT */
};

int cpu_dnnl_open(struct cpu_dnnl *lib, int threads);
void cpu_dnnl_close(struct cpu_dnnl *lib); /* harmless on a zeroed one */

enum { DNNL_CALL_OPERANDS = 4, DNNL_CALL_ALIGN = 64 };

/* Which operand: the argument's number at execution, and how the descriptor is asked for it. */
struct dnnl_operand {
    int arg;
    dnnl_query_t query;
};

struct dnnl_call {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[DNNL_CALL_OPERANDS]; /* in the order of the operands; scratchpad last */
    int n_args;
    size_t scratch_bytes; /* of the primitive's scratchpad, maybe 0 */
    char impl[48];        /* the library's name for the chosen implementation */
};

/* Operands end with .arg = 0. Does not take pd over. */
int dnnl_call_init(struct dnnl_call *call, const struct cpu_dnnl *lib, dnnl_primitive_desc_t pd,
                   const struct dnnl_operand *operands);
void dnnl_call_release(struct dnnl_call *call); /* harmless on a zeroed one */
size_t dnnl_call_operand_bytes(dnnl_primitive_desc_t pd, const struct dnnl_operand *operand);
/* pointers: one per operand, then the scratchpad when scratch_bytes > 0. */
int dnnl_call_run(const struct dnnl_call *call, const struct cpu_dnnl *lib, void *const *pointers);

size_t dnnl_call_aligned(size_t bytes); /* rounded up to DNNL_CALL_ALIGN */

#endif
