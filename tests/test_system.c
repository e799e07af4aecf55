/* The machine as it is read from fixture trees, NVML from a table of functions, and the system
 * description made of both, read back and checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/describe.h"
#include "meter/nvml.h"
#include "scratch.h"

static void put(const char *root, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put(const char *root, const char *name, const char *fmt, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    assert_true(n >= 0);
    free(scratch_file(root, name, text));
    free(text);
}

#define AT(fmt, ...) xasprintf("sys/devices/system/cpu/cpu%d/" fmt, __VA_ARGS__)

static void put_at(const char *root, char *name, const char *text)
{
    put(root, name, "%s", text);
    free(name);
}

/* Two sockets of four cores with two threads each; the threads of a core are i and i + 8. */
static void put_cpu(const char *root, int i)
{
    char *const core = xasprintf("%d,%d\n", i % 8, i % 8 + 8);
    char *const package = xasprintf("%d\n", i % 8 / 4);
    char *const l3 = xasprintf("%d-%d,%d-%d\n", i % 8 / 4 * 4, i % 8 / 4 * 4 + 3, i % 8 / 4 * 4 + 8,
                               i % 8 / 4 * 4 + 11);

    put_at(root, AT("online", i), "1\n");
    put_at(root, AT("topology/core_cpus_list", i), core);
    put_at(root, AT("topology/physical_package_id", i), package);
    put_at(root, AT("cache/index0/level", i), "1\n");
    put_at(root, AT("cache/index0/type", i), "Data\n");
    put_at(root, AT("cache/index0/size", i), "48K\n");
    put_at(root, AT("cache/index0/shared_cpu_list", i), core);
    put_at(root, AT("cache/index3/level", i), "3\n");
    put_at(root, AT("cache/index3/type", i), "Unified\n");
    put_at(root, AT("cache/index3/size", i), "60M\n");
    put_at(root, AT("cache/index3/shared_cpu_list", i), l3);
    free(core);
    free(package);
    free(l3);
}

static void put_cpuinfo(const char *root, int n, const char *flags)
{
    struct str text = STR_INIT;

    for (int i = 0; i < n; i++)
        str_printf(
            &text,
            "processor\t: %d\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel name\t: AMD "
            "EPYC 9999 8-Core Processor\nphysical id\t: %d\ncore id\t\t: %d\nflags\t\t: "
            "fpu%s sse\n\n",
            i, i % 8 / 4, i % 4, flags);
    put(root, "proc/cpuinfo", "%s", text.s);
    str_release(&text);
}

static void check_get(const struct system_desc *d, const char *name, const char *value)
{
    if (strcmp(system_desc_get(d, name), value) != 0)
        fail_msg("%s is \"%s\", expected \"%s\"", name, system_desc_get(d, name), value);
}

static void two_sockets_with_threads(void **state)
{
    const char *const root = *state;
    struct system_info s;
    struct system_desc d = {0};

    for (int i = 0; i < 16; i++)
        put_cpu(root, i);
    put_cpuinfo(root, 16, "");
    put(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
    put(root, "sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2450000\n");
    put(root, "sys/devices/system/cpu/cpufreq/note", "no processor\n");
    put(root, "sys/devices/system/node/node0/x", "\n");
    put(root, "sys/devices/system/node/node1/x", "\n");
    put(root, "sys/class/dmi/id/sys_vendor", "Vendor Inc.\n");
    put(root, "sys/class/dmi/id/product_name", "  Server 9000  \n");
    system_read(root, &s);
    assert_int_equal(s.cpu.threads, 16);
    assert_int_equal(s.cpu.cores, 8);
    assert_int_equal(s.cpu.sockets, 2);
    assert_int_equal(s.cpu.numa_nodes, 2);
    assert_int_equal(s.cpu.offline, 0);
    describe_machine(&s, &d);
    check_get(&d, "system_name", "Vendor Inc. Server 9000");
    check_get(&d, "host_processors_per_node", "2");
    check_get(&d, "host_processor_core_count", "4");
    check_get(&d, "host_processor_vcpu_count", "16");
    check_get(&d, "host_processor_model_name", "AMD EPYC 9999 8-Core Processor");
    check_get(&d, "host_processor_frequency", "2.45 GHz, at most 3.70 GHz");
    check_get(&d, "host_processor_caches", "L1d 4 x 48 KiB, L3 1 x 60 MiB");
    check_get(&d, "host_processor_interconnect", "Infinity Fabric");
    system_desc_release(&d);
    system_release(&s);
}

static void offline_processors_do_not_count(void **state)
{
    const char *const root = *state;
    struct system_info s;

    for (int i = 0; i < 16; i++)
        put_cpu(root, i);
    for (int i = 8; i < 16; i++) /* the second threads */
        put_at(root, AT("online", i), "0\n");
    system_read(root, &s);
    assert_int_equal(s.cpu.threads, 8);
    assert_int_equal(s.cpu.cores, 8);
    assert_int_equal(s.cpu.sockets, 2);
    assert_int_equal(s.cpu.offline, 8);
    system_release(&s);
}

/* Without sysfs; and without anything. */
static void containers(void **state)
{
    const char *const root = *state;
    struct system_info s;
    struct system_desc d = {0};

    system_read(root, &s);
    describe_machine(&s, &d);
    assert_null(d.values[system_field_index("host_processor_model_name")]);
    assert_null(d.values[system_field_index("host_processors_per_node")]);
    assert_null(d.values[system_field_index("host_memory_capacity")]);
    assert_null(d.values[system_field_index("system_name")]);
    assert_null(d.values[system_field_index("operating_system")]);
    assert_null(d.values[system_field_index("host_networking")]);
    system_desc_release(&d);
    system_release(&s);
    put_cpuinfo(root, 16, " hypervisor");
    put(root, "proc/meminfo", "MemTotal:       32768000 kB\nMemFree: 1 kB\n");
    put(root, "usr/lib/os-release", "ID=x\nPRETTY_NAME='Some Linux 1'\n");
    put(root, "proc/sys/kernel/osrelease", "6.1.0\n");
    put(root, "sys/class/dmi/id/product_name", "KVM\n");
    system_read(root, &s);
    describe_machine(&s, &d);
    assert_int_equal(s.cpu.threads, 16);
    assert_int_equal(s.cpu.cores, 8);
    assert_int_equal(s.cpu.sockets, 2);
    check_get(&d, "host_memory_capacity", "31.2 GiB");
    check_get(&d, "hw_notes", "a virtual machine");
    check_get(&d, "system_name", "");
    check_get(&d, "operating_system", "Some Linux 1, Linux 6.1.0");
    system_desc_release(&d);
    system_release(&s);
}

static void frequency_from_the_name(void **state)
{
    const char *const root = *state;
    struct system_info s;

    put(root, "proc/cpuinfo", "processor : 0\nmodel name : Some CPU @ 2.10GHz\ncpu MHz : 3999.9\n");
    system_read(root, &s);
    assert_true(s.cpu.base_ghz == 2.10);
    assert_true(s.cpu.max_ghz == 0);
    assert_int_equal(s.cpu.threads, 1);
    assert_int_equal(s.cpu.cores, 0);
    system_release(&s);
    put(root, "proc/cpuinfo", "processor : 0\ncore id : 0\ncore id : 1\n");
    system_read(root, &s);
    assert_int_equal(s.cpu.threads, 1);
    assert_int_equal(s.cpu.cores, 0);
    system_release(&s);
}

static void disks_and_mounts(void **state)
{
    const char *const root = *state;
    struct system_info s;
    struct system_desc d = {0};

    put(root, "sys/block/nvme0n1/size", "7501476528\n");
    put(root, "sys/block/nvme0n1/device/model", "MODEL A   \n");
    put(root, "sys/block/nvme1n1/size", "7501476528\n");
    put(root, "sys/block/nvme1c0n1/size", "7501476528\n");
    put(root, "sys/block/nvme1c0n1/hidden", "1\n");
    put(root, "sys/block/sda/size", "937703088\n");
    put(root, "sys/block/sda/queue/rotational", "0\n");
    put(root, "sys/block/sdb/size", "1000\n");
    put(root, "sys/block/sdb/removable", "1\n");
    put(root, "sys/block/loop0/size", "5000\n");
    put(root, "sys/block/zram0/size", "5000\n");
    put(root, "sys/block/sr0/size", "5000\n");
    put(root, "sys/block/sdc/size", "0\n");
    put(root, "sys/block/sdd/size", "what\n");
    put(root, "proc/self/mounts",
        "/dev/nvme0n1 / ext4 rw 0 0\n/dev/nvme0n1 /bound ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n"
        "server:/a\\040b /data\\040set nfs4 rw 0 0\n\nbroken\n/dev/loop3 /snap squashfs ro 0 0\n");
    system_read(root, &s);
    assert_int_equal(s.n_disks, 3);
    assert_string_equal(s.disks[0].model, "MODEL A");
    assert_int_equal(s.n_mounts, 2);
    assert_string_equal(s.mounts[1].device, "server:/a b");
    assert_string_equal(s.mounts[1].path, "/data set");
    describe_machine(&s, &d);
    check_get(&d, "host_storage_type", "NVMe SSD, SSD, nfs4");
    check_get(&d, "host_storage_capacity", "2 x 3.84 TB NVMe SSD, 1 x 480 GB SSD");
    system_desc_release(&d);
    system_release(&s);
}

static void network(void **state)
{
    const char *const root = *state;
    char *const driver = xasprintf("%s/sys/class/net/eth2/device/driver", root);
    struct system_info s;
    struct system_desc d = {0};

    for (int i = 0; i < 2; i++) {
        char *const name = xasprintf("sys/class/net/eth%d", i);
        char *const type = file_join(name, "type"), *const speed = file_join(name, "speed");
        char *const device = file_join(name, "device/vendor");

        put(root, type, "1\n");
        put(root, speed, "100000\n");
        put(root, device, "0x15b3\n");
        free(name);
        free(type);
        free(speed);
        free(device);
    }
    put(root, "sys/class/net/eth2/type", "1\n");
    put(root, "sys/class/net/eth2/speed", "-1\n");
    put(root, "sys/class/net/eth2/device/vendor", "0x1af4\n");
    assert_int_equal(symlink("../../bus/virtio/drivers/virtio_net", driver), 0);
    put(root, "sys/class/net/lo/type", "772\n");
    put(root, "sys/class/net/docker0/type", "1\n"); /* no hardware behind it */
    put(root, "sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    put(root, "sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    put(root, "sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
    put(root, "sys/class/infiniband/mlx5_1/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    system_read(root, &s);
    describe_machine(&s, &d);
    check_get(&d, "host_networking",
              "2 x 100 Gbit/s Ethernet, 1 x Ethernet (virtio_net), 1 x 400 "
              "Gbit/s InfiniBand");
    system_desc_release(&d);
    system_release(&s);
    free(driver);
}

/* A structure of type 17 of `length` bytes and no texts. */
static void add_module(struct str *out, int length, int size, int type, int speed, int configured)
{
    unsigned char p[0x28] = {17, (unsigned char)length};

    p[0x0c] = (unsigned char)(size & 0xff);
    p[0x0d] = (unsigned char)(size >> 8);
    p[0x12] = (unsigned char)type;
    p[0x15] = (unsigned char)(speed & 0xff);
    p[0x16] = (unsigned char)(speed >> 8);
    p[0x1e] = 2; /* 0x20000 MiB: 128 GiB, when the short size says so */
    p[0x20] = (unsigned char)(configured & 0xff);
    p[0x21] = (unsigned char)(configured >> 8);
    str_add_bytes(out, p, (size_t)length);
    str_add_bytes(out, "DIMM\0BANK\0\0", 11);
}

static void memory_modules(void **state)
{
    const char *const root = *state;
    struct str table = STR_INIT;
    struct system_info s;
    struct system_desc d = {0};

    str_add_bytes(&table, "\1\4\0\0\0\0", 6); /* another structure, without texts */
    add_module(&table, 0x28, 0x7fff, 0x22, 5600, 4800);
    add_module(&table, 0x28, 0x7fff, 0x22, 5600, 4800);
    add_module(&table, 0x28, 0, 0x22, 0, 0); /* an empty slot */
    add_module(&table, 0x17, 0x4000, 0x1a, 3200, 0);
    free(scratch_bytes(root, "sys/firmware/dmi/tables/DMI", table.s, table.len));
    system_read(root, &s);
    describe_machine(&s, &d);
    check_get(&d, "host_memory_configuration",
              "2 x 128 GiB DDR5 4800 MT/s, 1 x 16 GiB DDR4 3200 MT/s");
    check_get(&d, "host_memory_capacity", "272 GiB");
    system_desc_release(&d);
    for (size_t n = 0; n <= table.len; n++) { /* cut anywhere */
        char *const cut = xmalloc(n + 1);

        memcpy(cut, table.s, n);
        s.memory.n_dimms = 0;
        system_read_dmi((const unsigned char *)cut, n, &s);
        assert_in_range(s.memory.n_dimms, 0, 2);
        free(cut);
    }
    system_release(&s);
    str_release(&table);
}

/* ---- NVML ---- */

static int init_code; /* what the driver answers at its start; 0: it serves */
static int driver_init(void)
{
    return init_code;
}
static int driver_shutdown(void)
{
    return 0;
}
static int driver_version(char *text, unsigned n)
{
    return snprintf(text, n, "550.54") < 0;
}
static int driver_cuda(int *version)
{
    *version = 12040;
    return 0;
}
static int driver_count(unsigned *n)
{
    *n = 3;
    return 0;
}
static int driver_handle(unsigned i, void **device)
{
    static int devices[3];

    *device = &devices[i];
    return i == 2 ? 15 : 0; /* the third is lost */
}
static int driver_name(void *device, char *text, unsigned n)
{
    (void)device;
    return snprintf(text, n, "NVIDIA H200") < 0;
}
static int driver_memory(void *device, struct nvml_memory *m)
{
    (void)device;
    *m = (struct nvml_memory){.total = 141ULL << 30};
    return 0;
}
static int driver_clock(void *device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = 0x7fffffff; /* a number that stands for "not available" */
    return clock != 1;
}
static int driver_generation(void *device, unsigned *generation)
{
    (void)device;
    *generation = 5;
    return 0;
}
static int driver_width(void *device, unsigned *width)
{
    (void)device;
    *width = 16;
    return 0;
}
static int driver_link(void *device, unsigned link, int *active)
{
    (void)device;
    *active = link < 18;
    return link >= 18 ? 2 : 0;
}

/* What nvml_open finds in the driver's library, as a table of the functions above: a driver with
 * three devices, the last of them lost, whose clock rates are not available. The version of NVLink
 * it does not have. */
static const struct nvml driver_with_three_devices = {
    .init = driver_init,
    .shutdown = driver_shutdown,
    .driver = driver_version,
    .cuda = driver_cuda,
    .count = driver_count,
    .handle = driver_handle,
    .name = driver_name,
    .memory = driver_memory,
    .max_clock = driver_clock,
    .pcie_generation = driver_generation,
    .pcie_width = driver_width,
    .link_state = driver_link,
};

static void accelerators(void **state)
{
    struct system_info s;
    struct system_desc d = {0};

    system_read(*state, &s);
    init_code = 0;
    assert_int_equal(nvml_read(&driver_with_three_devices, &s), E_UNSUPPORTED);
    assert_string_equal(err_reason(), "NVML shows 2 of 3 accelerators");
    describe_machine(&s, &d);
    check_get(&d, "accelerators_per_node", "2");
    check_get(&d, "accelerator_model_name", "NVIDIA H200");
    check_get(&d, "accelerator_memory_capacity", "141 GiB");
    check_get(&d, "accelerator_host_interconnect", "PCIe 5.0 x16");
    check_get(&d, "accelerator_interconnect", "NVLink, 18 links");
    assert_null(d.values[system_field_index("accelerator_frequency")]);
    assert_null(d.values[system_field_index("accelerator_memory_configuration")]);
    assert_string_equal(s.nvidia_driver, "550.54");
    system_desc_release(&d);
    system_release(&s);
}

static void no_accelerators(void **state)
{
    struct system_info s;
    struct system_desc d = {0};
    struct nvml n;

    system_read(*state, &s);
    init_code = 9;
    assert_int_equal(nvml_read(&driver_with_three_devices, &s), E_UNSUPPORTED);
    assert_int_equal(s.n_accelerators, 0);
    assert_int_equal(nvml_open(&n, "libno-such-library.so.1"), E_UNSUPPORTED);
    assert_string_equal(err_reason(), "libno-such-library.so.1 is not here");
    assert_int_equal(nvml_open(&n, "libm.so.6"), E_UNSUPPORTED); /* a library, but another one */
    describe_machine(&s, &d);
    check_get(&d, "accelerators_per_node", "0");
    check_get(&d, "accelerator_model_name", "N/A");
    check_get(&d, "accelerator_memory_capacity", "N/A");
    system_desc_release(&d);
    system_release(&s);
}

/* ---- the file ---- */

static void written_and_read_back(void **state)
{
    struct system_desc d = {0}, e;
    struct findings f = {0};
    struct str text = STR_INIT;
    char *path;

    system_desc_set(&d, "submitter", "A \"quoted\" name");
    system_desc_set(&d, "cooling", "air");
    system_desc_json(&d, &text);
    path = scratch_file(*state, "s.json", text.s);
    assert_int_equal(system_desc_read(&e, path), 0);
    check_get(&e, "submitter", "A \"quoted\" name");
    check_get(&e, "cooling", "air");
    check_get(&e, "hw_notes", "");
    check_get(&e, "division", "FILL IN: closed or open");
    system_desc_check(path, "4.0.0", &f);
    /* All there; status is not one of the four, and the others that must be filled are not. */
    assert_int_equal(f.count[FINDING_ERROR], 1);
    assert_int_equal(f.count[FINDING_STRICT], 24);
    findings_release(&f);
    free(path);
    str_release(&text);
    system_desc_release(&d);
    system_desc_release(&e);
}

struct desc_case {
    const char *find, *replace;
    const char *ruleset;
    size_t errors, strict;
};

/* A description that stands under 4.0.0. */
static char *good_desc(void)
{
    struct system_desc d = {0};
    struct str text = STR_INIT;

    for (int i = 0; i < SYSTEM_FIELDS; i++)
        system_desc_set(&d, system_fields[i].name, "x");
    system_desc_set(&d, "status", "Available on-premise");
    system_desc_set(&d, "accelerators_per_node", "8");
    system_desc_json(&d, &text);
    system_desc_release(&d);
    return str_detach(&text);
}

static void the_checker(void **state)
{
    static const struct desc_case cases[] = {
        {"{", "{", "4.0.0", 0, 0},
        {"\"cooling\"", "\"cool\"", "4.0.0", 1, 0},
        {"\"Available on-premise\"", "\"onprem\"", "4.0.0", 1, 0},
        {"\"Available on-premise\"", "\"onprem\"", "3.1.0", 0, 0},
        {"\"Available on-premise\"", "\"Available on-premise\"", "3.1.0", 0, 1},
        {"\"Available on-premise\"", "4", "4.0.0", 1, 1},
        {"\"8\"", "8", "4.0.0", 1, 0}, /* joined: a traceback there */
        {"\"number_of_nodes\": \"x\"", "\"number_of_nodes\": 1", "4.0.0", 0, 1},
        {"\"cooling\": \"x\"", "\"cooling\": \"x\", \"cooling\": 1", "4.0.0", 0, 1}, /* the last */
        {"\"cooling\": \"x\"", "\"cooling\": \"FILL IN: air\"", "4.0.0", 0, 1},
        {"}", "", "4.0.0", 1, 0},
        {"}", "} {", "4.0.0", 1, 0},
        {"{", "[{", "4.0.0", 1, 0},
        {"{", "\xef\xbb\xbf{", "4.0.0", 1, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *const good = good_desc(), *const at = strstr(good, cases[i].find);
        char *text, *path;
        struct findings f = {0};

        assert_non_null(at);
        text = xasprintf("%.*s%s%s", (int)(at - good), good, cases[i].replace,
                         at + strlen(cases[i].find));
        path = scratch_file(*state, "s.json", text);
        system_desc_check(path, cases[i].ruleset, &f);
        if (f.count[FINDING_ERROR] != cases[i].errors || f.count[FINDING_STRICT] != cases[i].strict)
            fail_msg("case %zu: %zu errors, %zu stricter", i, f.count[FINDING_ERROR],
                     f.count[FINDING_STRICT]);
        findings_release(&f);
        free(good);
        free(text);
        free(path);
    }
}

static void words_for_status(void **state)
{
    (void)state;
    assert_string_equal(system_status_of("Available cloud"), "cloud");
    assert_string_equal(system_status_of("research"), "research");
    assert_null(system_status_of("available"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_sockets_with_threads),
        TEST(offline_processors_do_not_count),
        TEST(containers),
        TEST(frequency_from_the_name),
        TEST(disks_and_mounts),
        TEST(network),
        TEST(memory_modules),
        TEST(accelerators),
        TEST(no_accelerators),
        TEST(written_and_read_back),
        TEST(the_checker),
        TEST(words_for_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
