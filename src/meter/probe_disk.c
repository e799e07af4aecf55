/* The disks under the data set, and those that the run and an ingest write to when
 * they are others. What a disk
 * does is counted for everybody who uses it, not for this process alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "meter/disk_counter.h"
#include "meter/meter.h"
#include "meter/probe.h"

enum { MAX_FILES = 64, SECTOR = 512 };

/* Disks, each once. */
struct disks {
    struct disk_leaf *all;
    size_t n;
};

static int has_disk(const struct disks *v, const struct disk_device *d)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->all[i].device.major == d->major && v->all[i].device.minor == d->minor)
            return 1;
    return 0;
}

/* Takes over what is below a path. */
static void add_disks(struct disks *v, const char *root, const char *path)
{
    struct disk_path d;

    if (disk_path_find(root, path, &d) < 0)
        return;
    for (size_t i = 0; i < d.n_leaves; i++) {
        if (has_disk(v, &d.leaves[i].device))
            continue;
        v->all = xrealloc(v->all, (v->n + 1) * sizeof(*v->all));
        v->all[v->n++] = d.leaves[i];
        d.leaves[i].paths = NULL;
    }
    disk_path_release(&d);
}

static void disks_release(struct disks *v)
{
    for (size_t i = 0; i < v->n; i++)
        free(v->all[i].paths);
    free(v->all);
}

/* Files of one file system have the same disks; on a tree of a test nobody can say. */
static int is_seen(const char *root, const char *path, dev_t *seen, size_t n)
{
    struct stat st;

    if (*root || stat(path, &st) != 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (seen[i] == st.st_dev)
            return 1;
    seen[n] = st.st_dev;
    return 0;
}

static void add_data(struct disks *v, const struct meter_place *place)
{
    dev_t seen[MAX_FILES] = {0};
    size_t n = 0;

    for (size_t i = 0; i < place->n_data_files && n < MAX_FILES; i++)
        if (!is_seen(place->root, place->data_files[i], seen, n)) {
            add_disks(v, place->root, place->data_files[i]);
            n++;
        }
}

struct state {
    struct disk_counters *counters;
    double read_bytes, write_bytes;     /* since open */
    double seconds, since[DISK_FIELDS]; /* since the last rates */
};

/* In the order of the columns. */
enum {
    READ_BYTES,
    WRITE_BYTES,
    READ_RATE,
    WRITE_RATE,
    READS_RATE,
    WRITES_RATE,
    QUEUE,
    READ_AWAIT,
    WRITE_AWAIT,
    BUSY,
    COLUMNS
};

static void name_columns(struct meter_columns *columns, const char *group)
{
    static const char *const names[COLUMNS] = {
        "read_bytes",   "write_bytes", "read_bytes_per_s", "write_bytes_per_s", "reads_per_s",
        "writes_per_s", "queue",       "read_await_ms",    "write_await_ms",    "busy_percent"};
    char name[64];

    for (int i = 0; i < COLUMNS; i++) {
        snprintf(name, sizeof(name), "%s_%s", group, names[i]);
        meter_column(columns, i <= WRITE_BYTES ? METER_TOTAL : METER_LEVEL, name);
    }
}

static void open_group(void **state, const struct meter_place *place, const struct disks *v,
                       struct meter_columns *columns, const char *group)
{
    struct disk_counters *const counters =
        v->n ? disk_counters_open(place->root, v->all, v->n) : NULL;
    struct state *s;

    *state = NULL;
    if (!counters)
        return;
    s = xcalloc(1, sizeof(*s));
    s->counters = counters;
    *state = s;
    name_columns(columns, group);
}

static int open_data(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct disks data = {0};

    add_data(&data, place);
    open_group(state, place, &data, columns, "disk");
    disks_release(&data);
    return 0;
}

static int open_store(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct disks data = {0}, store = {0};
    size_t shared = 0;

    add_data(&data, place);
    for (size_t i = 0; i < place->n_stores; i++)
        add_disks(&store, place->root, place->stores[i]);
    for (size_t i = 0; i < store.n; i++)
        shared += (size_t)has_disk(&data, &store.all[i].device);
    if (shared == store.n && shared == data.n)
        store.n = 0;
    open_group(state, place, &store, columns, "store");
    disks_release(&data);
    disks_release(&store);
    return 0;
}

/* As iostat has them: the time of requests over their number; nothing to wait for when there was
 * none. */
static double wait_ms(double ms, double requests)
{
    return requests > 0 ? ms / requests : NAN;
}

/* A total does not grow by what is not known, and is not known itself at that row. */
static double total(double *sum, double bytes)
{
    if (!isnan(bytes))
        *sum += bytes;
    return isnan(bytes) ? NAN : *sum;
}

static void fill_rates(const double d[DISK_FIELDS], double seconds, double *values)
{
    const double busy = d[DISK_BUSY_MS] / 10 / seconds;

    values[READ_RATE] = d[DISK_READ_SECTORS] * SECTOR / seconds;
    values[WRITE_RATE] = d[DISK_WRITE_SECTORS] * SECTOR / seconds;
    values[READS_RATE] = d[DISK_READS] / seconds;
    values[WRITES_RATE] = d[DISK_WRITES] / seconds;
    values[QUEUE] = d[DISK_QUEUE_MS] / 1000 / seconds;
    values[READ_AWAIT] = wait_ms(d[DISK_READ_MS], d[DISK_READS]);
    values[WRITE_AWAIT] = wait_ms(d[DISK_WRITE_MS], d[DISK_WRITES]);
    values[BUSY] = busy > 100 ? 100 : busy;
}

static void sample(void *state, double seconds, double *values)
{
    struct state *const s = state;
    double d[DISK_FIELDS];

    disk_counters_look(s->counters, d);
    values[READ_BYTES] = total(&s->read_bytes, d[DISK_READ_SECTORS] * SECTOR);
    values[WRITE_BYTES] = total(&s->write_bytes, d[DISK_WRITE_SECTORS] * SECTOR);
    for (int i = READ_RATE; i < COLUMNS; i++)
        values[i] = NAN;
    s->seconds += seconds;
    for (int f = 0; f < DISK_FIELDS; f++)
        s->since[f] += d[f];
    if (seconds > 0 && s->seconds < PROBE_SHORTEST_S)
        return;
    if (seconds > 0)
        fill_rates(s->since, s->seconds, values);
    s->seconds = 0;
    memset(s->since, 0, sizeof(s->since));
}

static void close_group(void *state)
{
    struct state *const s = state;

    if (s)
        disk_counters_close(s->counters);
    free(s);
}

const struct probe_ops probe_disk = {"disk", open_data, sample, close_group, NULL};
const struct probe_ops probe_store = {"store", open_store, sample, close_group, NULL};
