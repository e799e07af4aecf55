/* Processors: the machine's by /proc/stat, this process's by its clock, and how long a quota held
 * its groups up (cpu.stat). 100 is one processor. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/err.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { MAX_GROUPS = 8, N_TICKS = 8, STAT_BYTES = 256, GROUP_BYTES = 1024 };

/* In the order of the first line of /proc/stat (proc_stat(5)); guests are part of user and nice. */
enum tick { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };

/* A group with a cpu.stat; the number stands in microseconds or, in version 1, nanoseconds. */
struct group {
    int fd;
    const char *word;
    double per_second;
};

struct cpu {
    int stat;
    double ticks_per_s;
    struct group groups[MAX_GROUPS];
    size_t n_groups;
    struct probe_rate process, user, system, iowait, steal, throttled;
};

static void add_group(void *context, const struct cgroup_dir *dir)
{
    struct cpu *const p = context;
    struct group g = dir->version == 2 ? (struct group){-1, "throttled_usec", 1e6}
                                       : (struct group){-1, "throttled_time", 1e9};
    char text[GROUP_BYTES];

    if (p->n_groups == MAX_GROUPS)
        return;
    g.fd = probe_open(dir->root, "%s/cpu.stat", dir->path);
    if (isnan(probe_field(probe_again(g.fd, text, sizeof(text)), g.word)))
        probe_close(g.fd);
    else
        p->groups[p->n_groups++] = g;
}

static int cpu_open(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct cpu *const p = xcalloc(1, sizeof(*p));

    p->stat = probe_open(place->root, "/proc/stat");
    p->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    cgroup_walk(place->root, "cpu", add_group, p);
    meter_column(columns, METER_LEVEL, "cpu_process_percent");
    if (p->stat >= 0) {
        meter_column(columns, METER_LEVEL, "cpu_machine_percent");
        meter_column(columns, METER_LEVEL, "cpu_user_percent");
        meter_column(columns, METER_LEVEL, "cpu_system_percent");
        meter_column(columns, METER_LEVEL, "cpu_iowait_percent");
        meter_column(columns, METER_LEVEL, "cpu_steal_percent");
    }
    if (p->n_groups > 0)
        meter_column(columns, METER_LEVEL, "cpu_throttled_percent");
    *state = p;
    return 0;
}

/* "cpu  user nice ..." in ticks; what an old kernel has not is 0. Without the line all are NAN. */
static void read_ticks(const struct cpu *p, double ticks[N_TICKS])
{
    char text[STAT_BYTES];
    const char *at = probe_again(p->stat, text, sizeof(text));
    const int there = at[0] == 'c' && at[1] == 'p' && at[2] == 'u' && at[3] == ' ';

    at += there ? 3 : 0;
    for (int i = 0; i < N_TICKS; i++) {
        ticks[i] = there ? probe_whole(&at) : NAN;
        if (there && i > IDLE && isnan(ticks[i]))
            ticks[i] = 0;
    }
}

static double percent(struct probe_rate *r, const struct cpu *p, double ticks, double seconds)
{
    return 100 * probe_rate(r, ticks / p->ticks_per_s, seconds);
}

static double *sample_machine(struct cpu *p, double seconds, double *v)
{
    double t[N_TICKS];

    read_ticks(p, t);
    v[1] = percent(&p->user, p, t[USER] + t[NICE], seconds);
    v[2] = percent(&p->system, p, t[SYSTEM] + t[IRQ] + t[SOFTIRQ], seconds);
    v[0] = v[1] + v[2];
    v[3] = percent(&p->iowait, p, t[IOWAIT], seconds);
    v[4] = percent(&p->steal, p, t[STEAL], seconds);
    return v + 5;
}

/* A quota may stand in any of the groups up to the top, and each counts its own. */
static double throttled_s(const struct cpu *p)
{
    char text[GROUP_BYTES];
    double sum = 0;

    for (size_t i = 0; i < p->n_groups; i++)
        sum += probe_field(probe_again(p->groups[i].fd, text, sizeof(text)), p->groups[i].word) /
               p->groups[i].per_second;
    return sum;
}

static void cpu_sample(void *state, double seconds, double *values)
{
    struct cpu *const p = state;

    *values++ = 100 * probe_rate(&p->process, (double)clock_process_ns() / 1e9, seconds);
    if (p->stat >= 0)
        values = sample_machine(p, seconds, values);
    if (p->n_groups > 0)
        *values = 100 * probe_rate(&p->throttled, throttled_s(p), seconds);
}

static void cpu_close(void *state)
{
    struct cpu *const p = state;

    probe_close(p->stat);
    for (size_t i = 0; i < p->n_groups; i++)
        probe_close(p->groups[i].fd);
    free(p);
}

const struct probe_ops probe_cpu = {"cpu", cpu_open, cpu_sample, cpu_close, NULL};
