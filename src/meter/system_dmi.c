/* Memory and its modules. */
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/file.h"
#include "meter/system.h"

enum { DMI_MAX_BYTES = 1 << 20, MEMORY_DEVICE = 17, END_OF_TABLE = 127 };

static unsigned word_at(const unsigned char *p, size_t at)
{
    return p[at] | (unsigned)p[at + 1] << 8;
}

/* DSP0134 3.6, table 78. */
static const char *type_name(unsigned type)
{
    static const struct {
        unsigned type;
        const char *name;
    } types[] = {{0x18, "DDR3"},   {0x1a, "DDR4"},   {0x1b, "LPDDR"}, {0x1c, "LPDDR2"},
                 {0x1d, "LPDDR3"}, {0x1e, "LPDDR4"}, {0x20, "HBM"},   {0x21, "HBM2"},
                 {0x22, "DDR5"},   {0x23, "LPDDR5"}, {0x24, "HBM3"}};

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

/* Size in offset 0x0C: MiB, or KiB with bit 15 set; 0x7FFF means the double word at 0x1C. */
static long long module_bytes(const unsigned char *p, size_t n)
{
    const unsigned size = word_at(p, 0x0c);

    if (size == 0 || size == 0xffff)
        return 0;
    if (size == 0x7fff)
        return n < 0x20 ? 0
                        : (long long)(word_at(p, 0x1c) | (word_at(p, 0x1e) & 0x7fffu) << 16) << 20;
    return size & 0x8000 ? (long long)(size & 0x7fff) << 10 : (long long)size << 20;
}

static void add_module(const unsigned char *p, size_t n, struct system_memory *m)
{
    struct system_dimm d = {.count = 1};

    if (n < 0x17)
        return;
    d.bytes = module_bytes(p, n);
    d.type = type_name(p[0x12]);
    d.mt_per_s = (int)word_at(p, n >= 0x22 && word_at(p, 0x20) ? 0x20 : 0x15);
    if (d.mt_per_s == 0xffff)
        d.mt_per_s = 0;
    if (d.bytes == 0)
        return;
    for (int i = 0; i < m->n_dimms; i++)
        if (m->dimms[i].bytes == d.bytes && m->dimms[i].type == d.type &&
            m->dimms[i].mt_per_s == d.mt_per_s) {
            m->dimms[i].count++;
            return;
        }
    if (m->n_dimms < SYSTEM_DIMMS)
        m->dimms[m->n_dimms++] = d;
}

/* A structure is its formatted part, whose length stands in it, then texts up to two zero bytes. */
void system_read_dmi(const unsigned char *table, size_t n, struct system_info *s)
{
    size_t at = 0;

    while (n - at >= 4 && table[at] != END_OF_TABLE) {
        const size_t length = table[at + 1];

        if (length < 4 || length > n - at)
            return;
        if (table[at] == MEMORY_DEVICE)
            add_module(table + at, length, &s->memory);
        for (at += length; n - at >= 2 && (table[at] || table[at + 1]); at++)
            ;
        if (n - at < 2)
            return;
        at += 2;
    }
}

void system_read_memory(const char *root, struct system_info *s)
{
    char *const meminfo = cgroup_slurp(root, "/proc/meminfo");
    char *const path = xasprintf("%s/sys/firmware/dmi/tables/DMI", root), *table;
    long long kib;
    size_t n;

    if (cgroup_field(meminfo, "MemTotal:", &kib) && kib > 0 && kib < 1LL << 50)
        s->memory.bytes = kib << 10;
    if (file_read(path, DMI_MAX_BYTES, &table, &n) == 0) {
        system_read_dmi((const unsigned char *)table, n, s);
        free(table);
    }
    free(path);
    free(meminfo);
}
