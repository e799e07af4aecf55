/* Top-1 accuracy: correct / counted, both exact integers.
 * Arrays: scores F32 (rows, classes), labels I32 (rows, 1), weights F32 (rows, 1) of 0 (padding)
 * or 1. Label -1 is a sample that could not be read: it counts as wrong. The first of equal scores
 * wins; a row with a NaN is wrong. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "eval/metrics.h"

struct top1 {
    int64_t correct, counted;
};

/* Every comparison with a NaN is false, so a row that holds one is never right. */
static int is_first_maximum(const float *row, size_t n_classes, size_t label)
{
    for (size_t j = 0; j < n_classes; j++)
        if (j < label ? !(row[j] < row[label]) : !(row[j] <= row[label]))
            return 0;
    return 1;
}

static int top1_add(void *state, const struct metric_array *arrays, size_t n)
{
    const struct metric_array *scores =
        metric_array(arrays, n, (struct metric_array){.name = "scores", .type = METRIC_F32});
    const int32_t *labels =
        metric_array(arrays, n, (struct metric_array){"labels", METRIC_I32, 0, 1, NULL})->data;
    const float *weights =
        metric_array(arrays, n, (struct metric_array){"weights", METRIC_F32, 0, 1, NULL})->data;
    const float *rows = scores->data;
    struct top1 *t = state;

    for (size_t i = 0; i < scores->rows; i++) {
        if (weights[i] == 0)
            continue;
        ASSERT(weights[i] == 1);
        if (labels[i] < -1 || labels[i] >= (int64_t)scores->width)
            return err(E_DATA, "label %" PRId32 " in an evaluation of %zu classes", labels[i],
                       scores->width);
        t->counted++;
        t->correct += labels[i] >= 0 &&
                      is_first_maximum(rows + i * scores->width, scores->width, (size_t)labels[i]);
    }
    return 0;
}

static void top1_save(const void *state, struct str *out)
{
    str_add_bytes(out, state, sizeof(struct top1));
}

static int top1_merge(void *state, const void *bytes, size_t n)
{
    struct top1 *t = state, other;

    if (n != sizeof(other))
        return err(E_DATA, "another rank's top-1 counts have %zu bytes instead of %zu", n,
                   sizeof(other));
    memcpy(&other, bytes, n);
    if (other.correct < 0 || other.correct > other.counted)
        return err(E_DATA, "another rank counted %" PRId64 " correct of %" PRId64, other.correct,
                   other.counted);
    t->correct += other.correct;
    t->counted += other.counted;
    return 0;
}

static size_t top1_values(const void *state, struct metric_value *out)
{
    const struct top1 *t = state;

    out[0] = (struct metric_value){"top1", NAN};
    if (t->counted > 0)
        out[0].value = (double)t->correct / (double)t->counted;
    out[1] = (struct metric_value){"correct", (double)t->correct};
    out[2] = (struct metric_value){"samples", (double)t->counted};
    return 3;
}

const struct metric_ops metric_top1 = {
    .name = "top1",
    .title = "top-1",
    .direction = METRIC_HIGHER_IS_BETTER,
    .state_bytes = sizeof(struct top1),
    .add = top1_add,
    .save = top1_save,
    .merge = top1_merge,
    .values = top1_values,
};
