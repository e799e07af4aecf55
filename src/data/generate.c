#include "data/generate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "data/generate_int.h"
#include "data/prepare_int.h"
#include "data/source.h"

/* Counts up when other samples come of the same seed. */
enum { VERSION = 1, N_SPLITS = 2 };

static const char *const set_name = "imagenet-like";
static const double mean_bytes[N_SPLITS] = {114660, 134130}; /* for the space needed only */

struct generation {
    const struct prepare_like *p;
    struct photos photos;
    char *json;
    struct split splits[N_SPLITS];
    int there[N_SPLITS]; /* whole, as asked for */
};

/* One split while it is written. */
struct writing {
    const struct generation *g;
    struct recordio_writer *w;
    uint64_t n;
};

static int has_split(const char *dir, const char *split)
{
    char *const path = source_split_path(dir, split);
    const int there = path != NULL;

    free(path);
    return there;
}

/* 1: the folder's data set is one of ours, or there is none. */
static int is_ours(const char *json_path, const char *dir)
{
    static const char *const parts[] = {"train.idx", "val.idx", "train.json", "val.json"};
    cJSON *doc = NULL;
    int ours = 0;

    if (file_exists(json_path)) {
        if (json_read_object(json_path, &doc) == 0) {
            const char *const name =
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(doc, "name"));

            ours = name && strcmp(name, set_name) == 0;
        }
        cJSON_Delete(doc);
        return ours;
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *const path = file_join(dir, parts[i]);
        const int there = file_exists(path);

        free(path);
        if (there)
            return 0;
    }
    return !has_split(dir, "train") && !has_split(dir, "val");
}

/* What determines the samples; libjpeg's version is left out. */
static void set_split(struct generation *g, enum generated_split split, uint64_t n)
{
    const uint64_t of[] = {VERSION, g->p->seed, (uint64_t)split, n, g->photos.checksum};

    g->splits[split] =
        (struct split){.name = split == GENERATED_VAL ? "val" : "train",
                       .content_checksum = checksum_add(CHECKSUM_INIT, of, sizeof(of)),
                       .totals.n_records = n};
}

static int check_space(const struct generation *g)
{
    const int64_t free_bytes = file_free_bytes(g->p->to);
    double needed = 0.0, unit;

    for (int k = 0; k < N_SPLITS; k++)
        if (!g->there[k])
            needed += (double)g->splits[k].totals.n_records * mean_bytes[k];
    unit = needed < 1e9 ? 1e6 : 1e9;
    if (free_bytes >= 0 && needed > (double)free_bytes)
        return err(E_IO, "%s needs about %.1f %s for these samples, %.1f %s are free there",
                   g->p->to, needed / unit, needed < 1e9 ? "MB" : "GB", (double)free_bytes / unit,
                   needed < 1e9 ? "MB" : "GB");
    return 0;
}

/* With the splits that are there so far: the first writing marks the folder as ours before it holds
 * anything, so that a run cut short can be told from somebody's data. */
static int write_json(const struct generation *g)
{
    struct str text = STR_INIT;
    int rc;

    str_printf(
        &text,
        "{\"name\": \"%s\", \"format\": \"recordio\", \"n_classes\": 1000, \"seed\": %" PRIu64
        ", \"photographs\": %zu,\n \"photographs_checksum\": \"fnv1a64:%016" PRIx64 "\"",
        set_name, g->p->seed, g->photos.n, g->photos.checksum);
    for (int k = 0; k < N_SPLITS; k++) {
        if (!g->there[k])
            continue;
        str_add(&text, ",\n ");
        split_add_json(&g->splits[k], &text);
    }
    str_add(&text, "}\n");
    rc = file_replace(g->json, text.s, text.len);
    str_release(&text);
    return rc;
}

static int take(void *context, struct sample_key key, const struct bytes *jpeg)
{
    struct writing *const w = context;

    TRY(recordio_writer_add(w->w, (struct recordio_entry){.label = (float)generated_label(key),
                                                          .id = key.i,
                                                          .payload = jpeg->data,
                                                          .n = jpeg->n}));
    prepare_tell(&w->g->p->progress, w->g->splits[key.split].name, key.i + 1, w->n);
    return 0;
}

static int write_split(struct generation *g, enum generated_split split, int n_threads)
{
    struct writing w = {.g = g, .n = g->splits[split].totals.n_records};
    char *const prefix = file_join(g->p->to, g->splits[split].name);
    int rc = recordio_writer_open(prefix, &w.w);

    free(prefix);
    TRY(rc);
    rc = generate_in_order(&(struct generated_order){.photos = &g->photos,
                                                     .seed = g->p->seed,
                                                     .split = split,
                                                     .n = w.n,
                                                     .n_threads = n_threads,
                                                     .take = take,
                                                     .context = &w});
    if (rc < 0) {
        recordio_writer_abort(w.w);
        return rc;
    }
    TRY(recordio_writer_commit(w.w, &g->splits[split].totals));
    g->there[split] = 1;
    return write_json(g);
}

static int write_missing(struct generation *g)
{
    struct cpus cpus;
    int n_threads = g->p->n_threads;

    TRY(check_space(g));
    TRY(file_mkdirs(g->p->to));
    if (n_threads == 0) {
        TRY(cpus_find("", &cpus));
        n_threads = cpus.count;
    }
    TRY(write_json(g));
    for (int k = 0; k < N_SPLITS; k++)
        if (!g->there[k])
            TRY(write_split(g, (enum generated_split)k, n_threads));
    return 0;
}

static int generate(struct generation *g, struct prepare_result *out)
{
    if (!is_ours(g->json, g->p->to))
        return err(E_USAGE, "%s holds another data set; name another folder", g->p->to);
    TRY(photos_load(g->p->photos, &g->photos));
    out->n_train = g->p->n_train;
    out->n_val = (g->p->n_train * 50000 + 1281166) / 1281167;
    set_split(g, GENERATED_TRAIN, out->n_train);
    set_split(g, GENERATED_VAL, out->n_val);
    out->already = 1;
    out->content_checksum = CHECKSUM_INIT;
    for (int k = 0; k < N_SPLITS; k++) {
        g->there[k] = splits_match(g->json, g->p->to, &g->splits[k], 1);
        out->already &= g->there[k];
        out->content_checksum =
            checksum_add(out->content_checksum, &g->splits[k].content_checksum, sizeof(uint64_t));
    }
    return out->already ? 0 : write_missing(g);
}

int prepare_like(struct prepare_like p, struct prepare_result *out)
{
    struct generation g = {.p = &p};
    int rc;

    *out = (struct prepare_result){0};
    if (strcmp(p.name, "imagenet") != 0)
        return err(E_USAGE,
                   "nothing is known of a data set called %s; imagenet is what can be "
                   "imitated",
                   p.name);
    if (p.n_train == 0 || p.n_train > 100000000)
        return err(E_USAGE, "%" PRIu64 " samples; expected 1 to 100000000", p.n_train);
    g.json = file_join(p.to, "dataset.json");
    rc = generate(&g, out);
    photos_release(&g.photos);
    free(g.json);
    return rc;
}
