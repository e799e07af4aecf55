/* The op cases: every row is one node with its inputs, from which tests/test_ops.c makes all checks
 * of an op. Shapes are small and awkward on purpose: odd, strided, padded, a single sample. */
#ifndef STAVE_TESTS_OP_CASES_H
#define STAVE_TESTS_OP_CASES_H

#include "ops/op.h"

enum fill_kind {
    FILL_NONE, /* no more inputs */
    FILL_NORMAL,
    FILL_SPREAD,   /* distinct, at least 0.1 apart and 0.05 from zero, shuffled: no kink is near */
    FILL_POSITIVE, /* 0.5 to 1.5 */
    FILL_SAMPLES,  /* weights of samples: 1, 0, 0.5, 2, again */
    FILL_VALUE,    /* arg everywhere */
    FILL_INDEX,    /* int32, -1 to arg - 1, repeating */
    FILL_RISING,   /* int32, 0, 1, 2 .. */
    FILL_PIXELS,   /* uint8 */
};

struct case_input {
    enum fill_kind fill;
    enum dtype dtype;
    struct shape shape;
    double arg;
};

struct op_case {
    const struct op *op;
    const char *what;
    struct case_input in[8];
    struct shape out[MAX_OUT];
    union attr attr;
    unsigned diff;    /* bit i: the gradient by input i is checked */
    unsigned ignored; /* bit i: output i has no defined value here */
    double step;      /* of the finite difference; 0 means 1e-2 */
};

#define DIM(...)                                                                                   \
    {                                                                                              \
        .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}           \
    }
#define NORMAL(...) {FILL_NORMAL, DT_F32, DIM(__VA_ARGS__), 0}
#define SPREAD(...) {FILL_SPREAD, DT_F32, DIM(__VA_ARGS__), 0}
#define POSITIVE(...) {FILL_POSITIVE, DT_F32, DIM(__VA_ARGS__), 0}
#define SAMPLES(n) {FILL_SAMPLES, DT_F32, DIM(n), 0}
#define SCALAR(v) {FILL_VALUE, DT_F32, {0}, v}
#define COUNT(v) {FILL_VALUE, DT_I32, {0}, v}
#define INDEX(below, ...) {FILL_INDEX, DT_I32, DIM(__VA_ARGS__), below}
#define RISING(n) {FILL_RISING, DT_I32, DIM(n), 0}
#define PIXELS(...) {FILL_PIXELS, DT_U8, DIM(__VA_ARGS__), 0}
#define BYTES(v, ...) {FILL_VALUE, DT_U8, DIM(__VA_ARGS__), v}
#define ONE_UPDATE {.momentum = 0.9, .weight_decay = 0.1, .eta = 0.02, .eps = 1e-9, .lr_mult = 1}
#define KINK 1e-3 /* a step small enough for values that are SPREAD */

/* clang-format off */
static const struct op_case op_cases[] = {
    {&op_add, "plain", .in = {NORMAL(3, 5), NORMAL(3, 5)}, .out = {DIM(3, 5)}, .diff = 3},
    {&op_accumulate, "plain", .in = {NORMAL(7, 3), NORMAL(7, 3)}},
    {&op_adamw, "third step", .in = {NORMAL(5, 3), NORMAL(5, 3), NORMAL(5, 3), POSITIVE(5, 3), SCALAR(0.1), SCALAR(0.5),
     SCALAR(3)}, .attr.update = {.weight_decay = 0.1, .eps = 1e-8, .beta1 = 0.9, .beta2 = 0.99, .lr_mult = 1}},
    {&op_all_to_all, "one rank", .in = {NORMAL(4, 3)}, .out = {DIM(4, 3)}, .attr.exchange = {1}, .diff = 1},
    {&op_all_to_all, "indices", .in = {INDEX(9, 6)}, .out = {DIM(6)}, .attr.exchange = {1}},
    {&op_assign, "plain", .in = {NORMAL(2, 3), NORMAL(2, 3)}},
    {&op_avgpool, "odd", .in = {NORMAL(2, 5, 3, 7)}, .out = {DIM(2, 7)}, .diff = 1},
    {&op_avgpool, "one sample, one pixel", .in = {NORMAL(1, 1, 1, 3)}, .out = {DIM(1, 3)}, .diff = 1},
    {&op_avgpool_grad, "odd", .in = {NORMAL(2, 7), NORMAL(2, 5, 3, 7)}, .out = {DIM(2, 5, 3, 7)}},
    {&op_batchnorm, "image", .in = {NORMAL(3, 5, 3, 4), POSITIVE(4), NORMAL(4), NORMAL(4), POSITIVE(4)},
     .out = {DIM(3, 5, 3, 4), DIM(4), DIM(4)}, .attr.norm = {1e-5, 0.1, 0}, .diff = 7},
    {&op_batchnorm, "rows", .in = {NORMAL(9, 17), POSITIVE(17), NORMAL(17), NORMAL(17), POSITIVE(17)},
     .out = {DIM(9, 17), DIM(17), DIM(17)}, .attr.norm = {1e-3, 0.3, 0}, .diff = 7},
    {&op_batchnorm, "frozen", .in = {NORMAL(3, 5, 3, 4), POSITIVE(4), NORMAL(4), NORMAL(4), POSITIVE(4)},
     .out = {DIM(3, 5, 3, 4), DIM(4), DIM(4)}, .attr.norm = {1e-5, 0.1, 1}, .diff = 7, .ignored = 2},
    {&op_batchnorm_grad, "image", .in = {NORMAL(2, 3, 3, 5), NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5)},
     .out = {DIM(2, 3, 3, 5), DIM(5), DIM(5)}, .attr.norm = {1e-5, 0.1, 0}},
    {&op_batchnorm_grad, "frozen", .in = {NORMAL(2, 3, 3, 5), NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5)},
     .out = {DIM(2, 3, 3, 5), DIM(5), DIM(5)}, .attr.norm = {1e-5, 0.1, 1}},
    {&op_bias_add, "rows", .in = {NORMAL(3, 7), NORMAL(7)}, .out = {DIM(3, 7)}, .diff = 3},
    {&op_bias_add, "image", .in = {NORMAL(2, 3, 3, 5), NORMAL(5)}, .out = {DIM(2, 3, 3, 5)}, .diff = 3},
    {&op_bn_apply, "plain", .in = {NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5), NORMAL(5)}, .out = {DIM(2, 3, 3, 5)}},
    {&op_bn_apply, "relu", .in = {NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5), NORMAL(5)}, .out = {DIM(2, 3, 3, 5)},
     .attr.bn_apply = {0, 1}},
    {&op_bn_apply, "residual, relu", .in = {NORMAL(2, 3, 3, 17), NORMAL(17), POSITIVE(17), POSITIVE(17), NORMAL(17),
     NORMAL(2, 3, 3, 17)}, .out = {DIM(2, 3, 3, 17)}, .attr.bn_apply = {1, 1}},
    {&op_bn_finalise, "plain", .in = {NORMAL(5), POSITIVE(5), NORMAL(5), POSITIVE(5), NORMAL(2, 3, 3, 5)}, .out = {DIM(5)},
     .attr.norm = {1e-5, 0.1, 0}},
    {&op_bn_grad_apply, "plain", .in = {NORMAL(2, 3, 3, 5), NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5), NORMAL(5),
     NORMAL(5)}, .out = {DIM(2, 3, 3, 5)}},
    {&op_bn_grad_apply, "frozen", .in = {NORMAL(2, 3, 3, 5), NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5), POSITIVE(5), NORMAL(5),
     NORMAL(5)}, .out = {DIM(2, 3, 3, 5)}, .attr.norm = {1e-5, 0.1, 1}},
    {&op_bn_grad_reduce, "plain", .in = {NORMAL(2, 3, 3, 5), NORMAL(2, 3, 3, 5), NORMAL(5), POSITIVE(5)}, .out = {DIM(5), DIM(5)}},
    {&op_bn_stats, "image", .in = {NORMAL(2, 5, 3, 7)}, .out = {DIM(7), DIM(7)}},
    {&op_clear, "plain", .in = {NORMAL(5)}},
    {&op_clip_scale, "clips", .in = {SCALAR(0.5), SCALAR(8)}, .out = {{0}}, .attr.reals = {.a = 2}},
    {&op_clip_scale, "leaves", .in = {SCALAR(0.5), SCALAR(2)}, .out = {{0}}, .attr.reals = {.a = 2}},
    {&op_concat, "three", .in = {NORMAL(2, 3, 4), NORMAL(2, 3, 1), NORMAL(2, 3, 2)}, .out = {DIM(2, 3, 7)}, .diff = 7},
    {&op_constant, "plain", .out = {DIM(3, 2)}, .attr.fill = {DIM(3, 2), 0.25}},
    {&op_conv2d, "1x1", .in = {NORMAL(2, 5, 3, 7), NORMAL(5, 1, 1, 7)}, .out = {DIM(2, 5, 3, 5)}, .attr.conv = {5, 1, 1, 0}, .diff = 3},
    {&op_conv2d, "1x1 stride 2", .in = {NORMAL(2, 5, 7, 3), NORMAL(4, 1, 1, 3)}, .out = {DIM(2, 3, 4, 4)},
     .attr.conv = {4, 1, 2, 0}, .diff = 3},
    {&op_conv2d, "3x3 pad 1", .in = {NORMAL(2, 5, 3, 3), NORMAL(17, 3, 3, 3)}, .out = {DIM(2, 5, 3, 17)},
     .attr.conv = {17, 3, 1, 1}, .diff = 3},
    {&op_conv2d, "3x3 stride 2 pad 1", .in = {NORMAL(1, 7, 6, 2), NORMAL(3, 3, 3, 2)}, .out = {DIM(1, 4, 3, 3)},
     .attr.conv = {3, 3, 2, 1}, .diff = 3},
    {&op_conv2d, "7x7 stride 2 pad 3", .in = {NORMAL(1, 11, 9, 3), NORMAL(4, 7, 7, 3)}, .out = {DIM(1, 6, 5, 4)},
     .attr.conv = {4, 7, 2, 3}, .diff = 3},
    {&op_conv2d_grad_w, "3x3 stride 2 pad 1", .in = {NORMAL(2, 7, 6, 2), NORMAL(2, 4, 3, 3)}, .out = {DIM(3, 3, 3, 2)},
     .attr.conv = {3, 3, 2, 1}},
    {&op_conv2d_grad_w, "7x7 stride 2 pad 3", .in = {NORMAL(1, 11, 9, 3), NORMAL(1, 6, 5, 4)}, .out = {DIM(4, 7, 7, 3)},
     .attr.conv = {4, 7, 2, 3}},
    {&op_conv2d_grad_x, "3x3 stride 2 pad 1", .in = {NORMAL(2, 4, 3, 3), NORMAL(3, 3, 3, 2), NORMAL(2, 7, 6, 2)},
     .out = {DIM(2, 7, 6, 2)}, .attr.conv = {3, 3, 2, 1}},
    {&op_conv2d_grad_x, "1x1 stride 2", .in = {NORMAL(1, 3, 4, 5), NORMAL(5, 1, 1, 3), NORMAL(1, 5, 7, 3)}, .out = {DIM(1, 5, 7, 3)},
     .attr.conv = {5, 1, 2, 0}},
    {&op_gather, "dense", .in = {NORMAL(7, 3), INDEX(7, 2, 5)}, .out = {DIM(2, 5, 3)}, .diff = 1},
    {&op_gather, "reorder", .in = {NORMAL(4, 2, 3), INDEX(4, 4)}, .out = {DIM(4, 2, 3)}, .diff = 1},
    {&op_gather_grad, "more lookups than rows", .in = {INDEX(7, 2, 5), NORMAL(2, 5, 3), NORMAL(7, 3)}, .out = {DIM(7), DIM(7, 3), {0}}},
    {&op_gather_grad, "fewer lookups than rows", .in = {INDEX(90, 5), NORMAL(5, 3), NORMAL(90, 3)}, .out = {DIM(5), DIM(5, 3), {0}}},
    {&op_global_norm, "three", .in = {NORMAL(2, 3), NORMAL(5), SCALAR(2)}, .out = {{0}}},
    {&op_image_norm, "RGB", .in = {PIXELS(2, 5, 3, 3)}, .out = {DIM(2, 5, 3, 3)},
     .attr.image_norm = {{123, 116, 103}, {0.02F, 0.03F, 0.04F}}},
    {&op_image_norm, "grey", .in = {PIXELS(1, 5, 3, 1)}, .out = {DIM(1, 5, 3, 1)}, .attr.image_norm = {{128}, {0.02F}}},
    {&op_lars, "rate inside", .in = {NORMAL(5, 3), NORMAL(5, 3), NORMAL(5, 3), SCALAR(0.5), SCALAR(0.25)}, .attr.update = ONE_UPDATE},
    {&op_lars, "rate outside", .in = {NORMAL(5, 3), NORMAL(5, 3), NORMAL(5, 3), SCALAR(0.5), SCALAR(0.25)},
     .attr.update = {.momentum = 0.9, .weight_decay = 0.1, .eta = 0.02, .rate_outside = 1, .lr_mult = 2}},
    {&op_lars, "plain", .in = {NORMAL(5), NORMAL(5), NORMAL(5), SCALAR(0.5), SCALAR(0.25)},
     .attr.update = {.momentum = 0.9, .weight_decay = 0.1, .eta = 0.02, .plain = 1, .lr_mult = 1}},
    {&op_log_softmax, "rows", .in = {NORMAL(2, 3, 5)}, .out = {DIM(2, 3, 5)}, .diff = 1},
    {&op_log_softmax_grad, "rows", .in = {NORMAL(3, 5), NORMAL(3, 5)}, .out = {DIM(3, 5)}},
    {&op_matmul, "a b", .in = {NORMAL(3, 5), NORMAL(5, 7)}, .out = {DIM(3, 7)}, .diff = 3},
    {&op_matmul, "a b^T", .in = {NORMAL(3, 5), NORMAL(7, 5)}, .out = {DIM(3, 7)}, .attr.matmul = {0, 1}, .diff = 3},
    {&op_matmul, "a^T b", .in = {NORMAL(5, 3), NORMAL(5, 7)}, .out = {DIM(3, 7)}, .attr.matmul = {1, 0}, .diff = 3},
    {&op_matmul, "a^T b^T", .in = {NORMAL(5, 1), NORMAL(7, 5)}, .out = {DIM(1, 7)}, .attr.matmul = {1, 1}, .diff = 3},
    {&op_maxpool, "3x3 stride 2 pad 1", .in = {SPREAD(2, 7, 5, 3)}, .out = {DIM(2, 4, 3, 3), DIM(2, 4, 3, 3)},
     .attr.pool = {3, 2, 1}, .diff = 1, .step = KINK},
    {&op_maxpool, "2x2 stride 2, a row left over", .in = {SPREAD(1, 5, 4, 2)}, .out = {DIM(1, 2, 2, 2), DIM(1, 2, 2, 2)},
     .attr.pool = {2, 2, 0}, .diff = 1, .step = KINK},
    {&op_maxpool_grad, "3x3 stride 2 pad 1", .in = {NORMAL(2, 4, 3, 3), BYTES(4, 2, 4, 3, 3), NORMAL(2, 7, 5, 3)},
     .out = {DIM(2, 7, 5, 3)}, .attr.pool = {3, 2, 1}},
    {&op_mul, "plain", .in = {NORMAL(3, 5), NORMAL(3, 5)}, .out = {DIM(3, 5)}, .diff = 3},
    {&op_reciprocal, "finite", .in = {SCALAR(4), SCALAR(1)}, .out = {{0}}},
    {&op_relu, "spread", .in = {SPREAD(3, 7)}, .out = {DIM(3, 7)}, .diff = 1, .step = KINK},
    {&op_relu_grad, "plain", .in = {NORMAL(3, 7), NORMAL(3, 7)}, .out = {DIM(3, 7)}},
    {&op_rsqrt, "plain", .in = {POSITIVE(5)}, .out = {DIM(5)}, .attr.reals = {.a = 1e-3}},
    {&op_scale, "plain", .in = {NORMAL(3, 5)}, .out = {DIM(3, 5)}, .attr.reals = {.a = -2.5}, .diff = 1},
    {&op_sgd, "momentum", .in = {NORMAL(5, 3), NORMAL(5, 3), NORMAL(5, 3), SCALAR(0.5), SCALAR(0.25)}, .attr.update = ONE_UPDATE},
    {&op_sgd, "Nesterov, plain", .in = {NORMAL(5), NORMAL(5), NORMAL(5), SCALAR(0.5), SCALAR(0.25)},
     .attr.update = {.momentum = 0.9, .weight_decay = 0.1, .nesterov = 1, .plain = 1, .lr_mult = 2}},
    {&op_sigmoid, "plain", .in = {NORMAL(3, 5)}, .out = {DIM(3, 5)}, .diff = 1},
    {&op_sigmoid_grad, "plain", .in = {NORMAL(3, 5), POSITIVE(3, 5)}, .out = {DIM(3, 5)}},
    {&op_slice, "first axis", .in = {NORMAL(5, 2, 3)}, .out = {DIM(2, 2, 3)}, .attr.slice = {0, 3, 2}, .diff = 1},
    {&op_slice, "middle axis", .in = {NORMAL(2, 5, 3)}, .out = {DIM(2, 2, 3)}, .attr.slice = {1, 1, 2}, .diff = 1},
    {&op_slice, "last axis", .in = {NORMAL(3, 8)}, .out = {DIM(3, 2)}, .attr.slice = {1, 6, 2}, .diff = 1},
    {&op_slice_grad, "middle axis", .in = {NORMAL(2, 2, 3), NORMAL(2, 5, 3)}, .out = {DIM(2, 5, 3)}, .attr.slice = {1, 1, 2}},
    {&op_softmax, "rows", .in = {NORMAL(2, 3, 5)}, .out = {DIM(2, 3, 5)}, .diff = 1},
    {&op_softmax_grad, "rows", .in = {NORMAL(3, 5), POSITIVE(3, 5)}, .out = {DIM(3, 5)}},
    {&op_softmax_xent, "padded and unread rows", .in = {NORMAL(9, 7), INDEX(7, 9), SAMPLES(9)}, .out = {{0}, {0}}, .diff = 1},
    {&op_softmax_xent, "smoothed", .in = {NORMAL(9, 7), INDEX(7, 9), SAMPLES(9)}, .out = {{0}, {0}}, .attr.loss = {0.1}, .diff = 1},
    {&op_softmax_xent, "one sample", .in = {NORMAL(1, 5), RISING(1), SAMPLES(1)}, .out = {{0}, {0}}, .diff = 1},
    {&op_softmax_xent_grad, "smoothed", .in = {NORMAL(9, 7), INDEX(7, 9), SAMPLES(9), SCALAR(0.5)}, .out = {DIM(9, 7)},
     .attr.loss = {0.1}},
    {&op_sparse_sgd, "three of five rows", .in = {NORMAL(7, 3), RISING(5), NORMAL(5, 3), COUNT(3), SCALAR(0.5), SCALAR(0.25)},
     .attr.update = ONE_UPDATE},
    {&op_sparse_to_dense, "three of five rows", .in = {RISING(5), NORMAL(5, 3), COUNT(3), NORMAL(7, 3)}, .out = {DIM(7, 3)}},
    {&op_sum, "plain", .in = {NORMAL(3, 5)}, .out = {{0}}, .diff = 1},
    {&op_sum_grad, "plain", .in = {SCALAR(1.5), NORMAL(3, 5)}, .out = {DIM(3, 5)}},
    {&op_sum_rows, "image", .in = {NORMAL(2, 5, 3, 7)}, .out = {DIM(7)}},
    {&op_tanh, "plain", .in = {NORMAL(3, 5)}, .out = {DIM(3, 5)}, .diff = 1},
    {&op_tanh_grad, "plain", .in = {NORMAL(3, 5), NORMAL(3, 5)}, .out = {DIM(3, 5)}},
    {&op_top1, "padded and unread rows", .in = {NORMAL(9, 7), INDEX(7, 9), SAMPLES(9)}, .out = {{0}}},
    {&op_topk, "rows of 0 to 4 of 5", .in = {SPREAD(5, 5), RISING(5)}, .out = {DIM(5, 3), DIM(5, 3), DIM(5, 3)},
     .attr.topk = {3}, .diff = 1, .step = KINK},
    {&op_topk, "k above the row", .in = {SPREAD(3, 2), RISING(3)}, .out = {DIM(3, 4), DIM(3, 4), DIM(3, 4)},
     .attr.topk = {4}, .diff = 1, .step = KINK},
    {&op_topk_grad, "one place each", .in = {NORMAL(2, 1), INDEX(5, 2, 1), NORMAL(2, 5)}, .out = {DIM(2, 5)}, .attr.topk = {1}},
};
/* clang-format on */

enum { N_OP_CASES = sizeof(op_cases) / sizeof(op_cases[0]) };

#endif
