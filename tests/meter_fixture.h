/* Trees of files in place of /proc and /sys, a meter over them, and its file read back by means of
 * its own. Failures end the test. */
#ifndef STAVE_TESTS_METER_FIXTURE_H
#define STAVE_TESTS_METER_FIXTURE_H

#include "meter/meter.h"

/* Writes a file of the tree. */
void meter_put(const char *root, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A meter into root/samples.csv that takes no row by itself for a long time; counters may be NULL.
 */
struct meter *meter_begin(const char *root, const struct meter_counter *counters, size_t n);
struct meter_use meter_end(struct meter *m);

/* The file's line `row`, from 1 behind the header, and this column: the text, NULL when there is no
 * such column or line. Holds until the next call. */
const char *csv_text(const char *dir, int row, const char *column);
double csv_number(const char *dir, int row, const char *column); /* NAN: empty or not there */
int csv_rows(const char *dir);

#endif
