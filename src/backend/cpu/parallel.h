/* One way for our own kernels to use several threads: an OpenMP parallel region, so that they run
 * on the very team of threads oneDNN uses and never compete with it. Results must not depend on the
 * number of threads: a kernel either writes each output once, or reduces over chunks whose
 * boundaries depend on the problem only and combines them in order afterwards.
 * Call it from the thread that runs the plan; calls do not nest. */
#ifndef STAVE_BACKEND_CPU_PARALLEL_H
#define STAVE_BACKEND_CPU_PARALLEL_H

#include <stddef.h>

/* Handles the items begin .. end-1. */
typedef void cpu_parallel_fn(void *arg, size_t begin, size_t end);

/* How to share out n items: at most threads calls of fn at a time, each over whole multiples of
 * grain items (the last may be short). No more than one grain of work stays on the calling thread.
 */
struct cpu_split {
    int threads;
    size_t n, grain;
};

void cpu_parallel(struct cpu_split split, cpu_parallel_fn *fn, void *arg);

#endif
