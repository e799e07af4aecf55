/* The null backend: every op, no arithmetic. It measures what the harness itself costs and gives
 * plans to look at on any machine. Results mean nothing; it accepts every fusion. */
#include "backend/host.h"
#include "base/str.h"

static int null_open(const struct device_options *o, struct device **out)
{
    (void)o;
    *out = NULL; /* it has no state */
    return 0;
}

static void null_close(struct device *d)
{
    (void)d;
}

static void null_describe(const struct device *d, struct str *out)
{
    (void)d;
    str_add(out, "null, no arithmetic");
}

static int null_run(struct device *d, const struct step *s)
{
    (void)d;
    (void)s;
    return 0;
}

static const struct kernel null_kernel = {.name = "null", .accepts = host_accepts, .run = null_run};

/* clang-format off */
static const struct kernel *const null_kernels[N_OPS] = {
#define OP(name) [OP_##name] = &null_kernel,
#include "ops/list.h"
#undef OP
};
/* clang-format on */

const struct backend backend_null = {
    .name = "null",
    .help = "no arithmetic: what the harness itself costs",
    .open = null_open,
    .close = null_close,
    .describe = null_describe,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .sync = host_sync,
    .supports = host_supports,
    .kernels = null_kernels,
};
