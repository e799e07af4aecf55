#include "base/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

/* Files below /proc and /sys state no size, so they are read as streams. NULL when unreadable. */
char *cgroup_slurp(const char *root, const char *path)
{
    char *name = xasprintf("%s%s", root, path);
    FILE *f = fopen(name, "re");
    struct str text = STR_INIT;
    char buf[4096];
    size_t n;

    free(name);
    if (!f)
        return NULL;
    while (text.len < 4u << 20 && (n = fread(buf, 1, sizeof(buf), f)) > 0)
        str_add_bytes(&text, buf, n);
    fclose(f);
    return str_detach(&text);
}

char *cgroup_read(const struct cgroup_dir *dir, const char *name)
{
    char *const path = xasprintf("%s/%s", dir->path, name);
    char *const text = cgroup_slurp(dir->root, path);

    free(path);
    return text;
}

int cgroup_read_number(const struct cgroup_dir *dir, const char *name, long long *out)
{
    char *const text = cgroup_read(dir, name);
    const int ok = text && sscanf(text, "%lld", out) == 1;

    free(text);
    return ok;
}

int cgroup_field(const char *text, const char *word, long long *out)
{
    const size_t n = strlen(word);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t'))
            return sscanf(line + n, "%lld", out) == 1;
    }
    return 0;
}

/* One mounted hierarchy that can carry a quota. */
struct hierarchy {
    int version;
    char *mount; /* where it is mounted */
    char *top;   /* which group of the hierarchy the mount shows as its root */
    char *group; /* the process's own group, from the hierarchy's root */
};

struct walk {
    const char *root, *controller;
    void (*visit)(void *context, const struct cgroup_dir *dir);
    void *context;
};

/* From the process's group up to the mount. A group that the mount does not show (a container sees
 * only its own subtree) has no files there, and the walk ends at the mount itself, which is the
 * container's own group. */
static void climb(const struct walk *w, const struct hierarchy *h)
{
    const size_t top = strcmp(h->top, "/") == 0 ? 0 : strlen(h->top);
    const int shown = !strstr(h->group, "/..") && strncmp(h->group, h->top, top) == 0 &&
                      (h->group[top] == '/' || !h->group[top]);
    char *dir = xasprintf("%s%s", h->mount, shown ? h->group + top : "");
    const size_t mount = strlen(h->mount);

    for (size_t n = strlen(dir); n >= mount; n--) {
        if (n > mount && ((dir[n] != '/' && dir[n] != '\0') || dir[n - 1] == '/'))
            continue;
        dir[n] = '\0';
        w->visit(w->context, &(struct cgroup_dir){w->root, dir, h->version});
    }
    free(dir);
}

static int has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (!p[n] || p[n] == ','))
            return 1;
    }
    return 0;
}

/* Fills mount and top from /proc/self/mountinfo: "31 23 0:28 TOP MOUNT options - TYPE source
 * SUPEROPTIONS". Returns 0 when the hierarchy is not mounted. */
static int find_mount(char *mountinfo, const char *controller, struct hierarchy *h)
{
    char *save = NULL;

    for (char *line = strtok_r(mountinfo, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char top[2048], mount[2048], type[64], super[2048];
        const char *tail = strstr(line, " - ");

        if (!tail || sscanf(line, "%*s %*s %*s %2047s %2047s", top, mount) != 2 ||
            sscanf(tail, " - %63s %*s %2047s", type, super) != 2)
            continue;
        if (h->version == 2 ? strcmp(type, "cgroup2") != 0
                            : strcmp(type, "cgroup") != 0 || !has_word(super, controller))
            continue;
        h->top = xstrdup(top);
        h->mount = xstrdup(mount);
        return 1;
    }
    return 0;
}

/* Without a mount table: the places every distribution uses. */
static void guess_mount(const struct walk *w, struct hierarchy *h)
{
    char *const own = xasprintf("/sys/fs/cgroup/%s", h->version == 2 ? "unified" : w->controller);
    char *const name = xasprintf("%s%s", w->root, own);
    const char *const other = h->version == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu,cpuacct";

    h->mount = xstrdup(access(name, F_OK) == 0 ? own : other);
    h->top = xstrdup("/");
    free(own);
    free(name);
}

static void check_hierarchy(const struct walk *w, struct hierarchy h)
{
    char *mountinfo = cgroup_slurp(w->root, "/proc/self/mountinfo");

    if (!mountinfo)
        guess_mount(w, &h);
    else if (!find_mount(mountinfo, w->controller, &h))
        h.mount = h.top = NULL;
    free(mountinfo);
    if (h.mount)
        climb(w, &h);
    free(h.mount);
    free(h.top);
}

/* Lines of /proc/self/cgroup: "0::/path" is version 2, "4:cpu,cpuacct:/path" version 1. Both occur
 * at once on hybrid machines; a limit is where somebody wrote one. */
void cgroup_walk(const char *root, const char *controller,
                 void (*visit)(void *context, const struct cgroup_dir *dir), void *context)
{
    const struct walk w = {root, controller, visit, context};
    char *text = cgroup_slurp(root, "/proc/self/cgroup"), *save = NULL;

    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

        if (!group || group[1] != '/')
            continue;
        *group++ = '\0';
        if (!list[1])
            check_hierarchy(&w, (struct hierarchy){.version = 2, .group = group});
        else if (has_word(list + 1, controller))
            check_hierarchy(&w, (struct hierarchy){.version = 1, .group = group});
    }
    free(text);
}
