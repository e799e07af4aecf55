/* Ingest: data written beside a training run by fio, as somebody's next data set would be. A
 * specification in one text, what fio is asked to do, and what its documents say.
 *
 * The sizes of a specification are those of all jobs together (fio's own options speak of one job).
 * Files are made in a folder of their own below dir, so that whoever ends the ingest can remove
 * them all. fio's writers are threads of one process: when it dies, they do. Nothing here starts or
 * ends that process: the supervisor does (cli/guard_ingest.c).
 *
 * Needs fio 3.1 or newer (percentiles of the whole latency); fio 3.37 and newer also tell the
 * longest write of each second.
 *
 * Errors: E_USAGE for a specification, E_UNSUPPORTED without fio, E_IO for disk and files, E_DATA
 * for documents of fio that can not be read. One thread. */
#ifndef STAVE_METER_INGEST_H
#define STAVE_METER_INGEST_H

#include <stdint.h>

#include "base/opt.h"

enum ingest_engine { INGEST_SYNC, INGEST_PSYNC, INGEST_LIBAIO, INGEST_IO_URING };

struct ingest_settings {
    int engine;         /* enum ingest_engine, fio's ioengine */
    long long jobs;     /* writers */
    long long bs, rate; /* bytes of a write; bytes a second of all jobs, 0: as fast as it goes */
    long long size;     /* bytes of all files; when they are written, they are written again */
    char *dir;          /* where; NULL: the run folder */
    int direct;         /* O_DIRECT */
    long long depth;    /* writes under way of an asynchronous engine, in each job */
};
extern const struct opt_table ingest_options;

/* "engine=sync jobs=4 bs=128k": words with blanks or commas between. On failure nothing is kept. */
int ingest_parse(const char *spec, struct ingest_settings *out);
void ingest_release(struct ingest_settings *s);
/* Appends the specification as ingest_parse reads it. */
void ingest_add_spec(const struct ingest_settings *s, struct str *out);
/* Bytes of the files: size, as whole blocks of each job. */
long long ingest_bytes(const struct ingest_settings *s);

/* Before a run: fio is there (its version, "fio-3.33", into version, of n bytes), the folder can be
 * written, and the files leave at least a twentieth of the file system free. */
int ingest_check(const struct ingest_settings *s, const char *run_dir, char *version, size_t n);
/* Warns when the files would be memory (tmpfs). */
void ingest_warn_of_memory(const struct ingest_settings *s, const char *run_dir);
/* The folder for the files, heap, absolute where dir is there: DIR/stave-ingest-PID, the start
 * of its name: what is drawn follows. */
char *ingest_folder(const struct ingest_settings *s, const char *run_dir);
/* What fio is asked to do, beside the specification. */
struct ingest_job {
    const char *run_dir; /* fio.json and its logs are written there */
    const char *folder;  /* of the files */
    const char *version; /* "fio-3.33", as ingest_check found it; NULL: as if it were the oldest */
};
/* The words that start fio: a heap array that ends with NULL, ingest_argv_free frees it. */
char **ingest_argv(const struct ingest_settings *s, const struct ingest_job *job);
void ingest_argv_free(char **argv);

struct ingest_result {
    char fio_version[64];
    int error; /* fio's errno; INGEST_NOT_MEASURED: it told none and yet failed; 0: none */
    uint64_t write_bytes;
    double seconds, write_bytes_per_s; /* of all jobs */
    /* Of a write, from its submission; NAN: not known. Of several jobs that are not summed up (they
     * are, as ingest_argv asks): the mean by number of writes, and the slowest job's percentiles.
     */
    double latency_mean_ns, latency_p50_ns, latency_p95_ns, latency_p99_ns, latency_max_ns;
    char words[400]; /* what fio said before its document, or what is wrong with it; "" */
};
enum { INGEST_NOT_MEASURED = -1 };
/* Nothing is known. */
void ingest_clear(struct ingest_result *r);
/* Reads fio.json, any release since fio 3; what is not in it is NAN or 0. text has a zero byte
 * behind its n bytes. On failure (E_DATA) out holds nothing but words and INGEST_NOT_MEASURED. */
int ingest_read(const char *text, size_t n, struct ingest_result *out);
/* Sets words: one line that can not steer a terminal, cut at the end. */
void ingest_set_words(struct ingest_result *r, const char *text, size_t n);
/* It failed for a reason that fio did not tell: INGEST_NOT_MEASURED, and these words. */
void ingest_fail(struct ingest_result *r, const char *words);
/* Appends the members of result.json's "ingest", without braces. */
void ingest_add_json(const char *spec, const struct ingest_result *r, struct str *out);
/* Makes ingest.csv of fio's logs in run_dir and removes them; without logs there is no ingest.csv.
 * start_ms: the wall clock when the event stream was opened. */
int ingest_write_csv(const char *run_dir, int64_t start_ms);

#endif
