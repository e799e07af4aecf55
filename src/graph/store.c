#include "graph/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { WEIGHT_ALIGN = 64 };

void store_init(struct store *s)
{
    *s = (struct store){0};
    arena_init(&s->arena);
}

void store_release(struct store *s)
{
    free(s->weights);
    arena_release(&s->arena);
    *s = (struct store){0};
}

void store_seal(struct store *s)
{
    s->sealed = 1;
}

int weight_block(enum tensor_kind kind)
{
    ASSERT(kind == T_PARAM || kind == T_STATE || kind == T_CARRY);
    return (int)kind - (int)T_PARAM;
}

struct weight *store_find(const struct store *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->weights[i]->name, name) == 0)
            return s->weights[i];
    return NULL;
}

static struct weight *store_add(struct store *s, const struct weight *want)
{
    struct weight *const w = arena_alloc(&s->arena, sizeof(*w));
    size_t *const block = &s->block_bytes[weight_block(want->kind)];
    const size_t bytes = (size_t)shape_count(want->shape) * dtype_size(want->dtype);

    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->weights = xrealloc(s->weights, (size_t)s->cap * sizeof(struct weight *));
    }
    *w = *want;
    w->name = arena_strdup(&s->arena, want->name);
    w->id = s->n;
    w->offset = *block;
    *block += (bytes + WEIGHT_ALIGN - 1) / WEIGHT_ALIGN * WEIGHT_ALIGN;
    s->weights[s->n++] = w;
    return w;
}

int store_get(struct store *s, const struct weight *want, struct weight **out)
{
    char have_text[SHAPE_TEXT], want_text[SHAPE_TEXT];
    struct weight *const w = store_find(s, want->name);

    if (!w && s->sealed)
        return err(E_SHAPE,
                   "no weight is named %s; this graph must use only weights of the one it binds to",
                   want->name);
    if (!w) {
        *out = store_add(s, want);
        return 0;
    }
    if (w->kind != want->kind || w->dtype != want->dtype || !shape_equal(w->shape, want->shape))
        return err(E_SHAPE, "weight %s exists as %s %s, asked for as %s %s", want->name,
                   dtype_name(w->dtype), shape_text(w->shape, have_text), dtype_name(want->dtype),
                   shape_text(want->shape, want_text));
    *out = w;
    return 0;
}

int64_t store_param_count(const struct store *s)
{
    int64_t n = 0;

    for (int i = 0; i < s->n; i++)
        if (s->weights[i]->kind == T_PARAM)
            n += shape_count(s->weights[i]->shape);
    return n;
}
