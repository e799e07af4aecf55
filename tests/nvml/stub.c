#include "stub.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
struct handle {
    unsigned device;
    int instance; /* -1: the device itself */
};
typedef struct handle *nvmlDevice_t;

typedef struct {
    unsigned int gpu, memory;
} nvmlUtilization_t;

typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;

typedef struct {
    unsigned int version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef union {
    double dVal;
    int siVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
    unsigned short usVal;
} nvmlValue_t;

typedef struct {
    unsigned int fieldId, scopeId;
    long long timestamp, latencyUsec;
    int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
    unsigned int metricId;
    nvmlReturn_t nvmlReturn;
    double value;
    struct {
        char *shortName, *longName, *unit;
    } metricInfo;
} nvmlGpmMetric_t;

typedef struct {
    unsigned int version, numMetrics;
    void *sample1, *sample2;
    nvmlGpmMetric_t metrics[477];
} nvmlGpmMetricsGet_t;

typedef struct {
    unsigned int version, isSupportedDevice;
} nvmlGpmSupport_t;

struct sample {
    unsigned device, instance;
};

extern struct stub stub;
struct stub stub;
static struct handle handles[STUB_DEVICES][STUB_INSTANCES + 1];

#define CALL(name, ...)                                                                            \
    nvmlReturn_t name(__VA_ARGS__);                                                                \
    nvmlReturn_t name(__VA_ARGS__)

static struct stub_device *of(nvmlDevice_t h)
{
    stub.calls++;
    return &stub.devices[h->device];
}

/* What a call about use answers. */
static nvmlReturn_t use(nvmlDevice_t h)
{
    const struct stub_device *const d = of(h);

    return d->code ? d->code : d->use_code;
}

CALL(nvmlInit_v2, void)
{
    stub.open += stub.init_code == 0;
    return stub.init_code;
}

CALL(nvmlShutdown, void)
{
    stub.open--;
    return 0;
}

CALL(nvmlDeviceGetCount_v2, unsigned int *n)
{
    *n = stub.n;
    return 0;
}

static nvmlDevice_t handle(unsigned device, int instance)
{
    struct handle *const h = &handles[device][instance + 1];

    *h = (struct handle){device, instance};
    return h;
}

CALL(nvmlDeviceGetHandleByIndex_v2, unsigned int i, nvmlDevice_t *out)
{
    *out = handle(i, -1);
    return 0;
}

/* A buffer of 96 bytes always suffices, says the header. */
CALL(nvmlDeviceGetUUID, nvmlDevice_t h, char *text, unsigned int n)
{
    if (n < 96)
        return 7;
    if (h->instance < 0)
        snprintf(text, n, "GPU-%u000-aaaa", h->device);
    else
        snprintf(text, n, "MIG-%u%d00-bbbb", h->device, h->instance);
    return 0;
}

CALL(nvmlDeviceGetUtilizationRates, nvmlDevice_t h, nvmlUtilization_t *u)
{
    *u = (nvmlUtilization_t){of(h)->sm, of(h)->memory_controller};
    return use(h);
}

CALL(nvmlDeviceGetDecoderUtilization, nvmlDevice_t h, unsigned int *percent, unsigned int *period)
{
    *percent = of(h)->decoder;
    *period = 167000;
    return use(h);
}

CALL(nvmlDeviceGetJpgUtilization, nvmlDevice_t h, unsigned int *percent, unsigned int *period)
{
    *percent = of(h)->jpeg;
    *period = 167000;
    return use(h);
}

CALL(nvmlDeviceGetMemoryInfo, nvmlDevice_t h, nvmlMemory_t *m)
{
    const struct stub_device *const d = of(h);

    if (h->instance >= 0)
        *m = (nvmlMemory_t){d->instances[h->instance].total, 0, d->instances[h->instance].used};
    else
        *m = (nvmlMemory_t){d->total, d->total - d->used - d->reserved, d->used + d->reserved};
    return d->code;
}

CALL(nvmlDeviceGetMemoryInfo_v2, nvmlDevice_t h, nvmlMemory_v2_t *m)
{
    const struct stub_device *const d = of(h);

    if (m->version != (sizeof(*m) | 2 << 24))
        return 25;
    if (h->instance >= 0) /* older drivers */
        return STUB_NOT_SUPPORTED;
    *m = (nvmlMemory_v2_t){m->version, d->total, d->reserved, 0, d->used};
    return d->code;
}

CALL(nvmlDeviceGetPowerUsage, nvmlDevice_t h, unsigned int *milliwatt)
{
    *milliwatt = of(h)->milliwatt;
    return of(h)->code;
}

CALL(nvmlDeviceGetClockInfo, nvmlDevice_t h, int type, unsigned int *mhz)
{
    *mhz = type == 1 ? of(h)->mhz : 1;
    return of(h)->code;
}

/* The name that it has had until driver 535. */
CALL(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDevice_t h, unsigned long long *reasons)
{
    *reasons = of(h)->reasons;
    return of(h)->code;
}

static void fill(const struct stub_device *d, nvmlFieldValue_t *f)
{
    const int pcie = f->fieldId == 197 || f->fieldId == 198;
    const int nvlink = (f->fieldId == 138 || f->fieldId == 139) && f->scopeId == UINT_MAX;
    const unsigned long long v = f->fieldId == 197   ? d->pcie_tx
                                 : f->fieldId == 198 ? d->pcie_rx
                                 : f->fieldId == 138 ? d->nvlink_tx_kib
                                                     : d->nvlink_rx_kib;

    f->nvmlReturn = pcie ? d->pcie_code : nvlink ? d->nvlink_code : STUB_NOT_SUPPORTED;
    f->valueType = d->counter_type;
    f->value.ullVal = 0xdeadbeefdeadbeef; /* undefined besides */
    if (f->valueType == STUB_UINT)
        f->value.uiVal = (unsigned)v;
    else if (f->nvmlReturn == 0)
        f->value.ullVal = v;
}

CALL(nvmlDeviceGetFieldValues, nvmlDevice_t h, int n, nvmlFieldValue_t *f)
{
    const struct stub_device *const d = of(h);

    for (int i = 0; i < n; i++)
        fill(d, &f[i]);
    return d->code;
}

CALL(nvmlDeviceGetPcieThroughput, nvmlDevice_t h, int counter, unsigned int *kb)
{
    stub.throughput_calls++;
    *kb = counter == 0 ? of(h)->tx_kb_per_s : of(h)->rx_kb_per_s;
    return of(h)->code ? of(h)->code : of(h)->throughput_code;
}

CALL(nvmlDeviceGetMigMode, nvmlDevice_t h, unsigned int *current, unsigned int *pending)
{
    *current = *pending = (unsigned)of(h)->split;
    return 0;
}

CALL(nvmlDeviceGetMaxMigDeviceCount, nvmlDevice_t h, unsigned int *n)
{
    *n = of(h)->split ? STUB_INSTANCES : 0;
    return 0;
}

CALL(nvmlDeviceGetMigDeviceHandleByIndex, nvmlDevice_t h, unsigned int i, nvmlDevice_t *out)
{
    if (i >= STUB_INSTANCES || of(h)->instances[i].total == 0)
        return STUB_NOT_FOUND;
    *out = handle(h->device, (int)i);
    return 0;
}

CALL(nvmlDeviceGetGpuInstanceId, nvmlDevice_t h, unsigned int *id)
{
    *id = (unsigned)h->instance + 10;
    return 0;
}

CALL(nvmlGpmQueryDeviceSupport, nvmlDevice_t h, nvmlGpmSupport_t *s)
{
    s->isSupportedDevice = (unsigned)of(h)->gpm;
    return s->version == 1 ? 0 : 25;
}

CALL(nvmlGpmSampleAlloc, void **sample)
{
    *sample = calloc(1, sizeof(struct sample));
    stub.gpm_samples++;
    return 0;
}

CALL(nvmlGpmSampleFree, void *sample)
{
    free(sample);
    stub.gpm_samples--;
    return 0;
}

CALL(nvmlGpmMigSampleGet, nvmlDevice_t h, unsigned int id, void *sample)
{
    *(struct sample *)sample = (struct sample){h->device, id - 10};
    return of(h)->code;
}

CALL(nvmlGpmMetricsGet, nvmlGpmMetricsGet_t *m)
{
    const struct sample *const s = m->sample1;

    if (m->version != 1 || m->sample1 == m->sample2)
        return 2;
    for (unsigned i = 0; i < m->numMetrics; i++) {
        m->metrics[i].nvmlReturn = m->metrics[i].metricId == 2
                                       ? stub.devices[s->device].instances[s->instance].code
                                       : STUB_NOT_SUPPORTED;
        m->metrics[i].value = stub.devices[s->device].instances[s->instance].sm;
    }
    return 0;
}
