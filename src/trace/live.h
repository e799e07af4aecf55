/* The live view of a run: its state, and drawing it. The state is filled from the events of the run
 * and from numbers of the meter, by the run itself or by somebody who reads its files; drawing is a
 * function of the state alone.
 *
 * The owner opens and releases it. Texts from outside are made printable. One thread at a time. */
#ifndef STAVE_TRACE_LIVE_H
#define STAVE_TRACE_LIVE_H

#include <stddef.h>

#include "base/str.h"
#include "trace/trace.h"

/* The past of a number: a mean for each second, the newest last. */
enum { LIVE_HISTORY = 60 };
struct live_history {
    double past[LIVE_HISTORY]; /* NAN: a second without a sample */
    size_t n;
    long long second; /* that is being summed; 0 samples so far: none */
    double sum;
    int n_samples;
};

/* Columns of samples.csv and ingest.csv that are shown, by name. */
enum { LIVE_GPUS = 16, LIVE_COLUMNS = 18 + 3 * LIVE_GPUS };
const char *live_column(size_t i); /* 0 .. LIVE_COLUMNS - 1 */

enum live_phase {
    LIVE_WAITING,
    LIVE_PREPARING,
    LIVE_TRAINING,
    LIVE_EVALUATING,
    LIVE_ENDED,
    LIVE_KILLED
};

/* What stays the same. Zero and NULL: not known. */
struct live_about {
    const char *name;   /* of the workload */
    const char *unit;   /* of samples; NULL: "samples" */
    const char *metric; /* NULL: "quality" */
    double target;      /* 0: none */
    int lower_is_better;
};

struct live {
    char *name, *unit, *metric;
    double target;
    int lower_is_better;
    enum live_phase phase;
    /* NAN: not known */
    double epoch, step, steps_total, samples_per_s, spread_ratio, loss, data_wait_ratio, eta_s;
    double quality, quality_epoch, best;
    int64_t run_start_ns; /* on the clock of the events; -1 before */
    int64_t now_ns;       /* on that clock; the owner moves it on before drawing */
    char status[32];      /* of run_stop: "success" */
    struct live_history rate;
    struct {
        double now;     /* the mean of the newest second, so that it can be read */
        double known_s; /* when it was known last */
        struct live_history history;
    } columns[LIVE_COLUMNS];
};

void live_open(struct live *l, const struct live_about *about);
void live_release(struct live *l);
/* Another start of the run: what it said so far is void, what it is stays. */
void live_again(struct live *l);
/* What is known anew of what stays the same; members that are not known keep what they were. */
void live_learn(struct live *l, const struct live_about *about);

void live_event(struct live *l, const struct trace_event *e);
/* The number of a column at a time; NAN when it is not known then, which holds after ten seconds:
 * some are measured seldom. */
void live_sample(struct live *l, size_t column, double seconds, double value);
/* Since run_start, 0 before. */
double live_seconds(const struct live *l);

/* The lines that stay, without a newline: of an evaluation, and of the end. */
void live_add_evaluation(const struct live *l, const struct trace_event *e, struct str *out);
void live_add_end(const struct live *l, struct str *out);
/* "3 min 58 s". */
void live_add_duration(struct str *out, double seconds);

/* Where to draw. */
struct live_space {
    int columns, rows; /* of the window */
    int is_ascii;      /* it shows no more than ASCII */
    int is_coloured;
};
/* The space of a terminal: its size, what the locale and NO_COLOR say. */
struct live_space live_space_of(int fd);
/* Appends the view: lines, each ended by a newline, narrower than the window and fewer than its
 * rows by two, so that nothing wraps or scrolls; what there is no room for is left out, the most
 * important last. */
void live_draw(const struct live *l, const struct live_space *space, struct str *out);
/* A line of words for above or below it, made printable. */
void live_draw_words(const char *words, const struct live_space *space, struct str *out);

#endif
