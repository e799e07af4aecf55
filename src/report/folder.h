/* A run folder as its page needs it. Any file may be missing, cut or damaged: what could be read is
 * here, and what could not is in notes, a sentence each. */
#ifndef STAVE_REPORT_FOLDER_H
#define STAVE_REPORT_FOLDER_H

#include "report/doc.h"
#include "report/table.h"

enum span_kind { SPAN_EPOCH, SPAN_EVALUATION, SPAN_INGEST, SPAN_INIT, N_SPAN_KINDS };

/* A stretch of the run, in seconds since its first event. */
struct span {
    enum span_kind kind;
    double from, to;
    long long number; /* of an epoch, else 0 */
};

/* A line of stages.csv; NAN: not known. */
struct stage {
    char name[32];
    double samples, busy_ns;
};
enum { FOLDER_STAGES = 8 };

struct folder {
    char *dir, *name; /* name: of the folder, a path where several runs have the same */
    cJSON *run, *result, *profile; /* NULL: not there */
    struct stage stages[FOLDER_STAGES];
    size_t n_stages;
    /* seconds first in each: since the first event, by the wall clock. steps: seconds, samples,
     * epoch, step, loss, learning_rate, samples_per_s, data_wait_ratio; evaluations: seconds,
     * samples, epoch, quality, eval_loss. samples, ingest: what table_take makes of the two below.
     */
    struct table steps, evaluations, samples, ingest;
    struct samples measured, ingested; /* samples.csv, ingest.csv */
    struct span *spans;
    size_t n_spans;
    struct file_names bad_samples; /* at most a hundred: where and why */
    size_t n_bad_samples;
    struct file_names notes, warnings;
    double start_ms, last_ms; /* of the first event, of the last sign of life; NAN: none */
};

/* Fills *f from the folder. E_IO when there is no run in it. */
int folder_read(struct folder *f, const char *dir);
void folder_release(struct folder *f);
/* Names each by the fewest last parts of its path that no other has. */
void folder_tell_apart(struct folder *all, size_t n);
void folder_note(struct folder *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Within the module: events.jsonl into steps, evaluations, spans, warnings. */
void folder_read_events(struct folder *f);

#endif
