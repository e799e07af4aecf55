/* A metric: adds results batch by batch, merges with the other ranks' by exchanging bytes, and has
 * one value or several. Counting is exact; nothing is averaged before the end, so the value does
 * not depend on batch size, order or number of ranks.
 *
 * A batch of results is named arrays of the same number of rows (samples), as a plan's outputs are.
 * A sample of weight 0 is padding and never counts.
 * Ownership: metric_new's object is freed by metric_free; arrays are borrowed during the call.
 * Threads: one at a time. Errors: E_DATA for what data can cause, BUG for a wrong array. */
#ifndef STAVE_EVAL_METRIC_H
#define STAVE_EVAL_METRIC_H

#include <stddef.h>

struct str;

enum metric_type { METRIC_F32, METRIC_I32 };
struct metric_array {
    const char *name; /* "scores", "labels", "weights" */
    enum metric_type type;
    size_t rows, width; /* row-major */
    const void *data;
};

struct metric_value {
    const char *name; /* the first value is the one a target is compared with */
    double value;     /* NAN when nothing was added */
};
enum metric_direction { METRIC_HIGHER_IS_BETTER, METRIC_LOWER_IS_BETTER };
enum { METRIC_MAX_VALUES = 8 };

struct metric_ops {
    const char *name;  /* on the command line: "top1" */
    const char *title; /* for people: "top-1" */
    enum metric_direction direction;
    size_t state_bytes; /* zeroed at reset */
    int (*add)(void *state, const struct metric_array *arrays, size_t n);
    /* The state as bytes for other ranks, and such bytes added to the state. */
    void (*save)(const void *state, struct str *out);
    int (*merge)(void *state, const void *bytes, size_t n);
    size_t (*values)(const void *state, struct metric_value *out); /* at most METRIC_MAX_VALUES */
};

struct metric {
    const struct metric_ops *ops;
    void *state;
};

const struct metric_ops *metric_find(const char *name); /* NULL: no such metric */
struct metric *metric_new(const struct metric_ops *ops);
void metric_free(struct metric *m);
void metric_reset(struct metric *m);
int metric_add(struct metric *m, const struct metric_array *arrays, size_t n);
void metric_save(const struct metric *m, struct str *out);
int metric_merge(struct metric *m, const void *bytes, size_t n);
size_t metric_values(const struct metric *m, struct metric_value *out);
double metric_value(const struct metric *m); /* the first one */
/* Whether value is at least as good as target; never for a value that is not a number. */
int metric_reached(const struct metric_ops *ops, double value, double target);

/* For metrics: the array of that name, type and, unless width is 0, width. */
const struct metric_array *metric_array(const struct metric_array *arrays, size_t n,
                                        struct metric_array wanted);

#endif
