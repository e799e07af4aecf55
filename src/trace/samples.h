/* samples.csv and ingest.csv of a run folder, read back as columns of numbers by name: whole, of a
 * run that is at work, or of one that was killed.
 *
 * What these files hold is in docs/meter.md. A cell that is not known is NAN. A line that can not
 * be read (other cells than the header names, no number, time that runs backwards) is left out and
 * counted; half a line at the end is nothing unusual. The file is read in pieces; memory is eight
 * bytes a cell of the columns that are wanted.
 *
 * Errors: E_IO; E_DATA for a file without such a header. Any thread, each its own. */
#ifndef STAVE_TRACE_SAMPLES_H
#define STAVE_TRACE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_MAX_COLUMNS = 512, SAMPLES_MAX_PHASES = 16, SAMPLES_MAX_NAME = 63 };

struct samples {
    size_t n_rows, n_columns;
    char **names;         /* of the columns of numbers that were wanted */
    double **columns;     /* n_rows numbers each */
    double *elapsed_s;    /* does not fall */
    double *seconds;      /* of the interval before a row; 0 of the first */
    double *time_ms;      /* wall clock */
    unsigned char *phase; /* of a row: its number in phases */
    int *epoch;           /* 0: none */
    char *phases[SAMPLES_MAX_PHASES];
    size_t n_phases;   /* ingest.csv: one, "" */
    size_t n_left_out; /* lines that could not be read */
};

/* wanted: names of the columns to keep, ends with NULL; NULL: all. Those that the file has not are
 * not there. On failure *out is empty. */
int samples_read(const char *path, const char *const *wanted, struct samples *out);
int samples_read_memory(const char *text, size_t n, struct samples *out);
void samples_release(struct samples *s);

/* A column's numbers; NULL when it is not there. */
const double *samples_column(const struct samples *s, const char *name);
/* Whether the column counts up from the start of the meter, so that differences are its meaning. */
int samples_is_total(const char *name);

/* Rows to look at: members that are not set choose all. */
struct samples_where {
    const char *phase;   /* NULL: any */
    int epoch;           /* 0: any */
    double from_s, to_s; /* elapsed_s of rows, both included; to_s 0: to the end */
};
int samples_has(const struct samples *s, size_t row, const struct samples_where *where);
/* Seconds of the intervals of the rows. */
double samples_seconds(const struct samples *s, const struct samples_where *where);

struct samples_level {
    size_t n;        /* rows where it is known */
    double mean;     /* weighted by the interval of each row */
    double p50, p95; /* of the rows; between two where the place lies between them */
    double least, most;
};
/* NAN and n 0 when it is known nowhere there. numbers is samples_column's and may be NULL. */
struct samples_level samples_level(const struct samples *s, const double *numbers,
                                   const struct samples_where *where);
/* By how much a total has grown during the intervals of the rows: each row's growth since the row
 * before it where it was known. A fall counts nothing. NAN when it is known at no two rows of which
 * the later one is chosen. */
double samples_growth(const struct samples *s, const double *numbers,
                      const struct samples_where *where);

#endif
