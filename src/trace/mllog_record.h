/* One record of a log: what stands from its token to the end of its piece of the line. */
#ifndef STAVE_TRACE_MLLOG_RECORD_H
#define STAVE_TRACE_MLLOG_RECORD_H

#include "trace/mllog_json.h"

/* Where it went wrong: `at` counts from the piece's beginning. */
struct mllog_wrong {
    enum mllog_kind kind;
    size_t at;
    const char *what; /* NULL: nothing did */
};

struct mllog_parsed {
    struct mllog_record record; /* without its place */
    cJSON *doc;                 /* owns what record points to; the caller deletes it */
    struct mllog_wrong wrong;   /* then record is none */
    struct mllog_wrong trailing;
    char name[128], head[64]; /* of a record in an old format: key, benchmark */
};

/* [s, s + n) starts with a token of this format. scratch holds a copy while the record is used. */
void mllog_parse_record(const char *s, size_t n, enum mllog_format format, struct str *scratch,
                        struct mllog_parsed *out);

#endif
