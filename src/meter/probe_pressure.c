/* Pressure: the share of time in which some task waited for a processor, for memory or for storage.
 * "some ... total=" of the process's own group (version 2), else of the machine, in microseconds
 * (Documentation/accounting/psi.rst of the kernel). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/err.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { N_KINDS = 3, TEXT_BYTES = 256 };

static const char *const names[N_KINDS] = {"cpu", "memory", "io"};

struct pressure {
    int fd[N_KINDS];
    struct probe_rate rate[N_KINDS];
};

/* Microseconds; NAN when it does not say. */
static double total_us(int fd)
{
    static const char word[] = " total=";
    char text[TEXT_BYTES];
    const char *at = probe_again(fd, text, sizeof(text)), *const end = strchr(at, '\n');

    if (strncmp(at, "some ", 5) != 0)
        return NAN;
    at = strstr(at, word);
    if (!at || (end && at > end))
        return NAN;
    at += strlen(word);
    return *at == ' ' ? NAN : probe_whole(&at);
}

/* Only the first folder of version 2 is the process's own. */
static void take_group(void *context, const struct cgroup_dir *dir)
{
    struct pressure *const p = context;

    for (int i = 0; dir->version == 2 && i < N_KINDS; i++) {
        if (p->fd[i] != -1)
            continue;
        p->fd[i] = probe_open(dir->root, "%s/%s.pressure", dir->path, names[i]);
        if (isnan(total_us(p->fd[i]))) {
            probe_close(p->fd[i]);
            p->fd[i] = -2; /* not asked again further up */
        }
    }
}

static int pressure_open(void **state, const struct meter_place *place,
                         struct meter_columns *columns)
{
    struct pressure *const p = xcalloc(1, sizeof(*p));
    char column[32];

    for (int i = 0; i < N_KINDS; i++)
        p->fd[i] = -1;
    cgroup_walk(place->root, "memory", take_group, p);
    for (int i = 0; i < N_KINDS; i++) {
        if (p->fd[i] < 0)
            p->fd[i] = probe_open(place->root, "/proc/pressure/%s", names[i]);
        if (isnan(total_us(p->fd[i]))) {
            probe_close(p->fd[i]);
            p->fd[i] = -1;
            continue;
        }
        snprintf(column, sizeof(column), "pressure_%s_percent", names[i]);
        meter_column(columns, METER_LEVEL, column);
    }
    *state = p;
    return 0;
}

static void pressure_sample(void *state, double seconds, double *values)
{
    struct pressure *const p = state;

    for (int i = 0; i < N_KINDS; i++)
        if (p->fd[i] >= 0)
            *values++ = 100 * probe_rate(&p->rate[i], total_us(p->fd[i]) / 1e6, seconds);
}

static void pressure_close(void *state)
{
    struct pressure *const p = state;

    for (int i = 0; i < N_KINDS; i++)
        probe_close(p->fd[i]);
    free(p);
}

const struct probe_ops probe_pressure = {"pressure", pressure_open, pressure_sample, pressure_close,
                                         NULL};
