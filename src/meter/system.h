/* What this machine is made of: processors, memory, disks, mounts, network, accelerators and the
 * operating system, as the kernel and NVML say it. Reads, never writes, and needs no rights; what
 * needs them and can not be read (the modules of memory) is not known. What is not known is 0 for
 * a number and NULL for a text.
 *
 * The structure owns its texts until system_release. One thread. */
#ifndef STAVE_METER_SYSTEM_H
#define STAVE_METER_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum {
    SYSTEM_CACHES = 8,
    SYSTEM_DIMMS = 16,
    SYSTEM_DISKS = 128,
    SYSTEM_MOUNTS = 64,
    SYSTEM_PORTS = 64,
    SYSTEM_ACCELERATORS = 64
};

struct system_cache {
    int level;
    char kind; /* 'd' data, 'i' instructions, 0 both */
    long long bytes;
    int count; /* in the machine */
};

struct system_processors {
    const char *model, *vendor;
    int family;                  /* of x86 */
    int sockets, cores, threads; /* of the machine, online ones */
    int offline;                 /* threads that are switched off */
    int numa_nodes;
    int hypervisor; /* 1: a virtual machine */
    double base_ghz, max_ghz;
    struct system_cache caches[SYSTEM_CACHES];
    int n_caches;
};

/* Modules of one kind. */
struct system_dimm {
    const char *type; /* "DDR5" */
    long long bytes;
    int mt_per_s, count;
};

struct system_memory {
    long long bytes; /* that the kernel manages, a little less than there is */
    struct system_dimm dimms[SYSTEM_DIMMS];
    int n_dimms;
};

struct system_disk {
    const char *name, *model;
    const char *kind; /* "NVMe SSD", "SSD", "HDD", "virtio disk" */
    long long bytes;
};

struct system_mount {
    const char *device, *path, *type;
};

/* A network interface with hardware behind it, or a port of InfiniBand. */
struct system_port {
    const char *name, *driver;
    const char *kind; /* "Ethernet", "InfiniBand" */
    double gbit_per_s;
};

struct system_accelerator {
    const char *model;
    long long memory_bytes;
    int max_mhz;
    int pcie_generation, pcie_width;
    int nvlinks, nvlink_version; /* links that are up */
};

struct system_info {
    struct arena arena;
    const char *vendor, *product; /* of the machine, from its firmware */
    const char *os, *kernel;
    struct system_processors cpu;
    struct system_memory memory;
    struct system_disk disks[SYSTEM_DISKS];
    struct system_mount mounts[SYSTEM_MOUNTS];
    struct system_port ports[SYSTEM_PORTS];
    struct system_accelerator accelerators[SYSTEM_ACCELERATORS];
    int n_disks, n_mounts, n_ports, n_accelerators;
    const char *nvidia_driver;
    int cuda_version;         /* that the driver serves: 12040 is 12.4 */
    const char *nvml_trouble; /* why accelerators of NVIDIA can not be seen; NULL: they can */
};

/* root is "" for the real machine, or a folder holding proc/, sys/ and etc/ for tests, which has no
 * accelerators. */
void system_read(const char *root, struct system_info *s);
void system_release(struct system_info *s);

/* The parts, within meter; s->arena is open. */
void system_read_processors(const char *root, struct system_info *s);
void system_read_memory(const char *root, struct system_info *s);
void system_read_storage(const char *root, struct system_info *s);
void system_read_network(const char *root, struct system_info *s);
/* Adds the memory modules of the firmware's table (SMBIOS, DMTF DSP0134), which ordinary users can
 * not read; here for tests, too. */
void system_read_dmi(const unsigned char *table, size_t n, struct system_info *s);

#endif
