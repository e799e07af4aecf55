/* NVIDIA's management library, opened when the program runs: a machine without it has no
 * accelerators of NVIDIA, and the program needs neither its header nor its library. Functions that
 * a driver has not are NULL, and what they would say is not known. */
#ifndef STAVE_METER_NVML_H
#define STAVE_METER_NVML_H

#include "meter/system.h"

/* nvml.h of the driver (CUDA 13): every call returns 0 for success; structures have its layout. */
enum { NVML_GPU_IS_LOST = 15, NVML_CLOCK_SM = 1 };

struct nvml_memory {
    unsigned long long total, free, used;
};

/* Version 2: what the driver keeps for itself is not among what is used. */
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

/* Percent of a period of the driver's, a sixth of a second to a second. */
struct nvml_utilization {
    unsigned gpu, memory;
};

enum nvml_value_type { NVML_DOUBLE, NVML_UINT, NVML_ULONG, NVML_ULONGLONG };
enum nvml_field {
    NVML_NVLINK_TX_KIB = 138, /* scope: a link, or NVML_ALL_LINKS */
    NVML_NVLINK_RX_KIB = 139,
    NVML_PCIE_TX_BYTES = 197,
    NVML_PCIE_RX_BYTES = 198
};
#define NVML_ALL_LINKS (~0u)

struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency;
    int type, code; /* enum nvml_value_type; 0: the value stands */
    union {
        double real;
        unsigned u;
        unsigned long ul;
        unsigned long long ull;
    } value;
};

/* Activity from two samples of the device's counters (GPM), from Hopper on. The driver fills as
 * many metrics as it is asked for. */
enum { NVML_GPM_SM_PERCENT = 2, NVML_GPM_METRICS = 512 };
struct nvml_gpm_metrics {
    unsigned version, n; /* version 1 */
    void *before, *after;
    struct {
        unsigned id;
        int code;
        double value;
        char *names[3];
    } metrics[NVML_GPM_METRICS];
};
struct nvml_gpm_support {
    unsigned version, supported; /* version 1 */
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned n);
    int (*cuda)(int *version);
    int (*count)(unsigned *n);
    int (*handle)(unsigned i, void **device);
    int (*name)(void *device, char *text, unsigned n);
    int (*memory)(void *device, struct nvml_memory *m);
    int (*max_clock)(void *device, int clock, unsigned *mhz);
    int (*pcie_generation)(void *device, unsigned *generation);
    int (*pcie_width)(void *device, unsigned *width);
    int (*link_state)(void *device, unsigned link, int *active);
    int (*link_version)(void *device, unsigned link, unsigned *version);
    int (*uuid)(void *device, char *text, unsigned n);
    int (*utilization)(void *device, struct nvml_utilization *u);
    int (*memory_v2)(void *device, struct nvml_memory_v2 *m);
    int (*power)(void *device, unsigned *milliwatt);
    int (*clock)(void *device, int clock, unsigned *mhz);
    int (*clock_reasons)(void *device, unsigned long long *reasons);
    int (*fields)(void *device, int n, struct nvml_field_value *values);
    int (*pcie_throughput)(void *device, int direction, unsigned *kb_per_s);
    int (*decoder)(void *device, unsigned *percent, unsigned *period_us);
    int (*jpeg)(void *device, unsigned *percent, unsigned *period_us);
    int (*mig_mode)(void *device, unsigned *current, unsigned *pending);
    int (*mig_count)(void *device, unsigned *most);
    int (*mig_handle)(void *device, unsigned i, void **instance);
    int (*gpu_instance)(void *instance, unsigned *id);
    int (*gpm_support)(void *device, struct nvml_gpm_support *s);
    int (*gpm_alloc)(void **sample);
    int (*gpm_free)(void *sample);
    int (*gpm_mig_sample)(void *device, unsigned gpu_instance, void *sample);
    int (*gpm_metrics)(struct nvml_gpm_metrics *m);
    void *library;
};

/* Opens the library of this name, libnvidia-ml.so.1 for NULL. 0, or E_UNSUPPORTED with the reason.
 */
int nvml_open(struct nvml *n, const char *library);
void nvml_close(struct nvml *n);
/* Asks for every device. 0, or E_UNSUPPORTED with the reason; what was read is in s. */
int nvml_read(const struct nvml *n, struct system_info *s);

#endif
