#include "meter/system.h"

#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/nvml.h"
#include "meter/probe.h"

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static const char *os_name(const char *root, struct arena *a)
{
    static const char key[] = "PRETTY_NAME=";
    const char *name = NULL;
    char *text = cgroup_slurp(root, "/etc/os-release");

    if (!text)
        text = cgroup_slurp(root, "/usr/lib/os-release");
    for (const char *line = text; line && !name; line = strchr(line, '\n')) {
        size_t n;

        line += *line == '\n';
        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        line += sizeof(key) - 1;
        line += strspn(line, "\"'");
        n = strcspn(line, "\"'\n");
        if (n > 0 && n < 200)
            name = arena_printf(a, "%.*s", (int)n, line);
    }
    free(text);
    return name;
}

static void read_accelerators(struct system_info *s)
{
    struct nvml n;
    int rc = nvml_open(&n, NULL);

    if (rc == 0) {
        rc = nvml_read(&n, s);
        nvml_close(&n);
    }
    if (rc < 0)
        s->nvml_trouble = arena_strdup(&s->arena, err_reason());
}

void system_read(const char *root, struct system_info *s)
{
    memset(s, 0, sizeof(*s));
    arena_init(&s->arena);
    s->vendor = probe_text(&s->arena, root, "/sys/class/dmi/id/sys_vendor");
    s->product = probe_text(&s->arena, root, "/sys/class/dmi/id/product_name");
    s->os = os_name(root, &s->arena);
    s->kernel = probe_text(&s->arena, root, "/proc/sys/kernel/osrelease");
    system_read_processors(root, s);
    system_read_memory(root, s);
    system_read_storage(root, s);
    system_read_network(root, s);
    if (!*root)
        read_accelerators(s);
}

void system_release(struct system_info *s)
{
    arena_release(&s->arena);
    memset(s, 0, sizeof(*s));
}
