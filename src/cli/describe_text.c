/* What was read of the machine, for people and for programs. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/describe.h"
#include "cli/version.h"

void describe_software(const struct system_info *s, struct str *out)
{
    struct version_part parts[VERSION_PARTS];

    version_parts(parts);
    for (int i = 0; parts[i].name; i++)
        str_printf(out, "  %-14s %s\n", parts[i].name,
                   parts[i].version ? parts[i].version
                                    : "not in this build; the devices ref and null are");
    if (s->kernel)
        str_printf(out, "  %-14s %s\n", "Linux", s->kernel);
    if (s->nvidia_driver)
        str_printf(out, "  %-14s %s, serves CUDA %d.%d\n", "NVIDIA driver", s->nvidia_driver,
                   s->cuda_version / 1000, s->cuda_version % 1000 / 10);
    if (s->nvml_trouble)
        str_printf(out, "  %-14s not found (%s): accelerators of NVIDIA can not be seen\n",
                   "NVIDIA driver", s->nvml_trouble);
}

static void add_mounts(const struct system_info *s, struct str *out)
{
    for (int i = 0; i < s->n_mounts; i++)
        str_printf(out, "  mount          %s on %s (%s)\n", s->mounts[i].device, s->mounts[i].path,
                   s->mounts[i].type);
}

void describe_more(const struct system_info *s, struct str *out)
{
    const struct system_processors *const c = &s->cpu;

    if (c->threads > 0)
        str_printf(out, "  processors     %d threads on %d cores of %d sockets, %d switched off\n",
                   c->threads, c->cores, c->sockets, c->offline);
    if (c->numa_nodes > 0)
        str_printf(out, "  NUMA nodes     %d\n", c->numa_nodes);
    for (int i = 0; i < s->n_disks; i++)
        str_printf(out, "  disk           %s: %s, %.1f GB%s%s\n", s->disks[i].name,
                   s->disks[i].kind ? s->disks[i].kind : "of a kind that is not known",
                   (double)s->disks[i].bytes / 1e9, s->disks[i].model ? ", " : "",
                   s->disks[i].model ? s->disks[i].model : "");
    add_mounts(s, out);
    for (int i = 0; i < s->n_ports; i++) {
        str_printf(out, "  network        %s: %s", s->ports[i].name, s->ports[i].kind);
        if (s->ports[i].gbit_per_s > 0)
            str_printf(out, " %.10g Gbit/s\n", s->ports[i].gbit_per_s);
        else
            str_add(out, ", it does not say its speed\n");
    }
    for (int i = 0; i < s->n_accelerators; i++)
        str_printf(out, "  accelerator    %d: %s, %.1f GiB, %d NVLinks up\n", i,
                   s->accelerators[i].model ? s->accelerators[i].model : "of an unknown model",
                   (double)s->accelerators[i].memory_bytes / 0x1p30, s->accelerators[i].nvlinks);
}

/* ---- JSON ---- */

/* Zero is not known here. */
static void number(struct str *out, const char *name, double value)
{
    json_add_real(out, name, value > 0 ? value : NAN);
}

static void add_processors(const struct system_processors *c, struct str *out)
{
    str_add(out, "    \"processors\": {");
    json_add_text(out, "model", c->model);
    json_add_text(out, "vendor", c->vendor);
    number(out, "sockets", c->sockets);
    number(out, "cores", c->cores);
    number(out, "threads", c->threads);
    number(out, "offline", c->offline);
    number(out, "numa_nodes", c->numa_nodes);
    number(out, "base_ghz", c->base_ghz);
    number(out, "max_ghz", c->max_ghz);
    str_add(out, ", \"caches\": [");
    for (int i = 0; i < c->n_caches; i++) {
        const struct system_cache *const k = &c->caches[i];

        str_add(out, i ? ", {" : "{");
        number(out, "level", k->level);
        json_add_text(out, "kind",
                      k->kind == 'd'   ? "data"
                      : k->kind == 'i' ? "instructions"
                                       : NULL);
        number(out, "bytes", (double)k->bytes);
        number(out, "count", k->count);
        str_add(out, "}");
    }
    str_add(out, "]}");
}

static void add_memory(const struct system_memory *m, struct str *out)
{
    str_add(out, ",\n    \"memory\": {");
    number(out, "bytes", (double)m->bytes);
    str_add(out, out->s[out->len - 1] == '{' ? "\"modules\": [" : ", \"modules\": [");
    for (int i = 0; i < m->n_dimms; i++) {
        str_add(out, i ? ", {" : "{");
        number(out, "bytes", (double)m->dimms[i].bytes);
        json_add_text(out, "type", m->dimms[i].type);
        number(out, "mt_per_s", m->dimms[i].mt_per_s);
        number(out, "count", m->dimms[i].count);
        str_add(out, "}");
    }
    str_add(out, "]}");
}

static void add_storage(const struct system_info *s, struct str *out)
{
    str_add(out, ",\n    \"disks\": [");
    for (int i = 0; i < s->n_disks; i++) {
        str_add(out, i ? ", {" : "{");
        json_add_text(out, "name", s->disks[i].name);
        json_add_text(out, "kind", s->disks[i].kind);
        json_add_text(out, "model", s->disks[i].model);
        number(out, "bytes", (double)s->disks[i].bytes);
        str_add(out, "}");
    }
    str_add(out, "],\n    \"mounts\": [");
    for (int i = 0; i < s->n_mounts; i++) {
        str_add(out, i ? ", {" : "{");
        json_add_text(out, "device", s->mounts[i].device);
        json_add_text(out, "path", s->mounts[i].path);
        json_add_text(out, "type", s->mounts[i].type);
        str_add(out, "}");
    }
    str_add(out, "]");
}

static void add_links(const struct system_info *s, struct str *out)
{
    str_add(out, ",\n    \"network\": [");
    for (int i = 0; i < s->n_ports; i++) {
        str_add(out, i ? ", {" : "{");
        json_add_text(out, "name", s->ports[i].name);
        json_add_text(out, "kind", s->ports[i].kind);
        json_add_text(out, "driver", s->ports[i].driver);
        number(out, "gbit_per_s", s->ports[i].gbit_per_s);
        str_add(out, "}");
    }
    str_add(out, "],\n    \"accelerators\": [");
    for (int i = 0; i < s->n_accelerators; i++) {
        const struct system_accelerator *const a = &s->accelerators[i];

        str_add(out, i ? ", {" : "{");
        json_add_text(out, "model", a->model);
        number(out, "memory_bytes", (double)a->memory_bytes);
        number(out, "max_mhz", a->max_mhz);
        number(out, "pcie_generation", a->pcie_generation);
        number(out, "pcie_width", a->pcie_width);
        number(out, "nvlinks", a->nvlinks);
        number(out, "nvlink_version", a->nvlink_version);
        str_add(out, "}");
    }
    str_add(out, "]");
}

void describe_json(const struct system_info *s, struct str *out)
{
    add_processors(&s->cpu, out);
    add_memory(&s->memory, out);
    add_storage(s, out);
    add_links(s, out);
    str_add(out, ",\n    \"system\": {");
    json_add_text(out, "vendor", s->vendor);
    json_add_text(out, "product", s->product);
    json_add_text(out, "operating_system", s->os);
    json_add_text(out, "kernel", s->kernel);
    json_add_text(out, "nvidia_driver", s->nvidia_driver);
    str_add(out, "}");
}
