/* The JSON of a log's records, as Python's json module takes it: strict, but for the bare words
 * NaN, Infinity and -Infinity. */
#ifndef STAVE_TRACE_MLLOG_JSON_H
#define STAVE_TRACE_MLLOG_JSON_H

#include "base/str.h"
#include "trace/mllog_read.h"

struct mllog_json {
    cJSON *doc; /* NULL: see kind and what; cJSON_Delete frees it */
    size_t end; /* behind the value, or where it went wrong */
    enum mllog_kind kind;
    const char *what;
    size_t value_from, value_to; /* of the member "value" of an object; both 0: there is none */
};

/* Parses the value that [s, s + n) starts with. scratch holds a copy between calls. */
struct mllog_json mllog_json_parse(const char *s, size_t n, struct str *scratch);
/* A number in Python's spelling, blanks around it allowed. */
int mllog_python_float(const char *text, double *out);

#endif
