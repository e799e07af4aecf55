#include "meter_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "scratch.h"

void meter_put(const char *root, const char *name, const char *fmt, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    assert_true(n >= 0);
    free(scratch_file(root, name, text));
    free(text);
}

struct meter *meter_begin(const char *root, const struct meter_counter *counters, size_t n)
{
    char *const path = file_join(root, "samples.csv");
    const struct meter_config config = {.path = path,
                                        .hz = 0.001,
                                        .start_ns = clock_ns() - 1500000000,
                                        .start_ms = 1700000000000,
                                        .place = {.root = root},
                                        .counters = counters,
                                        .n_counters = n};
    struct meter *m;

    if (meter_open(&config, &m) < 0)
        fail_msg("%s", err_reason());
    free(path);
    return m;
}

struct meter_use meter_end(struct meter *m)
{
    struct meter_use use;

    if (meter_close(m, &use) < 0)
        fail_msg("%s", err_reason());
    return use;
}

/* ---- the file ---- */

static char *line_of(const char *text, int row)
{
    for (; row > 0 && text; row--) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text && strchr(text, '\n') ? strndup(text, strcspn(text, "\n")) : NULL;
}

static char *read_samples(const char *dir)
{
    char *const path = file_join(dir, "samples.csv"), *text;
    size_t n;

    if (file_read(path, 1 << 26, &text, &n) < 0)
        fail_msg("%s", err_reason());
    free(path);
    return text;
}

const char *csv_text(const char *dir, int row, const char *column)
{
    static char found[128];
    char *const text = read_samples(dir), *const names = line_of(text, 0),
                *const values = line_of(text, row);
    char *name_at = names, *value_at = values, *name, *value;
    const char *result = NULL;

    while (values && (name = strsep(&name_at, ",")) && (value = strsep(&value_at, ",")))
        if (strcmp(name, column) == 0) {
            assert_true(strlen(value) < sizeof(found));
            result = memcpy(found, value, strlen(value) + 1);
        }
    free(text);
    free(names);
    free(values);
    return result;
}

double csv_number(const char *dir, int row, const char *column)
{
    const char *const text = csv_text(dir, row, column);

    return text && *text ? strtod(text, NULL) : NAN;
}

int csv_rows(const char *dir)
{
    char *const text = read_samples(dir);
    int n = -1;

    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    free(text);
    return n;
}
