/* The checkpoint format, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "train/safetensors.h"

static char *dir;

static char *in_dir(const char *name)
{
    return file_join(dir, name);
}

static int make_dir(void **state)
{
    char pattern[] = "/tmp/stave-test-XXXXXX";

    (void)state;
    dir = xstrdup(mkdtemp(pattern));
    return 0;
}

static int remove_dir(void **state)
{
    char *path = in_dir("x.safetensors");

    (void)state;
    remove(path);
    free(path);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left behind */
    free(dir);
    return 0;
}

static void test_written_bytes(void **state)
{
    static const float w[] = {1, -2};
    static const int64_t n[] = {7};
    static const uint8_t b[] = {1, 2, 3};
    struct safetensors_tensor tensors[] = {
        {.name = "b", .dtype = SAFETENSORS_U8, .rank = 1, .dims = {3}, .data = b, .bytes = 3},
        {.name = "w", .dtype = SAFETENSORS_F32, .rank = 2, .dims = {2, 1}, .data = w, .bytes = 8},
        {.name = "n", .dtype = SAFETENSORS_I64, .data = n, .bytes = 8},
    };
    const struct safetensors_meta meta[] = {{"format", "pt"}, {"say \"hi\"", "\xc3\xa9\n"}};
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"say \\\"hi\\\"\":\"\xc3\xa9\\n\"},"
        "\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]}}";
    const size_t padded = (strlen(header) + 7) / 8 * 8;
    char *path = in_dir("x.safetensors"), *bytes;
    uint64_t length;
    size_t size;

    (void)state;
    assert_int_equal(safetensors_write(path, (struct safetensors_content){tensors, 3, meta, 2}), 0);
    assert_int_equal(file_read(path, 4096, &bytes, &size), 0);
    assert_int_equal(size, 8 + padded + 19);
    memcpy(&length, bytes, 8);
    assert_int_equal(length, padded);
    assert_memory_equal(bytes + 8, header, strlen(header));
    for (size_t i = strlen(header); i < padded; i++)
        assert_int_equal(bytes[8 + i], ' ');
    assert_memory_equal(bytes + 8 + padded, n, 8);
    assert_memory_equal(bytes + 8 + padded + 8, w, 8);
    assert_memory_equal(bytes + 8 + padded + 16, b, 3);
    free(bytes);
    free(path);
}

static void test_round_trip(void **state)
{
    float w[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
    struct safetensors_tensor tensors[] = {
        {.name = "w", .dtype = SAFETENSORS_F32, .rank = 2, .dims = {2, 3}, .data = w, .bytes = 24},
        {.name = "empty", .dtype = SAFETENSORS_F32, .rank = 1, .dims = {0}, .data = w},
        {.name = "a", .dtype = SAFETENSORS_BF16, .rank = 1, .dims = {2}, .data = w, .bytes = 4},
    };
    const struct safetensors_meta meta[] = {{"k", "v"}};
    const struct safetensors_tensor *t;
    char *path = in_dir("x.safetensors");
    struct safetensors *f;

    (void)state;
    assert_int_equal(safetensors_write(path, (struct safetensors_content){tensors, 3, meta, 1}), 0);
    assert_int_equal(safetensors_open(&f, path), 0);
    assert_int_equal(f->n_tensors, 3);
    assert_string_equal(safetensors_meta(f, "k"), "v");
    assert_null(safetensors_meta(f, "absent"));
    assert_null(safetensors_find(f, "absent"));
    t = safetensors_find(f, "w");
    assert_non_null(t);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->dims[0], 2);
    assert_int_equal(t->dims[1], 3);
    assert_int_equal(safetensors_read(f, t, got), 0);
    assert_memory_equal(got, w, sizeof(w));
    assert_int_equal(safetensors_find(f, "empty")->bytes, 0);
    assert_int_equal(safetensors_find(f, "a")->dtype, SAFETENSORS_BF16);
    safetensors_close(f);
    free(path);
}

/* A file with the given header and number of zero data bytes. length overrides the true one unless
 * it is 0. */
struct crafted {
    const char *header;
    size_t data_bytes;
    uint64_t length;
};

static int open_crafted(struct crafted c)
{
    const uint64_t length = c.length ? c.length : strlen(c.header);
    char *path = in_dir("x.safetensors");
    struct str bytes = STR_INIT;
    struct safetensors *f;
    int rc;

    str_add_bytes(&bytes, &length, 8);
    str_add(&bytes, c.header);
    for (size_t i = 0; i < c.data_bytes; i++)
        str_add_bytes(&bytes, "", 1);
    assert_int_equal(file_replace(path, bytes.s, bytes.len), 0);
    rc = safetensors_open(&f, path);
    assert_true((rc == 0) == (f != NULL));
    safetensors_close(f);
    str_release(&bytes);
    free(path);
    return rc;
}

#define TENSOR(name, dtype, shape, offsets)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_accepted_headers(void **state)
{
    static const struct crafted good[] = {
        {"{}", 0, 0},
        {"{}   ", 0, 0},
        {"{" TENSOR("a", "F32", "[2]", "[0,8]") "}", 8, 0},
        {"{" TENSOR("b", "U8", "[2]", "[8,10]") "," TENSOR("a", "F32", "[2]", "[0,8]") "}", 10, 0},
        {"{" TENSOR("a", "F32", "[]", "[0,4]") ",\"__metadata__\":{}}", 4, 0},
        {"{" TENSOR("\xc3\xa9 \\u00e9 \xf0\x9f\x98\x80", "I8", "[0,9]", "[0,0]") "}", 0, 0},
        {"{\"a\":{\"data_offsets\":[0,1],\"shape\":[1,1,1],\"dtype\":\"BOOL\"}}", 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (open_crafted(good[i]) < 0)
            fail_msg("header %zu was refused: %s", i, err_reason());
}

#define ONE(shape, offsets) "{" TENSOR("a", "F32", shape, offsets) "}"
static const struct crafted hostile[] = {
    {"", 0, 0},
    {"{}", 0, 3},              /* longer than the file */
    {"{}", 0, 1},              /* ends inside the JSON */
    {"{}", 0, UINT64_MAX},     /* 8 + length wraps */
    {"{}", 0, UINT64_MAX - 7}, /* wraps to 0 */
    {"{}", 0, 1ull << 40},     /* a terabyte of header */
    {"[]", 0, 0},
    {" {}", 0, 0},
    {"{} {}", 0, 0},
    {"{\"a\":1}", 0, 0},
    {"{\"a\"", 0, 0},
    {ONE("[2]", "[0,8]"), 7, 0}, /* cut short */
    {ONE("[2]", "[0,8]"), 9, 0}, /* bytes nobody owns */
    {ONE("[2]", "[1,9]"), 9, 0}, /* a gap at the start */
    {ONE("[2]", "[1,9]"), 8, 0}, /* reaches past the end */
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[0,8]") "}", 16, 0},
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[4,12]") "}", 16, 0},
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[9,17]") "}", 16, 0},
    {ONE("[2]", "[0,7]"), 7, 0}, /* offsets against shape */
    {ONE("[2]", "[8,0]"), 8, 0}, /* backwards */
    {ONE("[2]", "[-8,0]"), 8, 0},
    {ONE("[-2]", "[0,8]"), 8, 0},
    {ONE("[-2]", "[0,-8]"), 8, 0},
    {ONE("[1.5]", "[0,6]"), 6, 0},
    {ONE("[\"2\"]", "[0,8]"), 8, 0},
    {ONE("[2]", "[0,8,8]"), 8, 0},
    {ONE("[2]", "[0]"), 8, 0},
    {ONE("2", "[0,8]"), 8, 0},
    {ONE("[2]", "8"), 8, 0},
    {ONE("[1e300]", "[0,8]"), 8, 0},
    {ONE("[4611686018427387904]", "[0,0]"), 0, 0},   /* 2^62 floats wrap to 0 bytes */
    {ONE("[4294967296,1073741824]", "[0,0]"), 0, 0}, /* 2^62 again */
    {ONE("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, 0},     /* rank 9 */
    {ONE("[2]", "[18446744073709551608,18446744073709551616]"), 8, 0},
    {"{" TENSOR("a", "F33", "[2]", "[0,8]") "}", 8, 0},
    {"{" TENSOR("a", "f32", "[2]", "[0,8]") "}", 8, 0},
    {"{" TENSOR("", "F32", "[2]", "[0,8]") "}", 8, 0},
    {"{" TENSOR("a\xff", "F32", "[2]", "[0,8]") "}", 8, 0},        /* not UTF-8 */
    {"{" TENSOR("\xc0\x80", "F32", "[2]", "[0,8]") "}", 8, 0},     /* overlong */
    {"{" TENSOR("\xed\xa0\x80", "F32", "[2]", "[0,8]") "}", 8, 0}, /* a surrogate */
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[4,12]") "}", 12, 0},
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[0,8]") "}", 8, 0},
    {"{" TENSOR("a", "F32", "[2]", "[0,8]") "," TENSOR("b", "F32", "[2]", "[9,17]") "}", 17, 0},
    {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a", "F32", "[1]", "[4,8]") "}", 8, 0},
    {"{" TENSOR("a", "F32", "[1]", "[0,4]") "," TENSOR("a\\u0000b", "F32", "[1]", "[4,8]") "}", 8,
     0}, /* the same name to a C program */
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 0},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F64\",\"data_offsets\":[0,4]}}", 4, 0},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, 0},
    {"{\"__metadata__\":{\"k\":1}}", 0, 0},
    {"{\"__metadata__\":[]}", 0, 0},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, 0},
    {"{\"a\":[[[[[[[[[[1]]]]]]]]]]}", 0, 0},
};
#undef ONE

static void test_hostile_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        const int rc = open_crafted(hostile[i]);
        if (rc != E_DATA)
            fail_msg("header %zu (%s): %d", i, hostile[i].header, rc);
        if (!strstr(err_reason(), "x.safetensors"))
            fail_msg("header %zu: the reason does not name the file: %s", i, err_reason());
    }
}

static void test_deep_nesting_does_not_recurse(void **state)
{
    enum { DEPTH = 1 << 20 };
    char *header = xmalloc(DEPTH + 6);

    (void)state;
    memcpy(header, "{\"a\":", 5);
    memset(header + 5, '[', DEPTH);
    header[5 + DEPTH] = '\0';
    assert_int_equal(open_crafted((struct crafted){header, 0, 0}), E_DATA);
    free(header);
}

/* Every prefix of a good file is refused. */
static void test_every_truncation(void **state)
{
    static const char header[] = "{" TENSOR("a", "F32", "[2]", "[0,8]") "}";
    const uint64_t length = sizeof(header) - 1;
    char *path = in_dir("x.safetensors");
    struct str bytes = STR_INIT;
    struct safetensors *f;

    (void)state;
    str_add_bytes(&bytes, &length, 8);
    str_add_bytes(&bytes, header, length);
    str_add_bytes(&bytes, "12345678", 8);
    assert_int_equal(file_replace(path, bytes.s, bytes.len), 0);
    assert_int_equal(safetensors_open(&f, path), 0);
    safetensors_close(f);
    for (size_t n = 0; n < bytes.len; n++) {
        assert_int_equal(truncate(path, 0), 0);
        assert_int_equal(file_replace(path, bytes.s, n), 0);
        assert_int_equal(safetensors_open(&f, path), E_DATA);
    }
    assert_int_equal(safetensors_open(&f, "/"), E_DATA);
    assert_int_equal(safetensors_open(&f, "/nonexistent"), E_IO);
    str_release(&bytes);
    free(path);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_written_bytes),
        IN_DIR(test_round_trip),
        IN_DIR(test_accepted_headers),
        IN_DIR(test_hostile_headers),
        IN_DIR(test_deep_nesting_does_not_recurse),
        IN_DIR(test_every_truncation),
    };

    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
