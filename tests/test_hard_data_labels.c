/* Hard inputs, the labels of records: more of them than one, and such as no class has. */
#include <math.h>

#include "data/labels.h"
#include "hard_records.h"

/* flag labels follow; the first counts. A flag that the payload can not hold is a bad sample. */
static void test_c5_flag(void **state)
{
    enum { N = 60 };
    static const uint32_t lies[] = {0xFFFFFFFF, 0x80000000, 0x40000000,
                                    0x3FFFFFFF, 100000,     1 << 20};
    char *const dir = temp_dir();
    struct bytes file = {0}, record = {0}, jpeg = {0};
    struct source *s;
    struct pass got;
    uint8_t want[SIZE * SIZE * 3];
    float labels[2 * N];

    (void)state;
    simple_jpeg(SIZE, SIZE, 5, &jpeg);
    plain_decode(&jpeg, want);
    for (int i = 0; i < N + (int)COUNT_OF(lies); i++) {
        const size_t n = i < N ? (size_t)i : 0;

        for (size_t k = 0; k < n; k++)
            labels[k] = k ? (float)k * 0.37f : (float)(i % 5);
        make_record(&record, i < N ? (uint32_t)i : lies[i - N], i ? 77.5f : 0.0f, labels, n, 0,
                    &jpeg);
        put_record(&file, &record);
    }
    write_file(dir, "a.rec", file.data, file.n);
    s = open_rec(dir);
    got = pass_over_source(s, (struct pipeline_config){.n_classes = 5});
    for (int i = 0; i < got.n; i++) {
        int64_t label = -1;

        assert_reason(&got, i, i < N ? "" : "labels in");
        if (i >= N)
            continue;
        assert_int_equal(source_label(s, (uint64_t)i, &label), 0);
        assert_int_equal(label, i % 5);
        assert_memory_equal(pass_pixels(&got, i), want, sizeof(want));
    }
    outcome("C5", got.n,
            "%d records with 0 to %d labels: skipped, the first one counts; %d with a flag that "
            "exceeds the record: bad samples",
            N, N - 1, (int)COUNT_OF(lies));
    pass_free(&got);
    source_close(s);
    bytes_release(&file);
    bytes_release(&record);
    bytes_release(&jpeg);
    remove_dir(dir);
}

/* What the check at start says of labels, for a model of 3 classes. */
struct label_case {
    const char *what;
    float label[10];
    int offset, strict;
    const char *refused; /* NULL: taken; else part of the reason */
};

static const struct label_case label_cases[] = {
    {"0..2", {0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, 0, 1, NULL},
    {"1..3", {1, 2, 3, 1, 2, 3, 1, 2, 3, 1}, 0, 0, "label-offset -1 would make fit"},
    {"1..3 with the offset", {1, 2, 3, 1, 2, 3, 1, 2, 3, 1}, -1, 1, NULL},
    {"0..2 with an offset", {0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, -1, 0, "label-offset 0 would make fit"},
    {"-1..1", {-1, 0, 1, -1, 0, 1, 0, 0, 1, 1}, 0, 0, "label-offset 1 would make fit"},
    {"one of 3", {0, 1, 2, 0, 3, 2, 0, 1, 2, 0}, 0, 0, NULL},
    {"one of 3, on-bad fail", {0, 1, 2, 0, 3, 2, 0, 1, 2, 0}, 0, 1, "1 of 10 labels checked"},
    {"two of 3 and one NaN, on-bad fail", {0, 3, 3, 0, NAN, 2, 0, 1, 2, 0}, 0, 1, "label is nan"},
    {"one of -1", {0, 1, 2, 0, -1, 2, 0, 1, 2, 0}, 0, 0, NULL},
    {"one NaN", {0, 1, 2, 0, NAN, 2, 0, 1, 2, 0}, 0, 0, NULL},
    {"one infinite", {0, 1, 2, 0, INFINITY, 2, 0, 1, 2, 0}, 0, 0, NULL},
    {"one NaN, on-bad fail", {0, 1, 2, 0, NAN, 2, 0, 1, 2, 0}, 0, 1, "the label is nan"},
    {"all NaN",
     {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN},
     0,
     0,
     "10 of 10 labels checked can not be read"},
    {"0..9", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, 0, "7 of 10 labels checked are not in 0..2"},
    {"fractions", {0.5f, 1.5f, 0, 1, 2, 0, 1, 2, 0, 1}, 0, 0, "expected a whole number"},
    {"-1000",
     {-1000, -1000, -1000, -1000, -1000, -1000, -1000, -1000, -1000, -1000},
     0,
     0,
     "label-offset 1000 would make fit"},
    {"1e30", {1e30f, 0, 1, 2, 0, 1, 2, 0, 1, 1e30f}, 0, 0, "2 of 10 labels"},
};

static void test_b6_labels(void **state)
{
    struct bytes jpeg = {0};
    int n_refused = 0;

    (void)state;
    simple_jpeg(SIZE, SIZE, 5, &jpeg);
    for (size_t i = 0; i < COUNT_OF(label_cases); i++) {
        const struct label_case *const c = &label_cases[i];
        char *const dir = temp_dir();
        struct bytes file = {0}, record = {0};
        struct source *s;
        int rc, n_bad = 0;

        for (int k = 0; k < 10; k++) {
            make_record(&record, 0, c->label[k], NULL, 0, 0, &jpeg);
            put_record(&file, &record);
            n_bad += !(c->label[k] + (float)c->offset >= 0 && c->label[k] + (float)c->offset < 3 &&
                       c->label[k] == floorf(c->label[k]));
        }
        write_file(dir, "a.rec", file.data, file.n);
        s = open_rec(dir);
        rc = source_check_labels(s, (struct label_demand){3, c->offset, c->strict});
        if (rc != (c->refused ? E_DATA : 0))
            fail_msg("%s: %d, %s", c->what, rc, err_reason());
        if (c->refused) {
            assert_reason_has(c->refused);
            assert_reason_has("byte offset");
            if (c->strict && strstr(c->refused, "nan"))
                assert_null(strstr(err_reason(), "classes"));
            n_refused++;
        } else { /* what was let through costs what the check said */
            struct pass got = pass_over_source(
                s, (struct pipeline_config){.n_classes = 3, .label_offset = c->offset});

            assert_int_equal(got.n_bad, n_bad);
            pass_free(&got);
        }
        source_close(s);
        bytes_release(&file);
        bytes_release(&record);
        remove_dir(dir);
    }
    outcome("B6", (int)COUNT_OF(label_cases),
            "labels from 1, from -1, too large, negative, NaN, fractions: %d refused at start with "
            "record, range and the --label-offset that would fit; single bad ones cost one sample",
            n_refused);
    bytes_release(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c5_flag),
        cmocka_unit_test(test_b6_labels),
    };

    return cmocka_run_group_tests_name("hard labels", tests, NULL, NULL);
}
