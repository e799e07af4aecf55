#include "meter/disk_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/str.h"
#include "meter/disk_walk.h"
#include "meter/probe.h"

enum { MAX_LAYERS = 512, NAMES_SHOWN = 6 };

enum disk_kind disk_kind_of_type(const char *type)
{
    static const char *const memory[] = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"};
    static const char *const far[] = {"nfs",      "cifs",   "smb3",   "lustre",   "gpfs",
                                      "beegfs",   "ceph",   "9p",     "virtiofs", "glusterfs",
                                      "orangefs", "wekafs", "daos",   "sshfs",    "gcsfuse",
                                      "juicefs",  "afs",    "vboxsf", "vmhgfs"};
    const char *const name = probe_begins(type, "fuse.") ? type + 5 : type;

    for (size_t i = 0; i < COUNT_OF(memory); i++)
        if (strcmp(type, memory[i]) == 0)
            return DISK_MEMORY;
    for (size_t i = 0; i < COUNT_OF(far); i++)
        if (probe_begins(name, far[i]))
            return DISK_NETWORK;
    return DISK_UNKNOWN;
}

void disk_walk_note(struct disk_walk *w, enum disk_kind kind)
{
    if (kind > w->out->kind)
        w->out->kind = kind;
}

/* ---- sources ---- */

/* The name that a logical volume was given: /dev/mapper/NAME is in sysfs as dm-N with that name. */
struct mapped {
    struct disk_walk *walk;
    const char *wanted;
    int found;
};

static void visit_mapped(void *context, const char *name)
{
    struct mapped *const m = context;
    struct arena a;
    const char *given;

    if (m->found || !probe_begins(name, "dm-"))
        return;
    arena_init(&a);
    given = probe_text(&a, m->walk->root, "/sys/block/%s/dm/name", name);
    if (given && strcmp(given, m->wanted) == 0) {
        char *const sys = xasprintf("/sys/block/%s", name);
        struct disk_device d;

        m->found = disk_walk_number(m->walk, sys, &d);
        if (m->found)
            disk_walk_device(m->walk, d.major, d.minor);
        free(sys);
    }
    arena_release(&a);
}

/* A node of /dev, which may be a link. */
static int add_node(struct disk_walk *w, const char *source)
{
    struct stat st;

    if (*w->root || stat(source, &st) != 0 || !S_ISBLK(st.st_mode))
        return 0;
    disk_walk_device(w, major(st.st_rdev), minor(st.st_rdev));
    return 1;
}

int disk_walk_source(struct disk_walk *w, const char *source)
{
    const char *const name = probe_begins(source, "/dev/") ? source + 5 : "";
    struct mapped m = {w, name + 7, 0};
    struct disk_device d;
    char *sys;
    int found = 0;

    if (!*name)
        return 0;
    if (probe_begins(name, "mapper/")) {
        probe_folder(w->root, "/sys/block", visit_mapped, &m);
        return m.found || add_node(w, source);
    }
    sys = xasprintf("/sys/class/block/%s", name);
    found = !strchr(name, '/') && disk_walk_number(w, sys, &d);
    free(sys);
    if (found)
        disk_walk_device(w, d.major, d.minor);
    return found || add_node(w, source);
}

/* ---- file systems ---- */

int disk_walk_seen_path(struct disk_walk *w, const char *path)
{
    char *const full = xasprintf("%s%s", w->root, path);
    struct stat st;
    const int seen = path[0] == '/' && stat(full, &st) == 0;

    free(full);
    return seen && disk_walk_path(w, path, *w->root ? 0 : st.st_dev);
}

/* One folder of an overlay's option "upperdir=A" or "lowerdir=A:B". A colon in a name has a
 * backslash before it. */
static void add_layers(struct disk_walk *w, char *dirs)
{
    mounts_unescape(dirs);
    for (int i = 0; i < MAX_LAYERS && *dirs; i++) {
        char *out = dirs, *p = dirs;

        for (; *p && *p != ':'; p++)
            *out++ = *p == '\\' && p[1] ? *++p : *p;
        p += *p == ':';
        *out = '\0';
        disk_walk_seen_path(w, dirs);
        dirs = p;
    }
}

/* "/var/lib/docker/containers/ID/hosts": Docker binds such files of its folder into a container.
 * Returns the length of the folder's name, -1 when it is no such file. */
static long docker_folder(const char *top)
{
    static const char *const files[] = {"hosts", "hostname", "resolv.conf"};
    const char *const at = strstr(top, "/containers/"), *const file =
                                                            at ? strrchr(top, '/') + 1 : "";

    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (strcmp(file, files[i]) == 0)
            return at - top;
    return -1;
}

/* Layers that can not be seen lie in the folder overlay2 beside the folder of those files, of which
 * the mount table tells the device. What it calls /docker may be /var/lib/docker to the host. */
static void add_docker_layers(struct disk_walk *w, const char *upper)
{
    const char *const end = strstr(upper, "/overlay2/");

    for (size_t i = 0; end && i < w->mounts.n; i++) {
        const struct mount *const m = &w->mounts.all[i];
        const long n = docker_folder(m->top);

        if (m->major == 0 || n < 0 || n > end - upper || strncmp(end - n, m->top, (size_t)n) != 0)
            continue;
        w->out->is_inferred = 1;
        disk_walk_device(w, m->major, m->minor);
        return;
    }
}

/* What is written goes to the upper folder, so that one is first. The folder work is on the same
 * file system by definition. Layers of a container lie where it can not see them. */
static void add_overlay(struct disk_walk *w, const char *options)
{
    static const char *const names[] = {"upperdir=", "lowerdir=", "lowerdir+=", "datadir+="};
    const char *upper;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *const copy = xstrdup(options), *at = copy;

        for (char *word; (word = strsep(&at, ","));)
            if (probe_begins(word, names[i]))
                add_layers(w, word + strlen(names[i]));
        free(copy);
    }
    upper = strstr(options, "upperdir=");
    if (w->out->kind == DISK_UNKNOWN && upper)
        add_docker_layers(w, upper);
}

struct members {
    struct disk_walk *walk;
    const char *folder; /* of a btrfs file system in sysfs */
    unsigned major, minor;
    int has_it, adding;
};

static void visit_member(void *context, const char *name)
{
    struct members *const m = context;
    char *const sys = xasprintf("%s/%s", m->folder, name);
    struct disk_device d;

    if (disk_walk_number(m->walk, sys, &d)) {
        m->has_it |= d.major == m->major && d.minor == m->minor;
        if (m->adding)
            disk_walk_device(m->walk, d.major, d.minor);
    }
    free(sys);
}

static void visit_btrfs(void *context, const char *name)
{
    struct members m = *(struct members *)context;
    char *const folder = xasprintf("/sys/fs/btrfs/%s/devices", name);

    m.folder = folder;
    probe_folder(m.walk->root, folder, visit_member, &m);
    m.adding = m.has_it;
    if (m.adding)
        probe_folder(m.walk->root, folder, visit_member, &m);
    free(folder);
}

/* The source is one of the devices of a btrfs file system; sysfs knows the others. */
static void add_btrfs_members(struct disk_walk *w)
{
    struct members m = {.walk = w, .major = w->out->on.major, .minor = w->out->on.minor};

    probe_folder(w->root, "/sys/fs/btrfs", visit_btrfs, &m);
}

/* A file system whose number is none of a device: several sources stand with colons between
 * (bcachefs). */
static void add_sources(struct disk_walk *w, const struct mount *m)
{
    char *const copy = xstrdup(m->source), *at = copy;

    for (char *source; (source = strsep(&at, ":"));)
        disk_walk_source(w, source);
    free(copy);
    if (strcmp(m->type, "btrfs") == 0 && w->out->on.name[0])
        add_btrfs_members(w);
}

static void add_mount(struct disk_walk *w, const struct mount *m)
{
    const enum disk_kind kind = disk_kind_of_type(m->type);

    if (kind != DISK_UNKNOWN)
        disk_walk_note(w, kind);
    else if (strcmp(m->type, "overlay") == 0)
        add_overlay(w, m->options);
    else if (m->major != 0)
        disk_walk_device(w, m->major, m->minor);
    else
        add_sources(w, m);
}

int disk_walk_path(struct disk_walk *w, const char *path, dev_t dev)
{
    const struct mount *const m = mounts_of(&w->mounts, path, dev);

    if (!m || w->depth >= DISK_WALK_DEPTH || w->visits >= DISK_WALK_VISITS)
        return 0;
    w->depth++;
    w->visits++;
    add_mount(w, m);
    w->depth--;
    return 1;
}

/* ---- words ---- */

/* "nvme0n1, nvme1n1 (2 NVMe SSD)". */
static void add_leaves(const struct disk_path *d, struct str *out)
{
    const char *kind = d->leaves[0].kind;

    for (size_t i = 0; i < d->n_leaves; i++) {
        const char *const other = d->leaves[i].kind;

        if (i < NAMES_SHOWN)
            str_printf(out, "%s%s", i ? ", " : "", d->leaves[i].device.name);
        if (!kind || !other || strcmp(kind, other) != 0)
            kind = NULL;
    }
    if (d->n_leaves > NAMES_SHOWN)
        str_printf(out, " and %zu more", d->n_leaves - NAMES_SHOWN);
    if (kind && d->n_leaves > 1)
        str_printf(out, " (%zu of kind %s)", d->n_leaves, kind);
    else if (kind)
        str_printf(out, " (%s)", kind);
}

static void add_where(const struct disk_path *d, struct str *out)
{
    const struct disk_leaf *const leaf = d->leaves;

    switch (d->kind) {
    case DISK_BLOCK:
        str_printf(out, " on %s", d->on.name);
        if (d->n_leaves == 1 && leaf->device.major == d->whole.major &&
            leaf->device.minor == d->whole.minor) {
            if (leaf->kind)
                str_printf(out, " (%s)", leaf->kind);
        } else {
            str_add(out, ", that is ");
            add_leaves(d, out);
        }
        if (d->is_inferred)
            str_add(out, ", where Docker's own files of this container lie");
        return;
    case DISK_MEMORY:
        str_add(out, ", in memory");
        return;
    case DISK_NETWORK:
        str_add(out, " from ");
        str_add_printable(out, *d->source ? d->source : "a server without a name");
        str_add(out, probe_begins(d->type, "9p") || probe_begins(d->type, "virtiofs")
                         ? ", a share of the host"
                         : ", over the network");
        return;
    default:
        str_add(out, strcmp(d->type, "overlay") == 0
                         ? ", whose layers can not be seen from here: the disk is not known"
                         : ": the disk is not known");
    }
}

static char *words_of(const struct disk_path *d)
{
    struct str out = STR_INIT;

    str_add_printable(&out, d->mount);
    str_add(&out, ": ");
    str_add_printable(&out, d->type);
    add_where(d, &out);
    return str_detach(&out);
}

/* ---- the path ---- */

/* The path without links and dots, of its nearest folder that is there. */
static char *real_path(const char *path, dev_t *dev)
{
    char *copy = xstrdup(*path ? path : "."), *real;
    struct stat st;

    while (!(real = realpath(copy, NULL))) {
        char *const last = strrchr(copy, '/');

        if (!last || strcmp(copy, "/") == 0) {
            free(copy);
            copy = xstrdup(last ? "/" : ".");
            real = realpath(copy, NULL);
            break;
        }
        last[last == copy] = '\0';
    }
    if (real && stat(real, &st) == 0)
        *dev = st.st_dev;
    free(copy);
    return real;
}

int disk_path_find(const char *root, const char *path, struct disk_path *out)
{
    struct disk_walk w = {.root = root, .out = out};
    dev_t dev = 0;
    char *const real = *root ? xstrdup(path) : real_path(path, &dev);
    const struct mount *m;

    *out = (struct disk_path){0};
    mounts_read(root, &w.mounts);
    m = real ? mounts_of(&w.mounts, real, dev) : NULL;
    if (m) {
        out->mount = xstrdup(m->path);
        out->type = xstrdup(m->type);
        out->source = xstrdup(m->source);
        add_mount(&w, m);
        out->words = words_of(out);
    }
    mounts_release(&w.mounts);
    free(real);
    return m ? 0 : err(E_IO, "%s: /proc/self/mountinfo names no file system for it", path);
}

void disk_path_release(struct disk_path *d)
{
    for (size_t i = 0; i < d->n_leaves; i++)
        free(d->leaves[i].paths);
    free(d->leaves);
    free(d->mount);
    free(d->type);
    free(d->source);
    free(d->words);
    *d = (struct disk_path){0};
}
