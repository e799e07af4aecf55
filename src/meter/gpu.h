/* What an accelerator of NVIDIA, or an instance of one that is split (MIG), is doing, through NVML.
 * What a driver does not say, says is not supported, or says with a number that stands for "not
 * available" is NAN, never a number. */
#ifndef STAVE_METER_GPU_H
#define STAVE_METER_GPU_H

#include <stdint.h>

#include "meter/nvml.h"

enum gpu_quantity {
    GPU_SM,                /* percent of the time that a kernel ran; of an instance, of its SMs */
    GPU_MEMORY_CONTROLLER, /* percent of the time that memory was read or written */
    GPU_MEMORY_USED,
    GPU_POWER, /* W; newer devices say the mean of a second */
    GPU_SM_MHZ,
    GPU_THROTTLED, /* 100 when clocks are held down just now by power, heat or the board; else 0 */
    GPU_THROTTLED_POWER, /* of these: a power cap or brake; heat. The board may say neither */
    GPU_THROTTLED_HEAT,
    GPU_PCIE_RX,
    GPU_PCIE_TX,
    GPU_NVLINK_RX, /* payload of all links, bytes a second, as is PCIe */
    GPU_NVLINK_TX,
    GPU_DECODER,
    GPU_JPEG,
    GPU_QUANTITIES
};

struct gpu_counter {
    int known;
    uint64_t last; /* bytes */
};

struct gpu {
    void *handle;
    int is_lost; /* it fell off the bus: it is not asked any more */
    /* Of an instance; of a device that is split is_split is set, and it has no use of its own. */
    int is_instance, is_split;
    void *parent;
    unsigned instance_id;
    void *gpm[2];
    /* Bytes of PCIe: from counters where there are any that do not wrap; else from a call that
     * waits 20 ms for each direction. */
    int pcie_by_call;
    struct gpu_counter counters[GPU_QUANTITIES];
};

/* Finds out what the device is and how its bytes are counted; the first look. */
void gpu_open(struct gpu *g, const struct nvml *n, void *handle);
void gpu_open_instance(struct gpu *g, const struct nvml *n, void *instance, void *parent);
void gpu_close(struct gpu *g, const struct nvml *n);
/* A look: all quantities but PCIe by a call. seconds: since the last look. */
void gpu_look(struct gpu *g, const struct nvml *n, double seconds, double v[GPU_QUANTITIES]);
/* Bytes a second of PCIe in one direction, GPU_PCIE_RX or GPU_PCIE_TX; waits. */
double gpu_pcie_call(struct gpu *g, const struct nvml *n, enum gpu_quantity direction);

#endif
