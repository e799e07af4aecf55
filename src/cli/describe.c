#include "cli/describe.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "cli/version.h"

static void set(struct system_desc *d, const char *name, struct str *value)
{
    if (value->len)
        system_desc_set(d, name, value->s);
    str_release(value);
}

static void set_number(struct system_desc *d, const char *name, long long n)
{
    struct str v = STR_INIT;

    if (n > 0)
        str_printf(&v, "%lld", n);
    set(d, name, &v);
}

/* Memory counts in powers of 1024, disks in powers of 1000, as their makers do. */
static void add_bytes(struct str *out, long long bytes, int base)
{
    static const char *const units[2][5] = {{"B", "KiB", "MiB", "GiB", "TiB"},
                                            {"B", "kB", "MB", "GB", "TB"}};
    double v = (double)bytes;
    int i = 0;

    for (; i < 4 && v >= base; i++)
        v /= base;
    str_printf(out, "%.*f %s",
               v >= 100 || v == round(v) ? 0
               : v >= 10                 ? 1
                                         : 2,
               v, units[base == 1000][i]);
}

static void add_comma(struct str *out)
{
    if (out->len)
        str_add(out, ", ");
}

/* ---- processors ---- */

/* Of one processor. */
static void add_caches(const struct system_processors *c, struct str *out)
{
    for (int i = 0; c->sockets > 0 && i < c->n_caches; i++) {
        const struct system_cache *const k = &c->caches[i];

        add_comma(out);
        str_printf(out, "L%d", k->level);
        if (k->kind)
            str_printf(out, "%c", k->kind);
        str_printf(out, " %d x ", k->count > c->sockets ? k->count / c->sockets : 1);
        add_bytes(out, k->bytes, 1024);
    }
}

static void add_frequency(const struct system_processors *c, struct str *out)
{
    if (c->base_ghz > 0)
        str_printf(out, "%.2f GHz", c->base_ghz);
    if (c->max_ghz > c->base_ghz) {
        add_comma(out);
        str_printf(out, "at most %.2f GHz", c->max_ghz);
    }
}

/* AMD's server processors since family 23 (Zen) are connected by Infinity Fabric; Intel's by QPI or
 * UPI, which their numbers do not tell apart here. */
static const char *interconnect_of(const struct system_processors *c)
{
    if (c->sockets == 1)
        return "N/A";
    if (c->sockets > 1 && c->vendor && strcmp(c->vendor, "AuthenticAMD") == 0 && c->family >= 23)
        return "Infinity Fabric";
    return NULL;
}

static void describe_processors(const struct system_processors *c, struct system_desc *d)
{
    struct str caches = STR_INIT, frequency = STR_INIT;

    set_number(d, "host_processors_per_node", c->sockets);
    system_desc_set(d, "host_processor_model_name", c->model);
    set_number(d, "host_processor_core_count", c->sockets > 0 ? c->cores / c->sockets : 0);
    set_number(d, "host_processor_vcpu_count", c->threads);
    add_frequency(c, &frequency);
    set(d, "host_processor_frequency", &frequency);
    add_caches(c, &caches);
    set(d, "host_processor_caches", &caches);
    system_desc_set(d, "host_processor_interconnect", interconnect_of(c));
}

/* ---- memory, storage, network ---- */

/* The modules' sum where they are known: the kernel keeps some of it to itself. */
static void describe_memory(const struct system_memory *m, struct system_desc *d)
{
    struct str modules = STR_INIT, capacity = STR_INIT;
    long long bytes = 0;

    for (int i = 0; i < m->n_dimms; i++) {
        const struct system_dimm *const k = &m->dimms[i];

        bytes += k->bytes * k->count;
        add_comma(&modules);
        str_printf(&modules, "%d x ", k->count);
        add_bytes(&modules, k->bytes, 1024);
        if (k->type)
            str_printf(&modules, " %s", k->type);
        if (k->mt_per_s > 0)
            str_printf(&modules, " %d MT/s", k->mt_per_s);
    }
    if (bytes == 0)
        bytes = m->bytes;
    if (bytes > 0)
        add_bytes(&capacity, bytes, 1024);
    set(d, "host_memory_configuration", &modules);
    set(d, "host_memory_capacity", &capacity);
}

static const char *disk_kind(const struct system_disk *k)
{
    return k->kind ? k->kind : "disk";
}

static int is_same_disk(const struct system_disk *a, const struct system_disk *b)
{
    return strcmp(disk_kind(a), disk_kind(b)) == 0 && a->bytes == b->bytes;
}

static void add_disks(const struct system_info *s, int i, struct str *out)
{
    int count = 0;

    for (int k = 0; k < s->n_disks; k++) {
        if (is_same_disk(&s->disks[i], &s->disks[k]) && k < i)
            return; /* said already */
        count += is_same_disk(&s->disks[i], &s->disks[k]);
    }
    add_comma(out);
    str_printf(out, "%d x ", count);
    add_bytes(out, s->disks[i].bytes, 1000);
    str_printf(out, " %s", disk_kind(&s->disks[i]));
}

static void add_word_once(struct str *out, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = out->s; at && *at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return;
    }
    add_comma(out);
    str_add(out, word);
}

static void describe_storage(const struct system_info *s, struct system_desc *d)
{
    struct str types = STR_INIT, capacity = STR_INIT;

    for (int i = 0; i < s->n_disks; i++) {
        add_word_once(&types, disk_kind(&s->disks[i]));
        add_disks(s, i, &capacity);
    }
    for (int i = 0; i < s->n_mounts; i++)
        if (strncmp(s->mounts[i].device, "/dev/", 5) != 0)
            add_word_once(&types, s->mounts[i].type);
    set(d, "host_storage_type", &types);
    set(d, "host_storage_capacity", &capacity);
}

static int is_same_port(const struct system_port *a, const struct system_port *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->gbit_per_s == b->gbit_per_s;
}

static void add_ports(const struct system_info *s, int i, struct str *out)
{
    const struct system_port *const p = &s->ports[i];
    int count = 0;

    for (int k = 0; k < s->n_ports; k++) {
        if (is_same_port(p, &s->ports[k]) && k < i)
            return;
        count += is_same_port(p, &s->ports[k]);
    }
    add_comma(out);
    str_printf(out, "%d x ", count);
    if (p->gbit_per_s > 0)
        str_printf(out, "%.10g Gbit/s ", p->gbit_per_s);
    str_add(out, p->kind);
    if (p->gbit_per_s <= 0 && p->driver)
        str_printf(out, " (%s)", p->driver);
}

static void describe_network(const struct system_info *s, struct system_desc *d)
{
    struct str ports = STR_INIT;

    for (int i = 0; i < s->n_ports; i++)
        add_ports(s, i, &ports);
    set(d, "host_networking", &ports);
    system_desc_set(d, "host_networking_topology", "N/A"); /* this program runs on one machine */
    system_desc_set(d, "number_of_nodes", "1");
}

/* ---- accelerators ---- */

static void describe_no_accelerator(struct system_desc *d)
{
    static const char *const fields[] = {"accelerator_model_name", "accelerator_host_interconnect",
                                         "accelerator_memory_configuration",
                                         "accelerator_memory_capacity", "accelerator_interconnect"};

    system_desc_set(d, "accelerators_per_node", "0");
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        system_desc_set(d, fields[i], "N/A");
}

static void describe_accelerators(const struct system_info *s, struct system_desc *d)
{
    const struct system_accelerator *const a = s->accelerators;
    struct str memory = STR_INIT, host = STR_INIT, link = STR_INIT, clock = STR_INIT;

    if (s->n_accelerators == 0) {
        describe_no_accelerator(d);
        return;
    }
    set_number(d, "accelerators_per_node", s->n_accelerators);
    system_desc_set(d, "accelerator_model_name", a->model);
    if (a->memory_bytes > 0)
        add_bytes(&memory, a->memory_bytes, 1024);
    set(d, "accelerator_memory_capacity", &memory);
    if (a->pcie_generation > 0 && a->pcie_width > 0)
        str_printf(&host, "PCIe %d.0 x%d", a->pcie_generation, a->pcie_width);
    set(d, "accelerator_host_interconnect", &host);
    if (a->max_mhz > 0)
        str_printf(&clock, "at most %d MHz", a->max_mhz);
    set(d, "accelerator_frequency", &clock);
    if (a->nvlinks > 0)
        str_printf(&link, "NVLink, %d links", a->nvlinks);
    else
        str_add(&link, s->n_accelerators > 1 ? "PCIe" : "N/A");
    set(d, "accelerator_interconnect", &link);
}

/* ---- software ---- */

static void describe_stack(const struct system_info *s, struct system_desc *d)
{
    struct version_part parts[VERSION_PARTS];
    struct str stack = STR_INIT, os = STR_INIT;

    version_parts(parts);
    for (int i = 1; parts[i].name; i++)
        if (parts[i].version) {
            add_comma(&stack);
            str_printf(&stack, "%s %s", parts[i].name, parts[i].version);
        }
    if (s->nvidia_driver)
        str_printf(&stack, ", NVIDIA driver %s", s->nvidia_driver);
    set(d, "other_software_stack", &stack);
    system_desc_set(d, "framework", "stave " STAVE_VERSION);
    if (s->os)
        str_add(&os, s->os);
    if (s->os && s->kernel)
        str_printf(&os, ", Linux %s", s->kernel);
    set(d, "operating_system", &os);
}

void describe_machine(const struct system_info *s, struct system_desc *d)
{
    struct str name = STR_INIT;

    if (s->product && !s->cpu.hypervisor)
        str_printf(&name, "%s%s%s", s->vendor ? s->vendor : "", s->vendor ? " " : "", s->product);
    set(d, "system_name", &name);
    describe_processors(&s->cpu, d);
    describe_memory(&s->memory, d);
    describe_storage(s, d);
    describe_network(s, d);
    describe_accelerators(s, d);
    describe_stack(s, d);
    if (s->cpu.hypervisor)
        system_desc_set(d, "hw_notes", "a virtual machine");
}
