/* `stave prepare WORKLOAD --verify DIR`: the look at a data set, told as text or JSON on stdout.
 * The output is the same for any number of threads. */
#ifndef STAVE_CLI_VERIFY_H
#define STAVE_CLI_VERIFY_H

#include "base/memlimit.h"
#include "data/verify.h"
#include "workloads/workload.h"

struct verify_settings {
    char *dir, *preset;
    long long classes, label_offset, num_threads, max_pixels;
    int json;
};
extern const struct opt_table verify_options;

/* Returns EXIT_REACHED without findings, EXIT_UNTRUSTWORTHY with some, or a negative error. */
int verify_data(const struct workload *w, const struct verify_settings *s);

/* What the two ways of telling are given. */
struct verify_report {
    const struct verify *v;
    struct verify_run_shape run;
    struct memlimit memory;
};
void verify_print_text(const struct verify_report *r);
void verify_print_json(const struct verify_report *r);
/* What a run's input takes and all files of all splits, for a page cache that holds them. */
uint64_t verify_wanted_bytes(const struct verify_report *r);

/* The spreads of a split, in the order they are told. */
struct verify_row {
    const char *name;
    struct verify_spread spread;
};
enum { VERIFY_ROWS = 5 };
void verify_rows(const struct verify_split *s, struct verify_row out[VERIFY_ROWS]);

#endif
