/* Weights in and out of the program: an export has exactly the keys and shapes of torchvision's
 * resnet50, comes back as the same bytes, evaluates the same. tests/golden/torchvision_check.py
 * shows it in torchvision. */
#include <endian.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "run_fixture.h"
#include "scratch.h"
#include "train/weights.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic -b 8 --steps 1 "
#define CPU_RUN "run resnet50 -p sample --device cpu --threads 1 -b 6 "

static void says_and_free(char *text, const char *part)
{
    assert_says(text, part);
    free(text);
}

/* The bytes of all tensors: what stands behind a file's header. */
static const char *data_of(const char *file, size_t n, size_t *n_data)
{
    uint64_t header;

    assert_true(n > sizeof(header));
    memcpy(&header, file, sizeof(header));
    header = le64toh(header) + sizeof(header);
    assert_true(header < n);
    *n_data = n - header;
    return file + header;
}

/* Headers differ: they say what the weights come from. */
static void assert_same_data(const char *a, const char *b)
{
    char *ta, *tb;
    const char *da, *db;
    size_t na, nb;

    assert_int_equal(file_read(a, (size_t)1 << 30, &ta, &na), 0);
    assert_int_equal(file_read(b, (size_t)1 << 30, &tb, &nb), 0);
    da = data_of(ta, na, &na);
    db = data_of(tb, nb, &nb);
    assert_int_equal(na, nb);
    if (memcmp(da, db, na) != 0)
        fail_msg("the weights in %s and %s differ", a, b);
    free(ta);
    free(tb);
}

/* "64,3,7,7", "-" for a scalar. */
static void shape_words(const struct safetensors_tensor *t, char *out, size_t n)
{
    size_t at = 0;

    snprintf(out, n, "-");
    for (int d = 0; d < t->rank; d++)
        at += (size_t)snprintf(out + at, n - at, d ? ",%zu" : "%zu", t->dims[d]);
}

/* Every line of the golden file is a tensor of f, and f has no other. */
static void compare_keys(const struct safetensors *f)
{
    char *const text = read_text("tests/golden", "torchvision_keys.txt"), *save = NULL;
    char name[128], dtype[8], shape[32], is[64];
    size_t n = 0;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const struct safetensors_tensor *t;
        if (line[0] == '#')
            continue;
        assert_int_equal(sscanf(line, "%127s %7s %31s", name, dtype, shape), 3);
        t = safetensors_find(f, name);
        if (!t)
            fail_msg("%s is not exported", name);
        shape_words(t, is, sizeof(is));
        if (strcmp(is, shape) != 0 || strcmp(safetensors_dtype_name(t->dtype), dtype) != 0)
            fail_msg("%s is %s %s", line, safetensors_dtype_name(t->dtype), is);
        n++;
    }
    assert_int_equal(n, 320);
    assert_int_equal(f->n_tensors, n);
    free(text);
}

/* A run whose weights stay as its seed drew them; another that starts from them; both exports. */
static void there_and_back(void **state)
{
    static const char *const of_the_run[] = {"init", "seed", "header_crc32", "data_crc32"};
    const char *const dir = *state;
    char *const a = file_join(dir, "a.safetensors"), *const b = file_join(dir, "b.safetensors"),
                *const c = file_join(dir, "c.safetensors");
    struct safetensors *f;
    int64_t batches;

    free(program_run(dir, 0, NULL_RUN "--classes 1000 --seed 5 --out %s/a --export %s", dir, a));
    assert_int_equal(safetensors_open(&f, a), 0);
    compare_keys(f);
    assert_int_equal(
        safetensors_read(f, safetensors_find(f, "layer4.2.bn3.num_batches_tracked"), &batches), 0);
    assert_int_equal(batches, 1);
    assert_string_equal(safetensors_meta(f, "classes"), "1000");
    assert_string_equal(safetensors_meta(f, "image_size"), "32");
    assert_string_equal(safetensors_meta(f, "pixel_mean"), "73,73,73");
    safetensors_close(f);
    free(program_run(dir, 0, NULL_RUN "--classes 1000 --seed 6 --out %s/b --init %s --export %s",
                     dir, a, b));
    assert_same_data(a, b);
    assert_int_equal(safetensors_open(&f, b), 0);
    for (size_t i = 0; i < COUNT_OF(of_the_run); i++)
        assert_null(safetensors_meta(f, of_the_run[i]));
    safetensors_close(f);
    free(program_run(dir, 0, "export %s/b --to %s", dir, c));
    assert_same_data(a, c);
    says_and_free(program_run(dir, 3, NULL_RUN "--seed 6 --out %s/d --init %s", dir, a),
                  "tensor fc.weight has shape [1000,2048] and the model wants [10,2048]");
    free(a);
    free(b);
    free(c);
}

/* What was trained and evaluated evaluates the same from the exported file, to the last bit. */
static void evaluates_the_same(void **state)
{
    const char *const dir = *state;
    char *const only_val = file_join(dir, "only_val");
    cJSON *trained, *given;

    run_data(dir, "train", RUN_TRAIN, NULL);
    run_data(dir, "val", RUN_VAL, NULL);
    assert_int_equal(file_mkdirs(only_val), 0);
    run_data(only_val, "val", RUN_VAL, NULL);
    free(program_run(dir, 1,
                     CPU_RUN "-d %s --seed 5 --epochs 1 --eval-every 1 --out %s/t --target 1 "
                             "--export %s/w.safetensors",
                     dir, dir, dir));
    says_and_free(program_run(dir, 1,
                              CPU_RUN "-d %s --seed 6 --only evaluate --target 1 --out %s/e --init "
                                      "%s/w.safetensors",
                              dir, dir, dir),
                  "samples 10");
    free(program_run(dir, 0, CPU_RUN "-d %s --only evaluate --target 0 --out %s/f --init %s/t",
                     only_val, dir, dir));
    trained = read_json(dir, "t/result.json");
    for (int i = 0; i < 2; i++) {
        given = read_json(dir, i ? "f/result.json" : "e/result.json");
        assert_true(number_of(given, "eval_correct") == number_of(trained, "eval_correct"));
        assert_true(number_of(given, "eval_loss") == number_of(trained, "eval_loss"));
        cJSON_Delete(given);
    }
    assert_true(number_of(trained, "eval_samples") == RUN_VAL);
    assert_true(number_of(trained, "eval_loss") > 0);
    cJSON_Delete(trained);
    free(only_val);
}

static void wrong_use_is_refused(void **state)
{
    const char *const dir = *state;
    char *const pickle = scratch_file(dir, "w.pth", "PK\3\4 and more");
    char *const folder = file_join(dir, "x");

    says_and_free(program_run(dir, 3, NULL_RUN "--init %s --out %s", pickle, folder), "convert it");
    says_and_free(program_run(dir, 3, NULL_RUN "--init %s/none --out %s", dir, folder), "No such");
    free(program_run(dir, 2, NULL_RUN "--only evaluate --out %s", folder));
    free(program_run(dir, 2, NULL_RUN "--only evaluate --init a --export b --out %s", folder));
    free(program_run(dir, 2, NULL_RUN "--export %s/none/w.safetensors --out %s", dir, folder));
    free(program_run(dir, 2, "export %s", dir));
    free(program_run(dir, 3, "export %s --to %s/w.safetensors", dir, dir));
    free(program_run(dir, 3, "export %s --to %s/w.safetensors", pickle, dir));
    assert_false(file_exists(folder));
    free(pickle);
    free(folder);
}

/* Neither a checkpoint that is exported nor any other of a run folder gives way to an export. */
static void checkpoints_are_not_replaced(void **state)
{
    const char *const dir = *state;
    char *const folder = file_join(dir, "b"), *const loose = file_join(dir, "loose.safetensors"),
                *const newest = file_join(dir, "a/" CHECKPOINT_NAME);
    char *before, *after;
    size_t n, n_after;

    free(program_run(dir, 0, NULL_RUN "--out %s/a", dir));
    assert_int_equal(file_read(newest, (size_t)1 << 30, &before, &n), 0);
    says_and_free(program_run(dir, 2, "export %s/a --to %s", dir, newest), "choose another name");
    free(program_run(dir, 2, "export %s --to %s", newest, newest));
    free(program_run(dir, 2, "export %s --to %s/a/" CHECKPOINT_PREVIOUS, newest, dir));
    free(program_run(dir, 2, NULL_RUN "--out %s --export %s", folder, newest));
    assert_false(file_exists(folder));
    says_and_free(program_run(dir, 2, "export %s/a --to %s/a/mlperf.log", dir, dir),
                  "belongs to a run");
    assert_int_equal(symlink("/dev/null", folder), 0);
    says_and_free(program_run(dir, 2, "export %s/a --to %s", dir, folder), "no ordinary file");
    says_and_free(program_run(dir, 2, NULL_RUN "--out %s/c --export %s", dir, folder),
                  "no ordinary file");
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(file_mkdirs(folder), 0);
    free(
        program_run(dir, 2, NULL_RUN "--out %s --export %s/../b/" CHECKPOINT_NAME, folder, folder));
    assert_int_equal(file_replace(loose, before, n), 0);
    free(program_run(dir, 2, "export %s --to %s/a/../loose.safetensors", loose, dir));
    free(program_run(dir, 0, "export %s --to %s/a/other.safetensors", loose, dir));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(file_read(i ? loose : newest, (size_t)1 << 30, &after, &n_after), 0);
        assert_int_equal(n_after, n);
        assert_memory_equal(after, before, n);
        free(after);
    }
    free(before);
    free(folder);
    free(loose);
    free(newest);
}

/* Before there is a folder that would stand in a second try's way. */
static void weights_that_are_not_finite_make_no_folder(void **state)
{
    static const float none = NAN;
    const char *const dir = *state;
    char *const path = file_join(dir, "w.safetensors"), *const folder = file_join(dir, "b");
    char *bytes;
    size_t n;

    free(program_run(dir, 0, NULL_RUN "--out %s/a --export %s", dir, path));
    assert_int_equal(file_read(path, (size_t)1 << 30, &bytes, &n), 0);
    memcpy(bytes + n - sizeof(none), &none, sizeof(none));
    assert_int_equal(file_replace(path, bytes, n), 0);
    says_and_free(program_run(dir, 3, NULL_RUN "--init %s --out %s", path, folder), "nan");
    assert_false(file_exists(folder));
    free(bytes);
    free(path);
    free(folder);
}

/* What the images must look like stands in the header: a checkpoint whose header is another than
 * was written gives no weights. */
static void changed_header_is_refused(void **state)
{
    static const char mean[] = "\"pixel_mean\":\"73,";
    const char *const dir = *state;
    char *const path = file_join(dir, "a/" CHECKPOINT_NAME);
    char *bytes, *at;
    size_t n;

    free(program_run(dir, 0, NULL_RUN "--out %s/a", dir));
    assert_int_equal(file_read(path, (size_t)1 << 30, &bytes, &n), 0);
    at = memmem(bytes, n, mean, sizeof(mean) - 1);
    assert_non_null(at);
    at[sizeof(mean) - 3] = '4';
    assert_int_equal(file_replace(path, bytes, n), 0);
    says_and_free(program_run(dir, 3, "export %s --to %s/w.safetensors", path, dir), "header");
    says_and_free(program_run(dir, 3, NULL_RUN "--init %s --out %s/b", path, dir), "header");
    free(bytes);
    free(path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(there_and_back),
        TEST(evaluates_the_same),
        TEST(wrong_use_is_refused),
        TEST(checkpoints_are_not_replaced),
        TEST(changed_header_is_refused),
        TEST(weights_that_are_not_finite_make_no_folder),
    };
#undef TEST

    return cmocka_run_group_tests_name("run_weights", tests, NULL, NULL);
}
