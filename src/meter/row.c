#include "meter/row.h"

#include <math.h>
#include <stdio.h>

char *row_add_whole(char *at, uint64_t v)
{
    char digits[20];
    int n = 0;

    do
        digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

/* The decimals of `part`, which is below 10 to the power of n. */
static char *add_decimals(char *at, uint64_t part, int n)
{
    for (; part > 0 && part % 10 == 0; n--)
        part /= 10;
    if (part == 0)
        return at;
    *at++ = '.';
    for (int i = n - 1; i >= 0; i--, part /= 10)
        at[i] = (char)('0' + part % 10);
    return at + n;
}

char *row_add_number(char *at, double v)
{
    const int decimals = fabs(v) < 1 ? 6 : 3;
    const uint64_t unit = decimals == 6 ? 1000000 : 1000;
    uint64_t parts;

    if (!isfinite(v))
        return at;
    if (fabs(v) >= 1e15)
        return at + snprintf(at, ROW_NUMBER_BYTES, v < 0x1p64 && v > 0 ? "%.0f" : "%.9g", v);
    parts = (uint64_t)llround(fabs(v) * (double)unit);
    if (v < 0 && parts > 0)
        *at++ = '-';
    at = row_add_whole(at, parts / unit);
    return add_decimals(at, parts % unit, decimals);
}

char *row_add_seconds(char *at, int64_t ns)
{
    const uint64_t ms = ns > 0 ? (uint64_t)ns / 1000000 : 0;

    at = row_add_whole(at, ms / 1000);
    *at++ = '.';
    *at++ = (char)('0' + ms / 100 % 10);
    *at++ = (char)('0' + ms / 10 % 10);
    *at++ = (char)('0' + ms % 10);
    return at;
}
