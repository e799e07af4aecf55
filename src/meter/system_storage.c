/* Disks and what is mounted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/probe.h"
#include "meter/system.h"

struct walk {
    const char *root;
    struct system_info *s;
};

static int begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Devices made of other devices, of memory or of media that come and go. */
static int is_no_disk(const char *name)
{
    static const char *const others[] = {"loop", "ram", "zram", "dm-", "md",
                                         "sr",   "fd",  "nbd",  "mtd"};

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (begins(name, others[i]))
            return 1;
    return 0;
}

static const char *kind_of(const struct walk *w, const char *name)
{
    const long long turns = probe_number(-1, w->root, "/sys/block/%s/queue/rotational", name);

    if (begins(name, "nvme"))
        return "NVMe SSD";
    if (begins(name, "vd"))
        return "virtio disk";
    if (begins(name, "xvd"))
        return "Xen disk";
    if (begins(name, "pmem"))
        return "persistent memory";
    return turns == 1 ? "HDD" : turns == 0 ? "SSD" : NULL;
}

static void visit_disk(void *context, const char *name)
{
    struct walk *const w = context;
    struct system_info *const s = w->s;
    const long long sectors = probe_number(0, w->root, "/sys/block/%s/size", name);

    if (is_no_disk(name) || sectors <= 0 || sectors > 1LL << 50 || s->n_disks == SYSTEM_DISKS ||
        probe_number(0, w->root, "/sys/block/%s/removable", name) == 1 ||
        probe_number(0, w->root, "/sys/block/%s/hidden", name) == 1)
        return;
    s->disks[s->n_disks++] = (struct system_disk){
        .name = arena_strdup(&s->arena, name),
        .model = probe_text(&s->arena, w->root, "/sys/block/%s/device/model", name),
        .kind = kind_of(w, name),
        .bytes = sectors * 512, /* always of 512 bytes here, whatever the disk's are */
    };
}

/* The kernel writes blanks in names as octal numbers: \040. */
static void decode(char *text)
{
    char *out = text;

    for (const char *p = text; *p; out++) {
        unsigned c = 0;
        const int octal = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
                          p[2] <= '7' && p[3] >= '0' && p[3] <= '7';

        if (octal)
            c = (unsigned)(p[1] - '0') << 6 | (unsigned)(p[2] - '0') << 3 | (unsigned)(p[3] - '0');
        *out = octal && c ? (char)c : *p;
        p += octal ? 4 : 1;
    }
    *out = '\0';
}

static int is_storage(const char *device, const char *type)
{
    static const char *const far[] = {"nfs",      "cifs",   "smb3", "lustre",   "gpfs",
                                      "beegfs",   "ceph",   "9p",   "virtiofs", "glusterfs",
                                      "orangefs", "wekafs", "daos"};

    if (begins(device, "/dev/") && !begins(device, "/dev/loop"))
        return 1;
    for (size_t i = 0; i < COUNT_OF(far); i++)
        if (begins(type, far[i]) || (begins(type, "fuse.") && begins(type + 5, far[i])))
            return 1;
    return 0;
}

/* The same device again is a folder of it bound elsewhere. */
static void add_mount(struct system_info *s, const char *device, const char *path, const char *type)
{
    for (int i = 0; i < s->n_mounts; i++)
        if (strcmp(s->mounts[i].device, device) == 0)
            return;
    if (s->n_mounts < SYSTEM_MOUNTS)
        s->mounts[s->n_mounts++] =
            (struct system_mount){arena_strdup(&s->arena, device), arena_strdup(&s->arena, path),
                                  arena_strdup(&s->arena, type)};
}

static void read_mounts(char *text, struct system_info *s)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *at = NULL, *const device = strtok_r(line, " ", &at);
        char *const path = strtok_r(NULL, " ", &at), *const type = strtok_r(NULL, " ", &at);

        if (!device || !path || !type)
            continue;
        decode(device);
        decode(path);
        if (is_storage(device, type))
            add_mount(s, device, path, type);
    }
}

void system_read_storage(const char *root, struct system_info *s)
{
    struct walk w = {root, s};
    char *const mounts = cgroup_slurp(root, "/proc/self/mounts");

    probe_folder(root, "/sys/block", visit_disk, &w);
    if (mounts)
        read_mounts(mounts, s);
    free(mounts);
}
