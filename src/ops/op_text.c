#include "ops/op_text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const int64_t most_elements = (int64_t)1 << 40;

static void add_shape(struct shape s, struct str *out)
{
    if (s.rank == 0)
        str_add(out, "scalar");
    for (int i = 0; i < s.rank; i++)
        str_printf(out, "%s%lld", i ? "x" : "", (long long)s.dim[i]);
}

void type_add_text(enum dtype dtype, struct shape shape, struct str *out)
{
    if (dtype != DT_F32)
        str_printf(out, "%s:", dtype_name(dtype));
    add_shape(shape, out);
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 1 when the text is a shape and nothing else. */
static int parse_shape(const char *s, struct shape *out)
{
    int64_t n = 1;

    *out = shape_scalar();
    if (strcmp(s, "scalar") == 0)
        return 1;
    for (;; s++) {
        char *end;
        long long dim;

        errno = 0;
        dim = is_digit(*s) ? strtoll(s, &end, 10) : 0;
        if (dim < 1 || errno || dim > most_elements / n || out->rank == MAX_RANK)
            return 0;
        n *= dim;
        out->dim[out->rank++] = dim;
        s = end;
        if (*s != 'x')
            return !*s;
    }
}

static int find_dtype(const char *name, size_t length, enum dtype *out)
{
    for (enum dtype t = 0; t < N_DTYPES; t++)
        if (strlen(dtype_name(t)) == length && memcmp(dtype_name(t), name, length) == 0) {
            *out = t;
            return 1;
        }
    return 0;
}

int type_parse(const char *text, enum dtype *dtype, struct shape *shape)
{
    const char *const colon = strchr(text, ':');

    *dtype = DT_F32;
    if ((!colon || find_dtype(text, (size_t)(colon - text), dtype)) &&
        parse_shape(colon ? colon + 1 : text, shape))
        return 0;
    return err(E_USAGE,
               "\"%.100s\" is no tensor; expected dimensions such as 32x56x56x64 (at most %d) or "
               "scalar, after i32:, u8: or bf16: for another type than f32",
               text, MAX_RANK);
}

enum field_type { FIELD_INT, FIELD_INT64, FIELD_REAL, FIELD_FLOATS, FIELD_SHAPE, FIELD_DTYPE };
enum { FLOATS = 4 };

struct field {
    const char *name;
    enum field_type type;
    size_t offset; /* in union attr */
    double dflt;
};

/* clang-format off */
#define FIELD(kind, member, type, dflt) {#member, FIELD_##type, offsetof(union attr, kind.member), dflt}

static const struct field
    conv[] = {FIELD(conv, out, INT, 0), FIELD(conv, k, INT, 0), FIELD(conv, stride, INT, 1), FIELD(conv, pad, INT, 0), {0}},
    pool[] = {FIELD(pool, k, INT, 2), FIELD(pool, stride, INT, 1), FIELD(pool, pad, INT, 0), {0}},
    norm[] = {FIELD(norm, eps, REAL, 1e-5), FIELD(norm, momentum, REAL, 0.1), FIELD(norm, frozen, INT, 0), FIELD(norm, relu, INT, 0), {0}},
    bn_apply[] = {FIELD(bn_apply, residual, INT, 0), FIELD(bn_apply, relu, INT, 0), {0}},
    matmul[] = {FIELD(matmul, transpose_a, INT, 0), FIELD(matmul, transpose_b, INT, 0), {0}},
    loss[] = {FIELD(loss, smoothing, REAL, 0), {0}},
    image_norm[] = {FIELD(image_norm, mean, FLOATS, 0), FIELD(image_norm, scale, FLOATS, 1), {0}},
    reals[] = {FIELD(reals, a, REAL, 0), FIELD(reals, b, REAL, 0), {0}},
    slice[] = {FIELD(slice, axis, INT, 0), FIELD(slice, begin, INT64, 0), FIELD(slice, length, INT64, 1), {0}},
    topk[] = {FIELD(topk, k, INT, 1), {0}},
    exchange[] = {FIELD(exchange, ranks, INT, 1), {0}},
    update[] = {FIELD(update, momentum, REAL, 0.9), FIELD(update, weight_decay, REAL, 0), FIELD(update, eta, REAL, 0.001),
                FIELD(update, eps, REAL, 0), FIELD(update, beta1, REAL, 0.9), FIELD(update, beta2, REAL, 0.999),
                FIELD(update, nesterov, INT, 0), FIELD(update, rate_outside, INT, 0), FIELD(update, plain, INT, 0),
                FIELD(update, lr_mult, REAL, 1), {0}},
    fill[] = {FIELD(fill, shape, SHAPE, 0), FIELD(fill, value, REAL, 0), {0}},
    cast[] = {FIELD(cast, to, DTYPE, DT_F32), {0}},
    none[] = {{0}};

/* The ops that have attributes. */
static const struct field *const fields[N_OPS] = {
    [OP_conv2d] = conv, [OP_conv2d_grad_x] = conv, [OP_conv2d_grad_w] = conv,
    [OP_maxpool] = pool, [OP_maxpool_grad] = pool,
    [OP_batchnorm] = norm, [OP_batchnorm_grad] = norm, [OP_bn_finalise] = norm, [OP_bn_grad_apply] = norm, [OP_bn_grad_reduce] = norm,
    [OP_bn_apply] = bn_apply, [OP_matmul] = matmul, [OP_softmax_xent] = loss, [OP_softmax_xent_grad] = loss,
    [OP_image_norm] = image_norm, [OP_rsqrt] = reals, [OP_scale] = reals, [OP_clip_scale] = reals,
    [OP_slice] = slice, [OP_slice_grad] = slice, [OP_topk] = topk, [OP_topk_grad] = topk, [OP_all_to_all] = exchange,
    [OP_sgd] = update, [OP_lars] = update, [OP_adamw] = update, [OP_sparse_sgd] = update, [OP_constant] = fill, [OP_cast] = cast,
};
/* clang-format on */

static const struct field *fields_of(const struct op *op)
{
    return fields[op->id] ? fields[op->id] : none;
}

static void *at(const struct field *f, const union attr *a)
{
    return (char *)(uintptr_t)a + f->offset;
}

static void set_default(const struct field *f, union attr *a)
{
    switch (f->type) {
    case FIELD_INT:
        *(int *)at(f, a) = (int)f->dflt;
        break;
    case FIELD_INT64:
        *(int64_t *)at(f, a) = (int64_t)f->dflt;
        break;
    case FIELD_REAL:
        *(double *)at(f, a) = f->dflt;
        break;
    case FIELD_FLOATS:
        for (int i = 0; i < FLOATS; i++)
            ((float *)at(f, a))[i] = (float)f->dflt;
        break;
    case FIELD_SHAPE:
        *(struct shape *)at(f, a) = shape_scalar();
        break;
    case FIELD_DTYPE:
        *(enum dtype *)at(f, a) = (enum dtype)f->dflt;
        break;
    }
}

static size_t field_bytes(const struct field *f)
{
    static const size_t bytes[] = {[FIELD_INT] = sizeof(int),
                                   [FIELD_INT64] = sizeof(int64_t),
                                   [FIELD_REAL] = sizeof(double),
                                   [FIELD_FLOATS] = FLOATS * sizeof(float),
                                   [FIELD_SHAPE] = sizeof(struct shape),
                                   [FIELD_DTYPE] = sizeof(enum dtype)};

    return bytes[f->type];
}

static void add_value(const struct field *f, const union attr *a, struct str *out)
{
    switch (f->type) {
    case FIELD_INT:
        str_printf(out, "%d", *(const int *)at(f, a));
        break;
    case FIELD_INT64:
        str_printf(out, "%lld", (long long)*(const int64_t *)at(f, a));
        break;
    case FIELD_REAL:
        str_add_real(out, *(const double *)at(f, a));
        break;
    case FIELD_FLOATS:
        for (int i = 0; i < FLOATS; i++) {
            str_add(out, i ? ":" : "");
            str_add_real(out, (double)((const float *)at(f, a))[i]);
        }
        break;
    case FIELD_SHAPE:
        add_shape(*(const struct shape *)at(f, a), out);
        break;
    case FIELD_DTYPE:
        str_add(out, dtype_name(*(const enum dtype *)at(f, a)));
        break;
    }
}

void attr_add_text(const struct op *op, const union attr *a, struct str *out)
{
    const char *between = "";
    union attr standard = {0};

    for (const struct field *f = fields_of(op); f->name; f++) {
        set_default(f, &standard);
        if (memcmp(at(f, a), at(f, &standard), field_bytes(f)) == 0)
            continue;
        str_printf(out, "%s%s=", between, f->name);
        add_value(f, a, out);
        between = ",";
    }
}

static int parse_real(const char **s, double *v)
{
    char *end;

    *v = strtod(*s, &end);
    if (end == *s || !isfinite(*v))
        return 0;
    *s = end;
    return 1;
}

static int parse_whole(const char *s, long long most, long long *v)
{
    char *end;

    errno = 0;
    *v = strtoll(s, &end, 10);
    return end != s && !*end && !errno && *v >= -most && *v <= most;
}

static int parse_floats(const char *s, float *out)
{
    for (int i = 0; i < FLOATS; i++) {
        double v;

        if (!parse_real(&s, &v))
            return 0;
        out[i] = (float)v;
        if (!*s)
            return 1;
        if (*s++ != ':')
            return 0;
    }
    return 0;
}

static int set_value(const struct field *f, const char *value, union attr *a)
{
    long long whole = 0;
    double real = 0;
    int ok = 0;

    switch (f->type) {
    case FIELD_INT:
        ok = parse_whole(value, INT_MAX, &whole);
        *(int *)at(f, a) = (int)whole;
        break;
    case FIELD_INT64:
        ok = parse_whole(value, most_elements, &whole);
        *(int64_t *)at(f, a) = whole;
        break;
    case FIELD_REAL:
        ok = parse_real(&value, &real) && !*value;
        *(double *)at(f, a) = real;
        break;
    case FIELD_FLOATS:
        ok = parse_floats(value, at(f, a));
        break;
    case FIELD_SHAPE:
        ok = parse_shape(value, at(f, a));
        break;
    case FIELD_DTYPE:
        ok = find_dtype(value, strlen(value), at(f, a));
        break;
    }
    return ok;
}

static int unknown_field(const struct op *op, const char *name)
{
    struct str names = STR_INIT;
    const struct field *const all = fields_of(op);

    for (const struct field *f = all; f->name; f++)
        str_printf(&names, "%s%s", f == all ? "" : ", ", f->name);
    if (all->name)
        err(E_USAGE, "%s has no attribute \"%.60s\"; it has %s", op->name, name, names.s);
    else
        err(E_USAGE, "%s has no attributes, not even \"%.60s\"", op->name, name);
    str_release(&names);
    return E_USAGE;
}

/* One "name=value"; the text is cut at the sign. */
static int set_field(const struct op *op, char *pair, union attr *a)
{
    char *const equals = strchr(pair, '=');

    if (!equals)
        return err(E_USAGE, "%s: attribute \"%.60s\" has no value; expected name=value", op->name,
                   pair);
    *equals = '\0';
    for (const struct field *f = fields_of(op); f->name; f++)
        if (strcmp(f->name, pair) == 0)
            return set_value(f, equals + 1, a)
                       ? 0
                       : err(E_USAGE, "%s: \"%.60s\" does not fit attribute %s", op->name,
                             equals + 1, f->name);
    return unknown_field(op, pair);
}

int attr_parse(const struct op *op, const char *text, union attr *a)
{
    char *const copy = xstrdup(text), *rest = copy, *pair;
    int rc = 0;

    memset(a, 0, sizeof(*a));
    for (const struct field *f = fields_of(op); f->name; f++)
        set_default(f, a);
    while (rc == 0 && (pair = strsep(&rest, ",")))
        rc = *pair ? set_field(op, pair, a) : 0;
    free(copy);
    return rc;
}
