#include "disk_tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "scratch.h"

static void put(const char *root, char *name, const char *text)
{
    free(scratch_file(root, name, text));
    free(name);
}

/* root/where/name -> ups/sys/devices/device. */
static void link_to(const char *root, const char *where, const char *name, const char *device)
{
    char *const folder = xasprintf("%s/%s", root, where);
    char *const link = xasprintf("%s/%s", folder, name);
    char *const real = realpath(root, NULL);
    char *const target = xasprintf("%s/sys/devices/%s", real ? real : "", device);

    ASSERT(real && file_mkdirs(folder) == 0);
    ASSERT(symlink(target, link) == 0);
    free(target);
    free(real);
    free(link);
    free(folder);
}

static void add_device(const char *root, const char *device, const char *number)
{
    const char *const slash = strrchr(device, '/'), *const name = slash ? slash + 1 : device;
    char *const line = xasprintf("%s\n", number ? number : "");

    put(root, xasprintf("sys/devices/%s/size", device), "1000\n");
    if (number) {
        put(root, xasprintf("sys/devices/%s/dev", device), line);
        link_to(root, "sys/dev/block", number, device);
    }
    link_to(root, "sys/class/block", name, device);
    free(line);
}

void tree_disk(const char *root, const char *name, const char *number)
{
    add_device(root, name, number);
    link_to(root, "sys/block", name, name);
}

void tree_partition(const char *root, const char *disk, const char *name, const char *number)
{
    char *const device = xasprintf("%s/%s", disk, name);

    add_device(root, device, number);
    put(root, xasprintf("sys/devices/%s/partition", device), "1\n");
    free(device);
}

void tree_slave(const char *root, const char *device, const char *part)
{
    const char *const slash = strrchr(part, '/');
    char *const folder = xasprintf("sys/devices/%s/slaves", device);

    link_to(root, folder, slash ? slash + 1 : part, part);
    free(folder);
}

void tree_put(const char *root, const char *disk, const char *file, const char *text)
{
    put(root, xasprintf("sys/devices/%s/%s", disk, file), text);
}

void tree_mounts(const char *root, const char *lines)
{
    free(scratch_file(root, "proc/self/mountinfo", lines));
}
