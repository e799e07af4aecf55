/* Ingest: data written beside a training run by fio, as somebody's next data set would be. A
 * specification in one text, what fio is asked to do, and what its documents say.
 *
 * The sizes of a specification are those of all jobs together (fio's own options speak of one job).
 * Files are made in a folder of their own below dir, so that whoever ends the ingest can remove
 * them all. Nothing here starts or ends a process: that is the supervisor's (cli/guard.h).
 *
 * Errors: E_USAGE for a specification, E_UNSUPPORTED without fio, E_IO for disk and files, E_DATA
 * for documents of fio that can not be read. One thread. */
#ifndef STAVE_METER_INGEST_H
#define STAVE_METER_INGEST_H

#include <stdint.h>

#include "base/opt.h"

struct ingest_settings {
    char *engine;       /* fio's ioengine: sync, psync, libaio, io_uring */
    long long jobs;     /* writers */
    long long bs, rate; /* bytes of a write; bytes a second of all jobs, 0: as fast as it goes */
    long long size;     /* bytes of all files; when they are written, they are written again */
    char *dir;          /* where; NULL: the run folder */
    int direct;         /* O_DIRECT */
    long long depth;    /* writes under way of an asynchronous engine */
};
extern const struct opt_table ingest_options;

/* "engine=sync jobs=4 bs=128k": words with blanks or commas between. */
int ingest_parse(const char *spec, struct ingest_settings *out);
void ingest_release(struct ingest_settings *s);
/* Appends the specification as ingest_parse reads it. */
void ingest_add_spec(const struct ingest_settings *s, struct str *out);

/* Before a run: fio is there (its version into version, of n bytes), the folder can be written, and
 * the files leave at least a twentieth of the file system free. */
int ingest_check(const struct ingest_settings *s, const char *run_dir, char *version, size_t n);
/* The folder for the files, heap: DIR/stave-ingest-PID. */
char *ingest_folder(const struct ingest_settings *s, const char *run_dir);
/* The words that start fio: a heap array that ends with NULL, ingest_argv_free frees it. It writes
 * run_dir/fio.json and logs there. */
char **ingest_argv(const struct ingest_settings *s, const char *run_dir, const char *folder);
void ingest_argv_free(char **argv);

struct ingest_result {
    char fio_version[64];
    int error; /* fio's; 0: none */
    uint64_t write_bytes;
    double seconds, write_bytes_per_s; /* of all jobs */
    double latency_mean_ns, latency_p50_ns, latency_p95_ns, latency_p99_ns,
        latency_max_ns; /* of a write, from its submission; NAN: not known */
    char words[400];    /* what fio said besides, or what is wrong with its document; "" */
};
/* Reads fio.json, any release since fio 3; what is not in it is NAN or 0. text has a zero byte
 * behind its n bytes. */
int ingest_read(const char *text, size_t n, struct ingest_result *out);
/* Makes ingest.csv of fio's logs in run_dir and removes them. start_ns, start_ms: of the event
 * stream's clock and the wall clock. */
int ingest_write_csv(const char *run_dir, int64_t start_ms);

#endif
