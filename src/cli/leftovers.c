#include "cli/leftovers.h"

#include <errno.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"

static const char file_name[] = "leftovers.json";
enum { MAX_BYTES = 1 << 16 };

/* ---- processes ---- */

/* proc(5): the name, which may hold anything, ends with the last bracket; the state follows it and
 * the start time is the 20th field from there. */
static int read_stat(pid_t pid, char *state, unsigned long long *start)
{
    char name[64];
    char *text;
    const char *p;
    int ok;

    snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
    text = pid > 0 ? cgroup_slurp("", name) : NULL;
    p = text ? strrchr(text, ')') : NULL;
    ok = p && sscanf(p + 1,
                     " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                     "%llu",
                     state, start) == 2;
    free(text);
    return ok;
}

struct process process_of(pid_t pid)
{
    struct process p = {.pid = pid};
    char state;

    return read_stat(pid, &state, &p.start) ? p : (struct process){0};
}

int process_lives(struct process p)
{
    unsigned long long start;
    char state;

    return p.pid > 0 && read_stat(p.pid, &state, &start) && start == p.start && state != 'Z' &&
           state != 'X';
}

static void read_boot(char *text, size_t n)
{
    char *const id = cgroup_slurp("", "/proc/sys/kernel/random/boot_id");

    snprintf(text, n, "%.*s", id ? (int)strcspn(id, "\n") : 0, id ? id : "");
    free(id);
}

/* ---- the file ---- */

void leftovers_release(struct leftovers *l)
{
    for (size_t i = 0; i < l->n_groups; i++) {
        free(l->groups[i].path);
        free(l->groups[i].back);
        free(l->groups[i].off);
    }
    free(l->ingest_folder);
    *l = (struct leftovers){0};
}

static void add_process(struct str *out, const char *name, struct process p)
{
    if (p.pid > 0)
        str_printf(out, ",\n  \"%s\": {\"pid\": %d, \"start_ticks\": \"%llu\"}", name, (int)p.pid,
                   p.start);
}

static void add_group(struct str *out, const struct ceiling_group *g)
{
    str_add(out, "{");
    json_add_text(out, "path", g->path);
    json_add_text(out, "back", g->back);
    json_add_text(out, "off", g->off);
    str_add(out, "}");
}

void leftovers_add_json(const struct leftovers *l, struct str *out)
{
    str_add(out, "{\n  \"boot\": ");
    str_add_json(out, l->boot);
    add_process(out, "supervisor", l->supervisor);
    add_process(out, "run", l->run);
    add_process(out, "fio", l->fio);
    str_add(out, ",\n  \"groups\": [");
    for (size_t i = 0; i < l->n_groups; i++) {
        str_add(out, i ? ", " : "");
        add_group(out, &l->groups[i]);
    }
    str_add(out, "]");
    if (l->ingest_folder) {
        str_add(out, ",\n  \"ingest_folder\": ");
        str_add_json(out, l->ingest_folder);
    }
    str_add(out, "\n}\n");
}

int leftovers_write(const char *dir, const struct leftovers *l)
{
    struct leftovers now = *l;
    struct str out = STR_INIT;
    char *const path = file_join(dir, file_name);
    int rc;

    read_boot(now.boot, sizeof(now.boot));
    leftovers_add_json(&now, &out);
    rc = file_replace(path, out.s, out.len);
    str_release(&out);
    free(path);
    return rc;
}

/* ---- reading it back, as bytes from outside ---- */

static const char *text_of(const cJSON *o, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
}

static int read_process(const cJSON *doc, const char *name, struct process *out)
{
    const cJSON *const o = cJSON_GetObjectItemCaseSensitive(doc, name);
    const cJSON *const pid = cJSON_GetObjectItemCaseSensitive(o, "pid");
    const char *const start = text_of(o, "start_ticks");
    char *end;

    if (!o)
        return 0;
    if (!cJSON_IsNumber(pid) || !(pid->valuedouble >= 2 && pid->valuedouble <= 0x1p22) || !start ||
        start[0] < '0' || start[0] > '9')
        return err(E_DATA, "its %s is no process", name);
    errno = 0;
    out->start = strtoull(start, &end, 10);
    if (*end || errno)
        return err(E_DATA, "its %s is no process", name);
    out->pid = (pid_t)pid->valuedouble;
    return 0;
}

/* An absolute path without steps up. */
static int is_plain_path(const char *p)
{
    return p && p[0] == '/' && !strstr(p, "/../") &&
           !(strlen(p) >= 3 && strcmp(p + strlen(p) - 3, "/..") == 0);
}

/* stave-N and stave-N-rest. */
static int is_named(const char *path, const char *start, const char *end)
{
    const char *const name = strrchr(path, '/') + 1;
    const size_t n = strlen(start),
                 digits = strncmp(name, start, n) ? 0 : strspn(name + n, "0123456789");

    return digits > 0 && (!name[n + digits] || strcmp(name + n + digits, end) == 0);
}

/* stave-ingest-N-XXXXXXXX; also without what is drawn. */
static int is_ingest_folder(const char *path)
{
    const char *const drawn = strrchr(path, '-');

    return is_named(path, "stave-ingest-", "") ||
           (drawn && strlen(drawn) == 9 && strspn(drawn + 1, "0123456789abcdef") == 8 &&
            is_named(path, "stave-ingest-", drawn));
}

/* Where a run comes from that is in the group: the group above it, or one beside it. */
static int is_near(const char *back, const char *path)
{
    const size_t n = (size_t)(strrchr(path, '/') - path);

    if (strncmp(back, path, n) != 0)
        return 0;
    return !back[n] || (back[n] == '/' && !strchr(back + n + 1, '/'));
}

static int read_group(const cJSON *o, struct leftovers *l)
{
    const char *const path = text_of(o, "path"), *const back = text_of(o, "back");
    const char *const off = text_of(o, "off");

    if (l->n_groups == CEILING_MAX_GROUPS || !is_plain_path(path) || !is_plain_path(back) ||
        !is_named(path, "stave-", "-rest") || !is_near(back, path) ||
        (off && off[strspn(off, "abcdefghijklmnopqrstuvwxyz ")]))
        return err(E_DATA, "one of its groups is none that a run makes");
    l->groups[l->n_groups++] =
        (struct ceiling_group){xstrdup(path), xstrdup(back), off ? xstrdup(off) : NULL};
    return 0;
}

static int read_all(const cJSON *doc, struct leftovers *l)
{
    const char *const boot = text_of(doc, "boot"), *const folder = text_of(doc, "ingest_folder");
    const cJSON *g;

    if (!boot || strlen(boot) >= sizeof(l->boot))
        return err(E_DATA, "it names no boot of the machine");
    snprintf(l->boot, sizeof(l->boot), "%s", boot);
    TRY(read_process(doc, "supervisor", &l->supervisor));
    TRY(read_process(doc, "run", &l->run));
    TRY(read_process(doc, "fio", &l->fio));
    cJSON_ArrayForEach(g, cJSON_GetObjectItemCaseSensitive(doc, "groups")) TRY(read_group(g, l));
    if (folder && (!is_plain_path(folder) || !is_ingest_folder(folder)))
        return err(E_DATA, "its folder of ingest is none that a run makes");
    l->ingest_folder = folder ? xstrdup(folder) : NULL;
    return 0;
}

int leftovers_parse(const char *text, size_t n, struct leftovers *out)
{
    cJSON *const doc = json_parse(text, n, NULL);
    int rc;

    *out = (struct leftovers){0};
    rc = cJSON_IsObject(doc) ? read_all(doc, out) : err(E_DATA, "it is no JSON object");
    if (rc < 0)
        leftovers_release(out);
    cJSON_Delete(doc);
    return rc;
}

int leftovers_read(const char *dir, struct leftovers *out)
{
    char *const path = file_join(dir, file_name);
    char *text = NULL;
    size_t n;
    int rc = 0;

    *out = (struct leftovers){0};
    if (file_exists(path)) {
        rc = file_read(path, MAX_BYTES, &text, &n);
        if (rc == 0 && leftovers_parse(text, n, out) < 0)
            rc = err_prefix(E_DATA, "%s: ", path);
        rc = rc < 0 ? rc : 1;
    }
    free(text);
    free(path);
    return rc;
}

/* ---- mending ---- */

enum { ATTEMPTS = 100 };
static const int64_t pause_ns = 50000000;

static int is_control_group(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) == 0 &&
           (fs.f_type == CGROUP_SUPER_MAGIC || fs.f_type == CGROUP2_SUPER_MAGIC);
}

static int is_fio(struct process p)
{
    char *const path = xasprintf("/proc/%d/comm", (int)p.pid);
    char *const name = cgroup_slurp("", path);
    const int yes = name && strcmp(name, "fio\n") == 0;

    free(path);
    free(name);
    return yes;
}

/* fio ends cleanly at SIGINT; it then still sums up. */
static int end_fio(struct process p, struct mended *out)
{
    if (!is_fio(p))
        return 0;
    for (int i = 0; i < ATTEMPTS && process_lives(p); i++) {
        if (i == 0)
            kill(p.pid, SIGINT);
        if (i == ATTEMPTS / 2)
            kill(p.pid, SIGKILL);
        clock_sleep_ns(pause_ns);
        out->processes += !process_lives(p);
    }
    return process_lives(p) ? err(E_IO, "process %d of fio does not end", (int)p.pid) : 0;
}

static int remove_folder(const char *path, struct mended *out)
{
    if (!path || !file_is_folder(path))
        return 0;
    file_remove_tree(path);
    if (file_is_folder(path))
        return err(E_IO, "%s can not be removed", path);
    out->folders++;
    return 0;
}

static int remove_groups(const struct leftovers *l, struct mended *out)
{
    struct ceiling_group there[CEILING_MAX_GROUPS];
    size_t n = 0;

    for (size_t i = 0; i < l->n_groups; i++) {
        const struct ceiling_group *const g = &l->groups[i];
        if (!file_exists(g->path))
            continue;
        if (!is_control_group(g->path) || !is_control_group(g->back))
            return err(E_DATA, "%s is no control group",
                       is_control_group(g->path) ? g->back : g->path);
        there[n++] = *g;
    }
    out->groups += (int)n;
    return ceiling_remove("", there, n);
}

static int check_at_work(const char *dir, const struct leftovers *l, pid_t by)
{
    if (process_lives(l->supervisor) && l->supervisor.pid != by)
        return err(E_USAGE, "%s: its supervisor, process %d, is at work and mends it by itself",
                   dir, (int)l->supervisor.pid);
    if (process_lives(l->run) && l->run.pid != by)
        return err(E_USAGE, "%s: the run, process %d, is at work and mends it at its end", dir,
                   (int)l->run.pid);
    return 0;
}

/* After the machine was started again its processes and groups are gone. */
static int mend_all(const char *dir, const struct leftovers *l, pid_t by, struct mended *out)
{
    char boot[64];
    char *path;
    int rc;

    read_boot(boot, sizeof(boot));
    if (strcmp(boot, l->boot) == 0) {
        TRY(check_at_work(dir, l, by));
        TRY(end_fio(l->fio, out));
        TRY(remove_groups(l, out));
    }
    TRY(remove_folder(l->ingest_folder, out));
    path = file_join(dir, file_name);
    rc = unlink(path) < 0 ? err(E_IO, "remove %s: %s", path, strerror(errno)) : 0;
    free(path);
    return rc;
}

int leftovers_mend(const char *dir, pid_t by, struct mended *out)
{
    struct leftovers l;
    int rc = leftovers_read(dir, &l);

    *out = (struct mended){0};
    if (rc > 0)
        rc = mend_all(dir, &l, by, out);
    leftovers_release(&l);
    return rc;
}
