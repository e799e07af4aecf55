/* NVIDIA's management library, opened when the program runs: a machine without it has no
 * accelerators of NVIDIA, and the program needs neither its header nor its library. Functions that
 * a driver has not are NULL, and what they would say is not known. */
#ifndef STAVE_METER_NVML_H
#define STAVE_METER_NVML_H

#include "meter/system.h"

/* nvml.h of the driver: every call returns 0 for success. */
struct nvml_memory {
    unsigned long long total, free, used;
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
    void *library;
};

/* Opens the library of this name, libnvidia-ml.so.1 for NULL. 0, or E_UNSUPPORTED with the reason.
 */
int nvml_open(struct nvml *n, const char *library);
void nvml_close(struct nvml *n);
/* Asks for every device. 0, or E_UNSUPPORTED with the reason; what was read is in s. */
int nvml_read(const struct nvml *n, struct system_info *s);

#endif
