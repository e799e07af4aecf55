/* The accelerators of NVIDIA that this process may use, by NVML's numbers: gpu0_sm_percent. One
 * that is split (MIG) has no use of its own; its instances have: gpu0_mig1_memory_used_bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meter/gpu.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { MAX_UNITS = 128, MAX_INSTANCES = 16, NO_COLUMN = -1, UUID_BYTES = 96 };

/* Two calls for the bytes of PCIe of one direction lie at least so far apart. */
static const double pcie_period_s = 1;

static const char *const names[GPU_QUANTITIES] = {
    [GPU_SM] = "sm_percent",
    [GPU_MEMORY_CONTROLLER] = "memory_controller_percent",
    [GPU_MEMORY_USED] = "memory_used_bytes",
    [GPU_POWER] = "power_w",
    [GPU_SM_MHZ] = "sm_mhz",
    [GPU_THROTTLED] = "throttled_percent",
    [GPU_THROTTLED_POWER] = "throttled_power_percent",
    [GPU_THROTTLED_HEAT] = "throttled_heat_percent",
    [GPU_PCIE_RX] = "pcie_receive_bytes_per_s",
    [GPU_PCIE_TX] = "pcie_send_bytes_per_s",
    [GPU_NVLINK_RX] = "nvlink_receive_bytes_per_s",
    [GPU_NVLINK_TX] = "nvlink_send_bytes_per_s",
    [GPU_DECODER] = "decoder_percent",
    [GPU_JPEG] = "jpeg_percent",
};

/* A device, or an instance of the device before it. */
struct unit {
    struct gpu gpu;
    void *handle, *parent; /* parent: NULL for a device */
    unsigned device, instance;
    int is_named; /* in CUDA_VISIBLE_DEVICES */
    int column[GPU_QUANTITIES];
    double pcie_age_s[2]; /* since the last call, of GPU_PCIE_RX and GPU_PCIE_TX */
};

struct state {
    struct nvml nvml;
    struct unit units[MAX_UNITS];
    size_t n_units;
    size_t turn; /* of calls for PCIe: a unit and a direction */
    size_t n_columns;
    double seconds; /* since the last look */
};

/* ---- columns ---- */

/* What can be known: what the first look said, counters that are there, and calls that answer. */
static int can_know(struct state *s, struct unit *u, enum gpu_quantity q, const double *v)
{
    if (!isnan(v[q]) || u->gpu.counters[q].known)
        return 1;
    if (q == GPU_PCIE_RX || q == GPU_PCIE_TX)
        return !u->gpu.is_instance && !isnan(gpu_pcie_call(&u->gpu, &s->nvml, q));
    /* Activity is the difference of two samples. */
    return q == GPU_SM && u->gpu.is_instance && u->gpu.gpm[0];
}

static void name_columns(struct state *s, struct unit *u, struct meter_columns *columns)
{
    double v[GPU_QUANTITIES];
    char name[64], of_instance[16] = "";

    if (u->parent)
        snprintf(of_instance, sizeof(of_instance), "_mig%u", u->instance);
    gpu_look(&u->gpu, &s->nvml, 0, v);
    u->pcie_age_s[0] = u->pcie_age_s[1] = pcie_period_s;
    for (int q = 0; q < GPU_QUANTITIES; q++) {
        u->column[q] = NO_COLUMN;
        if (!can_know(s, u, (enum gpu_quantity)q, v))
            continue;
        snprintf(name, sizeof(name), "gpu%u%s_%s", u->device, of_instance, names[q]);
        u->column[q] = (int)meter_column(columns, METER_LEVEL, name);
        s->n_columns++;
    }
}

/* ---- devices ---- */

/* A number, or the beginning of a UUID ("GPU-1234", "MIG-..."): CUDA C++ Programming Guide,
 * environment variables. Numbers are taken for NVML's, which CUDA's are in the order of the bus. */
static int is_named(const char *word, size_t n, const struct unit *u, const char *uuid)
{
    char *end;
    const unsigned long number = strtoul(word, &end, 10);

    if (n == 0)
        return 0;
    if (*word >= '0' && *word <= '9' && end == word + n)
        return !u->parent && number == u->device;
    return n > 4 && (strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0) &&
           strncmp(word, uuid, n) == 0;
}

static int is_in_list(const char *list, const struct unit *u, const char *uuid)
{
    for (const char *at = list; at && *at;) {
        size_t n;

        at += strspn(at, ", ");
        n = strcspn(at, ", ");
        if (is_named(at, n, u, uuid))
            return 1;
        at += n;
    }
    return 0;
}

static void add_unit(struct state *s, const struct unit *what)
{
    const char *const list = getenv("CUDA_VISIBLE_DEVICES");
    struct unit *const u = &s->units[s->n_units];
    char uuid[UUID_BYTES] = "";

    if (s->n_units == MAX_UNITS)
        return;
    *u = *what;
    if (!s->nvml.uuid || s->nvml.uuid(u->handle, uuid, sizeof(uuid)) != 0)
        uuid[0] = '\0';
    uuid[sizeof(uuid) - 1] = '\0';
    u->is_named = is_in_list(list, u, uuid);
    s->n_units++;
}

static void add_device(struct state *s, unsigned i)
{
    struct unit device = {.device = i}, instance = {.device = i};
    unsigned mode = 0, pending, most = 0;

    if (s->nvml.handle(i, &device.handle) != 0)
        return;
    add_unit(s, &device);
    if (!s->nvml.mig_mode || s->nvml.mig_mode(device.handle, &mode, &pending) != 0 || mode != 1 ||
        !s->nvml.mig_count || !s->nvml.mig_handle || s->nvml.mig_count(device.handle, &most) != 0)
        return;
    instance.parent = device.handle;
    for (unsigned k = 0; k < most && k < MAX_INSTANCES; k++) {
        instance.instance = k;
        if (s->nvml.mig_handle(device.handle, k, &instance.handle) == 0) /* numbers may be free */
            add_unit(s, &instance);
    }
}

/* When the variable names something that is here: that, the instances of a device that it names,
 * and the device of an instance. */
static int is_wanted(const struct state *s, const struct unit *u)
{
    int any = 0, of_device = 0;

    for (size_t i = 0; i < s->n_units; i++) {
        const struct unit *const other = &s->units[i];

        any |= other->is_named;
        of_device |= other->is_named && other->device == u->device && !other->parent != !u->parent;
    }
    return !any || u->is_named || of_device;
}

static void keep_wanted(struct state *s)
{
    int wanted[MAX_UNITS];
    size_t n = 0;

    for (size_t i = 0; i < s->n_units; i++)
        wanted[i] = is_wanted(s, &s->units[i]);
    for (size_t i = 0; i < s->n_units; i++)
        if (wanted[i])
            s->units[n++] = s->units[i];
    s->n_units = n;
}

static void open_units(struct state *s, struct meter_columns *columns)
{
    unsigned count = 0;

    if (s->nvml.count(&count) != 0)
        return;
    for (unsigned i = 0; i < count && i < MAX_UNITS; i++)
        add_device(s, i);
    keep_wanted(s);
    for (size_t i = 0; i < s->n_units; i++) {
        struct unit *const u = &s->units[i];

        if (u->parent)
            gpu_open_instance(&u->gpu, &s->nvml, u->handle, u->parent);
        else
            gpu_open(&u->gpu, &s->nvml, u->handle);
        name_columns(s, u, columns);
    }
}

static int open_gpus(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    char *const library = *place->root ? xasprintf("%s/libnvidia-ml.so.1", place->root) : NULL;
    struct state *const s = xcalloc(1, sizeof(*s));
    int rc = nvml_open(&s->nvml, library);

    free(library);
    *state = NULL;
    if (rc == 0 && s->nvml.init() != 0) {
        nvml_close(&s->nvml);
        rc = E_UNSUPPORTED;
    }
    if (rc < 0) {
        free(s);
        return 0;
    }
    *state = s;
    open_units(s, columns);
    return 0;
}

/* ---- samples ---- */

/* One call a row at most: it waits for 20 ms, and there may be many devices. */
static void call_pcie(void *state, double *values)
{
    struct state *const s = state;

    for (size_t tried = 0; tried < 2 * s->n_units; tried++) {
        const size_t turn = s->turn++ % (2 * s->n_units);
        struct unit *const u = &s->units[turn / 2];
        const enum gpu_quantity q = turn % 2 ? GPU_PCIE_TX : GPU_PCIE_RX;

        if (u->column[q] == NO_COLUMN || !u->gpu.pcie_by_call ||
            u->pcie_age_s[turn % 2] < pcie_period_s)
            continue;
        u->pcie_age_s[turn % 2] = 0;
        values[u->column[q]] = gpu_pcie_call(&u->gpu, &s->nvml, q);
        return;
    }
}

static void sample(void *state, double seconds, double *values)
{
    struct state *const s = state;
    double v[GPU_QUANTITIES];

    s->seconds += seconds;
    for (size_t i = 0; i < s->n_columns; i++)
        values[i] = NAN;
    if (seconds > 0 && s->seconds < PROBE_SHORTEST_S)
        return;
    for (size_t i = 0; i < s->n_units; i++) {
        struct unit *const u = &s->units[i];

        gpu_look(&u->gpu, &s->nvml, s->seconds, v);
        u->pcie_age_s[0] += s->seconds;
        u->pcie_age_s[1] += s->seconds;
        for (int q = 0; q < GPU_QUANTITIES; q++)
            if (u->column[q] != NO_COLUMN)
                values[u->column[q]] = v[q];
    }
    s->seconds = 0;
}

static void close_gpus(void *state)
{
    struct state *const s = state;

    if (!s)
        return;
    for (size_t i = 0; i < s->n_units; i++)
        gpu_close(&s->units[i].gpu, &s->nvml);
    s->nvml.shutdown();
    nvml_close(&s->nvml);
    free(s);
}

const struct probe_ops probe_gpu = {"gpu", open_gpus, sample, close_gpus, call_pcie};
