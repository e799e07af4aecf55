/* Processors, from sysfs where it says how they are arranged, else from /proc/cpuinfo. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/probe.h"
#include "meter/system.h"

static const char cpu_folder[] = "/sys/devices/system/cpu";

/* Texts of which only the different ones count: sockets, cores, caches. */
struct names {
    const char **all;
    size_t n, room;
};

static void add_name(struct names *v, const char *name)
{
    if (!name)
        return;
    if (v->n == v->room) {
        v->room = v->room ? 2 * v->room : 64;
        v->all = xrealloc(v->all, v->room * sizeof(*v->all));
    }
    v->all[v->n++] = name;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts them and leaves one of each. */
static int count_different(struct names *v)
{
    size_t n = 0;

    if (v->n)
        qsort(v->all, v->n, sizeof(*v->all), compare);
    for (size_t i = 0; i < v->n; i++)
        if (i == 0 || strcmp(v->all[i], v->all[n - 1]) != 0)
            v->all[n++] = v->all[i];
    v->n = n;
    return (int)n;
}

struct walk {
    const char *root;
    struct system_info *s;
    struct names packages, cores, caches;
    int n_cpus, cpu;
};

/* "1 d 32K 0-1": so sorted, a level's caches stand together. */
static void visit_cache(void *context, const char *name)
{
    struct walk *const w = context;
    struct arena *const a = &w->s->arena;
    char path[128];
    const char *type, *size, *shared;
    long long level;

    if (strncmp(name, "index", 5) != 0 || snprintf(path, sizeof(path), "%s/cpu%d/cache/%s",
                                                   cpu_folder, w->cpu, name) >= (int)sizeof(path))
        return;
    level = probe_number(0, w->root, "%s/level", path);
    type = probe_text(a, w->root, "%s/type", path);
    size = probe_text(a, w->root, "%s/size", path);
    shared = probe_text(a, w->root, "%s/shared_cpu_list", path);
    if (level < 1 || level > 9 || !type || !size || !shared)
        return;
    add_name(&w->caches, arena_printf(a, "%lld %c %s %s", level,
                                      *type == 'D'   ? 'd'
                                      : *type == 'I' ? 'i'
                                                     : '-',
                                      size, shared));
}

static void visit_cpu(void *context, const char *name)
{
    struct walk *const w = context;
    struct arena *const a = &w->s->arena;
    const char *cores;
    char path[64], end;

    if (sscanf(name, "cpu%d%c", &w->cpu, &end) != 1 || w->cpu < 0)
        return;
    if (probe_number(1, w->root, "%s/cpu%d/online", cpu_folder, w->cpu) == 0) {
        w->s->cpu.offline++;
        return;
    }
    cores = probe_text(a, w->root, "%s/cpu%d/topology/core_cpus_list", cpu_folder, w->cpu);
    if (!cores)
        cores =
            probe_text(a, w->root, "%s/cpu%d/topology/thread_siblings_list", cpu_folder, w->cpu);
    w->n_cpus++;
    add_name(&w->cores, cores);
    if (probe_number(-1, w->root, "%s/cpu%d/topology/physical_package_id", cpu_folder, w->cpu) >= 0)
        add_name(&w->packages, probe_text(a, w->root, "%s/cpu%d/topology/physical_package_id",
                                          cpu_folder, w->cpu));
    snprintf(path, sizeof(path), "%s/cpu%d/cache", cpu_folder, w->cpu);
    probe_folder(w->root, path, visit_cache, w);
}

static void keep_caches(struct walk *w)
{
    struct system_processors *const c = &w->s->cpu;
    char size[32], kind;
    int level;

    for (size_t i = 0; i < w->caches.n; i++) {
        struct system_cache *last = c->n_caches ? &c->caches[c->n_caches - 1] : NULL;
        long long bytes;

        if (sscanf(w->caches.all[i], "%d %c %31s", &level, &kind, size) != 3)
            continue;
        kind = kind == '-' ? '\0' : kind;
        bytes = probe_size(size);
        if (last && last->level == level && last->kind == kind && last->bytes == bytes)
            last->count++;
        else if (bytes > 0 && c->n_caches < SYSTEM_CACHES)
            c->caches[c->n_caches++] = (struct system_cache){level, kind, bytes, 1};
    }
}

static void read_topology(const char *root, struct system_info *s)
{
    struct walk w = {.root = root, .s = s};

    probe_folder(root, cpu_folder, visit_cpu, &w);
    s->cpu.threads = w.n_cpus;
    s->cpu.cores = count_different(&w.cores);
    s->cpu.sockets = count_different(&w.packages);
    count_different(&w.caches);
    keep_caches(&w);
    free(w.packages.all);
    free(w.cores.all);
    free(w.caches.all);
}

/* The value of "word : value", the line's end excluded; NULL when it is another line. */
static const char *value_of(const char *line, const char *word, size_t *n)
{
    const size_t len = strlen(word);
    const char *p = line + len;

    if (strncmp(line, word, len) != 0)
        return NULL;
    p += strspn(p, " \t");
    if (*p != ':')
        return NULL;
    p++;
    p += strspn(p, " \t");
    *n = strcspn(p, "\n");
    return *n ? p : NULL;
}

static void take_text(struct arena *a, const char *line, const char *word, const char **out)
{
    size_t n;
    const char *const v = *out ? NULL : value_of(line, word, &n);

    if (v)
        *out = arena_printf(a, "%.*s", (int)(n > 200 ? 200 : n), v);
}

/* What sysfs did not say. */
static void read_cpuinfo(const char *text, struct system_info *s)
{
    struct system_processors *const c = &s->cpu;
    struct names packages = {0}, cores = {0};
    const char *family = NULL, *package = "0";
    size_t n;
    int threads = 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        const char *v;

        line += *line == '\n';
        take_text(&s->arena, line, "model name", &c->model);
        take_text(&s->arena, line, "vendor_id", &c->vendor);
        take_text(&s->arena, line, "cpu family", &family);
        threads += value_of(line, "processor", &n) != NULL;
        if ((v = value_of(line, "flags", &n)))
            c->hypervisor |= memmem(v, n, " hypervisor", 11) != NULL;
        if ((v = value_of(line, "physical id", &n)))
            add_name(&packages, package = arena_printf(&s->arena, "%.*s", n > 20 ? 20 : (int)n, v));
        if ((v = value_of(line, "core id", &n)))
            add_name(&cores, arena_printf(&s->arena, "%s.%.*s", package, n > 20 ? 20 : (int)n, v));
    }
    c->family = family ? (int)strtol(family, NULL, 10) : 0;
    if (!c->threads)
        c->threads = threads;
    if (!c->cores)
        c->cores = count_different(&cores);
    if (!c->sockets)
        c->sockets = count_different(&packages);
    if (c->cores > c->threads) /* no list of processors says that */
        c->cores = 0;
    free(packages.all);
    free(cores.all);
}

static double ghz_of(const char *root, const char *name)
{
    const long long khz = probe_number(0, root, "%s/cpu0/cpufreq/%s", cpu_folder, name);

    return khz > 100000 && khz < 100000000 ? (double)khz / 1e6 : 0;
}

/* The base frequency stands behind "@" in some names. What a processor does just now says nothing.
 */
static void read_frequency(const char *root, struct system_processors *c)
{
    const char *const at = c->model ? strstr(c->model, " @ ") : NULL;
    double ghz;
    char unit[4];

    c->base_ghz = ghz_of(root, "base_frequency");
    c->max_ghz = ghz_of(root, "cpuinfo_max_freq");
    if (c->base_ghz <= 0 && at && sscanf(at, " @ %lf%3s", &ghz, unit) == 2 &&
        strcmp(unit, "GHz") == 0 && ghz > 0.1 && ghz < 100)
        c->base_ghz = ghz;
}

static void count_node(void *context, const char *name)
{
    int i;
    char end;

    if (sscanf(name, "node%d%c", &i, &end) == 1)
        ++*(int *)context;
}

void system_read_processors(const char *root, struct system_info *s)
{
    char *const text = cgroup_slurp(root, "/proc/cpuinfo");

    read_topology(root, s);
    if (text)
        read_cpuinfo(text, s);
    free(text);
    read_frequency(root, &s->cpu);
    probe_folder(root, "/sys/devices/system/node", count_node, &s->cpu.numa_nodes);
}
