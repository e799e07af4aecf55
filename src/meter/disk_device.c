/* Block devices, down to the disks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/disk_walk.h"
#include "meter/probe.h"

const char *disk_kind(const char *root, const char *name)
{
    static const struct {
        const char *begin, *kind;
    } kinds[] = {
        {"nvme", "NVMe SSD"},          {"vd", "virtio disk"},    {"xvd", "Xen disk"},
        {"pmem", "persistent memory"}, {"mmcblk", "SD or eMMC"}, {"loop", "loop device"},
        {"nbd", "network disk"},       {"rbd", "network disk"},  {"drbd", "network disk"},
    };
    const long long turns = probe_number(-1, root, "/sys/block/%s/queue/rotational", name);

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (probe_begins(name, kinds[i].begin))
            return kinds[i].kind;
    return turns == 1 ? "HDD" : turns == 0 ? "SSD" : NULL;
}

/* The name of a device's folder in sysfs, "" when there is none. The path may hold "..". */
static void name_of(const struct disk_walk *w, const char *sys, char name[DISK_NAME])
{
    char *const path = xasprintf("%s%s", w->root, sys), *const real = realpath(path, NULL);
    const char *const last = real ? strrchr(real, '/') : NULL;

    snprintf(name, DISK_NAME, "%s", last && strlen(last + 1) < DISK_NAME ? last + 1 : "");
    free(real);
    free(path);
}

/* What stands in the device's "dev"; hidden devices have none. */
int disk_walk_number(const struct disk_walk *w, const char *sys, struct disk_device *d)
{
    char *const path = xasprintf("%s/dev", sys), *const text = cgroup_slurp(w->root, path);
    const int ok = text && sscanf(text, "%u:%u", &d->major, &d->minor) == 2;

    free(text);
    free(path);
    return ok;
}

/* Hidden paths nvme0c0n1, nvme0c1n1 of the disk nvme0n1. */
struct paths {
    struct disk_leaf *leaf;
    unsigned subsystem, space;
};

static void visit_path(void *context, const char *name)
{
    struct paths *const p = context;
    struct disk_leaf *const leaf = p->leaf;
    unsigned subsystem, path, space;
    char end;

    if (sscanf(name, "nvme%uc%un%u%c", &subsystem, &path, &space, &end) != 3 ||
        subsystem != p->subsystem || space != p->space || strlen(name) >= DISK_NAME)
        return;
    leaf->paths = xrealloc(leaf->paths, (leaf->n_paths + 1) * sizeof(*leaf->paths));
    snprintf(leaf->paths[leaf->n_paths++], DISK_NAME, "%s", name);
}

static void add_leaf(struct disk_walk *w, const struct disk_device *d)
{
    struct disk_path *const out = w->out;
    struct paths p;
    char end;

    for (size_t i = 0; i < out->n_leaves; i++)
        if (out->leaves[i].device.major == d->major && out->leaves[i].device.minor == d->minor)
            return;
    out->leaves = xrealloc(out->leaves, (out->n_leaves + 1) * sizeof(*out->leaves));
    p.leaf = &out->leaves[out->n_leaves++];
    *p.leaf = (struct disk_leaf){.device = *d, .kind = disk_kind(w->root, d->name)};
    if (sscanf(d->name, "nvme%un%u%c", &p.subsystem, &p.space, &end) == 2)
        probe_folder(w->root, "/sys/block", visit_path, &p);
    disk_walk_note(w, DISK_BLOCK);
}

struct slaves {
    struct disk_walk *walk;
    const char *folder;
    int n;
};

static void visit_slave(void *context, const char *name)
{
    struct slaves *const s = context;
    char *const sys = xasprintf("%s/%s", s->folder, name);
    struct disk_device d;

    if (disk_walk_number(s->walk, sys, &d)) {
        disk_walk_device(s->walk, d.major, d.minor);
        s->n++;
    }
    free(sys);
}

/* What a device is made of. Returns 0 when of nothing: it is a disk. */
static int add_slaves(struct disk_walk *w, const char *sys)
{
    char *const folder = xasprintf("%s/slaves", sys);
    struct slaves s = {w, folder, 0};

    probe_folder(w->root, folder, visit_slave, &s);
    free(folder);
    return s.n > 0;
}

static int add_backing_file(struct disk_walk *w, const char *sys)
{
    char *const path = xasprintf("%s/loop/backing_file", sys);
    char *const text = cgroup_slurp(w->root, path);
    int seen = 0;

    if (text) {
        const size_t before = w->out->n_leaves;

        text[strcspn(text, "\n")] = '\0';
        seen = disk_walk_seen_path(w, text) && w->out->n_leaves > before;
    }
    free(text);
    free(path);
    return seen;
}

static void add_disk(struct disk_walk *w, const char *sys, const struct disk_device *d)
{
    if (probe_begins(d->name, "ram") || probe_begins(d->name, "zram")) {
        disk_walk_note(w, DISK_MEMORY);
        return;
    }
    if (!add_slaves(w, sys) && !add_backing_file(w, sys))
        add_leaf(w, d);
}

static void add_device_in(struct disk_walk *w, const char *sys, struct disk_device d)
{
    char *const partition = xasprintf("%s/partition", sys), *const above = xasprintf("%s/..", sys);
    const int first = !w->out->on.name[0];
    struct disk_device whole = d;

    name_of(w, sys, d.name);
    if (!d.name[0])
        snprintf(d.name, sizeof(d.name), "%u:%u", d.major, d.minor);
    if (probe_number(0, w->root, "%s", partition) > 0 && disk_walk_number(w, above, &whole)) {
        name_of(w, above, whole.name);
        sys = above;
    } else {
        whole = d;
    }
    if (first) {
        w->out->on = d;
        w->out->whole = whole;
    }
    add_disk(w, sys, &whole);
    free(above);
    free(partition);
}

void disk_walk_device(struct disk_walk *w, unsigned major, unsigned minor)
{
    char *const sys = xasprintf("/sys/dev/block/%u:%u", major, minor);

    if (w->depth < DISK_WALK_DEPTH && w->visits < DISK_WALK_VISITS) {
        w->depth++;
        w->visits++;
        add_device_in(w, sys, (struct disk_device){.major = major, .minor = minor});
        w->depth--;
    }
    free(sys);
}
