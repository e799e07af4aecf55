#include "meter/gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { COUNTERS = 4, MAX_MILLIWATT = 100000000, MAX_MHZ = 100000 };

/* Drivers say 0x7ffffffffffffff0 and the like for what they have not; no counter gets that far. */
static const unsigned long long counter_end = 1ULL << 62;

/* Bits of nvmlClocksEventReasons: power cap, slowdown by hardware, by heat (software, hardware),
 * power brake, limit of the board, reliability. Not: idle, clocks that somebody set. */
static const unsigned long long throttled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80 | 0x200 | 0x400;
static const unsigned long long by_power = 0x4 | 0x80, by_heat = 0x20 | 0x40;

/* Whether a call succeeded. A device that is lost is remembered, for each call to it can be slow.
 */
static int ok(struct gpu *g, int code)
{
    if (code == NVML_GPU_IS_LOST)
        g->is_lost = 1;
    return code == 0;
}

#define ASK(g, function, ...) ((function) && !(g)->is_lost && ok((g), (function)(__VA_ARGS__)))

static double percent(unsigned v)
{
    return v <= 100 ? (double)v : NAN;
}

static void look_at_use(struct gpu *g, const struct nvml *n, double *v)
{
    struct nvml_utilization u = {~0u, ~0u};
    unsigned share = ~0u, period;

    if (g->is_split) /* what it says then is not supported, or nought, or nonsense */
        return;
    if (ASK(g, n->utilization, g->handle, &u)) {
        v[GPU_SM] = percent(u.gpu);
        v[GPU_MEMORY_CONTROLLER] = percent(u.memory);
    }
    if (ASK(g, n->decoder, g->handle, &share, &period))
        v[GPU_DECODER] = percent(share);
    if (ASK(g, n->jpeg, g->handle, &share, &period))
        v[GPU_JPEG] = percent(share);
}

static double memory_used(struct gpu *g, const struct nvml *n)
{
    struct nvml_memory_v2 two = {.version = NVML_MEMORY_V2};
    struct nvml_memory one = {0};

    if (ASK(g, n->memory_v2, g->handle, &two)) {
        one.total = two.total;
        one.used = two.used;
    } else if (!ASK(g, n->memory, g->handle, &one)) {
        return NAN;
    }
    return one.total > 0 && one.total < 1ULL << 50 && one.used <= one.total ? (double)one.used
                                                                            : NAN;
}

static void look_at_board(struct gpu *g, const struct nvml *n, double *v)
{
    unsigned u = ~0u;
    unsigned long long reasons = 0;

    if (ASK(g, n->power, g->handle, &u) && u < MAX_MILLIWATT)
        v[GPU_POWER] = u / 1e3;
    u = ~0u;
    if (ASK(g, n->clock, g->handle, NVML_CLOCK_SM, &u) && u < MAX_MHZ)
        v[GPU_SM_MHZ] = u;
    if (ASK(g, n->clock_reasons, g->handle, &reasons) && reasons < counter_end) {
        v[GPU_THROTTLED] = reasons & throttled ? 100 : 0;
        v[GPU_THROTTLED_POWER] = reasons & by_power ? 100 : 0;
        v[GPU_THROTTLED_HEAT] = reasons & by_heat ? 100 : 0;
    }
}

/* ---- counters ---- */

/* Counters of 32 bits wrap faster than they are read: what they say is not known. */
static int count_of(const struct nvml_field_value *f, unsigned unit, uint64_t *bytes)
{
    unsigned long long v;

    if (f->code != 0 || (f->type != NVML_ULONG && f->type != NVML_ULONGLONG))
        return 0;
    v = f->type == NVML_ULONG ? f->value.ul : f->value.ull;
    *bytes = v * unit;
    return v < counter_end / unit;
}

/* A counter that went back says nothing of this time. */
static double rate(struct gpu_counter *c, uint64_t bytes, double seconds)
{
    const int forward = c->known && bytes >= c->last && seconds > 0;
    const double r = forward ? (double)(bytes - c->last) / seconds : NAN;

    c->known = 1;
    c->last = bytes;
    return r;
}

static void look_at_links(struct gpu *g, const struct nvml *n, double seconds, double *v)
{
    static const struct {
        enum nvml_field field;
        enum gpu_quantity quantity;
        unsigned scope, unit;
    } counters[COUNTERS] = {{NVML_PCIE_RX_BYTES, GPU_PCIE_RX, 0, 1},
                            {NVML_PCIE_TX_BYTES, GPU_PCIE_TX, 0, 1},
                            {NVML_NVLINK_RX_KIB, GPU_NVLINK_RX, NVML_ALL_LINKS, 1024},
                            {NVML_NVLINK_TX_KIB, GPU_NVLINK_TX, NVML_ALL_LINKS, 1024}};
    struct nvml_field_value f[COUNTERS];
    int asked;

    for (int i = 0; i < COUNTERS; i++)
        f[i] = (struct nvml_field_value){
            .field = counters[i].field, .scope = counters[i].scope, .code = -1};
    asked = ASK(g, n->fields, g->handle, COUNTERS, f);
    for (int i = 0; i < COUNTERS; i++) {
        const enum gpu_quantity q = counters[i].quantity;
        struct gpu_counter *const c = &g->counters[q];
        const uint64_t last = c->last;
        uint64_t bytes;

        if (!asked || !count_of(&f[i], counters[i].unit, &bytes)) {
            c->known = 0;
            continue;
        }
        if (q == GPU_PCIE_RX || q == GPU_PCIE_TX)
            g->pcie_by_call |= c->known && bytes < last; /* it wraps: better never than wrong */
        v[q] = rate(c, bytes, seconds);
    }
    if (g->pcie_by_call)
        v[GPU_PCIE_RX] = v[GPU_PCIE_TX] = NAN;
}

double gpu_pcie_call(struct gpu *g, const struct nvml *n, enum gpu_quantity direction)
{
    unsigned kb = ~0u; /* of 1024 bytes, over 20 ms */

    return ASK(g, n->pcie_throughput, g->handle, direction == GPU_PCIE_RX, &kb) && kb < 1u << 30
               ? kb * 1024.0
               : NAN;
}

/* ---- instances ---- */

static double instance_activity(struct gpu *g, const struct nvml *n)
{
    struct nvml_gpm_metrics m;
    void *const before = g->gpm[0];

    if (!g->gpm[1] || !ASK(g, n->gpm_mig_sample, g->parent, g->instance_id, g->gpm[1]))
        return NAN;
    g->gpm[0] = g->gpm[1];
    g->gpm[1] = before;
    m.version = 1;
    m.n = 1;
    m.before = before;
    m.after = g->gpm[0];
    m.metrics[0].id = NVML_GPM_SM_PERCENT;
    m.metrics[0].code = -1;
    return ASK(g, n->gpm_metrics, &m) && m.metrics[0].code == 0 && m.metrics[0].value >= 0 &&
                   m.metrics[0].value <= 100
               ? m.metrics[0].value
               : NAN;
}

void gpu_look(struct gpu *g, const struct nvml *n, double seconds, double v[GPU_QUANTITIES])
{
    for (int i = 0; i < GPU_QUANTITIES; i++)
        v[i] = NAN;
    v[GPU_MEMORY_USED] = memory_used(g, n);
    if (g->is_instance) {
        v[GPU_SM] = instance_activity(g, n);
        return;
    }
    look_at_use(g, n, v);
    look_at_board(g, n, v);
    look_at_links(g, n, seconds, v);
}

void gpu_open(struct gpu *g, const struct nvml *n, void *handle)
{
    unsigned mode = 0, pending;
    double v[GPU_QUANTITIES];

    *g = (struct gpu){.handle = handle};
    g->is_split = ASK(g, n->mig_mode, handle, &mode, &pending) && mode == 1;
    look_at_links(g, n, 0, v);
    g->pcie_by_call = !g->counters[GPU_PCIE_RX].known || !g->counters[GPU_PCIE_TX].known;
}

/* Two samples, so that one can be taken while the other is the one before. */
static void open_gpm(struct gpu *g, const struct nvml *n)
{
    struct nvml_gpm_support s = {.version = 1};

    if (!n->gpm_alloc || !n->gpm_free || !n->gpm_mig_sample || !n->gpm_metrics ||
        !ASK(g, n->gpm_support, g->parent, &s) || s.supported != 1 ||
        !ASK(g, n->gpu_instance, g->handle, &g->instance_id))
        return;
    for (int i = 0; i < 2; i++)
        if (n->gpm_alloc(&g->gpm[i]) != 0)
            g->gpm[i] = NULL;
    if (!g->gpm[0] || !g->gpm[1] ||
        !ASK(g, n->gpm_mig_sample, g->parent, g->instance_id, g->gpm[0]))
        gpu_close(g, n);
}

void gpu_open_instance(struct gpu *g, const struct nvml *n, void *instance, void *parent)
{
    *g = (struct gpu){.handle = instance, .parent = parent, .is_instance = 1};
    open_gpm(g, n);
}

void gpu_close(struct gpu *g, const struct nvml *n)
{
    for (int i = 0; i < 2; i++)
        if (g->gpm[i])
            n->gpm_free(g->gpm[i]);
    g->gpm[0] = g->gpm[1] = NULL;
}
