#include "meter/nvml.h"

#include <dlfcn.h>
#include <string.h>

#include "base/err.h"

enum { MAX_LINKS = 32, NAME_BYTES = 96 };

/* dlsym gives a pointer to data; a function's pointer has the same bytes (POSIX demands it). */
static void find(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof(symbol));
}

/* What tells what a device is doing. */
static void find_activity(struct nvml *n, void *library)
{
    find(library, "nvmlDeviceGetUUID", &n->uuid);
    find(library, "nvmlDeviceGetUtilizationRates", &n->utilization);
    find(library, "nvmlDeviceGetMemoryInfo_v2", &n->memory_v2);
    find(library, "nvmlDeviceGetPowerUsage", &n->power);
    find(library, "nvmlDeviceGetClockInfo", &n->clock);
    find(library, "nvmlDeviceGetCurrentClocksEventReasons", &n->clock_reasons);
    if (!n->clock_reasons) /* its name until driver 535 */
        find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->clock_reasons);
    find(library, "nvmlDeviceGetFieldValues", &n->fields);
    find(library, "nvmlDeviceGetPcieThroughput", &n->pcie_throughput);
    find(library, "nvmlDeviceGetDecoderUtilization", &n->decoder);
    find(library, "nvmlDeviceGetJpgUtilization", &n->jpeg);
    find(library, "nvmlDeviceGetMigMode", &n->mig_mode);
    find(library, "nvmlDeviceGetMaxMigDeviceCount", &n->mig_count);
    find(library, "nvmlDeviceGetMigDeviceHandleByIndex", &n->mig_handle);
    find(library, "nvmlDeviceGetGpuInstanceId", &n->gpu_instance);
    find(library, "nvmlGpmQueryDeviceSupport", &n->gpm_support);
    find(library, "nvmlGpmSampleAlloc", &n->gpm_alloc);
    find(library, "nvmlGpmSampleFree", &n->gpm_free);
    find(library, "nvmlGpmMigSampleGet", &n->gpm_mig_sample);
    find(library, "nvmlGpmMetricsGet", &n->gpm_metrics);
}

int nvml_open(struct nvml *n, const char *library)
{
    const char *const name = library ? library : "libnvidia-ml.so.1";

    *n = (struct nvml){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (!n->library)
        return err(E_UNSUPPORTED, "%s is not here", name);
    find(n->library, "nvmlInit_v2", &n->init);
    find(n->library, "nvmlShutdown", &n->shutdown);
    find(n->library, "nvmlSystemGetDriverVersion", &n->driver);
    find(n->library, "nvmlSystemGetCudaDriverVersion", &n->cuda);
    find(n->library, "nvmlDeviceGetCount_v2", &n->count);
    find(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->handle);
    find(n->library, "nvmlDeviceGetName", &n->name);
    find(n->library, "nvmlDeviceGetMemoryInfo", &n->memory);
    find(n->library, "nvmlDeviceGetMaxClockInfo", &n->max_clock);
    find(n->library, "nvmlDeviceGetMaxPcieLinkGeneration", &n->pcie_generation);
    find(n->library, "nvmlDeviceGetMaxPcieLinkWidth", &n->pcie_width);
    find(n->library, "nvmlDeviceGetNvLinkState", &n->link_state);
    find(n->library, "nvmlDeviceGetNvLinkVersion", &n->link_version);
    find_activity(n, n->library);
    if (n->init && n->shutdown && n->count && n->handle)
        return 0;
    nvml_close(n);
    return err(E_UNSUPPORTED, "%s lacks the calls of NVML", name);
}

void nvml_close(struct nvml *n)
{
    if (n->library)
        dlclose(n->library);
    *n = (struct nvml){0};
}

/* A driver may answer with success and a value that stands for "not available". */
static int number(int (*ask)(void *, unsigned *), void *device, unsigned most)
{
    unsigned v = 0;

    return ask && ask(device, &v) == 0 && v <= most ? (int)v : 0;
}

static void read_links(const struct nvml *n, void *device, struct system_accelerator *a)
{
    for (unsigned i = 0; n->link_state && i < MAX_LINKS; i++) {
        int active = 0;
        unsigned version = 0;

        if (n->link_state(device, i, &active) != 0 || active != 1)
            continue;
        a->nvlinks++;
        if (n->link_version && n->link_version(device, i, &version) == 0 && version < 100)
            a->nvlink_version = (int)version;
    }
}

static void read_device(const struct nvml *n, void *device, struct system_info *s)
{
    struct system_accelerator a = {0};
    struct nvml_memory memory = {0};
    char name[NAME_BYTES] = "";
    unsigned mhz = 0;

    if (n->name && n->name(device, name, sizeof(name)) == 0 && memchr(name, '\0', sizeof(name)) &&
        *name)
        a.model = arena_strdup(&s->arena, name);
    if (n->memory && n->memory(device, &memory) == 0 && memory.total < 1ULL << 50)
        a.memory_bytes = (long long)memory.total;
    if (n->max_clock && n->max_clock(device, NVML_CLOCK_SM, &mhz) == 0 && mhz < 100000)
        a.max_mhz = (int)mhz;
    a.pcie_generation = number(n->pcie_generation, device, 20);
    a.pcie_width = number(n->pcie_width, device, 64);
    read_links(n, device, &a);
    s->accelerators[s->n_accelerators++] = a;
}

static int read_devices(const struct nvml *n, struct system_info *s)
{
    char driver[NAME_BYTES] = "";
    unsigned count = 0;
    void *device;

    if (n->driver && n->driver(driver, sizeof(driver)) == 0 &&
        memchr(driver, '\0', sizeof(driver)) && *driver)
        s->nvidia_driver = arena_strdup(&s->arena, driver);
    if (n->cuda && n->cuda(&s->cuda_version) != 0)
        s->cuda_version = 0;
    if (n->count(&count) != 0)
        return err(E_UNSUPPORTED, "NVML does not say how many accelerators there are");
    for (unsigned i = 0; i < count && s->n_accelerators < SYSTEM_ACCELERATORS; i++)
        if (n->handle(i, &device) == 0)
            read_device(n, device, s);
    if (s->n_accelerators < (int)count)
        return err(E_UNSUPPORTED, "NVML shows %d of %u accelerators", s->n_accelerators, count);
    return 0;
}

int nvml_read(const struct nvml *n, struct system_info *s)
{
    const int code = n->init();
    int rc;

    if (code != 0)
        return err(E_UNSUPPORTED, "NVML does not start (code %d): no driver, or no right to it",
                   code);
    rc = read_devices(n, s);
    n->shutdown();
    return rc;
}
