/* Reads MLPerf logs: records ":::MLLOG {json}", one a line, among whatever else a launcher and
 * other processes put into the file. Takes what MLPerf's own parser takes (text in front of a
 * record, carriage returns, escape sequences, bare NaN and Infinity) and says where a line is not
 * as a writer should leave it.
 *
 * A carriage return ends a line for the search of records, as it does for MLPerf's parser; line
 * numbers count newlines. Memory is bounded whatever the input: a line of more than MLLOG_MAX_LINE
 * bytes and JSON deeper than MLLOG_MAX_DEPTH are troubles, not work.
 *
 * No state is shared: any thread may read its own input. */
#ifndef STAVE_TRACE_MLLOG_READ_H
#define STAVE_TRACE_MLLOG_READ_H

#include <cjson/cJSON.h>
#include <stddef.h>

enum { MLLOG_MAX_LINE = 1 << 18, MLLOG_MAX_DEPTH = 32 };

/* What is not right about a place in the log. Up to MLLOG_LAST_NOTE MLPerf's parser passes over
 * it; behind it, it loses the record or refuses the file. */
enum mllog_kind {
    MLLOG_FOREIGN,    /* a line without a record */
    MLLOG_PREFIX,     /* text in front of a record: a rank's name, an escape sequence */
    MLLOG_RETURN,     /* a carriage return */
    MLLOG_NO_NEWLINE, /* the input ends inside its last line */
    MLLOG_LAST_NOTE = MLLOG_NO_NEWLINE,
    MLLOG_GLUED,    /* a record that starts behind another one on the line */
    MLLOG_TRAILING, /* text behind a record */
    MLLOG_CUT,   /* JSON that is not whole or not JSON: another process's text cut through it; the
                    column is where the JSON parser gave up */
    MLLOG_FIELD, /* key, value, time_ms or metadata is missing or of another type */
    MLLOG_DEEP,
    MLLOG_LONG,
};

/* line and column count from 1; the column counts bytes. Pointers hold during the call. */
struct mllog_record {
    const char *key;
    const char *type;      /* event_type; "" when there is none */
    const cJSON *value;    /* NaN and infinities are the strings "NaN", "Infinity", "-Infinity" */
    const cJSON *metadata; /* an object */
    double time_ms;
    const char *text; /* from ":::MLLOG" to the last brace; no zero byte ends it */
    size_t n_text;
    size_t line, column;
};

struct mllog_trouble {
    enum mllog_kind kind;
    size_t line, column;
    const char *about; /* one phrase, without the place */
};

/* A call that returns anything but 0 ends the reading with that code. NULL: not called. The
 * troubles of a record come before the record. */
struct mllog_visitor {
    int (*record)(void *context, const struct mllog_record *r);
    int (*trouble)(void *context, const struct mllog_trouble *t);
    void *context;
};

/* 0 at the end of the input, whatever was met there; a visitor's code; E_IO for the file. */
int mllog_read_memory(const char *bytes, size_t n, const struct mllog_visitor *v);
int mllog_read_file(const char *path, const struct mllog_visitor *v);

#endif
