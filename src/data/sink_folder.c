/* PREFIX/CLASS/00000001.jpg: a folder for each class, a file for each sample, named by its number
 * in the data set, so samples keep their order within a class; the folder itself is read class by
 * class. Classes keep their names when these are fit to be folders and in the order of the labels;
 * otherwise a class is called by its label, padded with zeros. Empty classes have folders, too,
 * because a class's place in order is its label. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "data/sink.h"

extern const struct sink_ops sink_folder;

enum { LABEL_DIGITS = 5, MAX_LABEL = 99999, NUMBER_DIGITS = 8 };

static int is_fit(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 256;
}

static void look_at_names(struct sink *k)
{
    const char *const *const names = k->config.classes;

    k->named = names != NULL;
    for (int c = 0; k->named && c < k->config.n_classes; c++)
        k->named = is_fit(names[c]) && (c == 0 || strcmp(names[c - 1], names[c]) < 0);
}

static int encode(struct sink *k, const struct sink_item *item, struct bytes *out)
{
    const int64_t most = k->named ? k->config.n_classes - 1 : MAX_LABEL;

    if (item->label < 0 || item->label > most)
        return err(E_DATA, "the label %lld has no class folder; they are 0..%lld",
                   (long long)item->label, (long long)most);
    bytes_add(out, item->data, item->n);
    return 0;
}

static char *class_folder(const struct sink *k, int64_t label)
{
    return k->named ? xstrdup(k->config.classes[label])
                    : xasprintf("%0*lld", LABEL_DIGITS, (long long)label);
}

static char *item_name(const struct sink *k, const struct sink_item *item)
{
    const int n = snprintf(NULL, 0, "%llu", (unsigned long long)k->config.n_samples);
    char *const folder = class_folder(k, item->label);
    char *const name = xasprintf("%s/%0*llu.%s", folder, n > NUMBER_DIGITS ? n : NUMBER_DIGITS,
                                 (unsigned long long)k->next, sink_ending(item));

    free(folder);
    return name;
}

/* How many folders there have to be: all named ones, or up to the largest label that was met. */
static int count_classes(const struct sink *k, const char *place, int64_t *n)
{
    struct file_names there;

    *n = k->config.n_classes;
    if (k->named)
        return 0;
    TRY(file_list(place, &there));
    *n = there.n ? strtoll(there.all[there.n - 1], NULL, 10) + 1 : 0;
    file_names_release(&there);
    return 0;
}

static int finish(struct sink *k, const char *place)
{
    int64_t n;
    int rc;

    rc = count_classes(k, place, &n);
    for (int64_t c = 0; c < n && rc == 0; c++) {
        char *const name = class_folder(k, c), *const path = file_join(place, name);

        rc = file_mkdirs(path);
        free(name);
        free(path);
    }
    return rc;
}

const struct sink_ops sink_folder = {
    .name = "folder",
    .max_shards = 1,
    .open = look_at_names,
    .encode = encode,
    .item_name = item_name,
    .finish = finish,
};
