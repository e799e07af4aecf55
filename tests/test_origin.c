/* From bytes asked for and bytes delivered to "from disk", "from cache", "mixed", or not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "verdict/origin.h"

static void assert_origin(struct origin_bytes b, enum origin want, const char *words)
{
    struct str s = STR_INIT;

    assert_string_equal(origin_name(origin_find(&b)), origin_name(want));
    origin_add_words(&b, &s);
    assert_string_equal(s.s, words);
    str_release(&s);
}

static void test_what_storage_delivered_decides(void **state)
{
    (void)state;
    assert_origin((struct origin_bytes){1000, 1000, 5e9, MEDIUM_DISK}, ORIGIN_DISK,
                  "from disk: storage delivered 1000 bytes of the 1000 bytes asked for (100 %)");
    assert_origin((struct origin_bytes){1000, 800, NAN, MEDIUM_DISK}, ORIGIN_DISK,
                  "from disk: storage delivered 800 bytes of the 1000 bytes asked for (80 %)");
    assert_origin((struct origin_bytes){1000, 799, 1e6, MEDIUM_UNKNOWN}, ORIGIN_MIXED,
                  "mixed: storage delivered 799 bytes of the 1000 bytes asked for (80 %)");
    assert_origin((struct origin_bytes){1000, 201, 0, MEDIUM_DISK}, ORIGIN_MIXED,
                  "mixed: storage delivered 201 bytes of the 1000 bytes asked for (20 %)");
    assert_origin((struct origin_bytes){3 << 20, 0, 1e12, MEDIUM_DISK}, ORIGIN_CACHE,
                  "from cache: storage delivered 0 bytes of the 3.0 MiB asked for (0 %)");
}

/* Reading ahead brings more than was asked for. */
static void test_more_is_all(void **state)
{
    const struct origin_bytes b = {2048, 4096, 4096, MEDIUM_DISK};

    (void)state;
    assert_true(origin_ratio(&b) == 1);
    assert_origin(b, ORIGIN_DISK,
                  "from disk: storage delivered 4.0 KiB of the 2.0 KiB asked for (100 %)");
}

static void test_without_the_process_only_the_cache_is_proven(void **state)
{
    (void)state;
    assert_origin((struct origin_bytes){1000, NAN, 100, MEDIUM_DISK}, ORIGIN_CACHE,
                  "from cache: storage delivered 100 bytes of the 1000 bytes asked for (10 %)");
    assert_origin((struct origin_bytes){1000, NAN, 1000, MEDIUM_DISK}, ORIGIN_UNKNOWN,
                  "origin unknown: the kernel does not say what storage delivered");
    assert_origin((struct origin_bytes){1000, NAN, 0, MEDIUM_UNKNOWN}, ORIGIN_UNKNOWN,
                  "origin unknown: the kernel does not say what storage delivered");
    assert_origin((struct origin_bytes){1000, NAN, NAN, MEDIUM_DISK}, ORIGIN_UNKNOWN,
                  "origin unknown: the kernel does not say what storage delivered");
}

static void test_remote_and_memory(void **state)
{
    (void)state;
    assert_origin(
        (struct origin_bytes){1000, 0, NAN, MEDIUM_REMOTE}, ORIGIN_UNKNOWN,
        "origin unknown: on a file system over the network or of FUSE the kernel does not count "
        "what storage delivers");
    assert_origin((struct origin_bytes){1000, 990, NAN, MEDIUM_REMOTE}, ORIGIN_DISK,
                  "from disk: storage delivered 990 bytes of the 1000 bytes asked for (99 %)");
    assert_origin((struct origin_bytes){1000, 0, NAN, MEDIUM_MEMORY}, ORIGIN_CACHE,
                  "from memory: the data set lies on a file system without storage");
}

/* ZFS counts every read, and its devices tell of reads ahead: neither proves anything. */
static void test_unaccounted(void **state)
{
    static const double process[] = {1000, 0, NAN};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(process); i++)
        assert_origin(
            (struct origin_bytes){1000, process[i], 0, MEDIUM_UNACCOUNTED}, ORIGIN_UNKNOWN,
            "origin unknown: ZFS counts what its own cache delivers as read from storage");
}

static void test_nothing_asked(void **state)
{
    (void)state;
    assert_origin((struct origin_bytes){0, 100, 100, MEDIUM_DISK}, ORIGIN_UNKNOWN,
                  "no bytes were asked for");
    assert_origin((struct origin_bytes){NAN, 100, 100, MEDIUM_MEMORY}, ORIGIN_UNKNOWN,
                  "no bytes were asked for");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_storage_delivered_decides),
        cmocka_unit_test(test_more_is_all),
        cmocka_unit_test(test_without_the_process_only_the_cache_is_proven),
        cmocka_unit_test(test_remote_and_memory),
        cmocka_unit_test(test_unaccounted),
        cmocka_unit_test(test_nothing_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
