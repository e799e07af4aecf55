#include "plan/bank.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/random.h"

static const int carry_block = N_WEIGHT_BLOCKS - 1;

static int alloc_block(struct bank *b, size_t bytes, void **out)
{
    return b->engine->backend->alloc(b->engine->device, bytes ? bytes : 64, out);
}

static int alloc_set(struct bank *b, int set)
{
    for (int k = 0; k < carry_block; k++)
        TRY(alloc_block(b, b->store->block_bytes[k], &b->set[set].block[k]));
    return 0;
}

int bank_init(struct bank *b, const struct engine *e, const struct store *s)
{
    int rc;

    ASSERT(s->sealed);
    *b = (struct bank){.engine = e, .store = s, .n_sets = 1};
    b->set[0].name = "live";
    rc = alloc_set(b, 0);
    if (rc == 0)
        rc = alloc_block(b, s->block_bytes[carry_block], &b->set[0].block[carry_block]);
    if (rc < 0)
        bank_release(b);
    return rc;
}

static void free_block(struct bank *b, void **p, size_t bytes)
{
    if (*p)
        b->engine->backend->free(b->engine->device, *p, bytes ? bytes : 64);
    *p = NULL;
}

void bank_release(struct bank *b)
{
    for (int i = 0; i < b->n_sets; i++)
        for (int k = 0; k < carry_block; k++)
            free_block(b, &b->set[i].block[k], b->store->block_bytes[k]);
    if (b->n_sets)
        free_block(b, &b->set[0].block[carry_block], b->store->block_bytes[carry_block]);
    *b = (struct bank){0};
}

int bank_add_set(struct bank *b, const char *name, int from)
{
    const int set = b->n_sets;

    ASSERT(set < MAX_SETS);
    b->n_sets++;
    b->set[set] = (struct weight_set){.name = name};
    TRY(alloc_set(b, set));
    b->set[set].block[carry_block] = b->set[0].block[carry_block];
    TRY(bank_copy_set(b, set, from));
    return set;
}

int bank_copy_set(struct bank *b, int to, int from)
{
    for (int i = 0; i < b->store->n; i++) {
        const struct weight *const w = b->store->weights[i];
        const size_t bytes = (size_t)shape_count(w->shape) * dtype_size(w->dtype);
        void *host;
        int rc;

        if (w->kind == T_CARRY)
            continue;
        host = xmalloc(bytes);
        rc = bank_read(b, from, w, host);
        if (rc == 0)
            rc = bank_write(b, to, w, host);
        free(host);
        TRY(rc);
    }
    return 0;
}

void *bank_address(const struct bank *b, int set, const struct weight *w)
{
    return (char *)b->set[set].block[weight_block(w->kind)] + w->offset;
}

static size_t weight_bytes(const struct weight *w)
{
    return (size_t)shape_count(w->shape) * dtype_size(w->dtype);
}

int bank_write(struct bank *b, int set, const struct weight *w, const void *src)
{
    return b->engine->backend->write(b->engine->device, bank_address(b, set, w), src,
                                     weight_bytes(w));
}

int bank_read(struct bank *b, int set, const struct weight *w, void *dst)
{
    return b->engine->backend->read(b->engine->device, dst, bank_address(b, set, w),
                                    weight_bytes(w));
}

size_t bank_bytes(const struct bank *b)
{
    size_t n = b->store->block_bytes[carry_block];

    for (int k = 0; k < carry_block; k++)
        n += (size_t)b->n_sets * b->store->block_bytes[k];
    return n;
}

/* A normal cut at two deviations, in units of the deviation of what remains. */
static double truncated_normal(struct random_key key, uint64_t i)
{
    struct random_stream s = random_stream(key, i);

    for (;;) {
        const double u = 1.0 - random_next_uniform(&s);
        const double z =
            sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * random_next_uniform(&s));
        if (fabs(z) <= 2.0)
            return z / 0.87962566103423978;
    }
}

void weight_initial(const struct weight *w, uint64_t seed, float *dst)
{
    const struct random_key key = {seed, RANDOM_INIT, random_name(w->name)};
    const double scale = w->init.scale;
    const int64_t n = shape_count(w->shape);

    for (int64_t i = 0; i < n; i++) {
        double v = 0;
        switch (w->init.kind) {
        case INIT_ZERO:
            break;
        case INIT_CONSTANT:
            v = scale;
            break;
        case INIT_NORMAL:
            v = scale * random_normal(key, (uint64_t)i);
            break;
        case INIT_TRUNCATED_NORMAL:
            v = scale * truncated_normal(key, (uint64_t)i);
            break;
        case INIT_UNIFORM:
            v = scale * (2.0 * random_uniform(key, (uint64_t)i) - 1.0);
            break;
        }
        dst[i] = (float)v;
    }
}

int bank_fill(struct bank *b, int set, uint64_t seed)
{
    int rc = 0;

    for (int i = 0; i < b->store->n && rc == 0; i++) {
        const struct weight *const w = b->store->weights[i];
        float *const host = xcalloc(weight_bytes(w), 1);

        if (w->dtype == DT_F32 && w->kind != T_CARRY)
            weight_initial(w, seed, host);
        rc = bank_write(b, set, w, host);
        free(host);
    }
    return rc;
}
