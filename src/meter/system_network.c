/* Network interfaces with hardware behind them, and ports of InfiniBand. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "meter/probe.h"
#include "meter/system.h"

enum { TYPE_ETHERNET = 1 }; /* include/uapi/linux/if_arp.h */

struct walk {
    const char *root, *device;
    struct system_info *s;
};

static void add_port(struct system_info *s, struct system_port p)
{
    if (s->n_ports < SYSTEM_PORTS)
        s->ports[s->n_ports++] = p;
}

/* The last part of where device/driver points. */
static const char *driver_of(const struct walk *w, const char *name)
{
    char *const link = xasprintf("%s/sys/class/net/%s/device/driver", w->root, name);
    char target[256];
    const ssize_t n = readlink(link, target, sizeof(target) - 1);

    free(link);
    if (n <= 0)
        return NULL;
    target[n] = '\0';
    return arena_strdup(&w->s->arena, basename(target));
}

static void visit_interface(void *context, const char *name)
{
    struct walk *const w = context;
    char *const device = xasprintf("%s/sys/class/net/%s/device", w->root, name);
    const int real = file_exists(device);
    const long long mbit = probe_number(0, w->root, "/sys/class/net/%s/speed", name);

    free(device);
    if (!real || probe_number(0, w->root, "/sys/class/net/%s/type", name) != TYPE_ETHERNET)
        return;
    add_port(w->s, (struct system_port){
                       .name = arena_strdup(&w->s->arena, name),
                       .driver = driver_of(w, name),
                       .kind = "Ethernet",
                       .gbit_per_s = mbit > 0 && mbit < 10000000 ? (double)mbit / 1000 : 0,
                   });
}

/* "400 Gb/sec (4X NDR)" */
static void visit_port(void *context, const char *name)
{
    struct walk *const w = context;
    struct arena *const a = &w->s->arena;
    const char *const layer =
        probe_text(a, w->root, "/sys/class/infiniband/%s/ports/%s/link_layer", w->device, name);
    const char *const rate =
        probe_text(a, w->root, "/sys/class/infiniband/%s/ports/%s/rate", w->device, name);
    const double gbit = rate ? strtod(rate, NULL) : 0;

    if (!layer || strcmp(layer, "InfiniBand") != 0)
        return; /* Ethernet: its interface is listed already */
    add_port(w->s, (struct system_port){.name = arena_printf(a, "%s/%s", w->device, name),
                                        .kind = "InfiniBand",
                                        .gbit_per_s = gbit > 0 && gbit < 100000 ? gbit : 0});
}

static void visit_device(void *context, const char *name)
{
    struct walk *const w = context;
    char path[300];

    w->device = name;
    if (snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports", name) < (int)sizeof(path))
        probe_folder(w->root, path, visit_port, w);
}

void system_read_network(const char *root, struct system_info *s)
{
    struct walk w = {.root = root, .s = s};

    probe_folder(root, "/sys/class/net", visit_interface, &w);
    probe_folder(root, "/sys/class/infiniband", visit_device, &w);
}
