#include "cli/machine.h"

#include <stdio.h>

#include "base/err.h"

void machine_find(const char *root, struct machine *m)
{
    *m = (struct machine){.root = root};
    if (cpus_find(root, &m->cpus) < 0)
        m->cpus = (struct cpus){.throttled = -1};
    memlimit_find(root, &m->memory);
}

void machine_add_json(const struct machine *m, struct str *out)
{
    if (m->cpus.count > 0) {
        str_printf(out, ",\n  \"cpus_usable\": %d,\n  \"cpus_online\": %d,\n  \"cpus_how\": ",
                   m->cpus.count, m->cpus.online);
        str_add_json(out, m->cpus.how);
        str_add(out, ",\n  \"cpus_allowed\": ");
        str_add_json(out, m->cpus.mask);
    }
    if (m->memory.limit > 0) {
        str_printf(out,
                   ",\n  \"memory_limit_bytes\": %llu,\n  \"memory_held_bytes\": %llu,\n  "
                   "\"memory_cache_bytes\": %llu,\n  \"memory_how\": ",
                   (unsigned long long)m->memory.limit, (unsigned long long)m->memory.held,
                   (unsigned long long)m->memory.cache);
        str_add_json(out, m->memory.how);
    }
    if (m->memory.oom_kills >= 0)
        str_printf(out, ",\n  \"memory_oom_kills\": %lld", m->memory.oom_kills);
}

/* -1 when one of the two is not known. */
static long long since(long long before, long long now)
{
    return before < 0 || now < before ? -1 : now - before;
}

static struct machine_changes changes_of(const struct machine *m)
{
    struct machine now;

    if (m->at_end.taken)
        return m->at_end;
    machine_find(m->root, &now);
    return (struct machine_changes){1, since(m->cpus.throttled, now.cpus.throttled),
                                    since(m->memory.oom_kills, now.memory.oom_kills)};
}

void machine_take_changes(struct machine *m)
{
    m->at_end = changes_of(m);
}

void machine_add_changes(const struct machine *m, struct str *out)
{
    const struct machine_changes c = changes_of(m);

    if (c.throttled >= 0)
        str_printf(out, ",\n  \"cpu_throttled_periods\": %lld", c.throttled);
    if (c.oom_kills >= 0)
        str_printf(out, ",\n  \"oom_kills\": %lld", c.oom_kills);
}

void machine_warn_changes(const struct machine *m)
{
    const struct machine_changes c = changes_of(m);

    if (c.throttled > 0)
        warning("a processor quota held the run up in %lld periods (nr_throttled; %s)", c.throttled,
                m->cpus.how);
    if (c.oom_kills > 0)
        warning("the kernel killed %lld process%s of this group for want of memory (oom_kill; %s)",
                c.oom_kills, c.oom_kills == 1 ? "" : "es", m->memory.how);
}

static double gib(uint64_t bytes)
{
    return (double)bytes / 0x1p30;
}

void machine_print_memory(const struct machine *m)
{
    if (m->memory.limit == 0)
        printf("memory limit: none known\n");
    else
        printf("memory limit: %.2f GiB (%s), %.2f GiB of it held and %.2f GiB page cache that can "
               "be given back\n",
               gib(m->memory.limit), m->memory.how, gib(m->memory.held), gib(m->memory.cache));
}

void machine_check_threads(const struct machine *m, struct machine_threads t)
{
    const long long asked = t.compute + t.loaders;

    if (m->cpus.count == 0 || asked <= m->cpus.count)
        return;
    warning("%lld threads (%lld that compute, %lld that load) share %d processor%s (allowed: %s; "
            "%s) and will wait for each other; lower --threads or --num-threads, or widen what the "
            "launcher allows",
            asked, t.compute, t.loaders, m->cpus.count, m->cpus.count == 1 ? "" : "s", m->cpus.mask,
            m->cpus.how);
}

int machine_fit(const struct machine *m, const struct train_needs *n, long long *prefetch)
{
    const uint64_t left = memlimit_left(&m->memory);
    const uint64_t fixed = (uint64_t)n->weights + n->activations + n->checkpoint;
    const uint64_t ring = (uint64_t)*prefetch * n->batch;
    const uint64_t fits = left > fixed && n->batch > 0 ? (left - fixed) / n->batch : 0;

    if (fixed + ring <= left)
        return 0;
    if (fits == 0)
        return err(E_NOMEM,
                   "the run needs %.2f GiB (weights %.2f, activations %.2f, a copy for checkpoints "
                   "%.2f, a batch read ahead %.2f) and %.2f of %.2f GiB are left (%s); use a "
                   "smaller --batch-size, a larger --accumulate, or raise the limit",
                   gib(fixed + n->batch), gib(n->weights), gib(n->activations), gib(n->checkpoint),
                   gib(n->batch), gib(left), gib(m->memory.limit), m->memory.how);
    warning("--prefetch is lowered from %lld to %llu: %.2f of %.2f GiB memory are left (%s)",
            *prefetch, (unsigned long long)fits, gib(left), gib(m->memory.limit), m->memory.how);
    *prefetch = (long long)fits;
    return 0;
}
