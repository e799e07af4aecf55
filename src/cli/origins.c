#include "cli/origins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "trace/samples.h"

static const char *const columns[] = {"loader_asked_bytes", "io_read_bytes", "disk_read_bytes",
                                      NULL};

/* The program behind FUSE reads, be it from a device (fuseblk) or not; not this process. */
enum origin_medium origins_medium_of(const struct disk_path *d)
{
    static const enum origin_medium media[] = {[DISK_UNKNOWN] = MEDIUM_UNKNOWN,
                                               [DISK_MEMORY] = MEDIUM_MEMORY,
                                               [DISK_NETWORK] = MEDIUM_REMOTE,
                                               [DISK_BLOCK] = MEDIUM_DISK};

    if (strcmp(d->type, "fuse") == 0 || strcmp(d->type, "fuseblk") == 0 ||
        strncmp(d->type, "fuse.", 5) == 0)
        return MEDIUM_REMOTE;
    return strcmp(d->type, "zfs") == 0 ? MEDIUM_UNACCOUNTED : media[d->kind];
}

enum origin_medium origins_medium(const struct source *source)
{
    char *const path = source && source->n_files ? source_file(source, 0) : NULL;
    enum origin_medium medium = MEDIUM_UNKNOWN;
    struct disk_path d;

    if (path && disk_path_find("", path, &d) == 0) {
        medium = origins_medium_of(&d);
        disk_path_release(&d);
    }
    free(path);
    return medium;
}

static struct origin_bytes bytes_of(const struct samples *s, int epoch, enum origin_medium medium)
{
    const struct samples_where where = {.epoch = epoch};
    double grown[3];

    for (int i = 0; i < 3; i++)
        grown[i] = samples_growth(s, samples_column(s, columns[i]), &where);
    return (struct origin_bytes){grown[0], grown[1], grown[2], medium};
}

static void add_epoch(struct origins *o, int epoch, const struct origin_bytes *b)
{
    o->epochs = xrealloc(o->epochs, (o->n_epochs + 1) * sizeof(*o->epochs));
    o->epochs[o->n_epochs++] = (struct origin_epoch){epoch, *b};
    o->all.asked += b->asked;
    o->all.process += b->process;
    o->all.device += b->device;
}

int origins_read(const char *dir, enum origin_medium medium, struct origins *out)
{
    char *const path = file_join(dir, "samples.csv");
    struct samples s;
    const int rc = samples_read(path, columns, &s);
    int epoch = 0;

    *out = (struct origins){.all = {.medium = medium}};
    free(path);
    TRY(rc);
    for (size_t i = 0; i < s.n_rows; i++)
        if (s.epoch[i] > epoch) {
            const struct origin_bytes b = bytes_of(&s, epoch = s.epoch[i], medium);

            if (b.asked > 0)
                add_epoch(out, epoch, &b);
        }
    samples_release(&s);
    return 0;
}

void origins_release(struct origins *o)
{
    free(o->epochs);
    *o = (struct origins){0};
}

static void add_bytes(struct str *out, const char *name, double bytes)
{
    if (!isnan(bytes))
        str_printf(out, ", \"%s\": %.0f", name, bytes);
}

static void add_ratio(struct str *out, double ratio)
{
    if (isnan(ratio))
        return;
    str_add(out, ", \"delivered_ratio\": ");
    str_add_real(out, ratio);
}

void origins_add_json(const struct origins *o, struct str *out)
{
    struct str words = STR_INIT;

    if (o->n_epochs == 0)
        return;
    str_add(out, ",\n  \"data_epochs\": [");
    for (size_t i = 0; i < o->n_epochs; i++) {
        const struct origin_bytes *const b = &o->epochs[i].bytes;

        str_printf(out, "%s\n    {\"epoch_num\": %d", i ? "," : "", o->epochs[i].epoch);
        add_bytes(out, "asked_bytes", b->asked);
        add_bytes(out, "process_read_bytes", b->process);
        add_bytes(out, "disk_read_bytes", b->device);
        add_ratio(out, origin_ratio(b));
        str_printf(out, ", \"origin\": \"%s\"}", origin_name(origin_find(b)));
    }
    origin_add_words(&o->all, &words);
    str_printf(
        out, "],\n  \"origin\": \"%s\",\n  \"origin_words\": ", origin_name(origin_find(&o->all)));
    str_add_json(out, words.s);
    str_release(&words);
}

/* Of epochs first to last of the list. */
static struct origin_bytes sum(const struct origins *o, size_t first, size_t last)
{
    struct origin_bytes s = {.medium = o->all.medium};

    for (size_t i = first; i <= last; i++) {
        s.asked += o->epochs[i].bytes.asked;
        s.process += o->epochs[i].bytes.process;
        s.device += o->epochs[i].bytes.device;
    }
    return s;
}

void origins_add_text(const struct origins *o, struct str *out)
{
    for (size_t first = 0, last; first < o->n_epochs; first = last + 1) {
        const enum origin here = origin_find(&o->epochs[first].bytes);
        struct origin_bytes b;

        for (last = first; last + 1 < o->n_epochs; last++)
            if (origin_find(&o->epochs[last + 1].bytes) != here)
                break;
        b = sum(o, first, last);
        str_printf(out, first == last ? "data: epoch %d " : "data: epochs %d to %d ",
                   o->epochs[first].epoch, o->epochs[last].epoch);
        origin_add_words(&b, out);
        str_add(out, "\n");
    }
}
