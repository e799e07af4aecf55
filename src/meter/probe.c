#include "meter/probe.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_PATH_BYTES = 512, MAX_NUMBER = 1 << 30 };

static char *slurp(const char *root, const char *fmt, va_list args)
{
    char path[MAX_PATH_BYTES];
    const int n = vsnprintf(path, sizeof(path), fmt, args);

    return n > 0 && n < MAX_PATH_BYTES ? cgroup_slurp(root, path) : NULL;
}

/* Ends the text at the end of its first line, blanks for control characters, and gives what is
 * between the blanks around. */
static char *first_line(char *text)
{
    char *end = text + strcspn(text, "\n");

    *end = '\0';
    for (char *p = text; p < end; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = ' ';
    while (end > text && end[-1] == ' ')
        *--end = '\0';
    return text + strspn(text, " ");
}

const char *probe_text(struct arena *a, const char *root, const char *fmt, ...)
{
    const char *line, *kept = NULL;
    va_list args;
    char *text;

    va_start(args, fmt);
    text = slurp(root, fmt, args);
    va_end(args);
    if (!text)
        return NULL;
    line = first_line(text);
    if (*line)
        kept = arena_strdup(a, line);
    free(text);
    return kept;
}

long long probe_number(long long dflt, const char *root, const char *fmt, ...)
{
    va_list args;
    char *text, *end;
    long long v;

    va_start(args, fmt);
    text = slurp(root, fmt, args);
    va_end(args);
    if (!text)
        return dflt;
    v = strtoll(text, &end, 10);
    if (end == text)
        v = dflt;
    free(text);
    return v;
}

long long probe_size(const char *text)
{
    char *end;
    const long long n = text ? strtoll(text, &end, 10) : 0;

    if (n <= 0 || n > MAX_NUMBER)
        return 0;
    switch (*end) {
    case 'K':
        return n << 10;
    case 'M':
        return n << 20;
    case 'G':
        return n << 30;
    default:
        return n;
    }
}

void probe_folder(const char *root, const char *path,
                  void (*visit)(void *context, const char *name), void *context)
{
    char *const full = xasprintf("%s%s", root, path);
    struct file_names names;

    file_list(full, &names);
    for (size_t i = 0; i < names.n; i++)
        if (names.all[i][0] != '.')
            visit(context, names.all[i]);
    file_names_release(&names);
    free(full);
}

int probe_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

int probe_open(const char *root, const char *fmt, ...)
{
    struct str path = STR_INIT;
    va_list args;
    int fd;

    str_add(&path, root);
    va_start(args, fmt);
    str_vprintf(&path, fmt, args);
    va_end(args);
    fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    str_release(&path);
    return fd;
}

void probe_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

const char *probe_again(int fd, char *text, size_t n)
{
    size_t have = 0;
    ssize_t got;

    while (fd >= 0 && have < n - 1 && (got = pread(fd, text + have, n - 1 - have, (off_t)have)) > 0)
        have += (size_t)got;
    text[have] = '\0';
    return text;
}

double probe_whole(const char **at)
{
    const char *p = *at + strspn(*at, " \t");
    double v = 0;

    if (*p < '0' || *p > '9')
        return NAN;
    for (; *p >= '0' && *p <= '9'; p++)
        v = 10 * v + (*p - '0');
    *at = p;
    return v <= 0x1p64 ? v : NAN;
}

double probe_field(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t')) {
            const char *at = line + n;
            return probe_whole(&at);
        }
    }
    return NAN;
}

double probe_rate(struct probe_rate *r, double total, double seconds)
{
    double rate;

    r->seconds += seconds;
    if (isnan(total) || (r->known && r->seconds < PROBE_SHORTEST_S))
        return NAN;
    rate = r->known && total >= r->last ? (total - r->last) / r->seconds : NAN;
    *r = (struct probe_rate){.last = total, .known = 1};
    return rate;
}
