#include "meter/ingest.h"

#include <errno.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "meter/ingest_fio.h"

static const char *const engines[] = {"sync", "psync", "libaio", "io_uring", NULL};

/* clang-format off */
#define ROW(...) OPT_ROW(ingest_settings, __VA_ARGS__)

static const struct opt_row rows[] = {
    ROW("engine", OPT_CHOICE, engine, .dflt = "sync", .choices = engines, .arg = "ENGINE",
        .help = "How fio writes; libaio and io_uring keep depth writes of a job under way"),
    ROW("jobs", OPT_INT, jobs, .dflt = "1", .min = 1, .max = 256, .arg = "N",
        .help = "Writers, each with a file of its own"),
    ROW("bs", OPT_SIZE, bs, .dflt = "128K", .min = 512, .max = 1 << 30, .arg = "SIZE",
        .help = "Bytes of one write"),
    ROW("rate", OPT_SIZE, rate, .dflt = "0", .min = 0, .max = 1e15, .arg = "SIZE",
        .help = "Most bytes a second of all jobs together; 0: as fast as it goes"),
    ROW("size", OPT_SIZE, size, .dflt = "1G", .min = 512, .max = 1e18, .arg = "SIZE",
        .help = "Bytes of all files together; when they are written, they are written again"),
    ROW("dir", OPT_STRING, dir, .arg = "DIR",
        .help = "The folder below which the files are made; the run folder by default"),
    ROW("direct", OPT_BOOL, direct, .dflt = "no", .help = "Write past the page cache (O_DIRECT)"),
    ROW("depth", OPT_INT, depth, .dflt = "1", .min = 1, .max = 4096, .arg = "N",
        .help = "Writes that a job of an asynchronous engine keeps under way"),
};
/* clang-format on */

const struct opt_table ingest_options = {"ingest", rows, COUNT_OF(rows)};

static int unknown_key(const char *key)
{
    const struct opt_row *const near = opt_nearest(&ingest_options, key);
    struct str names = STR_INIT;
    int rc;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        str_printf(&names, "%s%s", i ? ", " : "", rows[i].name);
    rc = near ? err(E_USAGE, "ingest: unknown key \"%.100s\"; did you mean %s?", key, near->name)
              : err(E_USAGE, "ingest: unknown key \"%.100s\"; expected one of %s", key, names.s);
    str_release(&names);
    return rc;
}

/* word is "key=value" and is cut apart. */
static int take_word(char *word, struct ingest_settings *s, unsigned *seen)
{
    char *const equals = strchr(word, '=');
    const struct opt_row *row;
    char where[64];

    if (!equals)
        return err(E_USAGE,
                   "ingest: \"%.100s\" is no KEY=VALUE; expected words such as jobs=4, "
                   "with blanks or commas between (a folder's name can hold neither)",
                   word);
    *equals = '\0';
    row = opt_find(&ingest_options, word);
    if (!row)
        return unknown_key(word);
    if (*seen & 1u << (row - rows))
        return err(E_USAGE, "ingest: %s is given twice", row->name);
    if (!equals[1])
        return err(E_USAGE, "ingest: %s= has no value", row->name);
    *seen |= 1u << (row - rows);
    snprintf(where, sizeof(where), "ingest: %s", row->name);
    return opt_set(row, s, equals + 1, where);
}

static int take_words(char *words, struct ingest_settings *s)
{
    char *rest = NULL;
    unsigned seen = 0;

    for (char *w = strtok_r(words, " \t\n,", &rest); w; w = strtok_r(NULL, " \t\n,", &rest))
        TRY(take_word(w, s, &seen));
    return 0;
}

static long long of_a_job(const struct ingest_settings *s)
{
    return s->size / s->jobs / s->bs * s->bs;
}

long long ingest_bytes(const struct ingest_settings *s)
{
    return of_a_job(s) * s->jobs;
}

static int is_asynchronous(int engine)
{
    return engine == INGEST_LIBAIO || engine == INGEST_IO_URING;
}

static int check_together(const struct ingest_settings *s)
{
    if (of_a_job(s) <= 0)
        return err(E_USAGE,
                   "ingest: size=%lld is less than one write of %lld bytes for each of %lld jobs",
                   s->size, s->bs, s->jobs);
    if (s->rate && s->rate / s->jobs < s->bs)
        return err(E_USAGE,
                   "ingest: rate=%lld is less than one write of %lld bytes a second for each of "
                   "%lld jobs; give a higher rate or a smaller bs",
                   s->rate, s->bs, s->jobs);
    if (s->direct && s->bs % 512)
        return err(E_USAGE,
                   "ingest: direct writes are multiples of 512 bytes, which bs=%lld is not", s->bs);
    if (s->depth > 1 && !is_asynchronous(s->engine))
        return err(E_USAGE,
                   "ingest: engine %s makes one write at a time, so depth=%lld needs libaio or "
                   "io_uring",
                   engines[s->engine], s->depth);
    return 0;
}

int ingest_parse(const char *spec, struct ingest_settings *out)
{
    char *const words = xstrdup(spec);
    int rc;

    opt_defaults(&ingest_options, out);
    rc = take_words(words, out);
    if (rc == 0)
        rc = check_together(out);
    if (rc < 0)
        ingest_release(out);
    free(words);
    return rc;
}

void ingest_release(struct ingest_settings *s)
{
    opt_release(&ingest_options, s);
}

void ingest_add_spec(const struct ingest_settings *s, struct str *out)
{
    int n = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].type == OPT_STRING && !s->dir)
            continue;
        str_printf(out, "%s%s=", n++ ? " " : "", rows[i].name);
        opt_add_text(&rows[i], s, out);
    }
}

/* ---- before a run ---- */

static const char *place_of(const struct ingest_settings *s, const char *run_dir)
{
    return s->dir ? s->dir : run_dir;
}

/* The nearest folder that is there: a run folder is made later. Heap. */
static char *nearest_folder(const char *path)
{
    char *at = xstrdup(path);

    while (!file_exists(at) && strcmp(at, "/") != 0 && strcmp(at, ".") != 0) {
        char *const up = xstrdup(dirname(at));
        free(at);
        at = up;
    }
    return at;
}

static int check_folder(const struct ingest_settings *s, const char *at)
{
    /* A folder that is made where a disk was meant to be mounted fills another one. */
    if (s->dir && !file_is_folder(s->dir))
        return err(E_USAGE, "ingest: dir=%s is no folder; make it first", s->dir);
    if (access(at, W_OK | X_OK) < 0)
        return err(E_IO, "ingest: no files can be made in %s: %s", at, strerror(errno));
    return 0;
}

/* "512.0 MiB", "1.50 GiB" */
static const char *in_words(double bytes, char *out, size_t n)
{
    if (bytes < 0x1p30)
        snprintf(out, n, "%.1f MiB", bytes / 0x1p20);
    else
        snprintf(out, n, "%.2f GiB", bytes / 0x1p30);
    return out;
}

static int check_space(const struct ingest_settings *s, const char *at)
{
    char size[32], free_now[32], share[32];
    double unit, needed, available, kept;
    struct statvfs fs;

    if (statvfs(at, &fs) < 0)
        return err(E_IO, "ingest: %s: %s", at, strerror(errno));
    if (fs.f_blocks == 0)
        return err(E_IO, "ingest: no files can be made in %s: it holds no data", at);
    unit = (double)fs.f_frsize;
    needed = (double)ingest_bytes(s);
    available = (double)fs.f_bavail * unit;
    kept = (double)fs.f_blocks * unit / 20;
    if (needed + kept <= available)
        return 0;
    return err(E_IO,
               "ingest: %s has %s free, and files of %s would leave less than 5 %% (%s) of the "
               "file system; give a smaller size or another dir",
               at, in_words(available, free_now, sizeof(free_now)),
               in_words(needed, size, sizeof(size)), in_words(kept, share, sizeof(share)));
}

int ingest_check(const struct ingest_settings *s, const char *run_dir, char *version, size_t n)
{
    char *const at = nearest_folder(place_of(s, run_dir));
    int rc = ingest_find_fio(version, n);

    if (rc == 0)
        rc = check_folder(s, at);
    if (rc == 0)
        rc = check_space(s, at);
    free(at);
    return rc;
}

void ingest_warn_of_memory(const struct ingest_settings *s, const char *run_dir)
{
    char *const at = nearest_folder(place_of(s, run_dir));
    struct statfs fs;

    if (statfs(at, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
        warning("ingest writes into memory, not to a disk: %s is a tmpfs", at);
    free(at);
}

/* ---- what fio is asked to do ---- */

char *ingest_folder(const struct ingest_settings *s, const char *run_dir)
{
    const char *const place = place_of(s, run_dir);
    char *const whole = realpath(place, NULL);
    char *const name = xasprintf("stave-ingest-%ld", (long)getpid());
    char *const folder = file_join(whole ? whole : place, name);

    free(whole);
    free(name);
    return folder;
}

/* fio takes ':' for the end of a folder's name unless a backslash stands before it. */
static char *escaped(const char *path)
{
    struct str out = STR_INIT;

    for (const char *c = path; *c; c++)
        str_printf(&out, *c == ':' || *c == '\\' ? "\\%c" : "%c", *c);
    return str_detach(&out);
}

struct words {
    char **all;
    size_t n;
};

static void __attribute__((format(printf, 2, 3))) add(struct words *w, const char *fmt, ...)
{
    struct str word = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&word, fmt, ap);
    va_end(ap);
    w->all = xrealloc(w->all, (w->n + 2) * sizeof(*w->all));
    w->all[w->n++] = str_detach(&word);
    w->all[w->n] = NULL;
}

/* The files are neither made to their full length nor reserved before they are written: a disk gets
 * full when it does. */
static void add_work(struct words *w, const struct ingest_settings *s, const char *folder)
{
    char *const directory = escaped(folder);

    add(w, "--directory=%s", directory);
    add(w, "--rw=write");
    add(w, "--ioengine=%s", engines[s->engine]);
    add(w, "--iodepth=%lld", s->depth);
    add(w, "--thread=1");
    add(w, "--numjobs=%lld", s->jobs);
    add(w, "--bs=%lld", s->bs);
    add(w, "--size=%lld", of_a_job(s));
    if (s->rate)
        add(w, "--rate=%lld", s->rate / s->jobs);
    add(w, "--direct=%d", s->direct);
    add(w, "--fallocate=none");
    add(w, "--end_fsync=0");
    add(w, "--time_based=1");
    add(w, "--runtime=365d");
    add(w, "--exitall_on_error=1");
    free(directory);
}

static void add_report(struct words *w, const struct ingest_job *job)
{
    add(w, "--group_reporting=1");
    add(w, "--lat_percentiles=1");
    add(w, "--clat_percentiles=0");
    add(w, "--write_bw_log=%s/fio", job->run_dir);
    add(w, "--write_lat_log=%s/fio", job->run_dir);
    add(w, "--log_avg_msec=1000");
    add(w, "--log_unix_epoch=1");
    if (job->version && ingest_fio_release(job->version) >= INGEST_FIO_TELLS_MAX)
        add(w, "--log_window_value=both");
    add(w, "--output=%s/fio.json", job->run_dir);
    add(w, "--output-format=json");
    add(w, "--eta=never");
}

char **ingest_argv(const struct ingest_settings *s, const struct ingest_job *job)
{
    struct words w = {0};

    add(&w, "fio");
    add(&w, "--name=ingest");
    add_work(&w, s, job->folder);
    add_report(&w, job);
    return w.all;
}

void ingest_argv_free(char **argv)
{
    for (char **a = argv; a && *a; a++)
        free(*a);
    free(argv);
}
