#include "backend/host.h"
#include "backend/ref/ref.h"
#include "base/str.h"

static int ref_open(const struct device_options *o, struct device **out)
{
    (void)o;
    *out = NULL; /* it has no state */
    return 0;
}

static void ref_close(struct device *d)
{
    (void)d;
}

static void ref_describe(const struct device *d, struct str *out)
{
    (void)d;
    str_add(out, "ref, plain C, one thread");
}

/* clang-format off */
static const struct kernel *const ref_kernels[N_OPS] = {
#define KERNEL(op) [OP_##op] = &ref_##op,
#include "backend/ref/kernels.h"
#undef KERNEL
};
/* clang-format on */

const struct backend backend_ref = {
    .name = "ref",
    .help = "plain C, one thread: the oracle of the other backends",
    .computes = 1,
    .open = ref_open,
    .close = ref_close,
    .describe = ref_describe,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .sync = host_sync,
    .supports = host_supports,
    .kernels = ref_kernels,
};
