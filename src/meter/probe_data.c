/* How much of the data set is in the page cache, by mincore(2). The files stay mapped, which keeps
 * no page in memory as none is touched; windows of them, spread evenly and elsewhere each time, are
 * looked at every few seconds. A data set that fits into the windows is looked at whole. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/page_cache.h"
#include "meter/meter.h"

/* A window has room for pages of 4 KiB. */
enum { N_WINDOWS = 256, WINDOW = 1 << 18, MAX_PAGES = WINDOW / 4096, MAX_FILES = 256 };

static const double every_s = 5;

struct mapped {
    unsigned char *at;
    uint64_t size, before; /* bytes; those of the files before it */
};

struct data {
    struct mapped files[MAX_FILES];
    size_t n_files;
    uint64_t bytes, page;
    double since_s; /* the last look */
    uint64_t n_looks;
};

static void map_file(struct data *p, const char *path)
{
    const int fd = file_open(path);
    struct stat st;
    void *at;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && page_cache_may_see(fd)) {
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (at != MAP_FAILED)
            p->files[p->n_files++] = (struct mapped){at, (uint64_t)st.st_size, p->bytes};
        p->bytes += at != MAP_FAILED ? (uint64_t)st.st_size : 0;
    }
    close(fd);
}

static int data_open(void **state, const struct meter_place *place, struct meter_columns *columns)
{
    struct data *const p = xcalloc(1, sizeof(*p));

    p->page = (uint64_t)sysconf(_SC_PAGESIZE);
    p->since_s = every_s;
    for (size_t i = 0; i < place->n_data_files && p->n_files < MAX_FILES; i++)
        map_file(p, place->data_files[i]);
    if (p->n_files > 0)
        meter_column(columns, METER_LEVEL, "data_resident_percent");
    *state = p;
    return 0;
}

struct seen {
    uint64_t pages, resident;
};

static void look_at(const struct data *p, const struct mapped *f, uint64_t from, uint64_t n,
                    struct seen *seen)
{
    const uint64_t start = from / p->page * p->page;
    const uint64_t length = f->size - start < n ? f->size - start : n;
    const uint64_t pages = (length + p->page - 1) / p->page;
    unsigned char in_memory[MAX_PAGES];

    if (mincore(f->at + start, length, in_memory) != 0)
        return;
    seen->pages += pages;
    for (uint64_t i = 0; i < pages; i++)
        seen->resident += in_memory[i] & 1;
}

static void look_at_all(const struct data *p, struct seen *seen)
{
    for (size_t i = 0; i < p->n_files; i++)
        for (uint64_t at = 0; at < p->files[i].size; at += WINDOW)
            look_at(p, &p->files[i], at, WINDOW, seen);
}

/* One window in each of as many equal parts, at a place of its own there: multiples of the golden
 * ratio spread evenly. */
static void look_at_some(struct data *p, struct seen *seen)
{
    const double part = (double)p->bytes / N_WINDOWS;
    const struct mapped *f = p->files;

    for (int i = 0; i < N_WINDOWS; i++) {
        const double turn = 0.6180339887498949 * (double)(p->n_looks + (uint64_t)i);
        const uint64_t at = (uint64_t)(part * (i + turn - floor(turn)));
        while (f + 1 < p->files + p->n_files && at >= f[1].before)
            f++;
        look_at(p, f, at - f->before < f->size ? at - f->before : f->size - 1, WINDOW, seen);
    }
    p->n_looks++;
}

static void data_sample(void *state, double seconds, double *values)
{
    struct data *const p = state;
    struct seen seen = {0};

    p->since_s += seconds;
    values[0] = NAN;
    if (p->since_s < every_s)
        return;
    p->since_s = 0;
    if (p->bytes <= (uint64_t)N_WINDOWS * WINDOW)
        look_at_all(p, &seen);
    else
        look_at_some(p, &seen);
    if (seen.pages > 0)
        values[0] = 100 * (double)seen.resident / (double)seen.pages;
}

static void data_close(void *state)
{
    struct data *const p = state;

    for (size_t i = 0; i < p->n_files; i++)
        munmap(p->files[i].at, (size_t)p->files[i].size);
    free(p);
}

const struct probe_ops probe_data = {"data", data_open, data_sample, data_close, NULL};
