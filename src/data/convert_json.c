/* What a converted data set says of itself, and what is read of it later: the names of classes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "data/prepare_int.h"
#include "data/source.h"

static const size_t max_json_bytes = (size_t)1 << 26;

/* The strings of "classes" in a JSON file, or none. */
static void load_from(const char *path, struct file_names *out)
{
    const cJSON *item;
    char *text = NULL;
    size_t n;
    cJSON *doc = NULL;

    if (file_exists(path) && file_read(path, max_json_bytes, &text, &n) == 0)
        doc = json_parse(text, n, NULL);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc, "classes"))
    {
        if (cJSON_GetStringValue(item))
            file_names_add(out, xstrdup(cJSON_GetStringValue(item)));
    }
    cJSON_Delete(doc);
    free(text);
}

/* The length of a path without the ending of its format. */
static size_t stem_bytes(const char *path)
{
    static const char *const endings[] = {".rec", ".tar", ".tfrecord"};
    const size_t n = strlen(path);

    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        const size_t k = strlen(endings[i]);

        if (n > k && strcmp(path + n - k, endings[i]) == 0)
            return n - k;
    }
    return n;
}

void class_names_load(const struct source *s, struct file_names *out)
{
    const char *const slash = strrchr(s->path, '/');
    char *const own = xasprintf("%.*s.json", (int)stem_bytes(s->path), s->path);
    char *const all =
        xasprintf("%.*sdataset.json", slash ? (int)(slash - s->path + 1) : 0, s->path);

    *out = (struct file_names){0};
    for (int c = 0; s->ops->class_name && c < s->n_classes; c++)
        file_names_add(out, xstrdup(source_class_name(s, c)));
    if (out->n == 0)
        load_from(own, out);
    if (out->n == 0)
        load_from(all, out);
    free(own);
    free(all);
}

static void add_files(const struct sink *k, struct str *out)
{
    for (uint64_t i = 0; i < k->n_files; i++) {
        char *const path = sink_file_path(k, i);

        str_add(out, i ? ",\n  " : ",\n \"files\": [");
        str_add(out, "{\"name\": ");
        str_add_json(out, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
        str_printf(out,
                   ", \"samples\": %" PRIu64 ", \"bytes\": %" PRIu64
                   ", \"checksum\": \"fnv1a64:%016" PRIx64 "\"}",
                   k->files[i].n_samples, k->files[i].n_bytes, k->files[i].checksum);
        free(path);
    }
    str_add(out, k->n_files ? "]" : "");
}

int convert_write_json(const struct sink *k, uint64_t content_checksum)
{
    char *const path = xasprintf("%s.json", k->config.prefix);
    struct str text = STR_INIT;
    int rc;

    str_printf(&text, "{\"format\": \"%s\",", k->ops->name);
    for (int c = 0; c < k->config.n_classes; c++) {
        str_add(&text, c ? ", " : " \"classes\": [");
        str_add_json(&text, k->config.classes[c]);
    }
    if (k->config.n_classes)
        str_printf(&text, "], \"n_classes\": %d,", k->config.n_classes);
    str_add(&text, "\n ");
    str_add_json(&text, sink_stem(k));
    str_printf(&text,
               ": {\"samples\": %" PRIu64 ", \"content_checksum\": \"fnv1a64:%016" PRIx64 "\"",
               k->config.n_samples, content_checksum);
    add_files(k, &text);
    str_add(&text, "}}\n");
    rc = file_replace(path, text.s, text.len);
    str_release(&text);
    free(path);
    return rc;
}
