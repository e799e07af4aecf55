/* What the kernel says of a machine: the same bytes as cpuinfo, meminfo, mounts, a list of
 * processors, a rate, and the firmware's table. Nothing is refused there: a text that says nothing
 * leaves a thing not known. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/describe.h"
#include "fuzz.h"

const char *const fuzz_words[] = {"processor\t: 0\n",
                                  "model name\t: ",
                                  "physical id\t: 1\n",
                                  "core id\t: 2\n",
                                  "flags\t: hypervisor \n",
                                  " @ 2.1GHz",
                                  "MemTotal: ",
                                  "/dev/sda / ext4 rw\n",
                                  "\\040",
                                  "0-3,8",
                                  "400 Gb/sec",
                                  "\x11\x28",
                                  NULL};

static const char *const folders[] = {"proc",
                                      "proc/self",
                                      "sys/devices/system/cpu/cpu0/topology",
                                      "sys/devices/system/cpu/cpu0/cache/index0",
                                      "sys/block/sda",
                                      "sys/class/infiniband/a/ports/1",
                                      "etc"};
static const char *const files[] = {"proc/cpuinfo",
                                    "proc/meminfo",
                                    "proc/self/mounts",
                                    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
                                    "sys/devices/system/cpu/cpu0/cache/index0/size",
                                    "sys/block/sda/size",
                                    "sys/class/infiniband/a/ports/1/rate",
                                    "etc/os-release"};

static void make_folders(void)
{
    static int made;

    for (size_t i = 0; !made && i < COUNT_OF(folders); i++) {
        char *const path = file_join(fuzz_dir(), folders[i]);
        ASSERT(file_mkdirs(path) == 0);
        free(path);
    }
    made = 1;
    fuzz_put("sys/devices/system/cpu/cpu0/cache/index0/level", "1", 1);
    fuzz_put("sys/devices/system/cpu/cpu0/cache/index0/type", "Data", 4);
    fuzz_put("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0", 1);
    fuzz_put("sys/class/infiniband/a/ports/1/link_layer", "InfiniBand", 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct system_info s;
    struct system_desc d = {0};
    struct str out = STR_INIT;

    make_folders();
    for (size_t i = 0; i < COUNT_OF(files); i++)
        fuzz_put(files[i], data, n);
    system_read(fuzz_dir(), &s);
    system_read_dmi(data, n, &s);
    ASSERT(s.memory.n_dimms <= SYSTEM_DIMMS && s.cpu.cores <= s.cpu.threads);
    describe_machine(&s, &d);
    describe_json(&s, &out);
    describe_more(&s, &out);
    system_desc_json(&d, &out);
    fuzz_touch(out.s, out.len);
    str_release(&out);
    system_desc_release(&d);
    system_release(&s);
    return 0;
}

void fuzz_seeds(void)
{
    static const char *const seeds[] = {
        "processor\t: 0\nmodel name\t: A @ 2.0GHz\nphysical id\t: 0\ncore id\t: 0\n",
        "MemTotal:  1000 kB\n",
        "/dev/sda1 /a\\040b ext4 rw 0 0\nserver:/x /y nfs4 rw 0 0\n",
        "0-3,8\n",
        "\021\027aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0\0\x7f\x04\0\0\0\0",
        "PRETTY_NAME=\"A Linux\"\n"};

    for (size_t i = 0; i < COUNT_OF(seeds); i++)
        fuzz_seed(seeds[i], strlen(seeds[i]));
}
