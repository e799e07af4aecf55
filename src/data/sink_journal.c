/* The journal of a sink: journal.json in its work folder. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "data/sink_int.h"

static const size_t max_journal_bytes = (size_t)64 << 20;

static void add_head(const struct sink *k, struct str *out)
{
    str_printf(out,
               "{\"format\": \"%s\", \"origin\": \"%016" PRIx64 "\", \"samples\": %" PRIu64
               ", \"shards\": %" PRIu64 ",",
               k->ops->name, k->config.origin, k->config.n_samples, k->config.n_shards);
}

int sink_journal_write(const struct sink *k)
{
    char *const path = file_join(k->work, "journal.json");
    struct str text = STR_INIT;
    int rc;

    add_head(k, &text);
    str_printf(&text, "\n \"next\": %" PRIu64 ", \"content\": \"%016" PRIx64 "\", \"files\": [",
               k->next, k->content);
    for (uint64_t i = 0; i < k->n_files; i++)
        str_printf(&text,
                   "%s\n  {\"samples\": %" PRIu64 ", \"bytes\": %" PRIu64
                   ", \"checksum\": \"%016" PRIx64 "\"}",
                   i ? "," : "", k->files[i].n_samples, k->files[i].n_bytes, k->files[i].checksum);
    str_add(&text, "]}\n");
    rc = file_replace(path, text.s, text.len);
    str_release(&text);
    free(path);
    return rc;
}

/* A whole number that a double holds; 0: there is none. */
static int read_count(const cJSON *object, const char *key, uint64_t *out)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1;

    if (!(v >= 0 && v <= 9007199254740992.0))
        return 0;
    *out = (uint64_t)v;
    return (double)*out == v;
}

static int read_sum(const cJSON *object, const char *key, uint64_t *out)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    char *end;

    if (!text || strlen(text) != 16)
        return 0;
    *out = strtoull(text, &end, 16);
    return *end == '\0';
}

static int read_file(const cJSON *item, struct sink_file *f)
{
    return read_count(item, "samples", &f->n_samples) && read_count(item, "bytes", &f->n_bytes) &&
           read_sum(item, "checksum", &f->checksum);
}

/* The samples of the files are those before the next one, shard by shard. */
static int fits(const struct sink *k)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < k->n_files; i++) {
        n += k->files[i].n_samples;
        if (i + 1 < k->n_files && n != sink_shard_first(k, i + 1))
            return 0;
    }
    return k->next <= k->config.n_samples &&
           (k->ops->item_name ? k->n_files == 0
                              : n == k->next && n <= sink_shard_first(k, k->n_files));
}

static int read_document(struct sink *k, const cJSON *doc)
{
    const cJSON *const files = cJSON_GetObjectItemCaseSensitive(doc, "files"), *item;

    if (!read_count(doc, "next", &k->next) || !read_sum(doc, "content", &k->content) ||
        !cJSON_IsArray(files))
        return 0;
    k->n_files = 0;
    cJSON_ArrayForEach(item, files)
    {
        if (k->n_files == k->config.n_shards || !read_file(item, &k->files[k->n_files++]))
            return 0;
    }
    return fits(k);
}

int sink_journal_read(struct sink *k)
{
    char *const path = file_join(k->work, "journal.json");
    struct str head = STR_INIT;
    char *text = NULL;
    size_t n = 0;
    cJSON *doc = NULL;
    int ok = 0;

    add_head(k, &head);
    if (file_exists(path) && file_read(path, max_journal_bytes, &text, &n) == 0 &&
        strncmp(text, head.s, head.len) == 0)
        doc = json_parse(text, n, NULL);
    if (doc)
        ok = read_document(k, doc);
    cJSON_Delete(doc);
    free(text);
    free(path);
    str_release(&head);
    return ok;
}
