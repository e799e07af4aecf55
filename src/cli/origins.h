/* Where the data of a run came from, epoch by epoch: the bytes that the loader asked for against
 * those that storage delivered, from the run's samples.csv (docs/meter.md), for result.json and in
 * words. An epoch is what lies between its start and its stop: training, without evaluations. */
#ifndef STAVE_CLI_ORIGINS_H
#define STAVE_CLI_ORIGINS_H

#include "base/str.h"
#include "data/source.h"
#include "meter/disk_path.h"
#include "verdict/origin.h"

struct origins {
    struct origin_epoch {
        int epoch; /* from 1 */
        struct origin_bytes bytes;
    } * epochs; /* of which samples.csv tells, in order */
    size_t n_epochs;
    struct origin_bytes all; /* of the epochs together */
};

/* What kind of storage a data set lies on; source may be NULL. */
enum origin_medium origins_medium(const struct source *source);
enum origin_medium origins_medium_of(const struct disk_path *d);
/* E_IO, E_DATA when there is no samples.csv to read; *out is then empty. The caller releases it. */
int origins_read(const char *dir, enum origin_medium medium, struct origins *out);
void origins_release(struct origins *o);
/* Members for result.json, each with a comma in front: "data_epochs", "origin", "origin_words";
 * nothing when no byte was asked for. */
void origins_add_json(const struct origins *o, struct str *out);
/* A line for each run of epochs with the same origin: "data: epoch 1 from disk: ...". */
void origins_add_text(const struct origins *o, struct str *out);

#endif
