#include "train/rig.h"

#include <math.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/json.h"
#include "base/page_cache.h"
#include "train/stop.h"

/* Clocks and counters at one moment. */
static void mark(struct pipeline *p, struct rig_reading *m)
{
    *m = (struct rig_reading){.wall_ns = clock_ns(),
                              .cpu_ns = clock_process_ns(),
                              .starved_ns = cpus_waited_ns(),
                              .disk_bytes = page_cache_missed_bytes()};
    pipeline_counters(p, &m->counters);
}

static void subtract(struct pipeline_counters *from, const struct pipeline_counters *b)
{
    for (int i = 0; i < N_STAGES; i++) {
        from->stage[i].samples -= b->stage[i].samples;
        from->stage[i].busy_ns -= b->stage[i].busy_ns;
        from->stage[i].cpu_ns -= b->stage[i].cpu_ns;
    }
    for (int i = 0; i < N_TRAITS; i++)
        from->n_trait[i] -= b->n_trait[i];
    from->read_bytes -= b->read_bytes;
    from->batches -= b->batches;
    from->n_replaced -= b->n_replaced;
    from->consumer_wait_ns -= b->consumer_wait_ns;
    from->worker_wait_ns -= b->worker_wait_ns;
}

static int one_batch(const struct rig *rig, struct pipeline *p, enum rig_work what,
                     uint64_t *n_samples)
{
    const struct batch *b;
    int rc = 0;

    if (stop_requested())
        return err(E_STOPPED, "stopped by %s", stop_signal_name());
    TRY(pipeline_next(p, &b));
    ASSERT(b);
    if (what != RIG_DROP)
        rc = rig->work(rig->context, what, b);
    *n_samples += b->n_real;
    pipeline_done(p, b);
    return rc;
}

/* The first batch; with a stage alone, as many as it takes to hold what the stage works on. */
static int warm_up(const struct rig *rig, struct pipeline *p, const struct rig_request *q,
                   struct rig_reading *start)
{
    const int alone = q->loader.alone;
    uint64_t unused = 0;

    do {
        TRY(one_batch(rig, p, q->work, &unused));
        mark(p, start);
    } while (alone && start->counters.stage[alone - 1].samples == 0);
    return 0;
}

static int measure(const struct rig *rig, struct pipeline *p, const struct rig_request *q,
                   struct rig_reading *out)
{
    struct rig_reading start;
    uint64_t samples = 0;
    int64_t end;

    TRY(warm_up(rig, p, q, &start));
    end = start.wall_ns + q->window_ns;
    for (int i = 0; i < q->window_batches || clock_ns() < end; i++)
        TRY(one_batch(rig, p, q->work, &samples));
    mark(p, out);
    out->samples = samples;
    out->wall_ns -= start.wall_ns;
    out->cpu_ns -= start.cpu_ns;
    out->starved_ns -= out->starved_ns < 0 ? 0 : start.starved_ns;
    out->disk_bytes -= out->disk_bytes < 0 ? 0 : start.disk_bytes;
    subtract(&out->counters, &start.counters);
    return 0;
}

int rig_run(const struct rig *rig, const struct rig_request *q, struct rig_reading *out)
{
    struct pipeline *p;
    int rc;

    TRY(rig->open(rig->context, q->loader, &p));
    rc = measure(rig, p, q, out);
    pipeline_close(p);
    return rc;
}

double rig_rate(const struct rig_reading *r)
{
    uint64_t made = 0, n = r->samples;

    for (int i = 0; i < N_STAGES; i++)
        made = r->counters.stage[i].samples > made ? r->counters.stage[i].samples : made;
    if (made > 0 && made < n)
        n = made;
    return r->wall_ns > 0 ? (double)n * 1e9 / (double)r->wall_ns : 0;
}

double rig_starved(const struct rig_reading *r, int threads)
{
    const double wanted = (double)(r->starved_ns + r->cpu_ns), wall = (double)r->wall_ns * threads;

    return r->starved_ns > 0 && wall > 0 ? (double)r->starved_ns / fmax(wanted, wall) : 0;
}

static void add_stages(const struct pipeline_counters *c, struct str *out)
{
    json_add_key(out, "stages");
    str_add(out, "{");
    for (int i = 0; i < N_STAGES; i++) {
        if (c->stage[i].samples == 0)
            continue;
        json_add_key(out, stage_get((enum stage_id)i)->name);
        str_add(out, "{");
        json_add_real(out, "samples", (double)c->stage[i].samples);
        json_add_real(out, "busy_ns", (double)c->stage[i].busy_ns);
        json_add_real(out, "cpu_ns", (double)c->stage[i].cpu_ns);
        str_add(out, "}");
    }
    str_add(out, "}");
}

void rig_add_json(const struct rig_reading *r, struct str *out)
{
    json_add_real(out, "samples", (double)r->samples);
    json_add_real(out, "wall_ns", (double)r->wall_ns);
    json_add_real(out, "cpu_ns", (double)r->cpu_ns);
    json_add_real(out, "starved_ns", r->starved_ns < 0 ? NAN : (double)r->starved_ns);
    json_add_real(out, "read_bytes", (double)r->counters.read_bytes);
    json_add_real(out, "storage_bytes", r->disk_bytes < 0 ? NAN : (double)r->disk_bytes);
    json_add_real(out, "consumer_wait_ns", (double)r->counters.consumer_wait_ns);
    json_add_real(out, "worker_wait_ns", (double)r->counters.worker_wait_ns);
    add_stages(&r->counters, out);
}

void rig_add_read_text(const struct rig_reading *r, struct str *out)
{
    const double bytes = (double)r->counters.read_bytes;

    if (bytes <= 0)
        return;
    str_printf(out, "%.1f MB/s", bytes * 1e3 / (double)r->wall_ns);
    if (r->disk_bytes >= 0) /* readahead may fetch what is not used in the window */
        str_printf(out, ", %.0f %% from storage", fmin(100, 100 * (double)r->disk_bytes / bytes));
}
