/* The fixtures load, C draws the same numbers as Python did, and the comparison sees errors. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/random.h"
#include "parity_fixture.h"
#include "scratch.h"

static struct parity *fixture, *ops;

static int load(void **state)
{
    (void)state;
    return parity_load("tests/golden/resnet50.txt", &fixture) < 0 ||
           parity_load("tests/golden/ops.txt", &ops) < 0;
}

static int unload(void **state)
{
    (void)state;
    parity_free(fixture);
    parity_free(ops);
    return 0;
}

/* The value of "WHAT.A" or "WHAT.A.B". */
static uint64_t hash_u64(const char *what, uint64_t a)
{
    char name[96];

    snprintf(name, sizeof(name), "%s.%" PRIu64, what, a);
    return parity_u64(fixture, "hash", name);
}

static void test_hashes_equal_python(void **state)
{
    static const char *const names[] = {"a", "conv1.weight", "layer4.2.bn3.running_var"};
    static const uint64_t mixed[] = {0, 1, UINT64_MAX}, at[] = {0, 1, 9407, UINT64_C(1) << 40};
    static const uint64_t big_at[] = {0, 1, UINT64_C(1) << 63};
    const struct random_key key = {7, RANDOM_TEST, random_name("conv1.weight")};
    const struct random_key big = {UINT64_MAX, RANDOM_TEST, UINT64_C(12345678901234567890)};
    char name[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(mixed); i++)
        assert_true(random_mix(mixed[i]) == hash_u64("mix", mixed[i]));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(name, sizeof(name), "name.%s", names[i]);
        assert_true(random_name(names[i]) == parity_u64(fixture, "hash", name));
    }
    for (size_t i = 0; i < COUNT_OF(at); i++)
        assert_true(random_hash(key, at[i]) == hash_u64("hash", at[i]));
    for (size_t i = 0; i < COUNT_OF(big_at); i++)
        assert_true(random_hash(big, big_at[i]) == hash_u64("bighash", big_at[i]));
}

static void test_permutation_equals_python(void **state)
{
    static const uint64_t cases[][2] = {{1, 0},     {2, 1},         {10, 3},
                                        {60000, 0}, {60000, 59999}, {1281167, 777777}};
    const struct random_key key = {7, RANDOM_TEST, random_name("conv1.weight")};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char what[64];
        snprintf(what, sizeof(what), "permute.%" PRIu64, cases[i][0]);
        assert_true(random_permute(key, cases[i][0], cases[i][1]) == hash_u64(what, cases[i][1]));
    }
}

static void test_uniform_and_normal_equal_python(void **state)
{
    static const uint64_t uniforms[] = {0, 1, 9407}, normals[] = {0, 1, 2, 9407, 2359295};
    const struct random_key key = {7, RANDOM_TEST, random_name("conv1.weight")};
    char name[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(uniforms); i++) {
        snprintf(name, sizeof(name), "uniform.%" PRIu64, uniforms[i]);
        assert_true(random_uniform(key, uniforms[i]) == parity_value(fixture, "hash", name));
    }
    for (size_t i = 0; i < COUNT_OF(normals); i++) {
        snprintf(name, sizeof(name), "normal.%" PRIu64, normals[i]);
        assert_true(fabs(random_normal(key, normals[i]) - parity_value(fixture, "hash", name)) <
                    1e-14);
    }
}

/* KH * KW * I of a convolution by torchvision's name. */
static size_t fan_in_of(const char *name)
{
    int stage, block;
    char part[32];

    if (strcmp(name, "conv1.weight") == 0)
        return 7 * 7 * 3;
    if (sscanf(name, "layer%d.%d.%31s", &stage, &block, part) != 3)
        return 0;
    const size_t width = (size_t)32 << stage;
    const size_t in = block > 0 ? 4 * width : stage == 1 ? 64 : 2 * width;
    if (strncmp(part, "conv2", 5) == 0)
        return 9 * width;
    return strncmp(part, "conv3", 5) == 0 ? width : in;
}

static void test_start_values_equal_python(void **state)
{
    size_t tensors = 0, parameters = 0;

    (void)state;
    for (const struct parity_summary *s = NULL; (s = parity_next(fixture, "init", s)); tensors++) {
        float *const w = xmalloc(s->n * sizeof(*w));
        parity_weight(s->name, fan_in_of(s->name), w, s->n);
        if (!(parity_error(s, w, s->n) < 1e-7))
            fail_msg("%s is off by %g", s->name, parity_error(s, w, s->n));
        free(w);
        parameters += strstr(s->name, "running") ? 0 : s->n;
    }
    assert_int_equal(tensors, 161 + 2 * 53);
    assert_int_equal(parameters, 25557032);
}

static void test_batches_equal_python(void **state)
{
    const size_t n = (size_t)PARITY_BATCH * PARITY_SIZE * PARITY_SIZE * 3;
    float *const image = xmalloc(n * sizeof(*image));

    (void)state;
    for (int step = 0; step < PARITY_STEPS; step++) {
        char name[32];
        int32_t label[PARITY_BATCH];
        size_t count;
        snprintf(name, sizeof(name), "image%d", step);
        parity_image(step, image);
        assert_non_null(parity_find(fixture, "batch", name));
        assert_true(parity_error(parity_find(fixture, "batch", name), image, n) < 1e-7);
        snprintf(name, sizeof(name), "label%d", step);
        const double *const want = parity_array(fixture, "batch", name, &count);
        parity_labels(step, label);
        assert_int_equal(count, PARITY_BATCH);
        for (size_t i = 0; i < count; i++)
            assert_true((double)label[i] == want[i]);
    }
    free(image);
}

/* A start value, its summary and room to spoil it. */
struct spoil {
    const struct parity_summary *want;
    float *w;
    size_t n;
};

static struct spoil spoil_begin(const char *name)
{
    struct spoil s = {.want = parity_find(fixture, "init", name)};

    assert_non_null(s.want);
    s.n = s.want->n;
    s.w = xmalloc(s.n * sizeof(*s.w));
    parity_weight(name, fan_in_of(name), s.w, s.n);
    return s;
}

static double spoil_end(struct spoil s)
{
    const double e = parity_error(s.want, s.w, s.n);

    free(s.w);
    return e;
}

static void test_error_measures_noise(void **state)
{
    const struct random_key key = {1, RANDOM_TEST, 2};
    struct spoil s = spoil_begin("layer1.0.conv2.weight");

    (void)state;
    for (size_t i = 0; i < s.n; i++) /* relative size 1e-3, independent of w */
        s.w[i] += (float)(1e-3 * s.want->norm / sqrt((double)s.n) * random_normal(key, i));
    const double e = spoil_end(s);
    assert_true(e > 0.5e-3 && e < 4e-3);
}

static void test_error_sees_scale_order_and_nan(void **state)
{
    struct spoil s = spoil_begin("layer1.0.conv2.weight");

    (void)state;
    for (size_t i = 0; i < s.n; i++)
        s.w[i] *= 1.002f;
    assert_true(spoil_end(s) > 1.9e-3);

    s = spoil_begin("layer1.0.conv2.weight");
    for (size_t i = 0; i + 1 < s.n; i += 2) { /* the norm stays */
        const float first = s.w[i];
        s.w[i] = s.w[i + 1];
        s.w[i + 1] = first;
    }
    assert_true(spoil_end(s) > 0.5);

    s = spoil_begin("layer1.0.conv2.weight");
    s.w[77] = NAN;
    assert_true(isinf(spoil_end(s)));

    s = spoil_begin("layer1.0.conv2.weight");
    s.n--;
    assert_true(isinf(spoil_end(s)));
}

/* PyTorch's own float32 error leaves room for a tolerance of 1e-3, and the weights moved. After the
 * first step an activation of the stem may win the max pool in float32 and not in float64. */
static void test_fixture_can_judge(void **state)
{
    static const char *const sections[] = {"grad", "sgd.change", "lars_in.change",
                                           "lars_out.change"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sections); i++) {
        size_t tensors = 0;
        for (const struct parity_summary *s = NULL; (s = parity_next(fixture, sections[i], s));
             tensors++) {
            const int stem = i > 0 && strncmp(s->name, "conv1.", 6) == 0;
            if (fan_in_of(s->name) && strstr(s->name, "conv") && !(s->err32 < (stem ? 5e-3 : 1e-3)))
                fail_msg("%s of %s: float32 PyTorch is off by %g", sections[i], s->name, s->err32);
            assert_int_equal(s->n, parity_find(fixture, "init", s->name)->n);
        }
        assert_int_equal(tensors, 161);
    }
    assert_true(parity_value(fixture, "sgd.move", "median") > 0.01);
    assert_true(parity_value(fixture, "lars_in.move", "median") > 0.01);
}

static void test_the_two_lars_differ(void **state)
{
    size_t far = 0;

    (void)state;
    for (const struct parity_summary *a = NULL; (a = parity_next(fixture, "lars_in.change", a));) {
        const struct parity_summary *b = parity_find(fixture, "lars_out.change", a->name);
        assert_non_null(b);
        far += fabs(a->norm - b->norm) > 0.01 * a->norm;
    }
    assert_true(far > 150);
}

static void test_ops_use_the_same_inputs(void **state)
{
    const int n = (int)parity_value(ops, "linear", "n"),
              in = (int)parity_value(ops, "linear", "in");
    const int out = (int)parity_value(ops, "linear", "out");
    size_t count;
    const double *const y = parity_array(ops, "linear", "y", &count);

    (void)state;
    assert_int_equal(count, n * out);
    for (int r = 0; r < n; r++)
        for (int o = 0; o < out; o++) {
            double sum = (double)parity_input("linear.b", 1, 0, (size_t)o);
            for (int i = 0; i < in; i++)
                sum += (double)parity_input("linear.x", 1, 0, (size_t)(r * in + i)) *
                       (double)parity_input("linear.w", 1, 0, (size_t)(o * in + i));
            assert_true(fabs(sum - y[r * out + o]) < 1e-10);
        }
}

static void test_malformed_files_are_refused(void **state)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"value a b 1\nnumber a b 1\n", "line 2: \"number\" is not a kind"},
        {"value a\n", "line 1: section or name is missing"},
        {"# x\n\nvalue a b one\n", "line 3: \"one\" is not a number"},
        {"value a b 1 2\n", "numbers are left over"},
        {"array a b 3 1 2\n", "a number is missing"},
        {"array a b -3 1 2\n", "a count is missing"},
        {"array a b 999999999999 1\n", "do not fit"},
        {"summary a b 10 1 1 0 0 2 1\n", "a number is missing"},
    };
    const char *const dir = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parity *p = NULL;
        char *const path = scratch_file(dir, "bad.txt", cases[i].text);
        const int code = parity_load(path, &p);
        free(path);
        assert_int_equal(code, E_DATA);
        if (!strstr(err_reason(), cases[i].reason))
            fail_msg("\"%s\" does not say \"%s\"", err_reason(), cases[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashes_equal_python),
        cmocka_unit_test(test_permutation_equals_python),
        cmocka_unit_test(test_uniform_and_normal_equal_python),
        cmocka_unit_test(test_start_values_equal_python),
        cmocka_unit_test(test_batches_equal_python),
        cmocka_unit_test(test_error_measures_noise),
        cmocka_unit_test(test_error_sees_scale_order_and_nan),
        cmocka_unit_test(test_fixture_can_judge),
        cmocka_unit_test(test_the_two_lars_differ),
        cmocka_unit_test(test_ops_use_the_same_inputs),
        cmocka_unit_test_setup_teardown(test_malformed_files_are_refused, scratch_open,
                                        scratch_close),
    };

    return cmocka_run_group_tests(tests, load, unload);
}
