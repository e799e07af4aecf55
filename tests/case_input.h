/* How a test states an input of an op: values, type and shape in a word. */
#ifndef STAVE_TESTS_CASE_INPUT_H
#define STAVE_TESTS_CASE_INPUT_H

#include "graph/tensor.h"

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

/* clang-format off */
#define DIM(...) {.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), .dim = {__VA_ARGS__}}
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
/* clang-format on */

#endif
