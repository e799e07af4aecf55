/* Disks and what is mounted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/disk_path.h"
#include "meter/mounts.h"
#include "meter/probe.h"
#include "meter/system.h"

struct walk {
    const char *root;
    struct system_info *s;
};

/* Devices made of other devices, of memory or of media that come and go. */
static int is_no_disk(const char *name)
{
    static const char *const others[] = {"loop", "ram", "zram", "dm-", "md",
                                         "sr",   "fd",  "nbd",  "mtd"};

    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (probe_begins(name, others[i]))
            return 1;
    return 0;
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
        .kind = disk_kind(w->root, name),
        .bytes = sectors * 512, /* always of 512 bytes here, whatever the disk's are */
    };
}

static int is_storage(const char *device, const char *type)
{
    return (probe_begins(device, "/dev/") && !probe_begins(device, "/dev/loop")) ||
           disk_kind_of_type(type) == DISK_NETWORK;
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
        mounts_unescape(device);
        mounts_unescape(path);
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
