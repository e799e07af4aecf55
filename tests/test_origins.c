/* From samples.csv to where the epochs' bytes came from, on files written here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/origins.h"
#include "scratch.h"

#define HEADER                                                                                     \
    "time_ms,elapsed_s,phase,epoch,loader_asked_bytes,io_read_bytes,disk_read_bytes,other_"        \
    "percent\n"

/* Epoch 1 from storage, an evaluation that reads, epoch 2 half, epochs 3 and 4 from the cache. */
static const char four[] = HEADER "1000,0.000,init,,0,500,9000,1\n"
                                  "1100,0.100,warmup,,0,600,9100,1\n"
                                  "1200,0.200,warmup,1,400,1000,9500,1\n"
                                  "1300,0.300,train,1,1000,1590,10100,1\n"
                                  "1400,0.400,evaluate,,1500,2090,10600,1\n"
                                  "1450,0.450,train,,1500,2090,10600,1\n"
                                  "1500,0.500,train,2,2500,2590,20600,1\n"
                                  "1600,0.600,train,3,3500,2590,20600,1\n"
                                  "1700,0.700,train,4,4500,2690,20600,1\n"
                                  "1800,0.800,end,,4500,9999,99999,1\n";

static struct origins read_text_of(const char *dir, const char *text, enum origin_medium medium)
{
    char *const path = file_join(dir, "samples.csv");
    struct origins o;

    assert_int_equal(file_replace(path, text, strlen(text)), 0);
    assert_int_equal(origins_read(dir, medium, &o), 0);
    free(path);
    return o;
}

static void test_epochs_are_told_apart(void **state)
{
    static const double asked[] = {1000, 1000, 1000, 1000}, process[] = {990, 500, 0, 100},
                        device[] = {1000, 10000, 0, 0};
    static const enum origin want[] = {ORIGIN_DISK, ORIGIN_MIXED, ORIGIN_CACHE, ORIGIN_CACHE};
    struct origins o = read_text_of(*state, four, MEDIUM_DISK);

    assert_int_equal(o.n_epochs, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(o.epochs[i].epoch, i + 1);
        assert_true(o.epochs[i].bytes.asked == asked[i]);
        assert_true(o.epochs[i].bytes.process == process[i]);
        assert_true(o.epochs[i].bytes.device == device[i]);
        assert_int_equal(origin_find(&o.epochs[i].bytes), want[i]);
    }
    assert_true(o.all.asked == 4000 && o.all.process == 1590);
    origins_release(&o);
}

static void test_words(void **state)
{
    struct origins o = read_text_of(*state, four, MEDIUM_DISK);
    struct str s = STR_INIT;

    origins_add_text(&o, &s);
    assert_string_equal(
        s.s,
        "data: epoch 1 from disk: storage delivered 990 bytes of the 1000 bytes asked for (99 %)\n"
        "data: epoch 2 mixed: storage delivered 500 bytes of the 1000 bytes asked for (50 %)\n"
        "data: epochs 3 to 4 from cache: storage delivered 100 bytes of the 2.0 KiB asked for (5 "
        "%)\n");
    str_release(&s);
    origins_release(&o);
}

static void test_json(void **state)
{
    struct origins o = read_text_of(*state, four, MEDIUM_DISK);
    struct str s = STR_INIT;
    const cJSON *epochs;
    cJSON *doc;

    str_add(&s, "{\"x\": 1");
    origins_add_json(&o, &s);
    str_add(&s, "}");
    doc = cJSON_Parse(s.s);
    assert_non_null(doc);
    epochs = cJSON_GetObjectItem(doc, "data_epochs");
    assert_int_equal(cJSON_GetArraySize(epochs), 4);
    assert_true(
        cJSON_GetObjectItem(cJSON_GetArrayItem(epochs, 0), "delivered_ratio")->valuedouble == 0.99);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(epochs, 1), "origin")->valuestring,
                        "mixed");
    assert_string_equal(cJSON_GetObjectItem(doc, "origin")->valuestring, "mixed");
    cJSON_Delete(doc);
    str_release(&s);
    origins_release(&o);
}

/* Without the process's own count only the cache can be proven; nothing asked, nothing said. */
static void test_what_is_missing(void **state)
{
    struct origins o = read_text_of(*state,
                                    "time_ms,elapsed_s,phase,epoch,loader_asked_bytes\n"
                                    "1,0.000,train,,0\n2,0.001,train,1,10\n",
                                    MEDIUM_DISK);
    struct str s = STR_INIT;

    assert_int_equal(o.n_epochs, 1);
    assert_int_equal(origin_find(&o.all), ORIGIN_UNKNOWN);
    origins_add_json(&o, &s);
    assert_non_null(strstr(s.s, "\"origin\": \"unknown\""));
    assert_null(strstr(s.s, "process_read_bytes"));
    origins_release(&o);
    o = read_text_of(*state, HEADER "1,0.000,train,,0,1,1,1\n2,0.001,train,1,0,10,10,1\n",
                     MEDIUM_DISK);
    str_reset(&s);
    origins_add_json(&o, &s);
    origins_add_text(&o, &s);
    assert_int_equal(s.len, 0);
    str_release(&s);
    origins_release(&o);
    assert_int_equal(origins_read("/nonexistent", MEDIUM_DISK, &o), E_IO);
    assert_int_equal(o.n_epochs, 0);
}

/* What read_bytes says depends on the file system. */
static void test_media(void **state)
{
    static const struct {
        char type[16];
        enum disk_kind kind;
        enum origin_medium medium;
    } cases[] = {
        {"ext4", DISK_BLOCK, MEDIUM_DISK},      {"tmpfs", DISK_MEMORY, MEDIUM_MEMORY},
        {"nfs4", DISK_NETWORK, MEDIUM_REMOTE},  {"overlay", DISK_UNKNOWN, MEDIUM_UNKNOWN},
        {"fuse", DISK_UNKNOWN, MEDIUM_REMOTE},  {"fuse.unheard-of", DISK_UNKNOWN, MEDIUM_REMOTE},
        {"fuseblk", DISK_BLOCK, MEDIUM_REMOTE}, {"zfs", DISK_UNKNOWN, MEDIUM_UNACCOUNTED}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char type[16];

        memcpy(type, cases[i].type, sizeof(type));
        assert_int_equal(
            origins_medium_of(&(struct disk_path){.kind = cases[i].kind, .type = type}),
            cases[i].medium);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media),
        cmocka_unit_test_setup_teardown(test_epochs_are_told_apart, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_words, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_json, scratch_open, scratch_close),
        cmocka_unit_test_setup_teardown(test_what_is_missing, scratch_open, scratch_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
