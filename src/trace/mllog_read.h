/* Reads MLPerf logs, whose records stand one a line among whatever else a launcher and other
 * processes put into the file. Three formats, told apart by what a record begins with:
 *
 *     :::MLLOG {json}                                               rounds 0.7 and later
 *     :::MLL SECONDS KEY: {"value": ..., "metadata": {...}}         round 0.6
 *     :::MLPv0.5.0 BENCHMARK SECONDS (FILE:LINE) KEY[: json]        round 0.5
 *
 * Takes what MLPerf's own parsers take (text in front of a record, carriage returns, escape
 * sequences, bare NaN and Infinity) and says where a line is not as a writer should leave it.
 *
 * A carriage return ends a line for the search of records, as it does for MLPerf's parser; line
 * numbers count newlines. Memory is bounded whatever the input: a record of more than
 * MLLOG_MAX_LINE bytes and JSON deeper than MLLOG_MAX_DEPTH are troubles, not work.
 *
 * No state is shared: any thread may read its own input. */
#ifndef STAVE_TRACE_MLLOG_READ_H
#define STAVE_TRACE_MLLOG_READ_H

#include <cjson/cJSON.h>
#include <stddef.h>

enum { MLLOG_MAX_LINE = 1 << 18, MLLOG_MAX_DEPTH = 32 };

enum mllog_format {
    MLLOG_FORMAT_ANY,  /* each record as it begins; not of a record */
    MLLOG_FORMAT_JSON, /* only ":::MLLOG" begins a record */
    MLLOG_FORMAT_06,   /* only ":::MLL" does: ":::MLLOG" is one that is cut */
    MLLOG_FORMAT_05,
    MLLOG_FORMAT_FIRST, /* all records as the first one; not of a record */
};

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
    MLLOG_FIELD, /* key, value, time_ms or metadata is missing, or time_ms is no number */
    MLLOG_TYPE,  /* one of them is of a type that only MLPerf's parser passes over */
    MLLOG_UNSPACED, /* ":::MLLOG" without a blank behind it, which MLPerf's parser does not see */
    MLLOG_DEEP,
    MLLOG_LONG,
};

/* line and column count from 1; the column counts bytes. Pointers hold during the call. */
struct mllog_record {
    const char *key;
    const char *type;      /* event_type; "" when there is none */
    const cJSON *value;    /* NaN and infinities are numbers */
    const cJSON *metadata; /* an object; empty where the format has none */
    double time_ms;
    const char *text; /* from ":::MLL" to the record's end; no zero byte ends it */
    size_t n_text;
    const char *value_text; /* the value as it is written, or NULL; no zero byte ends it */
    size_t n_value;
    enum mllog_format format;
    const char *benchmark; /* round 0.5; otherwise "" */
    int lost;              /* another record follows on the line: MLPerf's parser loses this one */
    size_t line, column;
};

struct mllog_trouble {
    enum mllog_kind kind;
    size_t line, column;
    const char *about;        /* one phrase, without the place */
    enum mllog_format format; /* of a record that is not right; else MLLOG_FORMAT_ANY */
    int lost;                 /* as for a record */
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
/* The same for records of one format alone, or of the first one's. */
int mllog_read_memory_as(enum mllog_format format, const char *bytes, size_t n,
                         const struct mllog_visitor *v);
int mllog_read_file_as(enum mllog_format format, const char *path, const struct mllog_visitor *v);
/* A member of an object; of several with one name the last, as MLPerf's parser takes it. NULL:
 * there is none, or it is no object. */
const cJSON *mllog_member(const cJSON *object, const char *name);

#endif
