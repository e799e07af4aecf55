#include <oneapi/dnnl/dnnl_debug.h>
#include <stdlib.h>

#include "backend/cpu/ceilings.h"
#include "backend/cpu/cpu.h"
#include "backend/host.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/str.h"

static int threads_of(const struct device_options *o, int *threads)
{
    struct cpus c;

    *threads = o->threads;
    if (o->threads > 0)
        return 0;
    TRY(cpus_find("", &c));
    *threads = c.count;
    return 0;
}

static int cpu_open(const struct device_options *o, struct device **out)
{
    struct device *d;
    int threads, code;

    TRY(threads_of(o, &threads));
    d = xcalloc(1, sizeof(*d));
    code = cpu_dnnl_open(&d->lib, threads);
    if (code < 0) {
        cpu_dnnl_close(&d->lib);
        free(d);
        return code;
    }
    *out = d;
    return 0;
}

static void cpu_close(struct device *d)
{
    cpu_dnnl_close(&d->lib);
    free(d);
}

static int cpu_measure(struct device *d, struct ceilings *out)
{
    return cpu_ceilings(d->lib.threads, out);
}

static void cpu_describe(const struct device *d, struct str *out)
{
    const dnnl_version_t *const v = dnnl_version();

    str_printf(out, "cpu, oneDNN %d.%d.%d, %s, %d thread%s", v->major, v->minor, v->patch,
               dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa()), d->lib.threads,
               d->lib.threads == 1 ? "" : "s");
}

static int cpu_supports(const struct device *d, enum dtype t)
{
    (void)d;
    if (t == DT_BF16)
        return cpu_has_bf16();
    return t == DT_F32
               ? 0
               : err(E_UNSUPPORTED, "device cpu computes in f32 or bf16, not %s", dtype_name(t));
}

/* clang-format off */
static const struct kernel *const cpu_kernels[N_OPS] = {
#define KERNEL(op) [OP_##op] = &cpu_kernel_##op,
#include "backend/cpu/kernels.h"
#undef KERNEL
};
/* clang-format on */

const struct backend backend_cpu = {
    .name = "cpu",
    .help = "oneDNN and own kernels on all processors this process may use",
    .computes = 1,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .sync = host_sync,
    .supports = cpu_supports,
    .measure = cpu_measure,
    .kernels = cpu_kernels,
};
