/* Accelerators through a library that plays NVML: one that says all, and those that drivers, split
 * devices and broken ones are known to be. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/str.h"
#include "meter_columns.h"
#include "nvml/stub.h"
#include "scratch.h"

extern const struct probe_ops probe_gpu;

static struct stub *stub;

static const struct stub_device healthy = {
    .sm = 97,
    .memory_controller = 41,
    .decoder = 12,
    .jpeg = 34,
    .milliwatt = 651234,
    .mhz = 1980,
    .total = 143771ULL << 20,
    .reserved = 600ULL << 20,
    .used = 100ULL << 30,
    .reasons = 0x1 | 0x2, /* idle and clocks that somebody set hold nothing down */
    .counter_type = STUB_ULONGLONG,
    .pcie_rx = 5000,
    .pcie_tx = 7000,
    .nvlink_rx_kib = 10,
    .nvlink_tx_kib = 20,
    .throughput_code = STUB_NOT_SUPPORTED,
};

/* The probe's library lies in the root of a tree. */
static int open_stub(void **state)
{
    char *const built = realpath(STAVE_BUILD "/libnvidia-ml-stub.so", NULL), *link;
    void *const library = built ? dlopen(built, RTLD_NOW | RTLD_LOCAL) : NULL;

    scratch_open(state);
    link = xasprintf("%s/libnvidia-ml.so.1", (const char *)*state);
    stub = library ? dlsym(library, "stub") : NULL;
    if (!stub || symlink(built, link) != 0)
        return -1;
    *stub = (struct stub){.n = 1, .devices = {healthy}};
    unsetenv("CUDA_VISIBLE_DEVICES");
    free(link);
    free(built);
    return 0;
}

static void begin(struct probed *p, const char *root)
{
    const struct meter_place place = {.root = root};

    probed_open(p, &probe_gpu, &place);
}

/* All that was opened is closed. */
static void end(struct probed *p)
{
    probed_close(p);
    assert_int_equal(stub->open, 0);
    assert_int_equal(stub->gpm_samples, 0);
}

/* Names without "gpu", blanks between. */
static void check_columns(const struct probed *p, const char *expected)
{
    struct str names = STR_INIT;

    str_add(&names, "");
    for (size_t i = 0; i < p->columns.n; i++)
        str_printf(&names, "%s%s", i ? " " : "", p->columns.all[i].name + 3);
    if (strcmp(names.s, expected) != 0)
        fail_msg("columns %s", names.s);
    str_release(&names);
}

static void a_healthy_device(void **state)
{
    struct probed p;

    begin(&p, *state);
    check_columns(&p, "0_sm_percent 0_memory_controller_percent 0_memory_used_bytes 0_power_w "
                      "0_sm_mhz 0_throttled_percent 0_throttled_power_percent "
                      "0_throttled_heat_percent 0_pcie_receive_bytes_per_s 0_pcie_send_bytes_per_s "
                      "0_nvlink_receive_bytes_per_s "
                      "0_nvlink_send_bytes_per_s 0_decoder_percent 0_jpeg_percent");
    probed_sample(&p, 0);
    probed_check(&p, "gpu0_sm_percent", 97);
    probed_check(&p, "gpu0_memory_controller_percent", 41);
    probed_check(&p, "gpu0_memory_used_bytes",
                 107374182400.0); /* as nvidia-smi: without reserved */
    probed_check(&p, "gpu0_power_w", 651.234);
    probed_check(&p, "gpu0_sm_mhz", 1980);
    probed_check(&p, "gpu0_throttled_percent", 0);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", NAN);
    probed_check(&p, "gpu0_decoder_percent", 12);
    probed_check(&p, "gpu0_jpeg_percent", 34);
    stub->devices[0].pcie_rx += 1000;
    stub->devices[0].pcie_tx += 400;
    stub->devices[0].nvlink_rx_kib += 1;
    stub->devices[0].nvlink_tx_kib += 3;
    stub->devices[0].reasons = 0x40;
    probed_sample(&p, 0.5);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", 2000);
    probed_check(&p, "gpu0_pcie_send_bytes_per_s", 800);
    probed_check(&p, "gpu0_nvlink_receive_bytes_per_s", 2048);
    probed_check(&p, "gpu0_nvlink_send_bytes_per_s", 6144);
    probed_check(&p, "gpu0_throttled_percent", 100);
    assert_int_equal(stub->throughput_calls, 0);
    end(&p);
}

/* Bits of nvml.h (CUDA 13), which of power and heat they are. */
static void reasons(void **state)
{
    static const struct {
        unsigned long long bits;
        int any, power, heat;
    } cases[] = {{0x1, 0, 0, 0},   {0x2, 0, 0, 0},        {0x4, 100, 100, 0},  {0x8, 100, 0, 0},
                 {0x10, 0, 0, 0},  {0x20, 100, 0, 100},   {0x40, 100, 0, 100}, {0x80, 100, 100, 0},
                 {0x100, 0, 0, 0}, {0x24, 100, 100, 100}, {0, 0, 0, 0}};
    struct probed p;

    begin(&p, *state);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        stub->devices[0].reasons = cases[i].bits;
        probed_sample(&p, 1);
        probed_check(&p, "gpu0_throttled_percent", cases[i].any);
        probed_check(&p, "gpu0_throttled_power_percent", cases[i].power);
        probed_check(&p, "gpu0_throttled_heat_percent", cases[i].heat);
    }
    end(&p);
}

/* A row right behind another says nothing of rates; its time counts in the next. */
static void short_intervals(void **state)
{
    struct probed p;

    begin(&p, *state);
    probed_sample(&p, 0);
    stub->devices[0].pcie_rx += 1000;
    probed_sample(&p, 0.01);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", NAN);
    stub->devices[0].pcie_rx += 1000;
    probed_sample(&p, 0.09);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", 20000);
    end(&p);
}

static void nothing_is_supported(void **state)
{
    struct probed p;

    stub->devices[0].code = STUB_NOT_SUPPORTED;
    begin(&p, *state);
    check_columns(&p, "");
    end(&p);
    stub->init_code = 9;
    begin(&p, *state);
    check_columns(&p, "");
    end(&p);
}

/* Success, and numbers that stand for "not available". */
static void sentinels(void **state)
{
    struct stub_device *const d = &stub->devices[0];
    struct probed p;

    d->sm = d->memory_controller = d->milliwatt = ~0u;
    d->decoder = 101;
    d->jpeg = d->mhz = 0x7fffffff;
    d->used = 0x7ffffffffffffff0;
    d->reasons = d->pcie_rx = d->pcie_tx = 0x7ffffffffffffff0;
    d->nvlink_rx_kib = d->nvlink_tx_kib = 9223372036854775807ULL;
    begin(&p, *state);
    check_columns(&p, "");
    end(&p);
}

/* They come and go: a cell is empty, then. */
static void sentinels_in_the_middle(void **state)
{
    struct stub_device *const d = &stub->devices[0];
    struct probed p;

    begin(&p, *state);
    probed_sample(&p, 0);
    d->sm = ~0u;
    d->pcie_rx = 0x7ffffffffffffff0;
    d->milliwatt = ~0u;
    d->used = ~0ULL;
    probed_sample(&p, 1);
    probed_check(&p, "gpu0_sm_percent", NAN);
    probed_check(&p, "gpu0_memory_controller_percent", 41);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", NAN);
    probed_check(&p, "gpu0_power_w", NAN);
    probed_check(&p, "gpu0_memory_used_bytes", NAN);
    d->pcie_rx = 9000;
    probed_sample(&p, 1); /* known again, but not by how much it grew */
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", NAN);
    d->pcie_rx = 9100;
    probed_sample(&p, 1);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", 100);
    end(&p);
}

/* Without counters there is a call that waits: one a row, of each direction one a second. */
static void bytes_by_a_call(void **state)
{
    struct probed p;
    int rows = 0;

    stub->n = 2;
    stub->devices[0].pcie_code = STUB_NOT_SUPPORTED;
    stub->devices[0].throughput_code = 0;
    stub->devices[0].rx_kb_per_s = 300;
    stub->devices[0].tx_kb_per_s = 40;
    stub->devices[1] = stub->devices[0];
    stub->devices[1].pcie_code = 0;
    stub->devices[1].counter_type = STUB_UINT; /* counts that wrap before one looks again */
    begin(&p, *state);
    probed_find(&p, "gpu1_pcie_send_bytes_per_s");
    stub->throughput_calls = 0;
    p.is_mark = 1;
    probed_sample(&p, 0);
    probed_sample(&p, 5);
    assert_int_equal(stub->throughput_calls, 0);
    p.is_mark = 0;
    probed_sample(&p, 0);
    assert_int_equal(stub->throughput_calls, 1);
    for (int i = 0; i < 40; i++) {
        const int before = stub->throughput_calls;
        double v;

        probed_sample(&p, 0.1);
        assert_in_range(stub->throughput_calls - before, 0, 1);
        v = probed_value(&p, "gpu0_pcie_receive_bytes_per_s");
        rows += !isnan(v);
        if (!isnan(v))
            probed_check(&p, "gpu0_pcie_receive_bytes_per_s", 300 * 1024);
        v = probed_value(&p, "gpu1_pcie_send_bytes_per_s");
        if (!isnan(v))
            probed_check(&p, "gpu1_pcie_send_bytes_per_s", 40 * 1024);
    }
    assert_in_range(rows, 3, 4);
    assert_in_range(stub->throughput_calls, 13, 17); /* 4 a second */
    end(&p);
}

/* Only the sampler's own thread may wait for a call, not who marks. */
static void marks_do_not_wait(void **state)
{
    char *const path = xasprintf("%s/samples.csv", (const char *)*state);
    const struct meter_config config = {.path = path, .hz = 0.001, .place = {.root = *state}};
    struct meter_use use;
    struct meter *m;
    int opening;

    stub->devices[0].pcie_code = STUB_NOT_SUPPORTED;
    stub->devices[0].throughput_code = 0;
    assert_int_equal(meter_open(&config, &m), 0);
    opening = stub->throughput_calls;
    assert_int_equal(opening, 2); /* whether it answers */
    for (int i = 0; i < 3; i++)
        meter_mark(m, "train", i);
    assert_int_equal(meter_close(m, &use), 0);
    assert_int_equal(stub->throughput_calls, opening);
    free(path);
}

/* A counter that goes back is not read on: it may wrap at any time. */
static void counters_that_go_back(void **state)
{
    struct stub_device *const d = &stub->devices[0];
    struct probed p;

    d->throughput_code = 0;
    d->rx_kb_per_s = 3;
    begin(&p, *state);
    probed_sample(&p, 0);
    d->pcie_rx -= 1;
    d->nvlink_rx_kib -= 1;
    probed_sample(&p, 1);
    probed_check(&p, "gpu0_nvlink_receive_bytes_per_s", NAN);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", 3072); /* by a call */
    d->nvlink_rx_kib += 2;
    d->pcie_rx += 1000;
    probed_sample(&p, 0.5);
    probed_check(&p, "gpu0_nvlink_receive_bytes_per_s", 4096);
    probed_check(&p, "gpu0_pcie_receive_bytes_per_s", NAN);
    end(&p);
}

/* One of two falls off the bus: it is left alone, and the other goes on. */
static void a_lost_device(void **state)
{
    struct probed p;
    int calls;

    stub->n = 2;
    stub->devices[1] = healthy;
    stub->devices[1].sm = 55;
    begin(&p, *state);
    assert_int_equal(p.columns.n, 28);
    probed_sample(&p, 0);
    stub->devices[0].code = STUB_LOST;
    probed_sample(&p, 1);
    for (size_t i = 0; i < 14; i++)
        probed_check(&p, p.columns.all[i].name, NAN);
    probed_check(&p, "gpu1_sm_percent", 55);
    stub->devices[0].code = 0;
    stub->calls = 0;
    probed_sample(&p, 1);
    calls = stub->calls;
    probed_check(&p, "gpu0_sm_percent", NAN);
    stub->devices[1].code = STUB_LOST;
    probed_sample(&p, 1);
    stub->calls = 0;
    probed_sample(&p, 1);
    assert_true(calls > 0);
    assert_int_equal(stub->calls, 0);
    end(&p);
}

static void split(struct stub_device *d)
{
    d->split = 1;
    d->sm = 0; /* some drivers say so, and do not mean it */
    d->instances[1].total = 20ULL << 30;
    d->instances[1].used = 3ULL << 30;
    d->instances[1].sm = 62.5;
    d->instances[4].total = 10ULL << 30;
    d->instances[4].used = 1ULL << 30;
    d->instances[4].sm = 10;
}

static const char *const split_columns =
    "0_memory_used_bytes 0_power_w 0_sm_mhz 0_throttled_percent 0_throttled_power_percent "
    "0_throttled_heat_percent 0_pcie_receive_bytes_per_s "
    "0_pcie_send_bytes_per_s 0_nvlink_receive_bytes_per_s 0_nvlink_send_bytes_per_s "
    "0_mig1_sm_percent 0_mig1_memory_used_bytes 0_mig4_sm_percent 0_mig4_memory_used_bytes";

static void a_split_device(void **state)
{
    struct probed p;

    split(&stub->devices[0]);
    stub->devices[0].gpm = 1;
    begin(&p, *state);
    check_columns(&p, split_columns);
    probed_sample(&p, 0);
    probed_sample(&p, 1);
    probed_check(&p, "gpu0_mig1_sm_percent", 62.5);
    probed_check(&p, "gpu0_mig1_memory_used_bytes", 3ULL << 30);
    probed_check(&p, "gpu0_mig4_sm_percent", 10);
    probed_check(&p, "gpu0_mig4_memory_used_bytes", 1ULL << 30);
    stub->devices[0].instances[4].code = STUB_NOT_SUPPORTED;
    stub->devices[0].instances[1].sm = 9223372036854775807.0;
    probed_sample(&p, 1);
    probed_check(&p, "gpu0_mig1_sm_percent", NAN);
    probed_check(&p, "gpu0_mig4_sm_percent", NAN);
    end(&p);
}

/* No counters of activity: no column of it, not one of noughts. */
static void a_split_device_without_activity(void **state)
{
    struct probed p;

    split(&stub->devices[0]);
    begin(&p, *state);
    assert_int_equal(probed_find(&p, "gpu0_sm_percent"), COLUMNS_MAX);
    assert_int_equal(probed_find(&p, "gpu0_decoder_percent"), COLUMNS_MAX);
    assert_int_equal(probed_find(&p, "gpu0_mig1_sm_percent"), COLUMNS_MAX);
    assert_true(probed_find(&p, "gpu0_mig1_memory_used_bytes") < COLUMNS_MAX);
    end(&p);
}

/* Which devices and instances have columns of memory. */
static void check_visible(const char *root, const char *list, const char *expected)
{
    struct str names = STR_INIT;
    struct probed p;

    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    begin(&p, root);
    str_add(&names, "");
    for (size_t i = 0; i < p.columns.n; i++) {
        const char *const name = p.columns.all[i].name, *const at = strstr(name, "_memory_used");

        if (at)
            str_printf(&names, "%s%.*s", names.len ? " " : "", (int)(at - name - 3), name + 3);
    }
    if (strcmp(names.s, expected) != 0)
        fail_msg("\"%s\": %s", list, names.s);
    str_release(&names);
    end(&p);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void visible_devices(void **state)
{
    stub->n = 3;
    stub->devices[1] = stub->devices[2] = healthy;
    split(&stub->devices[2]);
    check_visible(*state, "1", "1");
    check_visible(*state, "1,0", "0 1");
    check_visible(*state, "GPU-1000", "1");
    check_visible(*state, "GPU-0000-aaaa, 1", "0 1");
    check_visible(*state, "2", "2 2_mig1 2_mig4");
    check_visible(*state, "MIG-2400-bbbb", "2 2_mig4");
    /* These name nothing that is here. */
    check_visible(*state, "", "0 1 2 2_mig1 2_mig4");
    check_visible(*state, "-1", "0 1 2 2_mig1 2_mig4");
    check_visible(*state, "NoDevFiles", "0 1 2 2_mig1 2_mig4");
    check_visible(*state, "7", "0 1 2 2_mig1 2_mig4");
    check_visible(*state, "1x,GPU-", "0 1 2 2_mig1 2_mig4");
}

static void no_library(void **state)
{
    struct probed p;
    char *const link = xasprintf("%s/libnvidia-ml.so.1", (const char *)*state);

    assert_int_equal(unlink(link), 0);
    begin(&p, *state);
    check_columns(&p, "");
    end(&p);
    free(link);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stub, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_healthy_device),     TEST(short_intervals),   TEST(reasons),
        TEST(nothing_is_supported), TEST(sentinels),         TEST(sentinels_in_the_middle),
        TEST(bytes_by_a_call),      TEST(marks_do_not_wait), TEST(counters_that_go_back),
        TEST(a_lost_device),        TEST(a_split_device),    TEST(a_split_device_without_activity),
        TEST(visible_devices),      TEST(no_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
