/* Where a group can be made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/str.h"
#include "meter/ceiling.h"

static const struct kind {
    const char *v1, *v2; /* the controller's names */
    const char *words;
} kinds[CEILING_KINDS] = {
    [CEILING_MEMORY] = {"memory", "memory", "a memory ceiling"},
    [CEILING_DISK] = {"blkio", "io", "a disk limit"},
};

/* The own group of a hierarchy and the one above it; NULL: none that can be seen. */
struct own {
    const char *root;
    char *at[3], *above[3]; /* by version */
};

static void note_group(void *context, const struct cgroup_dir *dir)
{
    struct own *const o = context;

    if (!o->at[dir->version])
        o->at[dir->version] = xstrdup(dir->path);
    else if (!o->above[dir->version])
        o->above[dir->version] = xstrdup(dir->path);
}

static void own_release(struct own *o)
{
    for (int v = 1; v <= 2; v++) {
        free(o->at[v]);
        free(o->above[v]);
    }
}

static int may_write(const char *root, const char *dir, const char *file)
{
    char *const path = xasprintf("%s%s/%s", root, dir, file);
    const int yes = access(path, W_OK) == 0;

    free(path);
    return yes;
}

static char *read_file(const char *root, const char *dir, const char *file)
{
    return cgroup_read(&(struct cgroup_dir){root, dir, 2}, file);
}

static int is_word_of(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list; p && (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && strchr(" \n", p[n]))
            return 1;
    return 0;
}

/* Whether a list of the group names the controller: cgroup.controllers, cgroup.subtree_control. */
static int lists(const char *root, const char *dir, const char *file, const char *controller)
{
    char *const list = read_file(root, dir, file);
    const int yes = is_word_of(list, controller);

    free(list);
    return yes;
}

static int wants(const struct ceiling_wish *w, int kind)
{
    return kind == CEILING_MEMORY ? w->memory : w->disk;
}

static int is_ours(const struct ceiling_wish *w, long pid)
{
    return pid > 0 && /* 0: of another name space */
           (pid == w->run || pid == w->others[0] || pid == w->others[1]);
}

/* Every process in the group belongs to the run. */
static int holds_only_us(const struct ceiling_wish *w, const char *dir)
{
    char *const list = read_file(w->root, dir, "cgroup.procs");
    int ours = list != NULL;

    for (char *p = list, *end; p && *p && ours; p = end) {
        const long pid = strtol(p, &end, 10);
        ours = end > p ? is_ours(w, pid) : 1;
        end += end > p ? strspn(end, "\n") : strlen(end);
    }
    free(list);
    return ours;
}

/* What the run would leave behind by moving out of the group: "" when there is nothing. */
static const char *limits_of(const char *root, const char *dir)
{
    static const char *const files[] = {"memory.max",  "memory.high", "memory.swap.max", "cpu.max",
                                        "cpuset.cpus", "io.max",      "pids.max"};

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        char *const text = read_file(root, dir, files[i]);
        const int set = text && text[strspn(text, " \n")] && strncmp(text, "max", 3) != 0;
        free(text);
        if (set)
            return files[i];
    }
    return "";
}

static const struct ceiling_group *add_group(struct ceiling *c, const char *dir, const char *back,
                                             const char *name)
{
    struct ceiling_group *const g = &c->groups[c->n_groups++];

    *g = (struct ceiling_group){.path = xasprintf("%s/%s", strcmp(dir, "/") ? dir : "", name),
                                .back = xstrdup(back)};
    return g;
}

/* ---- version 2 ---- */

/* The controllers wanted that the tree of version 2 has. */
struct wanted2 {
    const char *name[CEILING_KINDS];
    int kind[CEILING_KINDS];
    size_t n;
};

static int all_listed(const char *root, const char *dir, const char *file, const struct wanted2 *q)
{
    for (size_t i = 0; i < q->n; i++)
        if (!lists(root, dir, file, q->name[i]))
            return 0;
    return 1;
}

/* The top of the whole tree may hold processes beside groups with controllers; only it has no
 * cgroup.type. */
static int is_top(const char *root, const char *dir)
{
    char *const text = read_file(root, dir, "cgroup.type");
    const int top = text == NULL;

    free(text);
    return top;
}

static void take_below(struct ceiling *c, const struct ceiling_wish *w, const struct own *o,
                       const struct wanted2 *q, const char *name)
{
    const char *const dir = o->at[2];
    const struct ceiling_group *const g = add_group(c, dir, dir, name);
    struct str off = STR_INIT;

    for (size_t i = 0; i < q->n; i++) {
        c->of[q->kind[i]] = g;
        if (!lists(w->root, dir, "cgroup.subtree_control", q->name[i]))
            str_printf(&off, "%s%s", off.len ? " " : "", q->name[i]);
    }
    if (c->of[CEILING_DISK] && !w->memory && /* or what the kernel writes later is not counted */
        lists(w->root, dir, "cgroup.controllers", "memory") &&
        !lists(w->root, dir, "cgroup.subtree_control", "memory"))
        str_printf(&off, "%smemory", off.len ? " " : "");
    c->groups[c->n_groups - 1].off = str_detach(&off);
    if (!is_top(w->root, dir)) {
        char *const rest = xasprintf("%s-rest", name);
        c->rest = add_group(c, dir, dir, rest);
        free(rest);
    }
}

static int below(struct ceiling *c, const struct ceiling_wish *w, const struct own *o,
                 const struct wanted2 *q, const char *name, struct str *tried)
{
    const char *const dir = o->at[2];

    if (!may_write(w->root, dir, "") || !may_write(w->root, dir, "cgroup.procs") ||
        !may_write(w->root, dir, "cgroup.subtree_control"))
        str_printf(tried, "; %s (version 2) may not be written", dir);
    else if (!is_top(w->root, dir) && !holds_only_us(w, dir))
        str_printf(tried, "; %s (version 2) holds other processes, too", dir);
    else {
        take_below(c, w, o, q, name);
        return 1;
    }
    return 0;
}

static int beside(struct ceiling *c, const struct ceiling_wish *w, const struct own *o,
                  const struct wanted2 *q, const char *name, struct str *tried)
{
    const char *const dir = o->above[2];

    if (!dir)
        return 0;
    if (!may_write(w->root, dir, "") || !may_write(w->root, dir, "cgroup.procs"))
        str_printf(tried, "; %s above it may not be written", dir);
    else if (!all_listed(w->root, dir, "cgroup.subtree_control", q))
        str_printf(tried, "; %s above it gives its groups no controller %s", dir, q->name[0]);
    else if (limits_of(w->root, o->at[2])[0])
        str_printf(tried, "; beside it the run would escape its %s", limits_of(w->root, o->at[2]));
    else {
        const struct ceiling_group *const g = add_group(c, dir, o->at[2], name);
        for (size_t i = 0; i < q->n; i++)
            c->of[q->kind[i]] = g;
        return 1;
    }
    return 0;
}

static void try_v2(struct ceiling *c, const struct ceiling_wish *w, const struct own *o,
                   const char *name, struct str *tried)
{
    struct wanted2 q = {.n = 0};

    for (int k = 0; o->at[2] && k < CEILING_KINDS; k++)
        if (wants(w, k) && lists(w->root, o->at[2], "cgroup.controllers", kinds[k].v2)) {
            q.kind[q.n] = k;
            q.name[q.n++] = kinds[k].v2;
        }
    if (q.n == 0)
        return;
    if (!below(c, w, o, &q, name, tried) && !beside(c, w, o, &q, name, tried))
        return;
    for (size_t i = 0; i < q.n; i++)
        c->version[q.kind[i]] = 2;
}

/* ---- version 1 ---- */

static void try_v1(struct ceiling *c, const struct ceiling_wish *w, int kind, const char *name,
                   struct str *tried)
{
    struct own o = {.root = w->root};

    cgroup_walk(w->root, kinds[kind].v1, note_group, &o);
    if (!o.at[1] && !o.at[2])
        str_add(tried, "; no control groups are mounted");
    else if (!o.at[1])
        str_printf(tried, "; no group has the controller %s", kinds[kind].v2);
    else if (!may_write(w->root, o.at[1], "") || !may_write(w->root, o.at[1], "cgroup.procs"))
        str_printf(tried, "; %s (version 1) may not be written", o.at[1]);
    else {
        c->of[kind] = add_group(c, o.at[1], o.at[1], name);
        c->version[kind] = 1;
    }
    own_release(&o);
}

static int nowhere(const struct ceiling *c, int kind, const struct str *tried)
{
    (void)c;
    return err(E_UNSUPPORTED,
               "no control group can be had for %s: %s; as root, or on systemd under `systemd-run "
               "--user --scope -p Delegate=yes stave run ...`, it can",
               kinds[kind].words, tried->len > 2 ? tried->s + 2 : "none is there");
}

static void say_how(struct ceiling *c)
{
    const int m = c->version[CEILING_MEMORY], d = c->version[CEILING_DISK];

    if (m && d && m != d)
        snprintf(c->how, sizeof(c->how), "cgroup v%d, disk v%d", m, d);
    else
        snprintf(c->how, sizeof(c->how), "cgroup v%d", m ? m : d);
}

int ceiling_find(struct ceiling *c, const struct ceiling_wish *w)
{
    char name[64];
    struct str tried = STR_INIT;
    struct own o = {.root = w->root};
    int rc = 0;

    *c = (struct ceiling){.root = w->root};
    snprintf(name, sizeof(name), "stave-%d", (int)w->run);
    cgroup_walk(w->root, "memory", note_group, &o);
    try_v2(c, w, &o, name, &tried);
    for (int k = 0; k < CEILING_KINDS && rc == 0; k++) {
        if (!wants(w, k) || c->of[k])
            continue;
        try_v1(c, w, k, name, &tried);
        rc = c->of[k] ? 0 : nowhere(c, k, &tried);
    }
    say_how(c);
    own_release(&o);
    str_release(&tried);
    return rc;
}

void ceiling_release(struct ceiling *c)
{
    for (size_t i = 0; i < c->n_groups; i++) {
        free(c->groups[i].path);
        free(c->groups[i].back);
        free(c->groups[i].off);
    }
    *c = (struct ceiling){.root = c->root};
}
