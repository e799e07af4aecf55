/* What the processors of a team reach at best: multiply-adds that depend on nothing but themselves,
 * and passes over memory. The best of several short runs, so that a moment of other work does not
 * count. About a second; 192 MiB. Call it from the thread that runs the plan. */
#ifndef STAVE_BACKEND_CPU_CEILINGS_H
#define STAVE_BACKEND_CPU_CEILINGS_H

#include "backend/backend.h"

int cpu_ceilings(int threads, struct ceilings *out);

#endif
