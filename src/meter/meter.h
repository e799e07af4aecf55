/* The meter: one thread that samples the machine while a run is at work, through a table of probes
 * (list.h), into samples.csv. Times of rows are those of the event stream, so that both lie on one
 * line. docs/meter.md says what each column is.
 *
 * A row holds for the time since the row before it. What is not known is an empty cell; a probe
 * that knows nothing on this machine has no columns. Names of columns end in their unit; columns of
 * type METER_TOTAL count up from 0 at meter_open and are taken as differences. They never fall:
 * what a probe gives may wrap or begin anew, and counts on from there.
 *
 * Each row is one write of a whole line, so that a run that is killed loses none that was written.
 * A probe is asked again 1000 times the processor time of its samples after the last one at the
 * earliest, above 10 Hz 10000 / hz times: up to 10 Hz it takes a thousandth of a processor at most,
 * above it hz / 10 thousandths, which is 0.1 ms a row. Its cells in between are empty; rows of
 * meter_mark ask all.
 *
 * Threads: open, mark and close are one thread's, meter_last anybody's; the sampler is the meter's
 * own, and reads the counters. Nothing is allocated after meter_open. Errors: a file that can not
 * be written ends the sampling and is what meter_close returns; the run goes on. */
#ifndef STAVE_METER_METER_H
#define STAVE_METER_METER_H

#include <stddef.h>
#include <stdint.h>

/* What the probes look at. Borrowed until meter_close. */
struct meter_place {
    const char *root; /* "" for the real machine, or a folder with proc/ and sys/ for tests */
    const char *const *data_files; /* of the data set; of many files, a sample */
    size_t n_data_files;
    const char *const *stores; /* the run folder, and where ingest writes */
    size_t n_stores;
};

/* A number that the program itself counts. read is called by any thread. */
struct meter_counter {
    const char *column; /* "loader_asked_bytes" */
    uint64_t (*read)(void *context);
    void *context;
};

enum meter_kind {
    METER_LEVEL, /* holds for the moment, or for the interval before the row */
    METER_TOTAL  /* counts up */
};

/* Where a probe says what it can know: meter_column returns the number of the column among its own,
 * in the order of the calls. */
struct meter_columns {
    struct meter_column {
        char *name;
        enum meter_kind kind;
    } * all;
    size_t n, first; /* first: of the probe that is being opened */
};
size_t meter_column(struct meter_columns *c, enum meter_kind kind, const char *name);
void meter_columns_release(struct meter_columns *c);

/* A probe. open finds out what can be known here and names its columns; none: it is closed at once.
 * A failure of open has no state and no columns. sample fills values[] of its columns, NAN where
 * something is not known this time; seconds is the time since its last sample, 0 at the first. It
 * must not wait and must not allocate. Totals are given as they are counted, from anywhere. Calls
 * come from several threads, never two at a time.
 *
 * wait (NULL: none) adds values that take up to 20 ms to know, after sample, in rows of the
 * sampler's own thread; never in a mark, which waits at most for one that is under way. */
struct probe_ops {
    const char *name;
    int (*open)(void **state, const struct meter_place *place, struct meter_columns *columns);
    void (*sample)(void *state, double seconds, double *values);
    void (*close)(void *state);
    void (*wait)(void *state, double *values);
};

struct meter_config {
    const char *path; /* of samples.csv */
    double hz;
    int64_t start_ns, start_ms; /* clock_ns and wall clock when the event stream was opened */
    struct meter_place place;
    const struct meter_counter *counters;
    size_t n_counters;
};

/* The probes of list.h; ends with NULL. */
extern const struct probe_ops *const meter_probes[];

struct meter;
/* E_IO when the file can not be made. The first row is written, and the phase is "init". */
int meter_open(const struct meter_config *config, struct meter **out);
/* Ends the row's phase and epoch here (epoch 0: none): a row is written now, before this returns,
 * and those behind it belong to the new ones. phase is a constant text. */
void meter_mark(struct meter *m, const char *phase, long long epoch);
/* The newest known value of a column; NAN when there is none. */
double meter_last(struct meter *m, const char *column);

struct meter_use {
    uint64_t n_samples, n_late; /* rows; rows that came more than half an interval late */
    int64_t sampler_cpu_ns;     /* processor time of the sampler's thread */
};
/* The last row, then the end. m may be NULL. */
int meter_close(struct meter *m, struct meter_use *use);

#endif
