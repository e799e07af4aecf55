/* A look at a data set made for a test, and what it said. */
#ifndef STAVE_TESTS_VERIFY_FIXTURE_H
#define STAVE_TESTS_VERIFY_FIXTURE_H

#include "base/str.h"
#include "data/verify.h"
#include "run_fixture.h"
#include "test_data_fixture.h"

/* Everything said, a line each: "outcome|where|what". */
UNUSED_FUNCTION void note_item(void *context, const struct verify_item *item)
{
    struct str *const out = context;

    str_printf(out, "%s|%s|%s\n", verify_outcome_name(item->outcome), item->where, item->what);
}

UNUSED_FUNCTION struct verify look(const char *dir, int n_classes, struct str *said)
{
    struct verify v;

    if (verify_run(&(struct verify_config){.dir = dir, .n_threads = 3, .n_classes = n_classes},
                   &v) < 0)
        fail_msg("%s", err_reason());
    str_reset(said);
    str_add(said, "");
    verify_each(&v, note_item, said);
    return v;
}

UNUSED_FUNCTION void put_jpeg(const char *dir, const char *folder, const char *name, int size,
                              int seed)
{
    char *const path = xasprintf("%s/%s", folder, name);
    struct bytes b = {0};

    make_dir(dir, folder);
    simple_jpeg(size, size, seed, &b);
    write_file(dir, path, b.data, b.n);
    bytes_release(&b);
    free(path);
}

#endif
