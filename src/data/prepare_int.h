/* Shared by the preparers: what a split holds, and its JSON. */
#ifndef STAVE_DATA_PREPARE_INT_H
#define STAVE_DATA_PREPARE_INT_H

#include "base/file.h"
#include "base/str.h"
#include "data/prepare.h"
#include "data/recordio_writer.h"
#include "data/sink.h"

/* A split of a prepared sample set. */
struct split {
    const char *name;
    uint64_t content_checksum;
    struct recordio_totals totals;
};

/* Appends "name": { counts and checksums }. */
void split_add_json(const struct split *s, struct str *out);
/* 1 when dataset.json at path and the .rec files beside it hold exactly these splits: content as
 * given in s->content_checksum and totals.n_records, .rec file as the JSON says; the other totals
 * of those that match are filled in. */
int splits_match(const char *json_path, const char *dir, struct split *splits, size_t n);

/* What a conversion knows of classes: the source's names, or those in a JSON file beside it. */
void class_names_load(const struct source *s, struct file_names *out);
/* PREFIX.json of what a sink has made. */
int convert_write_json(const struct sink *k, uint64_t content_checksum);

#endif
