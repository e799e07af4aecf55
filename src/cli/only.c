#include "cli/only.h"

#include <limits.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/session_rig.h"
#include "train/stop.h"

static const char *name_of(struct only_part o)
{
    return o.alone ? stage_get((enum stage_id)(o.alone - 1))->name : "data";
}

static void print_stages(const struct pipeline_counters *c, const char *unit)
{
    int64_t all = 0;

    for (int i = 0; i < N_STAGES; i++)
        all += c->stage[i].busy_ns;
    printf("%-8s %12s %12s %8s\n", "stage", "us a sample", "on a cpu", "share");
    for (int i = 0; i < N_STAGES; i++) {
        const double n = (double)c->stage[i].samples * 1e3;

        if (n > 0)
            printf("%-8s %12.1f %12.1f %6.1f %%\n", stage_get((enum stage_id)i)->name,
                   (double)c->stage[i].busy_ns / n, (double)c->stage[i].cpu_ns / n,
                   100 * (double)c->stage[i].busy_ns / (double)all);
    }
    if (c->n_replaced)
        printf("%llu %s could not be used and were replaced\n", (unsigned long long)c->n_replaced,
               unit);
}

static void print_text(const struct session_rig *r, struct only_part o, const struct rig_reading *m)
{
    const struct rig_loader how = session_rig_loader(r);
    const double wall = (double)m->wall_ns / 1e9, cpu = (double)m->cpu_ns / 1e9;
    struct str read = STR_INIT;

    printf("%s, %s%s: %.1f %s/s; %llu %s in %.2f s, %d thread%s, prefetch %d\n", r->task.name,
           name_of(o), o.alone ? " alone" : ", into nothing", rig_rate(m), r->task.unit,
           (unsigned long long)m->samples, r->task.unit, wall, how.threads,
           how.threads == 1 ? "" : "s", how.prefetch);
    printf("processors: %.2f in use, %.1f %s/s each\n", cpu / wall, rig_rate(m) * wall / cpu,
           r->task.unit);
    rig_add_read_text(m, &read);
    if (read.len)
        printf("read: %s\n", read.s);
    str_release(&read);
    print_stages(&m->counters, r->task.unit);
}

static void print_json(const struct session_rig *r, struct only_part o, const struct rig_reading *m)
{
    const struct rig_loader how = session_rig_loader(r);
    struct str out = STR_INIT;

    str_add(&out, "{");
    json_add_text(&out, "workload", r->task.name);
    json_add_text(&out, "only", name_of(o));
    json_add_real(&out, "threads", how.threads);
    json_add_real(&out, "prefetch", how.prefetch);
    json_add_real(&out, "samples_per_s", rig_rate(m));
    rig_add_json(m, &out);
    str_add(&out, "}\n");
    fputs(out.s, stdout);
    str_release(&out);
}

/* --steps of them, or an epoch; the first fills the ring and is not counted. */
static int window_batches(const struct session_rig *r)
{
    const struct train_settings *const t = &r->setup->settings.train;
    const long long epoch = (long long)(r->task.n_train / (uint64_t)t->batch_size);
    const long long n = (t->steps > 0 ? t->steps : epoch) - 1;

    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

static int measure(struct session_rig *r, struct only_part o)
{
    struct rig_request q = {.loader = session_rig_loader(r), .window_batches = window_batches(r)};
    struct rig_reading m;

    machine_check_threads(&r->setup->machine,
                          (struct machine_threads){.loaders = q.loader.threads});
    q.loader.alone = o.alone;
    stop_install();
    TRY(rig_run(&r->rig, &q, &m));
    if (o.json)
        print_json(r, o, &m);
    else
        print_text(r, o, &m);
    return EXIT_REACHED;
}

int run_only(struct setup *s, struct only_part o)
{
    struct session_rig r;
    int rc;

    if (s->settings.data.synthetic)
        return err(E_USAGE,
                   "--only %s measures the reading of data, and --synthetic reads none; "
                   "leave one of them out",
                   name_of(o));
    TRY(session_rig_open(&r, s));
    rc = measure(&r, o);
    session_rig_close(&r);
    return rc;
}
