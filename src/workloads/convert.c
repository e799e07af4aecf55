#include "workloads/convert.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/file.h"
#include "data/labels.h"
#include "data/source.h"

static int convert(const struct workload_prepare *p, const struct source *s, const char *split,
                   struct prepare_result *out)
{
    char *const prefix = file_join(p->to, split);
    const int rc = prepare_convert(s,
                                   &(struct prepare_to){.prefix = prefix,
                                                        .format = p->format,
                                                        .n_shards = p->n_shards,
                                                        .progress = p->progress},
                                   out);

    free(prefix);
    return rc;
}

/* Most formats keep numbers of classes only, so names are compared while there are names. */
static int convert_splits(const struct workload_prepare *p, const struct source *train,
                          const struct source *val, struct prepare_result *out)
{
    struct prepare_result of_val = {0};

    TRY(source_same_classes(train, val));
    if (p->n_shards > val->n_samples) /* known before hours have gone into the training split */
        return err(E_USAGE, "%llu shards are more than the %llu samples of the validation split",
                   (unsigned long long)p->n_shards, (unsigned long long)val->n_samples);
    TRY(file_mkdirs(p->to));
    TRY(convert(p, train, "train", out));
    TRY(convert(p, val, "val", &of_val));
    out->n_val = of_val.n_train;
    out->n_found += of_val.n_found;
    out->already = out->already && of_val.already;
    return 0;
}

static int convert_one(const struct workload_prepare *p, struct prepare_result *out)
{
    struct source *s;
    int rc;

    TRY(source_open(p->from, &s));
    rc = file_mkdirs(p->to);
    if (rc == 0)
        rc = convert(p, s, "train", out);
    source_close(s);
    return rc;
}

/* 1: from holds neither split, so it is a data set itself, or nothing. */
static int has_no_splits(const char *from)
{
    char *const train = source_split_path(from, "train"), *const val =
                                                              source_split_path(from, "val");
    const int none = !train && !val;

    free(train);
    free(val);
    return none;
}

int workload_convert(const struct workload_prepare *p, struct prepare_result *out)
{
    struct source *train = NULL, *val = NULL;
    int rc;

    if (has_no_splits(p->from))
        return convert_one(p, out);
    rc = source_open_split(p->from, "train", &train);
    if (rc == 0)
        rc = source_open_split(p->from, "val", &val);
    if (rc == 0)
        rc = convert_splits(p, train, val, out);
    source_close(train);
    source_close(val);
    return rc;
}
