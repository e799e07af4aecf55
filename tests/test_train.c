/* The training loop on a model small enough for ref: resuming is exact, the target ends the run, a
 * loss that is not a number is found, the optimiser counts its steps. */
#include "train_fixture.h"

/* Heap. */
static char *checkpoint_bytes(const struct rig *r, size_t *n)
{
    char *const path = file_join(r->dir, CHECKPOINT_NAME);
    char *bytes;

    assert_int_equal(file_read(path, 1 << 20, &bytes, n), 0);
    free(path);
    return bytes;
}

/* Interrupted within an epoch, or not: the checkpoints at the end are the same bytes. */
static void test_a_resumed_run_is_the_same_run(void **state)
{
    char *want, *have;
    size_t n_want, n_have;
    struct rig whole, parts;

    (void)state;
    rig_begin(&whole);
    rig_begin(&parts);
    whole.s.steps = parts.s.steps = 3 * STEPS_PER_EPOCH;
    assert_int_equal(rig_train(&whole), 0);
    parts.s.steps = STEPS_PER_EPOCH + 2;
    assert_int_equal(rig_train(&parts), 0);
    assert_int_equal(parts.result.steps, STEPS_PER_EPOCH + 2);
    parts.s.steps = whole.s.steps;
    parts.resume = 1;
    assert_int_equal(rig_train(&parts), 0);
    assert_int_equal(parts.result.steps, whole.s.steps);
    assert_int_equal(parts.result.samples, (2 * STEPS_PER_EPOCH - 2) * BATCH);
    want = checkpoint_bytes(&whole, &n_want);
    have = checkpoint_bytes(&parts, &n_have);
    assert_int_equal(n_have, n_want);
    assert_memory_equal(have, want, n_want);
    assert_true(parts.result.last_loss == whole.result.last_loss);
    free(want);
    free(have);
    rig_end(&parts);
    rig_end(&whole);
}

static void test_the_target_ends_the_run(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.s.eval_every = 2;
    r.s.target = 0.01;
    assert_int_equal(rig_train(&r), 0);
    assert_int_equal(r.result.status, TRAIN_REACHED);
    assert_int_equal(r.result.steps, 2 * STEPS_PER_EPOCH);
    rig_end(&r);
    rig_begin(&r);
    r.s.target = 1;
    r.s.lr = 0;
    assert_int_equal(rig_train(&r), 0);
    assert_int_equal(r.result.status, TRAIN_NOT_REACHED);
    assert_int_equal(r.result.steps, 3 * STEPS_PER_EPOCH);
    assert_true(r.result.quality < 1);
    rig_end(&r);
}

static void test_a_loss_that_is_no_number_ends_the_run(void **state)
{
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.small.norm.scale[0] = NAN;
    assert_int_equal(rig_train(&r), E_NUMERIC);
    assert_reason_has("step 1 ");
    assert_reason_has("image_norm");
    assert_int_equal(r.result.status, TRAIN_FAILED);
    assert_int_equal(r.result.steps, 0);
    rig_end(&r);
}

/* From zero and corrected for it, Adam's first step is the learning rate, whatever the gradient. */
static void test_the_first_step_of_adam_is_the_rate(void **state)
{
    const struct safetensors_tensor bias = {.name = "fc.bias",
                                            .dtype = SAFETENSORS_F32,
                                            .rank = 1,
                                            .dims = {N_CLASSES},
                                            .bytes = N_CLASSES * sizeof(float)};
    struct checkpoint c;
    float b[N_CLASSES];
    struct rig r;

    (void)state;
    rig_begin(&r);
    r.s.optimizer = OPTIMISER_adamw;
    r.s.steps = 1;
    assert_int_equal(rig_train(&r), 0);
    assert_int_equal(checkpoint_open(&c, r.dir), 0);
    assert_int_equal(checkpoint_read(&c, &bias, b), 0);
    for (int i = 0; i < N_CLASSES; i++)
        assert_true(fabsf(fabsf(b[i]) - 0.05F) < 1e-5F);
    checkpoint_close(&c);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_resumed_run_is_the_same_run),
        cmocka_unit_test(test_the_target_ends_the_run),
        cmocka_unit_test(test_a_loss_that_is_no_number_ends_the_run),
        cmocka_unit_test(test_the_first_step_of_adam_is_the_rate),
    };

    return cmocka_run_group_tests_name("training loop", tests, NULL, NULL);
}
