#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/tune.h"

static int is_found(const struct tune *t, const char *name)
{
    static const char *const loader[] = {"num-threads", "prefetch"};
    static const char *const rate[] = {"lr", "lr-batch", "batch-size"};
    const int search = t->own->search;

    for (size_t i = 0; i < COUNT_OF(loader); i++)
        if (search != TUNE_RATE && strcmp(loader[i], name) == 0)
            return 1;
    for (size_t i = 0; i < COUNT_OF(rate); i++)
        if (search != TUNE_LOADER && strcmp(rate[i], name) == 0)
            return 1;
    return 0;
}

/* A text in JSON's quotes is one in YAML, too; one that is not set has no line. */
static void add_row(const struct opt_row *row, const void *settings, struct str *out)
{
    struct str value = STR_INIT;
    const int is_text = row->type == OPT_STRING || row->type == OPT_LIST;

    if (is_text)
        opt_add_json(row, settings, &value);
    else
        opt_add_text(row, settings, &value);
    if (!is_text || strcmp(value.s, "null") != 0)
        str_printf(out, "%s: %s\n", row->name, value.s);
    str_release(&value);
}

/* The rows of the tables behind the command's own that were found, or all others. */
static void add_rows(const struct tune *t, int found, struct str *out)
{
    const struct command_line *const l = &t->setup->line;

    for (int i = 1; i < l->n_bound; i++)
        for (size_t k = 0; k < l->bound[i].table->n_rows; k++)
            if (is_found(t, l->bound[i].table->rows[k].name) == found)
                add_row(&l->bound[i].table->rows[k], l->bound[i].settings, out);
}

int tune_write_config(const struct tune *t)
{
    char *const path = file_join(t->dir, "config.yaml");
    struct str text = STR_INIT;
    int rc;

    str_printf(&text, "# stave run %s --config FILE\n# found:\n", t->setup->workload->name);
    add_rows(t, 1, &text);
    str_add(&text, "# as it was:\n");
    add_rows(t, 0, &text);
    rc = file_replace(path, text.s, text.len);
    str_release(&text);
    free(path);
    return rc;
}
