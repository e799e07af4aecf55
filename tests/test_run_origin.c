/* The page cache plays the disk, or may not: the same data set read twice with room for it, and
 * with a ceiling at a quarter of it, a real control group where there is one to be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "meter/disk_path.h"
#include "run_fixture.h"
#include "scratch.h"

enum { N = 480, BYTES = 120000 }; /* 58 MB */

#define READ                                                                                       \
    "run resnet50 -p sample --image-size 28 --device null --only data --epochs 3 -b 16 -j 2 "      \
    "--classes 3 --warm 0 --sample-rate 5 --clear-cache files -d %s "

static int open_data(void **state)
{
    struct disk_path d;

    scratch_open(state);
    if (disk_path_find("", *state, &d) < 0)
        return 0;
    if (d.kind == DISK_BLOCK) {
        run_large_data(*state, "train", N, BYTES);
        run_data(*state, "val", RUN_VAL, NULL);
    }
    disk_path_release(&d);
    return 0;
}

/* A file system without a disk of this machine below it has nothing to prove. */
static void need_disk(const char *dir)
{
    char *const path = file_join(dir, "train.rec");
    const int there = file_exists(path);

    free(path);
    if (there)
        return;
    print_message("no block device below the folder for temporary files\n");
    skip();
}

static const cJSON *epoch_of(const cJSON *result, int i)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(result, "data_epochs"), i);
}

static void assert_asked_is_the_data(const cJSON *result)
{
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(result, "data_epochs")),
                     3);
    /* What is read ahead of an epoch's end belongs to the epoch in which it is read. */
    for (int i = 0; i < 3; i++)
        assert_in_range(number_of(epoch_of(result, i), "asked_bytes"), N * BYTES * 0.8,
                        N * BYTES * 1.2);
}

static void test_the_second_epoch_comes_from_the_cache(void **state)
{
    char *said;
    cJSON *result;

    need_disk(*state);
    said = program_run(*state, 0, READ "--out %s/run", (char *)*state, (char *)*state);
    result = read_json(*state, "run/result.json");
    assert_says(said, "data: epoch 1 from disk: ");
    assert_says(said, "data: epochs 2 to 3 from cache: ");
    assert_asked_is_the_data(result);
    assert_string_equal(string_of(epoch_of(result, 0), "origin"), "disk");
    for (int i = 1; i < 3; i++) {
        assert_string_equal(string_of(epoch_of(result, i), "origin"), "cache");
        assert_true(number_of(epoch_of(result, i), "delivered_ratio") < 0.05);
    }
    cJSON_Delete(result);
    free(said);
}

static void test_a_ceiling_keeps_it_on_the_disk(void **state)
{
    const cJSON *ceiling;
    cJSON *result;
    char *said;

    need_disk(*state);
    said = program_run(*state, 0, READ "--cache 25%%-of-data --out %s/run", (char *)*state,
                       (char *)*state);
    result = read_json(*state, "run/result.json");
    ceiling = cJSON_GetObjectItemCaseSensitive(result, "ceiling");
    assert_non_null(ceiling);
    print_message("ceiling: %s\n", string_of(ceiling, "how"));
    assert_says(said, "data: epochs 1 to 3 from disk: ");
    assert_asked_is_the_data(result);
    for (int i = 0; i < 3; i++) {
        const cJSON *const e = epoch_of(result, i);

        assert_string_equal(string_of(e, "origin"), "disk");
        assert_true(number_of(e, "process_read_bytes") >= 0.8 * number_of(e, "asked_bytes"));
        /* Others read too, but the disk can not have delivered less than the process got. */
        assert_true(number_of(e, "disk_read_bytes") >= 0.95 * number_of(e, "process_read_bytes"));
    }
    cJSON_Delete(result);
    free(said);
}

/* Reads past the cache need no group. */
static void test_direct_reads_come_from_the_disk(void **state)
{
    char *said;

    need_disk(*state);
    said =
        program_run(*state, 0, READ "--reader direct --out %s/run", (char *)*state, (char *)*state);
    assert_says(said, "data: epochs 1 to 3 from disk: ");
    free(said);
}

/* The address sanitizer keeps what was freed, so that a program grows by more than the ceiling has
 * room for; here it must not. Without it the variable means nothing. */
static void give_back_freed_memory(void)
{
    const char *const before = getenv("ASAN_OPTIONS");
    char *const options = xasprintf("%s%squarantine_size_mb=0:thread_local_quarantine_size_kb=0",
                                    before ? before : "", before ? ":" : "");

    setenv("ASAN_OPTIONS", options, 1);
    free(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_second_epoch_comes_from_the_cache, open_data,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(test_a_ceiling_keeps_it_on_the_disk, open_data,
                                        scratch_close),
        cmocka_unit_test_setup_teardown(test_direct_reads_come_from_the_disk, open_data,
                                        scratch_close),
    };

    give_back_freed_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
