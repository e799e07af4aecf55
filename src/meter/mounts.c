#include "meter/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cgroup.h"
#include "base/err.h"

enum { FIELDS_BEFORE = 6 }; /* of the optional ones */

void mounts_unescape(char *text)
{
    char *out = text;

    for (const char *p = text; *p; out++) {
        unsigned c = 0;
        const int octal = p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
                          p[2] <= '7' && p[3] >= '0' && p[3] <= '7';

        if (octal)
            c = (unsigned)(p[1] - '0') << 6 | (unsigned)(p[2] - '0') << 3 | (unsigned)(p[3] - '0');
        *out = octal && c ? (char)c : *p;
        p += octal && c ? 4 : 1;
    }
    *out = '\0';
}

/* "36 35 98:0 TOP PATH rw,noatime master:1 - TYPE SOURCE rw,errors=continue": fields are parted by
 * one blank each, any number of optional ones ends with "-". A source may be empty. */
static int parse(char *line, struct mount *m)
{
    char *field[FIELDS_BEFORE], *type, *source, *options, *word = NULL;

    for (int i = 0; i < FIELDS_BEFORE; i++)
        field[i] = strsep(&line, " ");
    while (line && strcmp(word = strsep(&line, " "), "-") != 0)
        ;
    if (!line || strcmp(word, "-") != 0)
        return 0;
    type = strsep(&line, " ");
    source = strsep(&line, " ");
    options = strsep(&line, " ");
    if (!source || sscanf(field[2], "%u:%u", &m->major, &m->minor) != 2 || field[4][0] != '/')
        return 0;
    mounts_unescape(field[3]);
    mounts_unescape(field[4]);
    mounts_unescape(type);
    mounts_unescape(source);
    m->top = field[3];
    m->path = field[4];
    m->type = type;
    m->source = source;
    m->options = options ? options : "";
    return 1;
}

void mounts_read(const char *root, struct mounts *m)
{
    char *at;
    size_t lines = 1;

    *m = (struct mounts){.text = cgroup_slurp(root, "/proc/self/mountinfo")};
    for (const char *p = m->text; p && (p = strchr(p, '\n')); p++)
        lines++;
    m->all = xcalloc(lines, sizeof(*m->all));
    at = m->text;
    for (char *line; (line = strsep(&at, "\n"));)
        m->n += (size_t)parse(line, &m->all[m->n]);
}

void mounts_release(struct mounts *m)
{
    free(m->text);
    free(m->all);
    *m = (struct mounts){0};
}

/* The length of a mount's path when it shows the path, else -1. */
static long shows(const struct mount *m, const char *path)
{
    const size_t n = strlen(m->path);

    if (strcmp(m->path, "/") == 0)
        return 0;
    return strncmp(path, m->path, n) == 0 && (path[n] == '/' || !path[n]) ? (long)n : -1;
}

const struct mount *mounts_of(const struct mounts *m, const char *path, dev_t dev)
{
    const struct mount *best = NULL;
    long best_length = -1;
    int best_same = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct mount *const t = &m->all[i];
        const long length = shows(t, path);
        const int same = dev != 0 && makedev(t->major, t->minor) == dev;

        if (length < 0 || same < best_same || (same == best_same && length < best_length))
            continue;
        best = t;
        best_length = length;
        best_same = same;
    }
    return best;
}
