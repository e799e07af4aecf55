/* Loops of independent multiply-adds, one for each way the processor can do them. */
#ifndef STAVE_BACKEND_CPU_FMA_H
#define STAVE_BACKEND_CPU_FMA_H

#include <stdint.h>

struct cpu_fma {
    void (*run)(int64_t rounds);
    double flops; /* of one round on one thread; a multiply-add is two */
};

/* The widest that this processor has; run is NULL for bfloat16 where it has none. */
struct cpu_fma cpu_fma_f32(void);
struct cpu_fma cpu_fma_bf16(void);

#endif
