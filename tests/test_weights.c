/* Weights in and out: the names, shapes and order that torchvision's resnet50 has, the way there
 * and back, what an import refuses. tests/golden/torchvision_check.py shows the same in
 * torchvision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/file.h"
#include "run_fixture.h"
#include "scratch.h"
#include "train/weights.h"
#include "workloads/workload.h"

static const struct name_map *map(void)
{
    return workload_find("resnet50")->names;
}

enum { N_TINY = 5, O = 2, KH = 3, KW = 4, I = 5 };

static const struct safetensors_tensor tiny[N_TINY] = {
    {"conv1.weight", SAFETENSORS_F32, 4, {O, KH, KW, I}, NULL, 4 * O *KH *KW *I, 0},
    {"conv1.bn.weight", SAFETENSORS_F32, 1, {O}, NULL, 4 * O, 0},
    {"conv1.bn.running_mean", SAFETENSORS_F32, 1, {O}, NULL, 4 * O, 0},
    {"conv1.bn.running_var", SAFETENSORS_F32, 1, {O}, NULL, 4 * O, 0},
    {"fc.weight", SAFETENSORS_F32, 2, {3, O}, NULL, 4 * 3 * O, 0},
};

static void order_is_oihw(void **state)
{
    enum { N = O * KH * KW * I };
    float ours[N], theirs[N], back[N];

    (void)state;
    for (int i = 0; i < N; i++)
        ours[i] = (float)i;
    weights_reorder(map(), &tiny[0], WEIGHTS_TO_THEM, ours, theirs);
    weights_reorder(map(), &tiny[0], WEIGHTS_TO_US, theirs, back);
    for (int o = 0; o < O; o++)
        for (int i = 0; i < I; i++)
            for (int y = 0; y < KH; y++)
                for (int x = 0; x < KW; x++)
                    assert_true(theirs[((o * I + i) * KH + y) * KW + x] ==
                                ours[((o * KH + y) * KW + x) * I + i]);
    assert_memory_equal(ours, back, sizeof(ours));
}

/* The tiny model under torchvision's names, all elements 0.5, as it is written. */
struct file {
    struct safetensors_tensor t[N_TINY + 2];
    size_t n;
    float data[O * KH * KW * I];
    int64_t batches;
    char names[N_TINY][WEIGHTS_NAME_BYTES];
};

static void fill(struct file *f)
{
    *f = (struct file){.n = N_TINY + 1};
    for (size_t i = 0; i < COUNT_OF(f->data); i++)
        f->data[i] = 0.5f;
    for (int i = 0; i < N_TINY; i++) {
        assert_true(weights_theirs(map(), &tiny[i], f->names[i], &f->t[i]));
        f->t[i].data = f->data;
    }
    f->t[N_TINY] = (struct safetensors_tensor){
        "bn1.num_batches_tracked", SAFETENSORS_I64, 0, {0}, &f->batches, 8, 0};
}

/* Writes the file and reads tensor `which` of the model from it; the error code. */
static int import(const char *dir, struct file *f, int which, float *dst)
{
    char *const path = file_join(dir, "tiny.safetensors");
    struct safetensors_tensor t[N_TINY + 2];
    struct weights w;
    int rc;

    memcpy(t, f->t, sizeof(t)); /* writing sorts */
    assert_int_equal(
        safetensors_write(path, (struct safetensors_content){.tensors = t, .n_tensors = f->n}), 0);
    rc = weights_open(&w, path);
    if (rc == 0)
        rc = weights_match(&w, map(), tiny, N_TINY);
    if (rc == 0)
        rc = weights_read(&w, &tiny[which], dst);
    weights_close(&w);
    free(path);
    return rc;
}

static void types_become_float32(void **state)
{
    static const uint16_t half[] = {0x3555, 0xC000}, least[] = {0x0001, 0x8400},
                          bf16[] = {0x3EAB, 0xC000};
    static const double wide[] = {1.0 / 3, -2};
    static const struct {
        enum safetensors_dtype dtype;
        const void *data;
        float want[2];
    } cases[] = {
        {SAFETENSORS_F16, half, {0x1.554p-2f, -2}},
        {SAFETENSORS_F16, least, {0x1p-24f, -0x1p-14f}},
        {SAFETENSORS_BF16, bf16, {0x1.56p-2f, -2}},
        {SAFETENSORS_F64, wide, {(float)(1.0 / 3), -2}},
    };
    struct file f;
    float x[2];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fill(&f);
        f.t[1].dtype = cases[i].dtype;
        f.t[1].bytes = 2 * safetensors_dtype_bytes(cases[i].dtype);
        f.t[1].data = cases[i].data;
        if (import(*state, &f, 1, x) < 0)
            fail_msg("%s", err_reason());
        assert_memory_equal(x, cases[i].want, sizeof(x));
    }
}

static void drop(struct file *f, size_t i)
{
    f->t[i] = f->t[--f->n];
}

static void missing_bias(struct file *f)
{
    drop(f, 3);
}

static void extra(struct file *f)
{
    f->t[f->n++] =
        (struct safetensors_tensor){"layer9.weight", SAFETENSORS_F32, 1, {1}, f->data, 4, 0};
}

/* As a program would that forgot the order of dimensions. */
static void our_order(struct file *f)
{
    memcpy(f->t[0].dims, tiny[0].dims, sizeof(tiny[0].dims));
}

static void flat(struct file *f)
{
    f->t[4].rank = 1;
    f->t[4].dims[0] = 3 * O;
}

static void whole_numbers(struct file *f)
{
    f->t[1].dtype = SAFETENSORS_I32;
}

static void count_is_a_row(struct file *f)
{
    f->t[N_TINY].rank = 1;
    f->t[N_TINY].dims[0] = 1;
}

static void not_a_number(struct file *f)
{
    f->data[1] = NAN;
}

static void too_large(struct file *f)
{
    static const double wide[] = {1, 1e300};

    f->t[1].dtype = SAFETENSORS_F64;
    f->t[1].data = wide;
    f->t[1].bytes = sizeof(wide);
}

static void prefixed(struct file *f)
{
    static const char *const names[] = {"module.conv1.weight", "module.bn1.weight",
                                        "module.bn1.running_mean", "module.bn1.running_var",
                                        "module.fc.weight"};

    for (int i = 0; i < N_TINY; i++)
        f->t[i].name = names[i];
}

static void nothing(struct file *f)
{
    f->n = 0;
}

static void no_count(struct file *f)
{
    drop(f, N_TINY);
}

static void imports_are_checked(void **state)
{
    static const struct {
        void (*change)(struct file *f);
        const char *says; /* NULL: it is taken */
    } cases[] = {
        {no_count, NULL},
        {missing_bias, "has torchvision's names but no tensor bn1.running_var"},
        {extra, "holds tensor layer9.weight, which the model has no place for"},
        {our_order, "tensor conv1.weight has shape [2,3,4,5] and the model wants [2,5,3,4]"},
        {flat, "tensor fc.weight has shape [6] and the model wants [3,2]"},
        {whole_numbers, "tensor bn1.weight is I32; weights are F16, BF16, F32 or F64"},
        {count_is_a_row, "holds tensor bn1.num_batches_tracked"},
        {not_a_number, "tensor bn1.weight holds nan as float32 at element 1"},
        {too_large, "tensor bn1.weight holds inf as float32 at element 1"},
        {prefixed, "none of its 6 tensors has the name of a weight of the model"},
        {nothing, "none of its 0 tensors"},
    };
    struct file f;
    float x[2];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int rc;
        fill(&f);
        cases[i].change(&f);
        rc = import(*state, &f, 1, x);
        if (!cases[i].says) {
            assert_int_equal(rc, 0);
            continue;
        }
        assert_int_equal(rc, E_DATA);
        assert_says(err_reason(), cases[i].says);
    }
}

/* Both formats of torch.save, and a file that is neither. */
static void pickles_are_named(void **state)
{
    static const char *const starts[] = {"PK\3\4", "\x80\x02\x8a\nl"};
    struct weights w;
    char *path;

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        path = scratch_file(*state, "w.pt", starts[i]);
        assert_int_equal(weights_open(&w, path), E_DATA);
        assert_says(err_reason(), "save_file(torch.load(");
        free(path);
    }
    path = scratch_file(*state, "w.pt", "PK no archive");
    assert_int_equal(weights_open(&w, path), E_DATA);
    assert_null(strstr(err_reason(), "torch.load"));
    free(path);
}

/* Refused without waiting for a writer. */
static void a_pipe_holds_no_weights(void **state)
{
    char *const path = file_join(*state, "pipe.safetensors");
    struct weights w;

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(weights_open(&w, path), E_DATA);
    assert_says(err_reason(), "pipe.safetensors is not a regular file");
    free(path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)
    const struct CMUnitTest tests[] = {
        TEST(order_is_oihw),     TEST(types_become_float32),    TEST(imports_are_checked),
        TEST(pickles_are_named), TEST(a_pipe_holds_no_weights),
    };
#undef TEST

    return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
