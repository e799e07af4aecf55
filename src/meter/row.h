/* Text of numbers for samples.csv, without allocation. Within meter. */
#ifndef STAVE_METER_ROW_H
#define STAVE_METER_ROW_H

#include <stdint.h>

enum { ROW_NUMBER_BYTES = 32 }; /* at most, of each of these */

/* Write at `at` and return what lies behind. */
char *row_add_whole(char *at, uint64_t v);
/* Nothing for what is no number or infinite; three decimals, six below 1, without zeros at the end;
 * whole numbers with all of their digits. */
char *row_add_number(char *at, double v);
/* 12.345 of nanoseconds, three decimals. */
char *row_add_seconds(char *at, int64_t ns);

#endif
