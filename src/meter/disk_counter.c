#include "meter/disk_counter.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "meter/probe.h"

enum { STAT_BYTES = 512, TABLE_BYTES = 1 << 16, STAT_FIELDS = 11 };

/* One device that counts. A hidden path counts for its disk while that counts nothing itself. */
struct source {
    int fd;              /* its file stat; -1: a line of the table */
    int is_path;         /* of the last source before it that is none */
    unsigned numbers[2]; /* major, minor: its line of the table */
    int known;
    uint64_t counts[DISK_FIELDS];
};

struct disk_counters {
    struct source *all;
    size_t n;
    int table_fd; /* /proc/diskstats, where sysfs is not */
    char *table;
};

/* "reads merged sectors ms writes merged sectors ms under-way busy queue ..." */
static int parse(const char *text, uint64_t counts[DISK_FIELDS])
{
    static const int at[STAT_FIELDS] = {
        DISK_READS,    -1, DISK_READ_SECTORS, DISK_READ_MS, DISK_WRITES, -1, DISK_WRITE_SECTORS,
        DISK_WRITE_MS, -1, DISK_BUSY_MS,      DISK_QUEUE_MS};

    for (int i = 0; i < STAT_FIELDS; i++) {
        char *end;
        const uint64_t v = strtoull(text, &end, 10);

        if (end == text)
            return 0;
        if (at[i] >= 0)
            counts[at[i]] = v;
        text = end;
    }
    return 1;
}

/* "   8       0 sda 1 2 3 ..." */
static int find_line(const char *table, const unsigned numbers[2], uint64_t counts[DISK_FIELDS])
{
    for (const char *line = table; line && *line; line = strchr(line, '\n')) {
        unsigned major, minor;
        int n = 0;

        line += *line == '\n';
        if (sscanf(line, "%u %u %*s%n", &major, &minor, &n) == 2 && n > 0 && major == numbers[0] &&
            minor == numbers[1])
            return parse(line + n, counts);
    }
    return 0;
}

static int read_source(struct disk_counters *c, const struct source *s,
                       uint64_t counts[DISK_FIELDS])
{
    char text[STAT_BYTES];

    if (s->fd >= 0)
        return parse(probe_again(s->fd, text, sizeof(text)), counts);
    return c->table && find_line(c->table, s->numbers, counts);
}

/* ---- a look ---- */

static void no_difference(double difference[DISK_FIELDS])
{
    for (int f = 0; f < DISK_FIELDS; f++)
        difference[f] = NAN;
}

static void add_difference(const struct source *s, const uint64_t now[DISK_FIELDS],
                           double sum[DISK_FIELDS])
{
    for (int f = 0; f < DISK_FIELDS; f++) {
        const double d = now[f] < s->counts[f] ? NAN : (double)(now[f] - s->counts[f]);

        if (f != DISK_BUSY_MS || isnan(d))
            sum[f] += d;
        else if (d > sum[f])
            sum[f] = d;
    }
    /* Times wrap after weeks; what else goes back is another device's, and so are its times. */
    if (isnan(sum[DISK_READS] + sum[DISK_READ_SECTORS] + sum[DISK_WRITES] +
              sum[DISK_WRITE_SECTORS]))
        no_difference(sum);
}

void disk_counters_look(struct disk_counters *c, double difference[DISK_FIELDS])
{
    int counts_itself = 0;

    for (int f = 0; f < DISK_FIELDS; f++)
        difference[f] = 0;
    if (c->table)
        probe_again(c->table_fd, c->table, TABLE_BYTES);
    for (size_t i = 0; i < c->n; i++) {
        struct source *const s = &c->all[i];
        uint64_t now[DISK_FIELDS];
        const int known = read_source(c, s, now);

        if (!s->is_path)
            counts_itself = known && now[DISK_READS] + now[DISK_WRITES] > 0;
        if (s->is_path && counts_itself)
            ;
        else if (known && s->known)
            add_difference(s, now, difference);
        else
            no_difference(difference);
        s->known = known;
        if (known)
            memcpy(s->counts, now, sizeof(now));
    }
}

/* ---- open and close ---- */

static struct source *add_source(struct disk_counters *c, const char *root, const char *sys)
{
    char *const path = xasprintf("%s%s/stat", root, sys);
    struct source *s;

    c->all = xrealloc(c->all, (c->n + 1) * sizeof(*c->all));
    s = &c->all[c->n++];
    *s = (struct source){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    free(path);
    return s;
}

static void open_table(struct disk_counters *c, const char *root)
{
    char *const path = xasprintf("%s/proc/diskstats", root);

    c->table_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (c->table_fd >= 0)
        c->table = xcalloc(1, TABLE_BYTES);
    free(path);
}

static void open_leaf(struct disk_counters *c, const char *root, const struct disk_leaf *leaf)
{
    char *const sys = xasprintf("/sys/dev/block/%u:%u", leaf->device.major, leaf->device.minor);
    struct source *const s = add_source(c, root, sys);

    s->numbers[0] = leaf->device.major;
    s->numbers[1] = leaf->device.minor;
    if (s->fd < 0 && !c->table)
        open_table(c, root);
    free(sys);
    for (size_t i = 0; i < leaf->n_paths; i++) {
        char *const path = xasprintf("/sys/block/%s", leaf->paths[i]);

        add_source(c, root, path)->is_path = 1;
        free(path);
    }
}

struct disk_counters *disk_counters_open(const char *root, const struct disk_leaf *leaves,
                                         size_t n_leaves)
{
    struct disk_counters *const c = xcalloc(1, sizeof(*c));
    double first[DISK_FIELDS];

    c->table_fd = -1;
    for (size_t i = 0; i < n_leaves; i++)
        open_leaf(c, root, &leaves[i]);
    disk_counters_look(c, first);
    for (size_t i = 0; i < c->n; i++)
        if (!c->all[i].is_path && !c->all[i].known) {
            disk_counters_close(c);
            return NULL;
        }
    return c;
}

void disk_counters_close(struct disk_counters *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].fd >= 0)
            close(c->all[i].fd);
    if (c->table_fd >= 0)
        close(c->table_fd);
    free(c->table);
    free(c->all);
    free(c);
}
