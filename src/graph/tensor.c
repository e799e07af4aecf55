#include "graph/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/bf16.h"
#include "base/err.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[N_DTYPES] = {
    [DT_F32] = {"f32", 4}, [DT_I32] = {"i32", 4}, [DT_U8] = {"u8", 1}, [DT_BF16] = {"bf16", 2}};

size_t dtype_size(enum dtype t)
{
    return dtypes[t].size;
}

const char *dtype_name(enum dtype t)
{
    return dtypes[t].name;
}

double dtype_value(const void *data, enum dtype type, int64_t i)
{
    switch (type) {
    case DT_F32:
        return (double)((const float *)data)[i];
    case DT_BF16:
        return (double)bf16_to_float(((const uint16_t *)data)[i]);
    case DT_I32:
        return ((const int32_t *)data)[i];
    case DT_U8:
        return ((const uint8_t *)data)[i];
    case N_DTYPES:
        break;
    }
    BUG("type %d of a tensor", (int)type);
}

struct shape shape_of(const int64_t *dim, size_t rank)
{
    struct shape s = {.rank = (int)rank};

    ASSERT(rank <= MAX_RANK);
    memcpy(s.dim, dim, rank * sizeof(*dim));
    return s;
}

struct shape shape_scalar(void)
{
    return (struct shape){0};
}

int64_t shape_count(struct shape s)
{
    int64_t n = 1;

    for (int i = 0; i < s.rank; i++)
        n *= s.dim[i];
    return n;
}

int shape_equal(struct shape a, struct shape b)
{
    return a.rank == b.rank && memcmp(a.dim, b.dim, (size_t)a.rank * sizeof(*a.dim)) == 0;
}

const char *shape_text(struct shape s, char out[SHAPE_TEXT])
{
    int at = snprintf(out, SHAPE_TEXT, "[");

    for (int i = 0; i < s.rank && at < SHAPE_TEXT; i++)
        at += snprintf(out + at, (size_t)(SHAPE_TEXT - at), "%s%lld", i ? "," : "",
                       (long long)s.dim[i]);
    if (at < SHAPE_TEXT)
        snprintf(out + at, (size_t)(SHAPE_TEXT - at), "]");
    return out;
}

int64_t tensor_count(const struct tensor *t)
{
    return shape_count(t->shape);
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_count(t) * dtype_size(t->dtype);
}
