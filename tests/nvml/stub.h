/* A driver's management library that plays what a test wants: build/libnvidia-ml-stub.so, whose
 * variable `stub` the test fills. Its structures are written after the header of CUDA 13 again, so
 * that the program's are compared with something. */
#ifndef STAVE_TESTS_NVML_STUB_H
#define STAVE_TESTS_NVML_STUB_H

enum { STUB_DEVICES = 4, STUB_INSTANCES = 7 };
enum { STUB_OK, STUB_NOT_SUPPORTED = 3, STUB_NOT_FOUND = 6, STUB_LOST = 15 };
enum { STUB_UINT = 1, STUB_ULONGLONG = 3 };

struct stub_device {
    int code;     /* of every call about it */
    int use_code; /* of calls about its use alone */
    unsigned sm, memory_controller, decoder, jpeg, milliwatt, mhz;
    unsigned long long total, reserved, used, reasons;
    int pcie_code, nvlink_code, counter_type; /* of the counters */
    unsigned long long pcie_rx, pcie_tx, nvlink_rx_kib, nvlink_tx_kib;
    int throughput_code;
    unsigned rx_kb_per_s, tx_kb_per_s;
    int split; /* into instances; those with total 0 are not there */
    struct {
        unsigned long long total, used;
        double sm;
        int code; /* of its activity */
    } instances[STUB_INSTANCES];
    int gpm; /* it tells the activity of instances */
};

struct stub {
    int init_code;
    unsigned n;
    struct stub_device devices[STUB_DEVICES];
    int open, calls, throughput_calls, gpm_samples; /* counted */
};

#endif
