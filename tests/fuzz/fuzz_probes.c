/* What the kernel says while a run is at work: the same bytes as each file that the meter's probes
 * read, first as they are, then as the second half of them. Nothing is refused: a text that says
 * nothing is not known. A share of time is no negative number, and the meter's file is one that its
 * reader takes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "fuzz.h"
#include "meter/meter.h"
#include "trace/samples.h"

const char *const fuzz_words[] = {"cpu  1 2 3 4 5 6 7 8\n",
                                  "throttled_usec 1\n",
                                  "throttled_time 1\n",
                                  "anon 1\nfile 2\nshmem 3\n",
                                  "total_rss 1\ntotal_cache 2\n",
                                  "max\n",
                                  "some avg10=0.00 total=1\n",
                                  "  eth0: 1 2 3 4 5 6 7 8 9\n",
                                  "rchar: 1\nread_bytes: 2\nwrite_bytes: 3\n",
                                  "0::/a\n",
                                  "1:memory,cpu:/a\n",
                                  " / /sys/fs/cgroup rw - cgroup2 c rw\n",
                                  "18446744073709551616",
                                  NULL};

static const char *const folders[] = {"proc/self", "proc/net", "proc/pressure", "sys/fs/cgroup/a"};
static const char *const files[] = {"proc/stat",
                                    "proc/self/io",
                                    "proc/self/statm",
                                    "proc/self/cgroup",
                                    "proc/net/dev",
                                    "proc/diskstats",
                                    "proc/pressure/cpu",
                                    "proc/pressure/io",
                                    "sys/fs/cgroup/a/cpu.stat",
                                    "sys/fs/cgroup/a/memory.stat",
                                    "sys/fs/cgroup/a/memory.max",
                                    "sys/fs/cgroup/a/memory.limit_in_bytes",
                                    "sys/fs/cgroup/a/cpu.pressure",
                                    "sys/fs/cgroup/a/memory.pressure"};

static void put_all(const uint8_t *data, size_t n, int with_groups)
{
    static const char group[] = "0::/a\n1:memory,cpu:/a\n";

    for (size_t i = 0; i < COUNT_OF(files); i++)
        fuzz_put(files[i], data, n);
    if (with_groups)
        fuzz_put("proc/self/cgroup", group, strlen(group));
}

static void check_values(const struct meter_columns *c, size_t first, const double *v)
{
    for (size_t i = first; i < c->n; i++) {
        ASSERT(!(v[i - first] < 0));
        ASSERT(!isinf(v[i - first]));
    }
}

static void try_probe(const struct probe_ops *ops, const uint8_t *data, size_t n)
{
    static const double seconds[] = {0, 0.1, 0.001, 1};
    const struct meter_place place = {.root = fuzz_dir()};
    struct meter_columns c = {0};
    double *values;
    void *state;

    put_all(data, n, 1);
    if (ops->open(&state, &place, &c) < 0)
        return;
    values = xcalloc(c.n + 1, sizeof(*values));
    for (size_t i = 0; c.n > 0 && i < COUNT_OF(seconds); i++) {
        ops->sample(state, seconds[i], values);
        check_values(&c, 0, values);
        put_all(data + n / 2, n - n / 2, 1);
    }
    ops->close(state);
    meter_columns_release(&c);
    free(values);
}

static void try_meter(const uint8_t *data, size_t n)
{
    char *const path = file_join(fuzz_dir(), "samples.csv");
    const struct meter_config config = {.path = path, .hz = 0.001, .place = {.root = fuzz_dir()}};
    struct meter_use use;
    struct samples s;
    struct meter *m;

    put_all(data, n, 0);
    ASSERT(meter_open(&config, &m) == 0);
    meter_mark(m, "train", 1);
    ASSERT(meter_close(m, &use) == 0 && use.n_samples == 3);
    ASSERT(samples_read(path, NULL, &s) == 0 && s.n_rows == 3 && s.n_left_out == 0);
    samples_release(&s);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int made;

    for (size_t i = 0; !made && i < COUNT_OF(folders); i++) {
        char *const path = file_join(fuzz_dir(), folders[i]);
        ASSERT(file_mkdirs(path) == 0);
        free(path);
    }
    made = 1;
    for (size_t i = 0; meter_probes[i]; i++)
        if (strcmp(meter_probes[i]->name, "gpu") != 0)
            try_probe(meter_probes[i], data, n);
    try_meter(data, n);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "cpu  100 10 50 1000 20 1 2 3 7 0\ncpu0 1 2\n",
        "usage_usec 5\nnr_throttled 1\nthrottled_usec 1000\n",
        "anon 1000\nfile 2000\nshmem 300\n",
        "cache 1\nrss 2\ntotal_cache 2000\ntotal_rss 1000\ntotal_shmem 300\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=700\nfull avg10=0 total=1\n",
        "Inter-|\n face |bytes\n  eth0: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n",
        "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n",
        "900 100 50 10 0 40 0\n",
        "0::/a\n1:memory,cpu:/a\n"};

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
